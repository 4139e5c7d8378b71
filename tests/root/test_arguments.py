"""Arrays and lists from outside: no door drops a mask, and every one keeps the integers of a list exact."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge
from support.tensors import assert_equal

import restride as rs
from restride import reference, xp
from restride.arguments import as_numpy, fraction, reals
from restride.compat import cv2, pil
from restride.compat.torch import interpolate
from restride.dtypes import DTYPES
from restride.errors import DescriptorError

# Masks: every door, an argument of the public API that takes an array or numbers.

PLAIN = np.ones((6, 6), np.float32)
MASKED = np.ma.masked_equal(np.where(np.eye(6), -9999, 7).astype(np.float32), -9999)
BYTES = np.ma.masked_equal(np.full((6, 6), 7, np.uint8), 7)
COLORS = np.ones((6, 6, 3), np.uint8)
THREE = np.ma.masked_equal(np.array([1.0, 0.5, 0.25]), 0.5)
INTEGERS = np.ma.masked_equal(np.array([0, 1, 2, 3]), 2)
FRAME = np.ma.masked_equal(np.full((6, 4, 3), 7, np.uint8), 7)
HALF = rs.Chain().resample((3, 3), mode="area")
BOX = [(0, 0, 4, 4)]


def tensor() -> rs.Tensor:
    return rs.asarray(PLAIN)


def letterboxed() -> rs.Letterboxed:
    return rs.Letterboxed.of(BOX, (2, 2))


DOORS: dict[str, Callable[[], Any]] = {
    "asarray": lambda: rs.asarray(MASKED),
    "asarray of a list": lambda: rs.asarray([MASKED, MASKED]),
    "asarray of a list with the masked element": lambda: rs.asarray([[1.0, np.ma.masked]]),
    "asarray without a copy": lambda: rs.asarray(MASKED, copy=False),
    "from_buffer": lambda: rs.from_buffer(BYTES, "u8[6,6]"),
    "from_dlpack": lambda: xp.from_dlpack(MASKED),
    "xp.asarray": lambda: xp.asarray(MASKED, dtype=xp.float64),
    "xp.asarray of a list": lambda: xp.asarray([THREE, THREE], dtype=xp.float64),
    "assignment": lambda: tensor().__setitem__(..., MASKED),
    "assignment of a list": lambda: tensor().__setitem__(0, [1, 2, 3, 4, 5, np.ma.masked]),
    "==": lambda: tensor() == MASKED,
    "== of a list": lambda: tensor() == [[*range(5), np.ma.masked]],
    "xp.take": lambda: xp.take(tensor(), INTEGERS, axis=0),
    "xp.take_along_axis": lambda: xp.take_along_axis(tensor(), INTEGERS[None], axis=0),
    "xp.repeat": lambda: xp.repeat(tensor(), np.ma.masked_equal([0, 1, 2, 3, 4, 5], 2), axis=0),
    "xp.pad": lambda: xp.pad(tensor(), np.ma.masked_equal([1, 2], 2)),
    "resample": lambda: rs.resample(MASKED, (3, 3)),
    "resample_backward": lambda: rs.resample_backward(MASKED, (3, 3)),
    "resize": lambda: rs.resize(BYTES, (3, 3)),
    "reorder": lambda: rs.reorder(MASKED, "AB->BA"),
    "rearrange": lambda: rs.rearrange(MASKED, "a b -> b a"),
    "strided_slice": lambda: rs.strided_slice(MASKED, [0, 0], [1, 1], [1, 1]),
    "a plan": lambda: rs.plan_resample("f32[6,6]", None, (3, 3))(MASKED),
    "scales of resample": lambda: rs.resample(PLAIN, scales=np.ma.masked_equal([1.0, 0.5], 0.5)),
    "sizes of resample": lambda: rs.resample(PLAIN, np.ma.masked_equal([1, 2], 2)),
    "roi": lambda: rs.resample(
        PLAIN, (3, 3), coordinates="tf_crop_and_resize", roi=np.ma.masked_equal([0.0, 0.25, 0.5, 1.0], 0.5)
    ),
    "src_scale": lambda: rs.reorder(COLORS, dtype="f32", src_scale=THREE),
    "dst_zero_point": lambda: rs.reorder(COLORS, dst_zero_point=np.ma.masked_equal([1, 2, 3], 2)),
    "sum_scale": lambda: rs.reorder(PLAIN, sum_scale=np.ma.masked, out=rs.empty("f32[6,6]")),
    "post_ops": lambda: rs.reorder(PLAIN, post_ops=[("linear", np.ma.masked, 1)]),
    "plan_reorder": lambda: rs.plan_reorder("f32[3,3]", None, src_scale=THREE),
    "quantize": lambda: rs.quantize(MASKED, 0.5),
    "scale of quantize": lambda: rs.quantize(COLORS.astype(np.float32), THREE, axis=-1),
    "zero_point of quantize": lambda: rs.quantize(PLAIN, 1.0, np.ma.masked_equal(np.uint8([3]), 3)),
    "dequantize": lambda: rs.dequantize(BYTES, 0.5),
    "normalize": lambda: rs.normalize(MASKED, 0, 1),
    "lookup": lambda: rs.lookup(BYTES, range(256)),
    "table of lookup": lambda: rs.lookup(COLORS, np.ma.masked_equal(range(256), 7)),
    "mean of normalize": lambda: rs.normalize(COLORS, THREE, 1),
    "yuv_to_rgb": lambda: rs.yuv_to_rgb(BYTES),
    "parts of yuv_to_rgb": lambda: rs.yuv_to_rgb((np.ones((4, 4), np.uint8), BYTES[:2, :4].reshape(2, 2, 2))),
    "crop_resize": lambda: rs.crop_resize(BYTES, BOX, (2, 2), axes=(0, 1)),
    "crop_resize of a list": lambda: rs.crop_resize([COLORS, FRAME], BOX * 2, (2, 2), axes=(0, 1)),
    "boxes": lambda: rs.crop_resize(COLORS, np.ma.masked_equal(BOX, 4), (2, 2), axes=(0, 1)),
    "images of boxes": lambda: rs.crop_resize([COLORS], BOX, (2, 2), axes=(0, 1), images=np.ma.masked_equal([0], 0)),
    "fill of crop_resize": lambda: rs.crop_resize(
        COLORS, BOX, (2, 2), axes=(0, 1), fill=np.ma.masked_equal([1, 2, 3], 2)
    ),
    "mean of crop_resize": lambda: rs.crop_resize(COLORS, BOX, (2, 2), axes=(0, 1), dtype="f32", mean=THREE, std=1.0),
    "Preprocess": lambda: rs.Preprocess((2, 2))(FRAME),
    "Preprocess of a list": lambda: rs.Preprocess((2, 2))([COLORS, FRAME]),
    "Preprocess.stream": lambda: list(rs.Preprocess((2, 2)).stream([FRAME])),
    "mean of Preprocess": lambda: rs.Preprocess((2, 2), mean=THREE, std=1.0),
    "fill of Preprocess": lambda: rs.Preprocess((2, 2), letterbox="center", fill=np.ma.masked_equal([1, 2, 3], 2)),
    "points": lambda: letterboxed().points(np.ma.masked_equal([1.0, 2.0], 2), 0),
    "to_image": lambda: letterboxed().to_image(np.ma.masked_equal([0.0, 0, 1, 2], 2), 0),
    "to_output": lambda: letterboxed().to_output(np.ma.masked_equal([0.0, 0, 1, 2], 2), 0),
    "index of to_image": lambda: letterboxed().to_image([[0, 0, 1, 2]], np.ma.masked_equal([0], 0)),
    "stream": lambda: rs.stream(MASKED, np.zeros((3, 3), np.float32), HALF),
    "destination of a stream": lambda: rs.stream(PLAIN, np.ma.zeros((3, 3), np.float32), HALF),
    "LaidOut": lambda: rs.LaidOut(BYTES.reshape(-1), "u8[36]"),
    "LazyArray": lambda: rs.LazyArray(MASKED, HALF),
    "an argument of a chain": lambda: rs.Chain().quantize(THREE),
    "WindowedChain.compute": lambda: HALF.of((6, 6), "f32").compute(MASKED, (slice(0, 3), slice(0, 3))),
    "cv2.resize": lambda: cv2.resize(MASKED, (3, 3)),
    "dst of cv2.resize": lambda: cv2.resize(PLAIN, (3, 3), dst=np.ma.zeros((3, 3), np.float32)),
    "pil.resize": lambda: pil.resize(MASKED, (3, 3)),
    "interpolate": lambda: interpolate(MASKED[None, None], (3, 3)),
    "reference.resample": lambda: reference.resample(MASKED, (3, 3)),
    "out of reference.resample": lambda: reference.resample(MASKED.filled(), (6, 6), sum_scale=1.0, out=MASKED),
    "reference.resample_bound": lambda: reference.resample_bound(MASKED, (3, 3)),
    "reference.resample_limits": lambda: reference.resample_limits(MASKED, (3, 3)),
    "reference.resample_backward": lambda: reference.resample_backward(MASKED, (3, 3)),
    "reference.resample_backward_limits": lambda: reference.resample_backward_limits(MASKED, (3, 3)),
    "reference.resize": lambda: reference.resize(BYTES, (3, 3)),
    "reference.resize_limits": lambda: reference.resize_limits(BYTES, (3, 3)),
    "reference.reorder": lambda: reference.reorder(MASKED),
    "src_scale of reference.reorder": lambda: reference.reorder(COLORS, dtype="f32", src_scale=THREE),
    "reference.convert": lambda: reference.convert(MASKED, "u8"),
    "reference.strided_slice": lambda: reference.strided_slice(MASKED, [0, 0], [1, 1], [1, 1]),
    "reference.yuv_to_rgb": lambda: reference.yuv_to_rgb(BYTES),
    "reference.crop_resize": lambda: reference.crop_resize(BYTES, BOX, (2, 2), axes=(0, 1)),
    "reference.crop_resize_limits": lambda: reference.crop_resize_limits(BYTES, BOX, (2, 2), axes=(0, 1)),
    "boxes of reference.crop_resize": lambda: reference.crop_resize(
        COLORS, np.ma.masked_equal(BOX, 4), (2, 2), axes=(0, 1)
    ),
    "fill of reference.crop_resize": lambda: reference.crop_resize(COLORS, BOX, (2, 2), axes=(0, 1), fill=THREE),
    "src_scale of reference.crop_resize": lambda: reference.crop_resize(
        COLORS, BOX, (2, 2), axes=(0, 1), dtype="f32", src_scale=THREE
    ),
    "reference.to_buffer": lambda: reference.to_buffer(MASKED, "f32[6,6]"),
    "reference.from_buffer": lambda: reference.from_buffer(BYTES.reshape(-1), "u8[6,6]"),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_door_drops_a_mask(door):
    with pytest.raises(
        rs.DescriptorError, match=r"is masked, and a tensor has no mask|, got masked \(MaskedConstant\)"
    ):
        DOORS[door]()


def test_the_example_of_a_missing_value():
    a = np.array([[1, 2, 3], [4, -9999, 6], [7, 8, 9]], np.int16)
    out = np.full((1, 1), 5.0)
    work = rs.Chain().resample((1, 1), mode="area", dtype="f64")
    with pytest.raises(rs.DescriptorError, match=r"source is masked, .*source\.filled\(\.\.\.\), for sizes \(3, 3\)"):
        rs.stream(np.ma.masked_equal(a, -9999), out, work)
    assert out.item() == 5


class Tiles:
    """A source like netCDF4's variables, which read as masked arrays."""

    shape, dtype = MASKED.shape, MASKED.dtype

    def __getitem__(self, key):
        return MASKED[key]


