"""A window of a resampling is the whole's part, bit for bit, at random windows and of sources that are only parts.

`make test` tries 800 windows, RESTRIDE_TEST_FULL=1 2,000.
"""

from __future__ import annotations

import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.random_rules import random_rules
from support.sampled import sample

import restride as rs
from restride.request.resampling import RequestArguments

Array = np.ndarray[Any, Any]

TYPES: dict[str, Any] = {"f32": np.float32, "u8": np.uint8, "bf16": ml_dtypes.bfloat16, "s32": np.int32}
"""A few, for each costs pipelines: what a type does to elements does not depend on the window."""

CONVERSIONS = {"u8": "f32", "f32": "f16"}
MOVED_ALONE: dict[str, Any] = {"f64": np.float64, "s64": np.int64, "u64": np.uint64, "pred": np.bool_}

WINDOWS = 5
"""Windows of each problem."""


def elements(rng: np.random.Generator, dtype: str, sizes: tuple[int, ...]) -> Array:
    type_ = (TYPES | MOVED_ALONE)[dtype]
    if dtype == "pred":
        return rng.integers(0, 2, sizes).astype(type_)
    low = 0 if dtype.startswith("u") else -100
    return rng.integers(low, 101, sizes).astype(type_) if dtype[0] in "su" else (rng.normal(0, 9, sizes)).astype(type_)


def random_problem(rng: np.random.Generator) -> tuple[str, tuple[int, ...], dict[str, Any]]:
    """Element type and sizes of a source, and the arguments of its resampling along the last axes."""
    rank = int(rng.integers(1, 4))
    most = (300, 60, 12)[rank - 1]
    source = tuple(int(size) for size in rng.integers(1, most, rank))
    sizes = tuple(int(size) for size in rng.integers(1, most, rank))
    arguments = random_rules(rng, rank)
    if "roi" in arguments:
        arguments["extrapolation_value"] = float(rng.integers(0, 9))
    if "input_offsets" not in arguments and rng.integers(3) == 0:
        scales = [round((new + 0.5) / old, 3) for new, old in zip(sizes, source, strict=True)]
        if all(int(old * scale) for old, scale in zip(source, scales, strict=True)):
            arguments["scales"] = scales
    if "scales" not in arguments:
        arguments["sizes"] = sizes
    arguments["axes"] = tuple(range(-rank, 0))
    names = [*TYPES, *MOVED_ALONE] if arguments["mode"] == "nearest" else list(TYPES)
    dtype = str(rng.choice(names))
    if dtype in CONVERSIONS and rng.integers(3) == 0:
        arguments |= {"dtype": CONVERSIONS[dtype], "src_scale": 0.75, "src_zero_point": 3}
    return dtype, (2, *source), arguments


