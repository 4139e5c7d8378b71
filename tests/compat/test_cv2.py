"""rs.compat.cv2.resize beside OpenCV's own: sizes, factors, types, channels, dst, and what both refuse."""

import inspect
import re

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.compat import cv2 as ours

cv2 = judge("cv2")

pytestmark = pytest.mark.usefixtures("vulkan_device")

INTERPOLATIONS = ("NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS4", "LINEAR_EXACT", "NEAREST_EXACT")
TYPES = {"u1": 0, "u2": 1, "i2": 1, "f4": 2e-3, "f8": 2e-3}
"""What elements from 0 to 1000 may be apart: docs/profiles.md says it closer. Bytes in CUBIC: 1."""


def pixels(sizes, dtype):
    return (np.random.default_rng(sum(sizes)).random(sizes) * (256 if dtype == "u1" else 1000)).astype(dtype)


def require_same(src, *arguments, tolerance=0.0, **named):
    """The same array; or an error of ours where OpenCV has one."""
    try:
        expected = cv2.resize(src, *arguments, **named)
    except cv2.error:
        with pytest.raises((rs.DescriptorError, rs.UnsupportedError)):
            ours.resize(src, *arguments, **named)
        return
    result = ours.resize(src, *arguments, **named)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert np.abs(result.astype(np.float64) - expected.astype(np.float64)).max() <= tolerance


def test_names_and_constants_are_opencvs():
    shown = re.match(r"resize\((.*?)\) ->", cv2.resize.__doc__)[1]
    parameters = inspect.signature(ours.resize).parameters
    assert list(parameters) == re.findall(r"\w+", shown)
    for name in INTERPOLATIONS:
        assert getattr(ours, f"INTER_{name}") == getattr(cv2, f"INTER_{name}")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", INTERPOLATIONS)
@pytest.mark.parametrize("channels", [None, 1, 2, 3, 4])
def test_every_interpolation_of_every_type(dtype, name, channels):
    src = pixels((19, 22) if channels is None else (19, 22, channels), dtype)
    interpolation = getattr(cv2, f"INTER_{name}")
    tolerance = 0 if "NEAREST" in name else 1 if (dtype, name) == ("u1", "CUBIC") else TYPES[dtype]
    for dsize in ((11, 9), (5, 30), (44, 38), (22, 19), (1, 1)):
        if dsize == (22, 19) and dtype == "f8":
            continue  # a copy there, and here through f32
        require_same(src, dsize, interpolation=interpolation, tolerance=tolerance)
    for fx, fy in ((0.5, 1.3), (2.0, 0.3125), (1.7, 1.7)):
        require_same(src, None, fx=fx, fy=fy, interpolation=interpolation, tolerance=tolerance)
    require_same(src[:18], None, fx=0.5, fy=0.5, interpolation=interpolation, tolerance=tolerance)
    # 19 rows become 10, of which the last has half a cell: OpenCV rounds its halves to even, and restride up.
    is_whole = "AREA" in name or "LINEAR" in name
    require_same(src, None, fx=0.5, fy=0.5, interpolation=interpolation, tolerance=max(tolerance, is_whole))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_negative_integers_leave_their_neighbours_alone(channels):
    """Two of 16 bits share a word: the sum of a cell is -32765, 0x8003, and not 0xFFFF8003."""
    src = np.full((8, 8, channels), -32768, np.int16)
    src[::2] += 5
    require_same(src, (4, 4), interpolation=cv2.INTER_AREA)
    assert (ours.resize(src, (4, 4), interpolation=cv2.INTER_AREA) < -32764).all()
    signs = np.random.default_rng(0).integers(-32768, 32768, (20, 42, channels)).astype(np.int16)
    require_same(signs, (21, 10), interpolation=cv2.INTER_AREA)
    require_same(signs, (14, 10), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("dtype", ["b1", "i1", "i4", "u4", "f2"])
def test_other_types_are_moved_and_not_summed(dtype):
    src = pixels((9, 8, 3), dtype)
    for name in ("NEAREST", "NEAREST_EXACT"):
        require_same(src, (5, 4), interpolation=getattr(cv2, f"INTER_{name}"))
    for name in ("LINEAR", "CUBIC", "AREA", "LANCZOS4"):
        require_same(src, (5, 4), interpolation=getattr(cv2, f"INTER_{name}"))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((None,), {}),
        (((0, 0),), {}),
        (((0, 4),), {}),
        (((-1, 4),), {}),
        (((0, 4),), {"fx": 0.5, "fy": 0.5}),
        ((None,), {"fx": 0.5}),
        ((None,), {"fx": 0.5, "fy": -0.5}),
        ((None,), {"fx": 0.01, "fy": 0.5}),
        ((None,), {"fx": 0.3125, "fy": 0.5}),
        (((4, 3),), {"fx": 9, "fy": 9}),
        (((4, 3),), {"fx": -1, "fy": 2}),
        (((4, 3),), {"interpolation": 9}),
        (((4.5, 3),), {}),
        (((4,),), {}),
        ((4,), {}),
        (("43",), {}),
        (((True, True),), {}),
        ((((4, 3), 2),), {}),
        ((np.array([4, 3]),), {}),
        ((None,), {"fx": float("inf"), "fy": 1}),
        ((None,), {"fx": float("nan"), "fy": 1}),
        ((None,), {"fx": "2", "fy": 1}),
        (((4, 3),), {"interpolation": -1}),
        (((4, 3),), {"interpolation": "area"}),
        (((4, 3),), {"interpolation": 3.0}),
        (((4, 3),), {"interpolation": True}),
        (((4, 3),), {"interpolation": np.int64(3)}),
        (((4, 3), []), {}),
        (([4, 3],), {}),
        (((4, 3), None, 0, 0, 1), {}),
        ((), {"dsize": (4, 3)}),
    ],
)
def test_sizes_and_factors(arguments, named):
    require_same(pixels((9, 8, 3), "u1"), *arguments, **named)