def test_a_source_that_reads_as_masked():
    out = np.full((3, 3), 5, np.float32)
    with pytest.raises(rs.StreamError, match="source is masked") as failure:
        rs.stream(Tiles(), out, HALF)
    assert isinstance(failure.value.__cause__, rs.DescriptorError)
    assert (out == 5).all()
    with pytest.raises(rs.DescriptorError, match="source is masked"):
        rs.LazyArray(Tiles(), HALF)[...]


def test_dask_and_masks():
    da = judge("dask.array")
    lazy = da.from_array(MASKED, chunks=3)
    for x in (MASKED, lazy):
        for door in (
            lambda x: rs.dask.apply(x, HALF),
            lambda x: rs.dask.resample(x, (3, 3)),
            lambda x: rs.dask.reorder(x, "AB->BA"),
            lambda x: rs.dask.crop(x, np.s_[1:]),
            lambda x: rs.dask.pyramid(x, 2),
        ):
            with pytest.raises(rs.DescriptorError, match="source is masked"):
                door(x)
    for door in (
        lambda: rs.asarray(lazy),
        lambda: rs.LazyArray(lazy, HALF),
        lambda: rs.stream(lazy, np.zeros((3, 3), np.float32), HALF),
    ):
        with pytest.raises(rs.DescriptorError, match="is masked"):
            door()
    mislabelled = da.from_array(PLAIN, chunks=3).map_blocks(
        lambda block: np.ma.masked_equal(block, 1), meta=np.empty((0, 0), np.float32)
    )
    with pytest.raises(rs.DescriptorError, match="a block of x is masked"):
        rs.dask.resample(mislabelled, (3, 3)).compute(scheduler="synchronous")


