"""Sizes that no device has room for are refused before anything is made for them, and planning has stated limits.

All cases run in one process, whose address space is limited, and whose longest wait is guarded: what grew with the
sizes ends there in a bare MemoryError, or does not end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.process import captured

import restride as rs
from restride.kernel import Limits
from restride.plan import resample as plan_of_resample
from restride.weights import filters

MAX_BYTES = 32 << 20
"""Of the host, that a refusal may take; those of the least defect were 80 MB."""

MAX_SECONDS = 60


class Refused(NamedTuple):
    """A call, the type of its error, and what the message has."""

    call: str
    error: str
    texts: tuple[str, ...]


ROOM = ("no room for", "asked for ")
LONG = "one.broadcast_to((1, 10**8))"
LIKE = ("like computes the weights of a whole axis", "at most 2097152 elements")
TAPS = ("at most 4194304 elements along an axis", "100000000 to 3 elements along axis 1")

NO_ROOM = {
    "pillow, 10^12": "rs.resample(grey, (10**12, 3), like='pillow')",
    "pillow, 10^6 by 10^6": "rs.resample(grey, (10**6, 10**6), like='pillow')",
    "opencv, 10^6 by 10^6": "rs.resample(grey, (10**6, 10**6), like='opencv')",
    "scikit-image, 10^12": "rs.resample(grey, (10**12, 3), like='scikit-image')",
    "photograph, bytes": "rs.resample(photo, (10**6, 10**6), axes=(0, 1))",
    "10^30": "rs.resample(grey, (10**30, 3))",
    "a large window": "rs.resample(grey, (10**12, 3), like='torch', window=(slice(10**11), None))",
    "gradient": "rs.resample_backward(grey, (10**12, 3))",
    "plan into a layout": "rs.plan_resample_backward('f32[2]', 'f32[1000000000000]', (10**12,))",
    "crop_resize": "rs.crop_resize(photo, BOX, (10**12, 3), axes=(0, 1))",
    "crop_resize, letterbox": "rs.crop_resize(photo, BOX, (10**12, 3), axes=(0, 1), letterbox='center')",
    "crop_resize, like": "rs.crop_resize(photo, BOX, (10**12, 3), axes=(0, 1), like='pillow')",
    "compat.torch": "interpolate(np.ones((1, 1, 2), np.float32), scale_factor=1e12)",
    "compat.torch, 10^6 by 10^6": "interpolate(np.ones((1, 1, 2, 2), np.uint8), (10**6, 10**6), mode='bilinear')",
    "compat.cv2": "rs.compat.cv2.resize(codes, (10**6, 10**6))",
    "compat.pil": "rs.compat.pil.resize(codes, (10**6, 10**6))",
    "reorder, scales": "rs.reorder(one.broadcast_to((10**5, 10**5)), src_scale=np.full((10**5, 1), 2.0))",
}
"""Calls whose results no device has room for."""

UNSUPPORTED = {
    "area": (f"rs.resample({LONG}, (1, 3), mode='area')", (*TAPS, "33333334")),
    "antialias": (f"rs.resample({LONG}, (1, 3), antialias=True)", (*TAPS, "66666667")),
    "plan of area": ("rs.plan_resample('f32[1,100000000]', None, (1, 3), mode='area')", TAPS),
    "area, many outputs": (
        "rs.resample(one.broadcast_to((1, 10**12)), (1, 10**8), mode='area')",
        ("at most 536870912 elements along an axis", "10000 for each of 100000000"),
    ),
    "like, shrunk": (f"rs.resample({LONG}, (1, 3), like='pillow')", (*LIKE, "100000000 to 3")),
    "like, a window of 10^9": ("rs.resample(grey, (10**9, 3), like='pillow', window=(slice(2), None))", LIKE),
    "source_window, like": ("rs.source_window((10**9, 3), (3, 3), window=(slice(2), None), like='pillow')", LIKE),
    "gradient of 10^9": (
        "rs.resample_backward(one.broadcast_to((1, 10**9)), (1, 2))",
        ("a gradient takes axes of at most 16777216 elements", "2 to 1000000000"),
    ),
    "an index that s64 does not have": (
        "rs.resample(grey, (10**30, 3), mode='nearest', window=(slice(10**29, 10**29 + 2), None))",
        ("axis 0 must have less than 2^63 elements",),
    ),
    "like, a box of 2^30 pixels": (
        "rs.crop_resize(photo, [(0, 0, 2**30, 2**30)], (3, 3), axes=(0, 1), like='pillow')",
        ("like computes the weights of", "more than the 67108864"),
    ),
    "like, a crop of an image of 10^7 pixels": (
        "rs.Preprocess((2, 2), shorter=10**7, like='pillow')(np.ones((4, 5, 3), np.uint8))",
        LIKE,
    ),
    "rows of many boxes": (
        "rs.crop_resize(photo[..., 0], BOX * 2000, (10**5, 1))",
        ("at most 268435456 weights", "2000 boxes resized to (100000, 1)"),
    ),
    "reference": (
        "rs.reference.resample(floats, (10**12, 3))",
        ("at most 4194304 elements along an axis, not 1000000000000",),
    ),
    "reference, 10^6 by 10^6": (
        "rs.reference.resample(floats, (10**6, 10**6))",
        ("arrays of at most 134217728 elements, not 1000000000000 of sizes [1000000, 1000000]", "f32[2,2]"),
    ),
    "reference, like": (
        "rs.reference.resample(floats, (10**6, 10**6), like='pillow')",
        ("of sizes [1000000, 1000000]",),
    ),
    "reference, a window like a library's": (
        "rs.reference.resample(codes, (10**9, 3), like='opencv', window=(slice(2), None))",
        LIKE,
    ),
    "reference, limits": ("rs.reference.resample_limits(floats, (10**5, 10**5))", ("of sizes [100000, 100000]",)),
    "reference of resize": ("rs.reference.resize(codes, (10**5, 10**5))", ("of sizes [100000, 100000]",)),
    "reference of a large box": (
        "rs.reference.crop_resize(codes, [(0, 0, 10**6, 10**6)], (2, 2), axes=(0, 1))",
        ("of sizes [1000000, 1000000]",),
    ),
    "reference of many boxes": (
        "rs.reference.crop_resize(codes, BOX * 10**4, (10**3, 10**3), axes=(0, 1))",
        ("of sizes [10000, 1000, 1000]",),
    ),
    "reference of a gradient, 10^6 by 10^6": (
        "rs.reference.resample_backward(floats, (10**6, 10**6))",
        ("of sizes [1000000, 1000000]",),
    ),
    "reference of a gradient": (
        "rs.reference.resample_backward(np.ones(2, np.float32), (10**12,))",
        ("at most 4194304 elements", "[1000000000000]"),
    ),
}
"""Calls that need too much of the host, and what the messages have."""

REFUSED = {
    **{name: Refused(call, "OutOfDeviceMemory", ROOM) for name, call in NO_ROOM.items()},
    **{name: Refused(call, "UnsupportedError", texts) for name, (call, texts) in UNSUPPORTED.items()},
    "plan of a gradient": Refused(
        "rs.plan_resample_backward('f32[2]', None, (10**12,))", "OutOfDeviceMemory", (*ROOM, "f32[1000000000000]")
    ),
    "20,000 boxes": Refused(
        "rs.crop_resize(photo, BOX * 20000, (1000, 1000), axes=(0, 1))",
        "OutOfDeviceMemory",
        (*ROOM, "u8[20000,1000,1000,3]"),
    ),
    "scales along one axis, zero points along another": Refused(
        "rs.reorder(one.broadcast_to((10**4, 10**4)), dtype='u8', src_scale=np.full((10**4, 1), 2.0), "
        "src_zero_point=np.ones((1, 10**4)))",
        "DescriptorError",
        ("src_scale and src_zero_point", "[10000, 1] and [1, 10000]", "100000000 pairs, more than 16777216"),
    ),
    "post_ops": Refused(
        "rs.reorder(one, 'AB->AB', post_ops=[('relu',)] * 10**6)",
        "DescriptorError",
        ("post_ops are 1000000, more than 4",),
    ),
    "endless post_ops": Refused(
        "rs.reorder(one, 'AB->AB', post_ops=itertools.repeat(('relu',)))",
        "DescriptorError",
        ("post_ops are more than 4",),
    ),
}

WORKING = {
    "a window of 10^12": ("rs.resample(grey, (10**12, 3), window=(slice(2), None))", [2, 3]),
    "the last of 2^63": (
        "rs.resample(grey, (2**63 - 1, 3), mode='nearest', window=(slice(2**63 - 3, None), None))",
        [2, 3],
    ),
    "a window of 10^9, like torch": (
        "rs.resample(grey, (10**9, 3), mode='nearest', like='torch', window=(slice(10**9 - 2, None), None))",
        [2, 3],
    ),
    "from 10^12, nearest": ("rs.resample(one.broadcast_to((1, 10**12)), (1, 3), mode='nearest')", [1, 3]),
    "antialias, 10^5": ("rs.resample(one.broadcast_to((1, 10**5)), (1, 3), antialias=True)", [1, 3]),
    "area, 10^6": ("rs.resample(one.broadcast_to((1, 10**6)), (1, 1), mode='area')", [1, 1]),
    "reference, a slice of 10^9": (
        "rs.asarray(rs.reference.strided_slice(np.broadcast_to(1, 10**9), [0], [10**9], [10**8]))",
        [10],
    ),
    "pillow, 10^5": ("rs.resample(one.broadcast_to((1, 10**5)), (1, 3), like='pillow')", [1, 3]),
}
"""Calls that are no more than others, and their sizes."""

PROGRAM = """
import itertools, json, resource, sys, tracemalloc
import numpy as np
import restride as rs
from restride.compat.torch import interpolate

