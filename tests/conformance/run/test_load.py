"""A device that has other work: copies around all that is submitted, which change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support.devices import open_device

import restride as rs
from restride_conformance.record import Target
from restride_conformance.run.load import LoadedRuntime
from restride_conformance.run.worker import open_device as open_target


class Fake:
    """A runtime that notes the names of what is started."""

    def __init__(self):
        self.calls = []

    def allocate(self, nbytes):
        return nbytes

    def submit(self, kernels, _memories):
        self.calls.append(kernels)

    def copy(self, src, dst, nbytes, _src_offset=0, dst_offset=0, _kernels=()):
        self.calls.append("load" if (src, dst) == (8 << 20, 64 << 20) else "copy")
        if self.calls[-1] == "load":
            assert dst_offset + nbytes <= dst
            self.calls[-1] += str(dst_offset // nbytes)


def test_copies_are_started_around_all_work_in_parts_in_turn():
    fake = Fake()
    runtime = LoadedRuntime(fake)
    runtime.submit("kernels", ())
    runtime.copy(1, 2, 3)
    runtime.submit("kernels", ())
    assert fake.calls == [
        *("load0", "load1", "kernels", "load2"),
        *("load3", "load4", "copy", "load5"),
        *("load6", "load7", "kernels", "load0"),
    ]


@pytest.fixture
def device():
    open_device("vulkan").close()
    with open_target(Target(under_load=True)) as opened:
        yield opened


def test_nobody_waits_and_results_are_the_same(device):
    x = rs.asarray(np.arange(60, dtype=np.uint8).reshape(6, 10), device=device)
    before = device.counters()
    out = rs.reorder(x.permute(1, 0))
    after = device.counters()
    assert after.dispatches - before.dispatches == 1
    assert after.submissions - before.submissions == 4
    assert after.barriers == before.barriers
    assert np.array_equal(out.numpy(), x.numpy().T)


def test_replays_have_the_copies_around_them_and_not_inside(device):
    x = rs.asarray(np.arange(60, dtype=np.uint8).reshape(6, 10), device=device)
    out = rs.empty("u8[10,6]", device)
    with device.runtime.recording() as recording:
        rs.reorder(x.permute(1, 0), out=out)
    assert len(recording.parts) == 1
    before = device.counters()
    device.runtime.replay(recording)
    assert device.counters().submissions - before.submissions == 4
    recording.close()
    assert np.array_equal(out.numpy(), x.numpy().T)