def test_files_and_masks(tmp_path: Path):
    judge("zarr")
    path = tmp_path / "x.ome.zarr"
    for source, labels in ((MASKED, None), (PLAIN, {"cells": BYTES})):
        with pytest.raises(rs.DescriptorError, match="source is masked"):
            rs.ome.pyramid(source, path, 2, labels=labels)
        assert not path.exists()


def test_pictures_and_masks(tmp_path: Path):
    judge("PIL")
    with pytest.raises(rs.DescriptorError, match="array is masked"):
        rs.imwrite(tmp_path / "x.png", BYTES)
    assert not (tmp_path / "x.png").exists()


# Lists: every door takes the integers of a list as exactly as one integer alone.

LARGE = [2**64 - 12, 5]


@pytest.mark.parametrize("dtype", ["u64", "s64", "u32", "s8", "f64", "f32", "pred"])
@pytest.mark.parametrize(
    "numbers", [LARGE, [2**64 - 1, -1], [2**63, 2**53 + 1, 0], [2**53 + 1, -2.5], [-(2**63), 2.0**63]]
)
def test_a_list_is_assigned_as_its_numbers_are(numbers, dtype, device):
    each = rs.asarray(np.zeros(len(numbers), DTYPES[dtype].dtype), device=device)
    whole = each.copy()
    for place, number in enumerate(numbers):
        each[place] = number
    whole[...] = numbers
    assert_equal(whole.numpy(), each.numpy())