BOX = [(0, 0, 2, 2)]
one = rs.asarray(np.ones((1, 1), np.float32))
grey = rs.asarray(np.ones((4, 5), np.float32))
photo = rs.asarray(np.ones((4, 5, 3), np.uint8))
floats, codes = (np.ones((2, 2), dtype) for dtype in (np.float32, np.uint8))
rs.resample(grey, (3, 3)).numpy()
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
tracemalloc.start()
for name, call in json.load(sys.stdin).items():
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    try:
        said = list(eval(call).sizes)
    except BaseException as error:
        said = [type(error).__name__, str(error)]
    _, peak = tracemalloc.get_traced_memory()
    print(json.dumps([name, said, peak - before]), flush=True)
"""


def run(program: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A Python process, ended where it outlasts its time."""
    return captured([sys.executable, "-c", program, *arguments], input=stdin, timeout=MAX_SECONDS)


@pytest.fixture(scope="module")
def said() -> dict[str, tuple[list[Any], int]]:
    """What each call said, its sizes or its error, and the bytes of the host that it took at most."""
    calls = {name: case.call for name, case in REFUSED.items()} | {name: call for name, (call, _) in WORKING.items()}
    process = run(PROGRAM, stdin=json.dumps(calls))
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert process.returncode == 0, (lines[-1:], process.stderr)
    return {name: (answer, nbytes) for name, answer, nbytes in lines}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_memory_grows(name, said):
    case, (answer, nbytes) = REFUSED[name], said[name]
    assert answer[0] == case.error, answer
    for text in case.texts:
        assert text in answer[1]
    assert nbytes <= MAX_BYTES


