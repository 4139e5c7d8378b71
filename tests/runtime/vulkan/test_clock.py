"""The device's own clock: what it counts, and where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from support.devices import open_device

import restride as rs


@pytest.fixture
def device():
    with open_device("vulkan") as opened:
        try:
            with opened.runtime.timed():
                pass
        except rs.UnsupportedError as error:
            pytest.skip(str(error))
        yield opened


def test_it_counts_the_submissions_made_inside(device):
    x = rs.asarray(np.arange(12, dtype=np.float32).reshape(3, 4), device=device)
    out = rs.empty("f32[4,3]", device)
    rs.reorder(x.permute(1, 0), out=out)
    with device.runtime.timed() as clock:
        for _ in range(3):
            rs.reorder(x.permute(1, 0), out=out)
        device.runtime.copy(x.memory, out.memory, 48)
        device.wait()
        inside = clock.seconds
    assert clock.submissions == 4
    assert clock.seconds == inside > 0
    rs.reorder(x.permute(1, 0), out=out)
    device.wait()
    assert clock.submissions == 4
    assert np.array_equal(out.numpy(), x.numpy().T)


def test_more_submissions_than_a_pool_has_pairs(device):
    x = rs.asarray(np.arange(16, dtype=np.float32), device=device)
    out = rs.empty("f32[16]", device)
    with device.runtime.timed() as clock:
        for _ in range(150):
            rs.reorder(x, out=out)
    assert clock.submissions == 150
    assert clock.seconds > 0


def test_nothing_inside_is_no_time(device):
    with device.runtime.timed() as clock:
        pass
    assert (clock.submissions, clock.seconds) == (0, 0.0)


def test_one_clock_at_a_time(device):
    with device.runtime.timed():
        with pytest.raises(rs.UnsupportedError, match="one clock at a time"), device.runtime.timed():
            pass
        rs.asarray(np.ones(4, np.float32), device=device).numpy()
    with device.runtime.timed():
        pass


def test_an_error_inside_ends_the_clock(device):
    with pytest.raises(KeyError), device.runtime.timed():
        raise KeyError
    assert device.runtime._session.queue.clock is None


def test_a_queue_without_timestamps_says_so(device, monkeypatch):
    opened = device.runtime._session.device
    monkeypatch.setattr(opened, "physical", replace(opened.physical, timestamp_bits=0))
    with pytest.raises(rs.UnsupportedError, match=r"no timestamps \(timestampValidBits 0\)"), device.runtime.timed():
        pass


def test_a_clock_of_few_bits_goes_round(device, monkeypatch):
    class Stamps:
        def vkGetQueryPoolResults(self, *arguments):
            arguments[5][0], arguments[5][1] = 250, 6
            return 0

    with device.runtime.timed() as clock:
        rs.reorder(rs.asarray(np.ones((4, 4), np.float32), device=device).permute(1, 0))
        device.wait()
        monkeypatch.setattr(clock, "_valid_bits", 8)
        monkeypatch.setattr(clock, "_period", 10.0)
        real = device.runtime._session.device.vk
        monkeypatch.setattr(device.runtime._session.device, "vk", Stamps())
        assert clock.seconds == pytest.approx(clock.submissions * 12 * 10e-9)
        monkeypatch.setattr(device.runtime._session.device, "vk", real)