def test_floats_that_no_integer_is_beside_a_large_one(device):
    tensor = rs.asarray(np.ones(3, np.uint64), device=device)
    tensor[...] = [2**53 + 1, np.nan, np.inf]
    assert tensor.tolist() == [2**53 + 1, 0, 0]


@pytest.mark.parametrize(
    ("dtype", "elements", "numbers", "expected"),
    [
        ("u64", LARGE, LARGE, [True, True]),
        ("u64", [2**64 - 1, 2**64 - 1], [2**64 - 1, -1], [True, False]),
        ("s64", [-1, -1], [2**64 - 1, -1], [False, True]),
        ("u64", [2**53 + 1, 2], [2**53 + 1, 2.5], [True, False]),
        ("u64", [2**53, 2], [2**53 + 1, 2.0], [False, True]),
        ("u64", [0, 2], [2**64, 2], [False, True]),
        ("s64", [2**62 + 1, 0], [2**62 + 1, np.nan], [True, False]),
        ("f32", [2.0**64, -3], [2**64, -3], [True, True]),
        ("f32", [2.0**64, -3], [2**64 - 1, -3.0], [False, True]),
        ("f64", [np.inf, 1], [10**400, 1], [False, True]),
        ("u8", [255, 1], [2**64 - 1, -1], [False, False]),
    ],
)
def test_a_list_is_compared_as_its_numbers_are(dtype, elements, numbers, expected, device):
    tensor = rs.asarray(np.array(elements, DTYPES[dtype].dtype), device=device)
    assert (tensor == numbers).tolist() == expected
    assert (tensor == tuple(numbers)).tolist() == expected
    assert (tensor != numbers).tolist() == [not each for each in expected]
    assert (tensor[:, None] == [[number] for number in numbers]).tolist() == [[each] for each in expected]


