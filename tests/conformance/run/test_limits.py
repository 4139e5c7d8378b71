"""The limits of small devices: every kernel keeps to them, cases pass within them, and what needs more is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.contract_shader import DST, HEAD, INT64, KEEPS, LINE, MAIN, SRC, build
from support.devices import open_device
from support.sampled import sample

import restride as rs
from restride.cli import main
from restride.command.stopwatch import has_clock
from restride.errors import DescriptorError
from restride.kernel import Binding, Choices, KernelSpec
from restride.kernel.modules import load_module, manifest
from restride.runtime import list_devices
from restride.runtime.instance import physical_devices
from restride_conformance.record import Target, Verdict
from restride_conformance.run.limits import BOUNDS, open_within
from restride_conformance.run.runner import Runner
from restride_conformance.sweep import catalogue

MOBILE = BOUNDS["mobile"]

FIXTURES = (build,)


@pytest.mark.parametrize("name", sorted(manifest()))
def test_every_kernel_of_the_library_runs_on_every_device(name):
    assert MOBILE.exceeded(load_module(name)) == ""


def with_buffers(count):
    declared = [f"layout(std430, binding = {n}) buffer B{n} {{ uint b{n}[]; }};\n" for n in range(count)]
    return f"{HEAD}{LINE}{''.join(declared)}void main() {{ b0[0] = 0u; }}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (KEEPS, ""),
        (KEEPS.replace("= 128", "= 129"), r"work groups of \(129, 1, 1\)"),
        (KEEPS.replace("= 128", "= 16, local_size_y = 16"), "128 invocations in all"),
        (KEEPS.replace("= 128", "= 256, local_size_x_id = 20"), r"work groups of \(256, 1, 1\)"),
        (with_buffers(4), ""),
        (with_buffers(5), "5 storage buffers; the most is 4"),
        (HEAD + LINE + SRC + SRC.replace("Src", "S").replace("src", "s") + DST + MAIN, ""),
        (KEEPS.replace(MAIN, "shared uint t[4096];\n" + MAIN), ""),
        (KEEPS.replace(MAIN, "shared uint t[4097];\n" + MAIN), r"shared memory of \[16388\] bytes"),
        (KEEPS.replace(HEAD, HEAD + INT64).replace("= src[0]", "= uint(int64_t(src[0]))"), "capability Int64"),
    ],
)
def test_a_module_that_needs_more_is_refused(build, text, message):
    code = build(text)
    source = MOBILE.within(lambda _: code)
    if message:
        with pytest.raises(DescriptorError, match=f"module mine needs .*{message}"):
            source("mine")
    else:
        assert source("mine") == code


def test_a_device_is_narrowed_and_never_widened():
    base = physical_devices()[0]
    limits = replace(base.info.limits, max_buffer_range=1 << 31, offset_alignment=16, max_group_count=(1 << 31, 100, 5))
    large = replace(base, info=replace(base.info, limits=limits), max_allocations=1 << 32, timestamp_bits=64)
    narrow = MOBILE.narrowed(large)
    assert narrow.info.limits.max_buffer_range == 128 << 20
    assert narrow.info.limits.offset_alignment == 256
    assert narrow.info.limits.max_group_count == (65535, 100, 5)
    assert narrow.info.limits.choices == Choices.usual("integrated")
    assert (narrow.max_allocations, narrow.timestamp_bits, narrow.import_alignment) == (4096, 0, 0)
    assert narrow.max_allocation_bytes == min(base.max_allocation_bytes, 1 << 30)
    assert MOBILE.narrowed(narrow) == narrow


@pytest.fixture
def device():
    open_device("vulkan").close()
    with rs.Device.over(open_within("mobile", None, "vulkan", 30.0, load_module)) as opened:
        yield opened


def test_what_such_a_device_lacks_is_refused(device):
    x = np.arange(4096, dtype=np.uint8)
    assert not has_clock(device)
    with pytest.raises(rs.UnsupportedError, match="no timestamps"), device.runtime.timed():
        pass
    with pytest.raises(rs.UnsupportedError, match="does not import memory of the host"):
        rs.asarray(x, device=device, copy=False)
    src, dst = (device.runtime.allocate(4096) for _ in range(2))
    unaligned = KernelSpec("run_copy_32", (), (1,), b"", (1, 1, 1), (Binding(16, 16), Binding(0, 16, writes=True)))
    with pytest.raises(DescriptorError, match="its offset be a multiple of 256"):
        device.runtime.submit([unaligned], [src, dst])
    assert np.array_equal(rs.reorder(rs.asarray(x, device=device)[3::5]).numpy(), x[3::5])


def test_cases_pass_within_the_limits():
    open_device("vulkan").close()
    with Runner(Target(limits="mobile")) as runner:
        assert runner.host.limits.offset_alignment >= 256
        outcomes = [runner.run(case) for case in sample(catalogue("smoke"), 60)]
    assert [str(each.case) for each in outcomes if each.verdict is not Verdict.PASSED] == []
    assert runner.aftermath == ()


def test_the_command_narrows_the_device_and_says_so_in_its_repro():
    open_device("vulkan").close()
    case = "reorder u8[5,13]{1,0} -> u8[5,13]{0,1}"
    assert main(["test", "--repro", case, "--limits", "mobile"]) == 0
    assert "--limits mobile" in Target(limits="mobile").repro(catalogue("smoke")[0])
    assert list_devices()[0].limits.offset_alignment < 256, "only that device was narrowed"