@pytest.mark.parametrize("rules", [{}, {"mode": "cubic"}, {"mode": "area"}, {"coordinates": "align_corners"}], ids=str)
def test_planning_asks_one_dispatch_of_a_long_axis(rules, monkeypatch, vulkan_device):
    asked = []

    def counted(problem, limits, invocations=plan_of_resample.invocations):
        asked.append(problem)
        return invocations(problem, limits)

    monkeypatch.setattr(plan_of_resample, "invocations", counted)
    for sizes in ((1, 10**8), (1, 10**8 - 1), (3, 10**7)):
        plan = rs.plan_resample("u8[5,7]", None, sizes, **rules, device=vulkan_device)
        assert plan.dst.sizes == sizes
        assert len(asked) <= 4
        asked.clear()


@pytest.mark.parametrize("name", WORKING)
def test_long_axes_and_windows_go_on_working(name, said):
    assert said[name][0] == WORKING[name][1]


def test_a_photograph_on_the_command_line(tmp_path: Path):
    np.save(tmp_path / "photo.npy", np.zeros((4, 5, 3), np.uint8))
    command = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); "
        "from restride.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    output = tmp_path / "out.npy"
    process = run(
        command, "resample", os.fspath(tmp_path / "photo.npy"), os.fspath(output), "--sizes", "1000000", "1000000",
        "--axes", "0", "1",
    )  # fmt: skip
    assert process.returncode == 6, process.stderr
    assert "no room for 3000000000000 bytes" in process.stderr
    assert "rs.stream" not in process.stderr
    assert not output.exists()


def test_the_room_is_that_of_the_device():
    with rs.Device(runtime="vulkan", memory_limit=1 << 20) as device:
        assert device.limits.max_memory == 1 << 20
        x = rs.asarray(np.ones((2, 2), np.uint8), device=device)
        with pytest.raises(rs.OutOfDeviceMemory, match="no room for 2097152 bytes"):
            rs.resample(x, (1024, 2048))
        with pytest.raises(rs.OutOfDeviceMemory, match=r"no room for 4194304 bytes: 1048576 .* f32\[1024,1024\]"):
            rs.reorder(x[:1, :1].broadcast_to((1024, 1024)), dtype="f32")
        assert rs.resample(x, (4, 4)).sizes == (4, 4)


def test_a_buffer_of_the_reference_that_the_host_has_no_room_for():
    with pytest.raises(rs.UnsupportedError, match="the host has no room for the 100000000000000001 bytes of u8"):
        rs.reference.to_buffer(np.ones(2, np.uint8), rs.TensorDesc("u8", (2,), (10**17,)))


def test_limits_that_differ_in_their_room_make_the_same_plans():
    assert Limits(max_memory=1) == Limits()


def test_a_row_is_computed_once_for_all_its_dispatches(monkeypatch):
    """A row of 600,000 taps is cut in 147 parts, more than a dispatch has, and each of them reads its weights."""
    taps, rows = 600_000, 2
    computed = []
    weigh = filters._area
    monkeypatch.setattr(
        filters, "_area", lambda *arguments, **named: computed.append(arguments[3]) or weigh(*arguments, **named)
    )
    x = rs.asarray(np.ones((1, 1), np.float32)).broadcast_to((1, taps * rows))
    np.testing.assert_allclose(rs.resample(x, (1, rows), mode="area").numpy(), 1, rtol=1e-3)
    assert sum(computed) == rows