def test_integers_of_a_list_decide_its_type(device):
    for numbers in (LARGE, tuple(LARGE), [[2**63], [0]]):
        tensor = rs.asarray(numbers, device=device)
        assert tensor.dtype == "u64"
        assert tensor.tolist() == np.array(numbers, np.uint64).tolist()
    assert rs.asarray(LARGE, "u64[2]", device).tolist() == LARGE
    assert xp.asarray(LARGE, device=device).tolist() == LARGE
    assert rs.reorder(LARGE).tolist() == LARGE
    assert reference.reorder(LARGE).tolist() == LARGE
    assert rs.asarray([2**63, 0.5], device=device).tolist() == [2.0**63, 0.5]
    for numbers, ends in (([-1, 2**64 - 1], (-1, 2**64 - 1)), ([5, 2**64], (5, 2**64))):
        with pytest.raises(rs.DescriptorError, match=f"has integers from {ends[0]} to {ends[1]}, and neither s64 nor"):
            rs.asarray(numbers, device=device)
    tensor = rs.asarray(np.zeros(2, np.uint64), device=device)
    with pytest.raises(rs.DescriptorError, match="array has 18446744073709551616, an integer of more than 64 bits"):
        tensor[...] = [5, 2**64]
    with pytest.raises(rs.DescriptorError, match="array has 18446744073709551616, an integer of more than 64 bits"):
        tensor[0] = 2**64


def test_numbers_of_arguments_are_exact(device):
    x = rs.asarray(np.array([[7, 9]], np.uint64), device=device)
    assert (
        rs.reorder(x, dst_zero_point=[2**64 - 1, 0]).tolist()
        == reference.reorder(x.numpy(), dst_zero_point=np.array([2**64 - 1, 0], np.uint64)).tolist()
    )
    scales = [2**63 + 2**39 + 1, 1]  # f64 has a tie between two f32 here
    expected = rs.reorder(PLAIN[:1, :2], src_scale=np.array(scales, np.uint64)).numpy()
    assert_equal(rs.reorder(PLAIN[:1, :2], src_scale=scales).numpy(), expected)
    assert_equal(rs.reorder(PLAIN[:1, :2], src_scale=[2**64 - 1, -1]).numpy(), np.float32([[2.0**64, -1]]))
    fill = rs.crop_resize(
        np.zeros((1, 1, 2), np.uint64), [(0, 0, 1, 2)], (1, 2), axes=(0, 1), mode="nearest", fill=LARGE
    )
    assert fill.numpy()[0, 0, 1].tolist() == LARGE
    with pytest.raises(rs.DescriptorError, match=r"indices must be below 2\^63"):
        xp.take(x, [2**63, 0], axis=1)


def test_what_numpy_takes_is_taken_as_it_is():
    array = np.arange(3)
    assert as_numpy("x", array) is array
    assert type(as_numpy("x", np.zeros(2).view(np.recarray))) is np.ndarray
    assert as_numpy("x", [2**53 + 1, 2]).dtype == np.int64
    assert as_numpy("x", [0.5, 2**40]).dtype == np.float64
    with pytest.raises(rs.DescriptorError, match="x of type list is not one that numpy takes"):
        as_numpy("x", [[1], [2, 3]])


def test_numbers_stay_what_they_are() -> None:
    """Integers and fractions of any library are exact, of any width; floats are not made fractions."""
    made = reals("scales", (np.int8(2), Fraction(1, 3), np.float32(0.5), 0.1))
    assert made == (2, Fraction(1, 3), 0.5, 0.1)
    assert [type(number) for number in made] == [int, Fraction, float, float]


def test_a_float_is_the_fraction_that_prints_it() -> None:
    assert fraction("level", 0.1) == Fraction(1, 10)
    assert fraction("level", np.int8(3)) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1, True), r"scales\[1\] must be a number, got True"),
        ((float("nan"),), r"scales\[0\] must be finite, got nan"),
        ((10**400,), r"scales\[0\] must be in the range of f64, got 1000"),
        (2, "scales must be a sequence of numbers, got 2"),
    ],
)
def test_refusals_name_the_argument_and_the_place(values: object, message: str) -> None:
    with pytest.raises(DescriptorError, match=message):
        reals("scales", values)