def random_window(rng: np.random.Generator, sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """Of each axis all, one output, or any run of them; at times to the end, by None."""
    window = []
    for size in sizes:
        start = int(rng.integers(0, size))
        stop = start + 1 if rng.integers(4) == 0 else int(rng.integers(start + 1, size + 1))
        window.append(slice(None) if rng.integers(5) == 0 else slice(start, stop))
    return tuple(window)


def assert_windows(
    rng: np.random.Generator, x: Array, arguments: dict[str, Any], device: rs.Device, count: int, name: str
) -> None:
    """Windows of the whole source and, in turn, of the part that source_window says, alone on the device."""
    tensor = rs.asarray(x, device=device)
    whole = rs.resample(tensor, **arguments).numpy()
    rank = len(arguments.get("sizes") or arguments["scales"])
    resampling = {
        key: value
        for key, value in arguments.items()
        if key not in ("dtype", "src_scale", "src_zero_point", "extrapolation_value")
    }
    for number in range(count):
        window = random_window(rng, whole.shape[-rank:])
        if number % 2:
            part = rs.source_window(x.shape, window=window, **resampling)
            alone = rs.asarray(np.ascontiguousarray(x[part]), device=device)
            got = rs.resample(alone, window=window, source_sizes=x.shape, **arguments).numpy()
        else:
            got = rs.resample(tensor, window=window, **arguments).numpy()
        expected = whole[(..., *window)]
        assert got.shape == expected.shape, (name, window)
        assert got.tobytes() == expected.tobytes(), (name, window)


def assert_random_windows(seed: int, windows: int, device: rs.Device) -> None:
    rng = np.random.default_rng(seed)
    for number in range(windows // WINDOWS):
        dtype, sizes, arguments = random_problem(rng)
        name = f"problem {number} of seed {seed}: {dtype}{list(sizes)} {arguments}"
        assert_windows(rng, elements(rng, dtype, sizes), arguments, device, WINDOWS, name)


@pytest.mark.parametrize("seed", sample(range(8), 3))
def test_random_windows(seed, vulkan_device):
    assert_random_windows(seed, 120, vulkan_device)


def test_random_windows_on_both_runtimes(device):
    """Few, for kompute compiles a pipeline for each of them."""
    assert_random_windows(100, 40, device)


MANY_TAPS = [
    ((3, 400, 500), {"sizes": (23, 17), "mode": "linear", "antialias": True}),
    ((3, 400, 500), {"sizes": (23, 400), "mode": "cubic", "antialias": True, "exclude_outside": True}),
    ((3, 400, 500), {"sizes": (3, 2), "mode": "area"}),
    ((1, 60, 50, 40), {"sizes": (7, 6, 5), "mode": "linear", "antialias": True}),
    ((1, 70_000), {"sizes": (3,), "mode": "area"}),
    ((1, 30_000), {"sizes": (3,), "mode": "linear", "antialias": True}),
    ((1, 6_000, 4), {"sizes": (5, 9), "axes": (1, 2), "mode": "cubic", "antialias": True}),
]


@pytest.mark.parametrize(("sizes", "arguments"), MANY_TAPS, ids=str)
def test_windows_of_several_passes(sizes, arguments, vulkan_device):
    """Windows are planned by themselves, in other passes than the whole: the sums must be nested alike."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(sizes).astype(np.float32)
    assert_windows(rng, x, arguments, vulkan_device, 4, f"f32{list(sizes)} {arguments}")


@pytest.mark.parametrize("sizes", [(9, 11), (50, 60)], ids=str)
def test_windows_of_integers_are_summed_at_once_or_in_passes(sizes, vulkan_device):
    """An enlarged axis has passes of its own for its edges; windows that read no edge twice have none."""
    x = np.random.default_rng(3).integers(0, 256, (3, 20, 24)).astype(np.uint8)
    whole = rs.resample(rs.asarray(x, device=vulkan_device), sizes, like="opencv").numpy()
    for rows in (slice(0, 5), slice(2, 7), slice(sizes[0] - 5, sizes[0])):
        window = (rows, slice(1, 9))
        got = rs.resample(rs.asarray(x, device=vulkan_device), sizes, like="opencv", window=window).numpy()
        assert got.tobytes() == whole[:, window[0], window[1]].tobytes(), window


def test_the_part_is_as_small_as_it_can_be():
    """Linear, half_pixel, 8 -> 4: output 2 reads at 4.5. Of nearest, 8 -> 4: element 5. Other axes are whole."""
    assert rs.source_window((3, 8), (4,), window=[slice(2, 3)]) == (slice(0, 3), slice(4, 6))
    assert rs.source_window((3, 8), (4,), mode="nearest", window=[slice(2, 3)]) == (slice(0, 3), slice(5, 6))
    assert rs.source_window((3, 8), (4,), mode="area", window=[slice(1, 3)]) == (slice(0, 3), slice(2, 6))
    assert rs.source_window((8, 3), (4,), axes=(0,), window=[slice(0, 4)]) == (slice(0, 8), slice(0, 3))
    assert rs.source_window((8,), (16,), mode="cubic", window=[slice(8, 9)]) == (slice(2, 6),)
    narrow = rs.source_window((1000, 1000), (100, 100), antialias=True, window=[slice(50, 51), slice(0, 1)])
    assert narrow == (slice(495, 515), slice(0, 20))


def test_windows_where_the_fractions_are_longer_than_64_bits(vulkan_device):
    """Offsets and rois of 17 digits: sums and products of their fractions, of single outputs too, must not wrap."""
    offsets = {"input_offsets": [0.8797987980319684], "output_offsets": [-0.14692255855364267]}
    crop = {"coordinates": "tf_crop_and_resize", "roi": [0.008375166919973864, 0.911065973569577]}
    for size, arguments in ((106, {"sizes": (241,), **offsets}), (8, {"scales": [0.688], **crop})):
        x = rs.asarray(np.random.default_rng(6).standard_normal(size).astype(np.float32), device=vulkan_device)
        for mode in ("nearest", "linear", "cubic"):
            whole = rs.resample(x, mode=mode, **arguments).numpy()
            for output in range(0, len(whole), 5):
                one = rs.resample(x, mode=mode, window=[slice(output, output + 1)], **arguments).numpy()
                assert one.tobytes() == whole[output : output + 1].tobytes(), (arguments, mode, output)


def test_an_empty_window(device):
    x = rs.asarray(np.ones((2, 8, 8), np.float32), device=device)
    assert rs.resample(x, (4, 4), window=(slice(2, 2), None)).sizes == (2, 0, 4)
    part = rs.source_window((2, 8, 8), (4, 4), window=(slice(2, 2), None))
    assert part[1].start == part[1].stop
    made = rs.resample(x[part], (4, 4), window=(slice(2, 2), None), source_sizes=(2, 8, 8))
    assert made.sizes == (2, 0, 4)


@pytest.mark.parametrize(("window", "message"), [
    ([slice(0, 2)], r"window has 1 slices where these axes need 2, for f32\[2,6,8\]"),
    (5, "window must have a slice for each axis, got 5"),
    ([slice(0, 4, 2), None], r"window\[0\] must be a slice without a step, got slice\(0, 4, 2\), for f32"),
    ([slice(-1, 2), None], r"window\[0\] \[-1, 2\) exceeds the 5 outputs of its axis"),
    ([slice(0, 1.5), None], r"1\.5"),
])  # fmt: skip
def test_bad_windows(window, message, vulkan_device):
    x = rs.asarray(np.zeros((2, 6, 8), np.float32), device=vulkan_device)
    assert rs.resample(x, (5, 7), window=[slice(0, 5), slice(None, None, 1)]).sizes == (2, 5, 7)
    with pytest.raises(rs.DescriptorError, match=message):
        rs.resample(x, (5, 7), window=window)
    with pytest.raises(rs.DescriptorError, match=message.removesuffix(r", for f32\[2,6,8\]").removesuffix(", for f32")):
        rs.source_window((2, 6, 8), (5, 7), window=window)


@pytest.mark.parametrize(("source_sizes", "message"), [
    ((6, 8), r"source_sizes must be 3, one for each axis of the part f32\[2,3,8\].*, got \(6, 8\)"),
    ((2, 6, 9), r"x f32\[2,3,8\]\{2,1,0\} must have the sizes \(2, 3, 9\) of the part that source_window returns"),
    ((2, 60, 8), r"must have the sizes \(2, 14, 8\) of the part"),  # 60 -> 5 reads rows 5 to 18
    ((3, 6, 8), r"must have the sizes \(3, 3, 8\) of the part"),
    ((2, -6, 8), r"source_sizes \(2, -6, 8\) must each be 0 or more, for f32\[2,3,8\]"),
    (3, "source_sizes"),
])  # fmt: skip
def test_bad_source_sizes(source_sizes, message, vulkan_device):
    """6 -> 5 rows, of which outputs 0 and 1 read 0 to 2."""
    x = rs.asarray(np.zeros((2, 3, 8), np.float32), device=vulkan_device)
    window = [slice(0, 2), None]
    assert rs.resample(x, (5, 7), window=window, source_sizes=(2, 6, 8)).sizes == (2, 2, 7)
    with pytest.raises(rs.DescriptorError, match=message):
        rs.resample(x, (5, 7), window=window, source_sizes=source_sizes)


def test_source_window_takes_what_resample_takes():
    with pytest.raises(TypeError, match="unexpected keyword argument 'layout'"):
        rs.source_window((8,), (4,), window=[None], layout="nhwc")
    with pytest.raises(rs.DescriptorError, match="coordinates 'pixel' is not one of 'half_pixel'"):
        rs.source_window((8,), (4,), window=[None], coordinates="pixel")
    with pytest.raises(rs.DescriptorError, match="resample needs sizes or scales"):
        rs.source_window((8,), window=[None])
    its, whole = (inspect.signature(function).parameters for function in (rs.source_window, rs.resample))
    names = {"sizes", "scales", "axes", "mode", "window", *RequestArguments.__annotations__}
    assert set(its) == names | {"source_sizes", "source_dtype"}
    assert names < set(whole)
    assert all(its[name].default == whole[name].default for name in names if name != "window")
    crop = {"coordinates": "tf_crop_and_resize", "roi": (0, 1), "window": [slice(0, 1)]}
    assert rs.source_window((8,), (4,), **crop, extrapolation_value=9) == rs.source_window((8,), (4,), **crop)
