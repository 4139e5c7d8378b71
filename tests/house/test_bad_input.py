"""Bad input, one row a kind: the message names rule, argument, value and descriptor, and nothing was written.

A row is a call and texts that its message holds. After each the destination and the source have the bytes they had, and
the next operation on the device works. Rules of views, descriptors, patterns and devices are in the tests of their
rooms, because nothing is written before they are checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride import TensorDesc
from restride.tensor.dlpack import capsule_over

X = np.arange(16, dtype=np.float32).reshape(2, 8)
HERE = "f32[2,8]{1,0}"
GUARD = 64
TABLE = np.arange(256)
POISON = 0x5A


class Bench:
    """What a call works on: a source of f32[2,8], a destination of the same between guards, another device."""

    def __init__(self, device: rs.Device, other: rs.Device) -> None:
        self.device, self.other = device, other
        self.x = rs.asarray(X, device=device)
        guarded = np.full(GUARD + X.nbytes + GUARD, POISON, np.uint8)
        self.out = rs.from_buffer(guarded, TensorDesc("f32", (2, 8), offset=GUARD // 4), device)
        self.small = rs.asarray(np.arange(15, dtype=np.uint8).reshape(3, 5), device=device)

    def empty(self, dtype: str, *sizes: int) -> rs.Tensor:
        return rs.empty(TensorDesc(dtype, sizes), self.device)

    def require_untouched(self) -> None:
        np.testing.assert_array_equal(self.out.buffer(), POISON)
        np.testing.assert_array_equal(self.x.numpy(), X)
        np.testing.assert_array_equal(rs.resample(self.x, (2, 8), out=self.out).numpy(), X)
        np.testing.assert_array_equal(rs.reorder(self.small, "HW->WH").numpy(), self.small.numpy().T)


@dataclass(frozen=True)
class Row:
    name: str
    call: Callable[[Bench], Any]
    texts: tuple[str, ...]
    error: type[Exception] | tuple[type[Exception], ...] = rs.DescriptorError


class OnCuda:
    def __dlpack__(self, **_options):
        return capsule_over(np.ones(3, np.float32), (2, 0))

    def __dlpack_device__(self):
        return (2, 0)


HARD = TensorDesc(
    "u8",
    (3000, 3001, 3002, 3003),
    (1_000_003 * 1_009, 1_000_033 * 1_013, 1_000_037 * 1_019, 1_000_039 * 1_021),
)
OUT = f"f32[2,8]{{strides=(8,1),offset={GUARD // 4}}}"
NO_ROOM = (rs.OutOfDeviceMemory, rs.UnsupportedError)
"""Kompute refuses what it cannot count before it asks for room."""

# fmt: off
ROWS = [
    # strided_slice
    Row("slice: window past the end", lambda t: rs.strided_slice(t.x, (0, 4), (2, 5), (1, 1), out=t.out),
        ("window [4, 9) exceeds size 8 of axis 1, for f32[2,8]{1,0}",)),
    Row("slice: window past the end by 2^62", lambda t: rs.strided_slice(t.x, (0, 1 << 62), (2, 1 << 62), (1, 1)),
        ("window [4611686018427387904, 9223372036854775808) exceeds size 8 of axis 1", HERE)),
    Row("slice: out of other sizes", lambda t: rs.strided_slice(t.x, (0, 0), (2, 4), (1, 1), out=t.out),
        ("out", OUT, "must have the sizes of", "f32[2,4]{strides=(8,1)}")),
    Row("slice: out of another type",
        lambda t: rs.strided_slice(t.x, (0, 0), (2, 8), (1, 1), out=t.empty("s32", 2, 8)),
        ("out s32[2,8]{1,0}", "must have the element type of", HERE)),
    Row("slice: out is an array", lambda t: rs.strided_slice(t.x, (0, 0), (2, 8), (1, 1), out=np.zeros((2, 8))),
        ("out must be a restride.Tensor", "ndarray")),
    Row("slice: out is the source", lambda t: rs.strided_slice(t.x, (0, 0), (2, 8), (1, -1), out=t.x),
        ("out f32[2,8]{1,0} must lie apart from the source f32[2,8]{strides=(8,-1),offset=7}",)),
    # reorder
    Row("reorder: out overlaps the source", lambda t: rs.reorder(t.x[:, :7], out=t.x[:, 1:]),
        ("out f32[2,7]{strides=(8,1),offset=1} must lie apart from the source f32[2,7]{strides=(8,1)}",)),
    Row("reorder: out is broadcast", lambda t: rs.reorder(t.x, out=t.out[:1].broadcast_to(2, 8)),
        ("out must not overlap itself", "(0, 0) and (1, 0)", "strides=(0,1)")),
    Row("reorder: out overlaps itself",
        lambda t: rs.reorder(X[:, :3], out=rs.from_buffer(bytes(64), TensorDesc("f32", (2, 3), (2, 1)), t.device)),
        ("out must not overlap itself", "(0, 2) and (1, 0) share element 2", "f32[2,3]{strides=(2,1)}")),
    Row("reorder: out on another device", lambda t: rs.reorder(t.x, out=rs.empty(TensorDesc("f32", (2, 8)), t.other)),
        ("out must lie on the device of x", HERE)),
    Row("reorder: out and another layout", lambda t: rs.reorder(t.x, "f32[2,8]{0,1}", out=t.out),
        ("out is " + OUT, "layout 'f32[2,8]{0,1}'", "give one of the two")),
    Row("reorder: out of permuted sizes missing", lambda t: rs.reorder(t.x, "HW->WH", out=t.out),
        ("out", OUT, "must have the sizes of", "f32[8,2]{0,1}")),
    Row("reorder: unknown letters", lambda t: rs.reorder(t.x, "QR", out=t.out),
        ("unknown layout 'QR'", "N C D H W", HERE)),
    Row("reorder: lower case", lambda t: rs.reorder(t.x, "hw", out=t.out),
        ("layout 'hw' for " + HERE, "letters 'hw' are incomplete", "ncdhw needs n c too")),
    Row("reorder: blocked tag of another rank", lambda t: rs.reorder(t.x, "nChw16c", out=t.out),
        ("layout 'nChw16c' for " + HERE, "tag 'nChw16c' has 4 axes, f32[2,8] has 2")),
    Row("reorder: tag with a block of a plain axis", lambda t: rs.reorder(t.x, "ab4b", out=t.out),
        ("layout 'ab4b' for " + HERE, "upper-case before it", "character 4 of tag 'ab4b'")),
    Row("reorder: tag of 4 TiB", lambda t: rs.reorder(t.x, "aB1099511627776b"),
        ("bytes", "f32[2,8]:aB1099511627776b"), NO_ROOM),
    Row("reorder: tag of 2^62 elements", lambda t: rs.reorder(t.x, f"AB{1 << 31}a{1 << 31}b", out=t.out),
        ("layout 'AB2147483648a2147483648b' for " + HERE, "less than 2^62 elements")),
    Row("reorder: tag of 65 numbers", lambda t: rs.reorder(t.x, "aB" + "2b" * 32, out=t.out),
        ("layout 'aB2b2b2b", "for " + HERE, "at most 64 numbers, got more"), rs.UnsupportedError),
    Row("reorder: any, and an out that is not", lambda t: rs.reorder(t.x, "any", out=t.x[::-1]),
        ("out is f32[2,8]{strides=(-8,1),offset=8}", "layout 'any' asks for f32[2,8]{1,0}")),
    Row("reorder: empty name", lambda t: rs.reorder(t.x, "", out=t.out), ("layout ''", HERE)),
    Row("reorder: name of another rank", lambda t: rs.reorder(t.x, "NCHW", out=t.out),
        ("one letter per axis", "'NCHW'", HERE)),
    Row("reorder: letter twice", lambda t: rs.reorder(t.x, "HH", out=t.out), ("each letter once", "'HH'", HERE)),
    Row("reorder: arrow between other letters", lambda t: rs.reorder(t.x, "AB->AC", out=t.out),
        ("same letters", "'AB->AC'", HERE)),
    Row("reorder: arrow of another rank", lambda t: rs.reorder(t.x, "ABC->CAB", out=t.out),
        ("one letter per axis", "'ABC->CAB'", HERE)),
    Row("reorder: arrow with a letter twice", lambda t: rs.reorder(t.x, "AA->AA", out=t.out),
        ("each letter once", "'AA->AA'", HERE)),
    Row("reorder: arrow alone", lambda t: rs.reorder(t.x, "->", out=t.out), ("one letter per axis", "'->'", HERE)),
    Row("reorder: arrow with digits", lambda t: rs.reorder(t.x, "01->10", out=t.out),
        ("letters only", "'01->10'", HERE)),
    Row("reorder: two arrows", lambda t: rs.reorder(t.x, "AB->BA->AB", out=t.out),
        ("letters only", "'AB->BA->AB'", HERE)),
    Row("reorder: element type instead of a layout", lambda t: rs.reorder(t.x, "f32", out=t.out),
        ("layout 'f32' is an element type: dtype='f32'", HERE)),
    Row("reorder: arrow to a blocked tag", lambda t: rs.reorder(t.x, "HW->hW16w"),
        ("'HW->hW16w'", HERE, "'hW16w' is a tag", "permute first", "rs.reorder(x.permute(...), 'hW16w')")),
    Row("reorder: arrow to a plain tag", lambda t: rs.reorder(t.x, "AB->ba"), ("'ba' is a tag", "permute first", HERE)),
    Row("reorder: axes instead of a layout", lambda t: rs.reorder(t.x, (1, 0), out=t.out),
        ("layout must be a TensorDesc", "(1, 0)", HERE)),
    Row("reorder: broken text", lambda t: rs.reorder(t.x, "f32[2,8", out=t.out),
        ("layout 'f32[2,8'", HERE, "expected ',' or ']'", "character 8")),
    Row("reorder: tiles and an out without", lambda t: rs.reorder(t.x, "f32[2,8]{1,0:T(2,2)}", out=t.out),
        ("out is " + OUT, "layout 'f32[2,8]{1,0:T(2,2)}'", "give one of the two")),
    Row("reorder: tiles of other sizes", lambda t: rs.reorder(t.x, "f32[8,2]{1,0:T(2,2)}", out=t.out),
        ("f32[8,2]{1,0:T(2,2)}", "f32[2,8]")),
    Row("reorder: tiles of another type", lambda t: rs.reorder(t.x, "s32[2,8]{1,0:T(2,2)}", "u8"),
        ("layout s32[2,8]{1,0:T(2,2)} must have the element type u8", HERE)),
    Row("reorder: tiles of 4 TiB", lambda t: rs.reorder(t.x, "f32[2,8]{1,0:T(1048576,1048576)}"),
        ("bytes", "f32[2,8]{1,0:T(1048576,1048576)}"), NO_ROOM),
    Row("reorder: tiles of 2^100 elements", lambda t: rs.reorder(t.x, f"f32[2,8]{{1,0:T({1 << 50},{1 << 50})}}"),
        ("bytes", "f32[2,8]{1,0:T(1125899906842624,1125899906842624)}"), NO_ROOM),
    Row("reorder: padding below the size", lambda t: rs.reorder(t.x, "f32[2,8]{1,0:pad(2,7)=0}", out=t.out),
        ("layout 'f32[2,8]{1,0:pad(2,7)=0}' for " + HERE, "padded size 7 of axis 1 is below its size 8, for f32[2,8]")),
    Row("reorder: a view past its tiles",
        lambda t: rs.reorder(t.x, "f32[2,8]{at=(a,1+b),in=[2,8]{1,0:T(2,2)}}", out=t.out),
        ("a view must not reach [1, 8] along axis 1 of size 8, for f32[2,8]{1,0:T(2,2)}", HERE)),
    Row("reorder: a view that overlaps itself", lambda t: rs.reorder(t.x, "f32[2,8]{at=(0,a+b),in=[2,9]{1,0:T(2,2)}}"),
        ("layout must not overlap itself: indices (0, 1) and (1, 0) share element 1", "at=(0,a+b)")),
    Row("reorder: text of other sizes", lambda t: rs.reorder(t.x, "f32[8,2]"),
        ("layout f32[8,2]{1,0} must have the sizes of f32[2,8]{1,0}",)),
    Row("reorder: text of another type", lambda t: rs.reorder(t.x, "f16[2,8]", "f32"),
        ("layout f16[2,8]{1,0} must have the element type f32", HERE)),
    Row("reorder: out of another type than dtype", lambda t: rs.reorder(t.x, dtype="u8", out=t.out),
        ("out", "must have the element type u8", HERE)),
    Row("reorder: unknown rounding", lambda t: rs.reorder(t.x, dtype="u8", rounding="up"),
        ("rounding must be one of 'nearest_even', 'truncate', 'half_away'", "'up'", HERE)),
    Row("reorder: saturate is a text", lambda t: rs.reorder(t.x, dtype="u8", saturate="no"),
        ("saturate must be one of True, False", "'no'", HERE)),
    Row("reorder: a scale of 0", lambda t: rs.reorder(t.x, dst_scale=np.float32([[1], [0]])),
        ("dst_scale", "not 0", "(1, 0)", HERE)),
    Row("reorder: a zero point past its type", lambda t: rs.reorder(t.x, dtype="u8", dst_zero_point=256),
        ("dst_zero_point", "256", "u8[2,8]")),
    Row("reorder: groups of nothing", lambda t: rs.reorder(t.x, dtype="u8", group_sizes=(1, 4)),
        ("group_sizes", "(1, 4)", HERE)),
    Row("reorder: a sum without out", lambda t: rs.reorder(t.x, sum_scale=2.0), ("sum_scale", "2.0", "out", HERE)),
    Row("reorder: out is the source with another layout", lambda t: rs.reorder(t.x, src_scale=2, out=t.x[:, ::-1]),
        ("out f32[2,8]{strides=(8,-1),offset=7} must lie apart from the source f32[2,8]{1,0}",)),
    Row("reorder: layout with stride 0", lambda t: rs.reorder(t.x, TensorDesc("f32", (2, 8), (0, 1))),
        ("layout must not overlap itself", "(0, 0) and (1, 0)", "strides=(0,1)")),
    Row("reorder: layout that overlaps", lambda t: rs.reorder(t.x, TensorDesc("f32", (2, 8), (7, 1))),
        ("layout must not overlap itself", "(0, 7) and (1, 0) share element 7", "strides=(7,1)")),
    Row("reorder: layout that cannot be proven", lambda t: rs.reorder(t.small[:1, :1, None, None].broadcast_to(
            3000, 3001, 3002, 3003), HARD),
        ("layout could not be proven free of overlap", "100000 steps", "u8[3000,3001,3002,3003]")),
    Row("reorder: layout of 4 TiB", lambda t: rs.reorder(t.x, TensorDesc("f32", (2, 8), (1 << 40, 1))),
        ("bytes", "f32[2,8]{strides=(1099511627776,1)}"), NO_ROOM),
    Row("reorder: layout of 2^63 bytes", lambda t: rs.reorder(t.x, TensorDesc("f32", (2, 8), (1 << 61, 1))),
        ("bytes", "strides=(2305843009213693952,1)"), NO_ROOM),
    # resample
    Row("resample: linear of f64", lambda t: rs.resample(t.empty("f64", 2, 8), (3,)),
        ("type f64 are not", "f32, f16, bf16, u8, s8, s32, s16, u16", "f64[2,8]{1,0}"), rs.UnsupportedError),
    Row("resample: linear of pred", lambda t: rs.resample(X > 3, (3,), out=t.out),
        ("type pred are not interpolated", "pred[2,8]{1,0}", "astype('float32') converts"), rs.UnsupportedError),
    Row("resample: more sizes than axes", lambda t: rs.resample(t.x, (3, 4, 5), out=t.out),
        ("sizes (3, 4, 5)", "more than the 2 axes", HERE)),
    Row("resample: channels by default", lambda t: rs.resample(t.empty("u8", 6, 8, 3), (4, 4)),
        ("last axes of x look like columns and channels", "or call rs.resize", "for u8[6,8,3]{2,1,0}")),
    Row("resample_backward: channels by default", lambda t: rs.resample_backward(t.empty("f32", 6, 8, 3), (4, 4)),
        ("last axes of grad look like columns and channels", "say axes=(0, 1)", "for f32[6,8,3]{2,1,0}")),
    Row("resample: axis twice", lambda t: rs.resample(t.x, (2, 8), axes=(0, -2), out=t.out),
        ("axes (0, -2) name an axis twice", HERE)),
    Row("resample: axis before the start", lambda t: rs.resample(t.x, (8,), axes=(-3,), out=t.out),
        ("axis -3 of axes (-3,) is outside [-2, 2)", HERE)),
    Row("resample: axes by letters", lambda t: rs.resample(t.x, (8,), axes="H", out=t.out),
        ("axes must be a sequence of integers", "'H'", HERE)),
    Row("resample: a number for axes", lambda t: rs.resample(t.x, (8,), axes=1, out=t.out),
        ("axes must be a sequence of integers", "1", HERE)),
    Row("resample: from nothing", lambda t: rs.resample(t.x[:, :0], (8,), out=t.out),
        ("axis 1", "no elements to make 8 of", "(8,)", "f32[2,0]{1,0}")),
    Row("resample: out of other sizes", lambda t: rs.resample(t.x, (4,), out=t.out),
        ("out", OUT, "must have the sizes of", "f32[2,4]{1,0}")),
    Row("resample: out of another type", lambda t: rs.resample(t.x, (4,), dtype="u8", out=t.empty("f16", 2, 4)),
        ("out f16[2,4]{1,0} must have the element type u8 that is asked for",)),
    Row("resample: out is the source", lambda t: rs.resample(t.x, (8,), out=t.x),
        ("out f32[2,8]{1,0} must lie apart from the source f32[2,8]{1,0}",)),
    Row("resample: layout of the source's sizes", lambda t: rs.resample(t.x, (4,), layout="f32[2,8]"),
        ("layout f32[2,8]{1,0} must have the sizes of f32[2,4]{1,0}",)),
    Row("resample: 2^62 by 2^62", lambda t: rs.resample(t.x, (1 << 62, 1 << 62)),
        ("bytes", "f32[4611686018427387904,4611686018427387904]"), NO_ROOM),
    Row("resample: scales that make 2^600", lambda t: rs.resample(t.x, scales=(1e180,), out=t.out),
        ("scales[0] 1e+180 makes 2^512 elements or more of 8", HERE)),
    Row("resample: zero scale", lambda t: rs.resample(t.x, scales=(2, 0), out=t.out),
        ("scales[1] must be above 0, got 0", HERE)),
    Row("resample: negative scale", lambda t: rs.resample(t.x, scales=(-1.5,), out=t.out),
        ("scales[0] must be above 0, got -1.5", HERE)),
    Row("resample: NaN scale", lambda t: rs.resample(t.x, scales=(math.nan,), out=t.out),
        ("scales[0] must be finite, got nan", HERE)),
    Row("resample: text scale", lambda t: rs.resample(t.x, scales=("2",), out=t.out),
        ("scales[0] must be a number, got '2' (str)", HERE)),
    Row("resample: a number for scales", lambda t: rs.resample(t.x, scales=2.0, out=t.out),
        ("scales must be a sequence of numbers, one per axis, e.g. (2.0, 2.0), got 2.0, for", HERE)),
    Row("resample: a truth value for scales", lambda t: rs.resample(t.x, scales=True, out=t.out),
        ("scales must be a sequence of numbers, got True", HERE)),
    Row("resample: a scale that makes too much", lambda t: rs.resample(t.x, scales=(1, 1e300)),
        ("scales[1] 1e+300 makes 2^512 elements or more of 8", HERE)),
    Row("resample: a scale whose product is infinite", lambda t: rs.resample(t.x, (4,), scales=(1.7e308,)),
        ("scales[0] 1.7e+308 makes 2^512 elements or more of 8", HERE)),
    Row("resample: sizes against scales", lambda t: rs.resample(t.x, (4,), (0.75,), out=t.out),
        ("sizes (4,) and scales (0.75,) contradict each other: 8 * 0.75 is 6, not 4", HERE)),
    Row(
        "resample: sizes rounded from scales",
        lambda t: rs.resample(t.x, (10,), (1.2,), out=t.out),
        ("sizes (10,) and scales (1.2,) contradict each other", HERE),
    ),
    Row(
        "resample: a negative size beside another",
        lambda t: rs.resample(t.x, (5, -1), keep_aspect_ratio_policy="not_smaller"),
        ("size -1 of sizes (5, -1) must be 0 or more", HERE),
    ),
    Row(
        "resample: a scale beyond f64",
        lambda t: rs.resample(t.x, scales=(10**400,)),
        ("scales[0] must be in the range of f64, got 1", HERE),
    ),
    Row("resample: fewer scales than sizes", lambda t: rs.resample(t.x, (2, 8), (1.0,), out=t.out),
        ("sizes (2, 8) and scales (1.0,) must be equally many", HERE)),
    Row("resample: more scales than axes", lambda t: rs.resample(t.x, scales=(1, 2, 3), out=t.out),
        ("scales (1, 2, 3) are more than the 2 axes", HERE)),
    Row("resample: policy with scales",
        lambda t: rs.resample(t.x, (4,), (0.5,), keep_aspect_ratio_policy="not_larger", out=t.out),
        ("keep_aspect_ratio_policy 'not_larger' goes with sizes alone", HERE)),
    Row("resample: antialiased nearest", lambda t: rs.resample(t.x, (4,), mode="nearest", antialias=True, out=t.out),
        ("antialias True goes with mode 'linear' or 'cubic', not 'nearest'", HERE)),
    Row("resample: area without outside", lambda t: rs.resample(t.x, (4,), mode="area", exclude_outside=True),
        ("exclude_outside True goes with mode 'linear' or 'cubic', not 'area'", HERE)),
    Row("resample: area with coordinates", lambda t: rs.resample(t.x, (4,), mode="area", coordinates="asymmetric"),
        ("mode 'area' says where to read, and so does coordinates 'asymmetric'", HERE)),
    Row("resample: ties of linear", lambda t: rs.resample(t.x, (4,), nearest="floor", out=t.out),
        ("nearest 'floor' goes with mode 'nearest', not 'linear', for", HERE)),
    Row("resample: slope of area", lambda t: rs.resample(t.x, (4,), mode="area", cubic_a=-0.5, out=t.out),
        ("cubic_a -0.5 goes with mode 'cubic', not 'area', for", HERE)),
    Row("resample: a value outside without crop", lambda t: rs.resample(t.x, (4,), extrapolation_value=2.5, out=t.out),
        ("extrapolation_value 2.5 goes with coordinates 'tf_crop_and_resize', not 'half_pixel' in mode", HERE)),
    Row("resample: NaN outside without crop", lambda t: rs.resample(t.x, (4,), extrapolation_value=math.nan, out=t.out),
        ("extrapolation_value nan goes with coordinates 'tf_crop_and_resize'", HERE)),
    Row("resample: infinite cubic_a", lambda t: rs.resample(t.x, (4,), mode="cubic", cubic_a=math.inf),
        ("cubic_a must be finite, got inf", HERE)),
    Row(
        "resample: a text for antialias",
        lambda t: rs.resample(t.x, (4,), antialias="no", out=t.out),
        ("antialias must be True or False, got 'no'", HERE),
    ),
    Row(
        "resample: a text for the outside",
        lambda t: rs.resample(t.x, (4,), extrapolation_value="a", out=t.out),
        ("extrapolation_value must be a number, got 'a' (str)", HERE),
    ),
    Row("resample: crop without roi", lambda t: rs.resample(t.x, (4,), coordinates="tf_crop_and_resize"),
        ("coordinates 'tf_crop_and_resize' need a roi, the first edges of all axes and then", "None", HERE)),
    Row("resample: roi without crop", lambda t: rs.resample(t.x, (4,), roi=(0, 1)),
        ("roi goes with coordinates 'tf_crop_and_resize', not 'half_pixel': roi is (0, 1)", HERE, "slice it")),
    Row("resample: roi of one axis for two",
        lambda t: rs.resample(t.x, (4, 4), coordinates="tf_crop_and_resize", roi=(0, 1)),
        ("roi has 2 numbers where these axes need 4", HERE)),
    Row("resample: NaN in roi",
        lambda t: rs.resample(t.x, (4,), coordinates="tf_crop_and_resize", roi=(0, math.nan)),
        ("roi[1] must be finite, got nan", HERE)),
    Row("resample: offsets and coordinates",
        lambda t: rs.resample(t.x, (4,), coordinates="asymmetric", input_offsets=(0.5,)),
        ("input_offsets and output_offsets say where to read, and so does coordinates 'asymmetric'", HERE)),
    Row("resample: more offsets than axes", lambda t: rs.resample(t.x, (4,), output_offsets=(0.5, 0.5)),
        ("output_offsets has 2 numbers where these axes need 1", HERE)),
    Row("resample: window past the end", lambda t: rs.resample(t.x, (4,), window=(slice(2, 5),), out=t.out),
        ("window[0] [2, 5) exceeds the 4 outputs", HERE)),
    Row("resample: window with a step", lambda t: rs.resample(t.x, (4,), window=(slice(0, 4, 2),), out=t.out),
        ("window[0] must be a slice without a step", HERE)),
    Row("resample: window of another rank", lambda t: rs.resample(t.x, (4,), window=(slice(0, 4), slice(0, 4))),
        ("window has 2 slices where these axes need 1", HERE)),
    Row("resample: not the part of the source",
        lambda t: rs.resample(t.x, (4,), window=(slice(2),), source_sizes=(2, 9)),
        ("f32[2,8]{1,0} must have the sizes (2, 4) of the part that source_window returns", "(2, 9)")),
    Row("resample: source of another rank", lambda t: rs.resample(t.x, (4,), source_sizes=(8,)),
        ("source_sizes must be 2, one for each axis of the part", HERE)),
    Row("resample: sum without out", lambda t: rs.resample(t.x, (4,), sum_scale=1.0),
        ("sum_scale 1.0 reads the elements of out: give out", HERE)),
    Row("resample: zero dst_scale", lambda t: rs.resample(t.x, (4,), dtype="u8", dst_scale=0.0),
        ("dst_scale", "0")),
    Row("resample: dst_scale of the source's sizes", lambda t: rs.resample(t.x, (4,), dtype="u8", dst_scale=np.ones(8)),
        ("dst_scale of sizes [8] must broadcast against sizes [2, 4], for u8[2,4]{1,0}",)),
    Row("resample_backward: integers", lambda t: rs.resample_backward(t.empty("u8", 2, 8), (4,)),
        ("grad must be f32, f16, bf16, not u8", "u8[2,8]{1,0}"), rs.UnsupportedError),
    Row("resample_backward: to integers", lambda t: rs.resample_backward(t.x, (4,), dtype="s32"),
        ("dtype must be f32, f16, bf16, not s32", HERE), rs.UnsupportedError),
    Row("resample_backward: more sizes than axes", lambda t: rs.resample_backward(t.x, (4, 4, 4)),
        ("input_sizes (4, 4, 4) are more than the 2 axes", HERE)),
    Row("resample_backward: an axis of nothing", lambda t: rs.resample_backward(t.x, (0,)),
        ("axis 1", "no elements to make 8 of", HERE)),
    Row("resample_backward: ties of linear", lambda t: rs.resample_backward(t.x, (4,), nearest="ceil"),
        ("nearest 'ceil' goes with mode 'nearest', not 'linear', for", HERE)),
    Row("source_window: slope of linear", lambda _: rs.source_window((2, 8), (4,), window=(None,), cubic_a=-1),
        ("cubic_a -1 goes with mode 'cubic', not 'linear'", "source_sizes (2, 8)")),
    Row("source_window: a value outside without crop",
        lambda _: rs.source_window((2, 8), (4,), window=(None,), extrapolation_value=1),
        ("extrapolation_value 1 goes with coordinates 'tf_crop_and_resize'", "source_sizes (2, 8)")),
    Row("source_window: past the end", lambda _: rs.source_window((2, 8), (4,), window=(slice(0, 9),)),
        ("window[0] [0, 9) exceeds the 4 outputs", "source_sizes (2, 8)")),
    # resize, images
    Row("resize: axes that are not clear", lambda t: rs.resize(t.empty("u8", 10, 48, 64), (8, 8)),
        ("C, 1 to 4 at one of its places", "shape (10, 48, 64) is not clear", "axes=(1, 2)", "u8[10,48,64]")),
    Row("resize: channels at both ends", lambda t: rs.resize(t.empty("u8", 3, 48, 3), (8, 8)),
        ("shape (3, 48, 3) is not clear", "axes=", "u8[3,48,3]")),
    Row("resize: one axis", lambda t: rs.resize(t.x[0], (8, 8)), ("rows and columns", "(8,) has 1 axes", "f32[8]")),
    Row("resize: three axes named", lambda t: rs.resize(t.x, (8, 8), axes=(0, 1, 1)), ("two, got (0, 1, 1)", HERE)),
    Row("resize: no alpha", lambda t: rs.resize(t.small, (8, 8), premultiply=True),
        ("premultiply needs alpha, the last of 2 or 4 channels", "(3, 5)", "u8[3,5]")),
    Row("resize: light of what moves", lambda t: rs.resize(t.small, (8, 8), "nearest", linear_light=True),
        ("linear_light True has no effect in mode 'nearest'", "u8[3,5]")),
    Row("resize: light of floats", lambda t: rs.resize(t.x, (8, 8), linear_light=True),
        ("linear_light is for codes, elements of u8 or u16, not f32", HERE), rs.UnsupportedError),

    # asarray
    Row("asarray: rank 9", lambda t: rs.asarray(np.zeros((1,) * 9), device=t.device),
        ("array of shape (1, 1, 1, 1, 1, 1, 1, 1, 1)", "rank 9 exceeds 8", "f64")),
    Row("asarray: byte-swapped", lambda t: rs.asarray(np.zeros(3, ">f4"), device=t.device),
        ("array of shape (3,)", "'>f4' is byte-swapped", "newbyteorder")),
    Row("asarray: complex", lambda t: rs.asarray(np.zeros(3, complex), device=t.device),
        ("array of shape (3,)", "unknown element type 'complex128'", "bf16")),
    Row("asarray: objects", lambda t: rs.asarray([1, None], device=t.device),
        ("array of shape (2,)", "it holds Python objects (", "not numbers of at most 64 bits")),
    Row("asarray: dates", lambda t: rs.asarray(np.zeros(2, "M8[s]"), device=t.device),
        ("array of shape (2,)", "'datetime64[s]'")),
    Row("asarray: records", lambda t: rs.asarray(np.zeros(2, [("a", "u1")]), device=t.device),
        ("array of shape (2,)", "'void8'")),
    Row("asarray: an 8-bit float of another kind",
        lambda t: rs.asarray(np.zeros(2, ml_dtypes.float8_e4m3b11fnuz), device=t.device),
        ("array of shape (2,)", "'float8_e4m3b11fnuz'", "f8e4m3fn")),
    Row("asarray: lists of different length", lambda t: rs.asarray([[1], [2, 3]], device=t.device),
        ("array", "list", "inhomogeneous")),
    Row("asarray: masked", lambda t: rs.asarray(np.ma.masked_array([1, 2], [0, 1]), device=t.device),
        ("array is masked", "filled", "(2,)")),
    Row("asarray: DLPack on a GPU", lambda t: rs.asarray(OnCuda(), device=t.device), ("CUDA", "copy it to the CPU")),
    Row("asarray: DLPack on a GPU, copy=False", lambda t: rs.asarray(OnCuda(), device=t.device, copy=False),
        ("f32[3]{0} lies in memory of CUDA's own", "rs.empty(desc, shareable=True)"), rs.UnsupportedError),
    Row("asarray: desc of other sizes", lambda t: rs.asarray(X, TensorDesc("f32", (8, 2)), t.device),
        ("desc f32[8,2]{1,0} must have the sizes of f32[2,8]{1,0}",)),
    Row("asarray: desc of another type", lambda t: rs.asarray(X, TensorDesc("f64", (2, 8)), t.device),
        ("desc f64[2,8]{1,0} must have the element type of f32[2,8]{1,0}",)),
    Row("asarray: desc that overlaps", lambda t: rs.asarray(X, TensorDesc("f32", (2, 8), (0, 1)), t.device),
        ("desc must not overlap itself", "strides=(0,1)")),
    Row("asarray: desc is a number", lambda t: rs.asarray(X, 8, t.device), ("desc must be a TensorDesc", "8")),
    Row("asarray: tensor of another device", lambda t: rs.asarray(t.x, device=t.other),
        ("another device", "f32[2,8]{1,0}", "numpy()")),
    Row("asarray: device is a text", lambda _: rs.asarray(X, device="gpu"),
        ("device must be a restride.Device", "'gpu'")),
    Row("asarray: tiles of other sizes", lambda t: rs.asarray(X, "f32[8,2]{1,0:T(2,2)}", t.device),
        ("desc f32[8,2]{1,0:T(2,2)} must have the sizes of f32[2,8]{1,0}",)),
    Row("asarray: tag of another type", lambda t: rs.asarray(X, TensorDesc.from_tag("aB4b", (2, 8), "s32"), t.device),
        ("desc s32[2,8]:aB4b must have the element type of f32[2,8]{1,0}",)),
    Row("asarray: a broadcast view of tiles",
        lambda t: rs.asarray(X, "f32[2,8]{at=(1,b),in=[2,8]{1,0:T(2,2)}}", t.device),
        ("desc must not overlap itself: indices (0, 0) and (1, 0) share element 2", "at=(1,b)")),
    Row("asarray: broken tiles", lambda t: rs.asarray(X, "f32[2,8]{1,0:T(2,2}", t.device),
        ("'f32[2,8]{1,0:T(2,2}'", "character 19")),
    Row("asarray: tag alone", lambda t: rs.asarray(X, "aB4b", t.device), ("'aB4b'", "character")),
    # empty, from_buffer
    Row("empty: device is a number", lambda _: rs.empty(TensorDesc("f32", (2,)), 0),
        ("device must be a restride.Device", "0")),
    Row("empty: 4 TiB", lambda t: rs.empty(TensorDesc("f32", (1 << 20, 1 << 20)), t.device),
        ("bytes", "f32[1048576,1048576]{1,0}"), NO_ROOM),
    Row("empty: 4 TiB of padding", lambda t: rs.empty("f32[2,8]{1,0:pad(1048576,1048576)=0}", t.device),
        ("bytes", "f32[2,8]{1,0:pad(1048576,1048576)=0}"), NO_ROOM),
    Row("empty: a padding value out of range", lambda t: rs.empty("u8[2,8]{1,0:pad(2,9)=256}", t.device),
        ("padding_value 256 is outside [0, 255] of u8",)),
    Row("empty: a fraction in integers", lambda t: rs.empty("u8[2,8]{1,0:pad(2,9)=0.5}", t.device),
        ("0.5", "u8[2,8]")),
    Row("from_buffer: without the padding of tiles",
        lambda t: rs.from_buffer(bytes(95), "f32[3,5]{1,0:T(2,2)}", t.device),
        ("raw_bytes has 95 bytes, f32[3,5]{1,0:T(2,2)} needs 96",)),
    Row("from_buffer: without the padding of blocks",
        lambda t: rs.from_buffer(bytes(64), TensorDesc.from_tag("aB16b", (2, 8)), t.device),
        ("raw_bytes has 64 bytes, f32[2,8]:aB16b needs 128",)),
    Row("Tensor: tiles past their buffer",
        lambda t: rs.Tensor(t.x.memory, TensorDesc.parse("f32[2,8]{1,0:T(4,8)}"), t.device),
        ("64 bytes", "f32[2,8]{1,0:T(4,8)}", "128")),
    Row("from_buffer: truncated", lambda t: rs.from_buffer(bytes(63), TensorDesc("f32", (2, 8)), t.device),
        ("raw_bytes has 63 bytes", "f32[2,8]{1,0} needs 64")),
    Row("from_buffer: truncated by the offset",
        lambda t: rs.from_buffer(bytes(64), TensorDesc("f32", (2, 8), offset=1), t.device),
        ("raw_bytes has 64 bytes", "offset=1", "needs 68")),
    Row("from_buffer: strided", lambda t: rs.from_buffer(X[:, ::2], TensorDesc("f32", (2, 4)), t.device),
        ("raw_bytes must be a contiguous buffer", "ndarray", "f32[2,4]{1,0}")),
    Row("from_buffer: list", lambda t: rs.from_buffer([1, 2], TensorDesc("f32", (1,)), t.device),
        ("raw_bytes must be a contiguous buffer", "list", "f32[1]{0}")),
    Row("from_buffer: no desc", lambda t: rs.from_buffer(bytes(9), None, t.device),
        ("desc must be a TensorDesc", "None")),
    Row("Tensor: view past its buffer", lambda t: rs.Tensor(t.x.memory, TensorDesc("f32", (17,)), t.device),
        ("64 bytes", "f32[17]{0}", "68")),
    # lookup
    Row("lookup: floats", lambda t: rs.lookup(t.x, TABLE, out=t.out),
        ("the source of lookup must be of u8 or s8, got f32", HERE)),
    Row("lookup: entries", lambda t: rs.lookup(t.small, TABLE[:255]),
        ("table must have sizes [256], got [255]", "u8[3,5]{1,0}")),
    Row("lookup: rows without an axis", lambda t: rs.lookup(t.small, np.zeros((5, 256))),
        ("table must have sizes [256], got [5, 256]; axis= says which axis has the rows", "u8[3,5]{1,0}")),
    Row("lookup: rows", lambda t: rs.lookup(t.small, np.zeros((3, 256)), axis=-1),
        ("table must have sizes [5, 256], a row for each index of axis 1, got [3, 256]", "u8[3,5]{1,0}")),
    Row("lookup: axis", lambda t: rs.lookup(t.small, TABLE, axis=2), ("axis 2 is outside [-2, 2)", "u8[3,5]{1,0}")),
    Row("lookup: type of the entries", lambda t: rs.lookup(t.small, TABLE.astype(complex)),
        ("table: unknown element type 'complex128'", "u8[3,5]{1,0}")),
    Row("lookup: no table", lambda t: rs.lookup(t.small, None), ("table: array is None", "u8[3,5]{1,0}")),
    Row("lookup: type of out", lambda t: rs.lookup(t.small, TABLE.astype(np.int16), out=t.out),
        ("out",)),
    Row("lookup: in place", lambda t: rs.lookup(t.small, TABLE.astype(np.uint8), out=t.small),
        ("out u8[3,5]{1,0} must lie apart from the source",)),
    Row("crop_resize: nine axes", lambda t: rs.crop_resize(t.x[(None,) * 6], [(0, 0, 1, 1)], (1, 1), axes=(6, 7)),
        ("rank 9 exceeds 8", "f32[1,1,1,1,1,1,2,8]")),
    # rearrange
    Row("rearrange: other sizes", lambda t: rs.rearrange(t.x, "a b -> b a", out=t.out),
        ("must have the sizes of f32[8,2]{1,0}", OUT)),
    Row("rearrange: layout and pattern permute", lambda t: rs.rearrange(t.x, "a b -> a b", layout="AB->BA", out=t.out),
        ("layout 'AB->BA' permutes axes, but the pattern 'a b -> a b' gives their order", HERE)),
    Row("rearrange: nine axes",
        lambda t: rs.rearrange(t.x[(None,) * 6], "a b c d e f g (h i) -> a b c d e f g h i", i=1),
        ("rank 9 exceeds 8: sizes (1, 1, 1, 1, 1, 1, 2, 8, 1)",)),
    # views
    Row("view: nine axes", lambda t: t.x[(None,) * 7], ("rank 9 exceeds 8", "(1, 1, 1, 1, 1, 1, 1, 2, 8)")),
    Row("reshape: tiles need a copy", lambda t: rs.reorder(t.x, "f32[2,8]{1,0:T(2,4)}").reshape(16),
        ("sizes (16,) need a copy", "f32[2,8]{1,0:T(2,4)}")),
]
# fmt: on


@pytest.fixture(scope="module")
def bench_devices(device):
    with rs.Device(runtime="vulkan") as other:
        yield device, other


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_refused(row, bench_devices):
    bench = Bench(*bench_devices)
    with pytest.raises(row.error) as caught:
        row.call(bench)
    for text in row.texts:
        assert text in str(caught.value)
    assert str(caught.value)[-1] not in ",;:"
    assert isinstance(caught.value, rs.RestrideError)
    bench.require_untouched()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: rs.reorder(x, "HW->WH"),
        lambda x: rs.resample(x, (4,)),
        lambda x: x.numpy(),
        lambda x: x.buffer(),
        lambda x: np.asarray(x[::-1]),
        lambda x: rs.asarray(X, device=x.device),
        lambda x: x.device.wait(),
    ],
    ids=["reorder", "resample", "numpy", "buffer", "asarray of a view", "upload", "wait"],
)
def test_a_closed_device_says_so(call, device):
    runtime = "kompute" if "kompute" in type(device.runtime).__module__ else "vulkan"
    with rs.Device(runtime=runtime) as closed:
        x = rs.asarray(X, device=closed)
    with pytest.raises(rs.DeviceLost, match="closed"):
        call(x)
    assert rs.asarray(X, device=device).numpy().tobytes() == X.tobytes()