@pytest.mark.parametrize("sizes", [(0, 4), (4, 0), (4, 3, 2, 3), (3, 100, 129), (3, 2, 128)])
def test_sources_that_are_no_image(sizes):
    require_same(np.zeros(sizes, np.uint8), (3, 3))


@pytest.mark.parametrize(
    ("src", "arguments", "named", "message"),
    [
        (None, ((4, 3),), {}, "array is None (cv2.imread returns None"),
        ((9, 8, 3), (4,), {}, "dsize 4 must be columns and rows, two integers, for src u8[9,8,3]"),
        (
            (9, 8, 3),
            ((4, 3),),
            {"interpolation": 7},
            "interpolation 7 is not one of INTER_NEAREST (0), INTER_LINEAR (1)",
        ),
        ((3, 90, 200), ((4, 3),), {}, "has 200 channels, and OpenCV at most 128: they are the last axis"),
        ((5,), ((4, 3),), {}, "src u8[5]{0} must have rows, columns and, if there are, channels"),
        ((9, 8, 3), (None,), {"fx": 2}, "dsize None or else both fx 2 and fy 0.0 must be positive"),
    ],
)
def test_errors_say_what_was_given_and_what_to_give(src, arguments, named, message):
    with pytest.raises(rs.RestrideError, match=re.escape(message)):
        ours.resize(None if src is None else np.zeros(src, np.uint8), *arguments, **named)


def test_a_type_that_is_not_summed_is_named_with_those_that_are():
    with pytest.raises(
        rs.UnsupportedError, match=r"type pred, and INTER_AREA takes u8.*f64: .*, and INTER_NEAREST takes more types"
    ):
        ours.resize(np.zeros((4, 4), bool), (2, 2), interpolation=ours.INTER_AREA)
    with pytest.raises(rs.UnsupportedError, match=r"type s64, and INTER_NEAREST takes .*f16: src\.astype\('float32'\)"):
        ours.resize(np.zeros((4, 4), np.int64), (2, 2), interpolation=ours.INTER_NEAREST)


@pytest.mark.parametrize("arguments", [(3,), (0, 0, 3), (2.0,)])
def test_an_interpolation_in_the_place_of_dst_is_refused(arguments):
    """OpenCV takes it for a scalar to write to, and is linear without a word."""
    src = pixels((9, 8, 3), "u1")
    assert np.array_equal(cv2.resize(src, (4, 3), 3), cv2.resize(src, (4, 3)))
    with pytest.raises(rs.DescriptorError, match=rf"dst {arguments[0]} is a number, .* dst, fx, fy and interpolation"):
        ours.resize(src, (4, 3), *arguments)


def test_the_module_stands_in_for_opencvs():
    assert dir(ours) == sorted(ours.__all__) == sorted(["resize", *(f"INTER_{name}" for name in INTERPOLATIONS)])
    assert all(hasattr(cv2, name) for name in dir(ours))


def test_views_and_many_channels():
    src = pixels((20, 16, 3), "u1")
    for view in (src[::2, ::-1], src[:, :, ::-1], src[3:, 2:9], src.transpose(1, 0, 2)):
        require_same(np.ascontiguousarray(view), (5, 7))
        assert np.array_equal(ours.resize(view, (5, 7)), cv2.resize(np.ascontiguousarray(view), (5, 7)))
    require_same(pixels((9, 8, 5), "u1"), (4, 3))


def test_dst_is_written_to_or_refused(vulkan_device):
    src = pixels((9, 8, 3), "u1")
    expected = cv2.resize(src, (4, 3))
    dst = np.zeros((3, 4, 3), np.uint8)
    assert ours.resize(src, (4, 3), dst) is dst
    assert np.array_equal(dst, expected)
    for other in (np.zeros((3, 5, 3), np.uint8), np.zeros((3, 4, 3), np.float32)):
        with pytest.raises(rs.DescriptorError, match="dst must be"):
            ours.resize(src, (4, 3), dst=other)
    out = rs.empty("u8[3,4,3]", device=vulkan_device)
    x = rs.asarray(src, device=vulkan_device)
    assert ours.resize(x, (4, 3), dst=out) is out
    assert np.array_equal(out.numpy(), expected)
    with pytest.raises(rs.DescriptorError, match="dst must be what src is"):
        ours.resize(x, (4, 3), dst=dst)


def test_a_tensor_gives_a_tensor(vulkan_device):
    for dtype in ("u1", "f8"):
        src = pixels((9, 8, 1), dtype)
        made = ours.resize(rs.asarray(src, device=vulkan_device), (4, 3))
        assert isinstance(made, rs.Tensor)
        assert made.sizes == (3, 4, 1)
        assert np.abs(made.numpy()[:, :, 0] - cv2.resize(src, (4, 3)).astype(np.float64)).max() <= TYPES[dtype]
