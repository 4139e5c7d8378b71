"""The operations on both runtimes: worked examples, answers by hand, layouts, and what they cost in memory."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import ceil, floor

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride_conformance import fill

POISON = 0xA5


def poisoned(desc: rs.TensorDesc, device: rs.Device) -> rs.Tensor:
    return rs.from_buffer(np.full(desc.nbytes + 16, POISON, np.uint8), desc, device)


def assert_equal(actual: rs.Tensor, expected: np.ndarray) -> None:
    array = actual.numpy()
    assert array.dtype == expected.dtype
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array, expected)


# strided_slice


@pytest.mark.parametrize(
    ("strides", "expected"), [((1, 1, 2, 2), [[2, 4], [10, 12]]), ((1, 1, -2, 2), [[14, 16], [6, 8]])]
)
@pytest.mark.parametrize("dtype", ["f32", "u8", "f64"])
def test_the_worked_examples_of_slice1(strides, expected, dtype, device):
    """DML_SLICE1_OPERATOR_DESC: input 4x4 of 1..16."""
    element = rs.TensorDesc(dtype, ()).dtype.dtype
    x = np.arange(1, 17).astype(element).reshape(1, 1, 4, 4)
    result = rs.strided_slice(rs.asarray(x, device=device), (0, 0, 0, 1), (1, 1, 4, 3), strides)
    assert_equal(result, np.array(expected, element).reshape(1, 1, 2, 2))
    out = poisoned(rs.TensorDesc(dtype, (1, 1, 2, 2), (0, 0, 5, 2), 3), device)
    assert rs.strided_slice(x, (0, 0, 0, 1), (1, 1, 4, 3), strides, out=out) is out
    assert_equal(out, np.array(expected, element).reshape(1, 1, 2, 2))


@pytest.mark.parametrize("output_sizes", list(itertools.product((1, 2, 3, 4), (1, 2))), ids=str)
def test_output_sizes_stop_the_walk_early(output_sizes, device):
    x = np.arange(60, dtype=np.int16).reshape(6, 10)
    rows, columns = output_sizes
    result = rs.strided_slice(rs.asarray(x, device=device), (1, 2), (4, 7), (-1, 4), output_sizes)
    assert_equal(result, x[4:0:-1][:rows, 2:9:4][:, :columns])


@pytest.mark.parametrize("rank", range(1, 9))
def test_slices_have_1_to_8_axes(rank, device):
    x = np.arange(3**rank, dtype=np.uint16).reshape((3,) * rank)
    result = rs.strided_slice(rs.asarray(x, device=device), (1,) * rank, (2,) * rank, (-1,) * rank)
    assert_equal(result, x[(slice(2, 0, -1),) * rank])


# reorder


def test_a_name_changes_memory_only(device):
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    result = rs.reorder(rs.asarray(x, device=device), "NHWC")
    assert result.sizes == (2, 3, 4, 5)
    assert result.desc.strides == (60, 1, 15, 3)
    assert_equal(result, x)
    np.testing.assert_array_equal(result.buffer().view(np.float32), x.transpose(0, 2, 3, 1).ravel())


@pytest.mark.parametrize("name", ["NCHW", "NHWC", "CHWN", "HWCN", "NCWH"])
def test_every_name_gives_its_memory_order(name, device):
    x = np.arange(120, dtype=np.int16).reshape(2, 3, 4, 5)
    result = rs.reorder(rs.asarray(x, device=device), name)
    in_memory = x.transpose(["NCHW".index(letter) for letter in name])
    np.testing.assert_array_equal(result.buffer().view(np.int16), in_memory.ravel())


def test_names_of_other_ranks(device):
    volume = np.arange(2 * 3 * 2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 2, 3, 4)
    result = rs.reorder(rs.asarray(volume, device=device), "NDHWC")
    np.testing.assert_array_equal(result.buffer(), volume.transpose(0, 2, 3, 4, 1).ravel())
    image = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
    result = rs.reorder(rs.asarray(image, device=device), "HWC")
    np.testing.assert_array_equal(result.buffer(), image.transpose(1, 2, 0).ravel())
    row = np.arange(8, dtype=np.uint8)
    assert_equal(rs.reorder(rs.asarray(row, device=device), "W"), row)


def test_an_arrow_permutes_the_axes_too(device):
    x = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    result = rs.reorder(rs.asarray(x, device=device), "NCHW->NHWC")
    assert_equal(result, x.transpose(0, 2, 3, 1))
    assert result.desc == rs.TensorDesc("f32", (2, 4, 5, 3))


def test_any_letters_in_any_order(device):
    x = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    tensor = rs.asarray(x, device=device)
    for order in itertools.permutations(range(3)):
        after = "".join("xYz"[axis] for axis in order)
        assert_equal(rs.reorder(tensor, f"xYz->{after}"), x.transpose(order))
    wide = x.reshape(1, 2, 1, 3, 1, 2, 2, 1)
    order = (5, 3, 7, 6, 1, 0, 2, 4)
    after = "".join("abcdefgh"[axis] for axis in order)
    assert_equal(rs.reorder(rs.asarray(wide, device=device), f"abcdefgh -> {after}"), wide.transpose(order))


@pytest.mark.parametrize(
    "layout",
    [
        "u16[3,5]{0,1}",
        "u16[3,5]",
        "u16[3,5]{strides=(9,1),offset=4}",
        "u16[3,5]{strides=(-5,-1),offset=14}",
        "u16[3,5]{strides=(2,7),offset=1}",  # interleaved: 7 < 2 * 2 + 5
        rs.TensorDesc("u16", (3, 5), (1, -3), 13),
    ],
    ids=str,
)
def test_layouts_by_text_and_by_descriptor(layout, device):
    x = np.arange(15, dtype=np.uint16).reshape(3, 5) + 1000
    result = rs.reorder(rs.asarray(x, device=device), layout)
    desc = layout if isinstance(layout, rs.TensorDesc) else rs.TensorDesc.parse(layout)
    assert result.desc == desc
    assert_equal(result, x)
    assert_equal(rs.asarray(rs.reference.from_buffer(result.buffer(), desc), device=device), x)


@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "f64"])
@pytest.mark.parametrize("strides", [(7, 1), (13, 2), (1, 5), (-7, 1), (2, -9), (3, 8), (1, 4)], ids=str)
def test_out_keeps_its_padding(dtype, strides, device):
    x = fill.bits(rs.TensorDesc(dtype, ()).dtype, 12).reshape(4, 3)
    below = -sum((size - 1) * min(stride, 0) for size, stride in zip(x.shape, strides, strict=True))
    desc = rs.TensorDesc(dtype, x.shape, strides, below + 3)
    out = poisoned(desc, device)
    assert rs.reorder(x, out=out) is out
    expected = rs.reference.to_buffer(x, desc, np.full(desc.nbytes + 16, POISON, np.uint8))
    np.testing.assert_array_equal(out.buffer(), expected)


def test_the_specification_s_interleaved_destination(device):
    """Sizes 5,2,3 with strides 7,1,19: no stride steps over another axis, and no two elements meet."""
    for dtype in ("u8", "u16", "s32", "u64"):
        x = np.arange(30).astype(rs.TensorDesc(dtype, ()).dtype.dtype).reshape(5, 2, 3)
        desc = rs.TensorDesc(dtype, x.shape, (7, 1, 19), 2)
        out = poisoned(desc, device)
        rs.reorder(x, out=out)
        expected = rs.reference.to_buffer(x, desc, np.full(desc.nbytes + 16, POISON, np.uint8))
        np.testing.assert_array_equal(out.buffer(), expected)


def test_out_with_an_arrow_has_the_permuted_sizes(device):
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    out = poisoned(rs.TensorDesc("u8", (4, 2, 3), (6, 3, 1)), device)
    rs.reorder(x, "ABC->CAB", out=out)
    assert_equal(out, x.transpose(2, 0, 1))


def test_both_halves_of_one_buffer(device):
    """Views that share memory, but no element, can be source and destination."""
    tensor = rs.from_buffer(np.arange(32, dtype=np.uint8), rs.TensorDesc("u8", (4, 8)), device)
    rs.reorder(tensor[:, :4], out=tensor[::-1, 4:])
    rows = np.arange(32, dtype=np.uint8).reshape(4, 8)
    rows[::-1, 4:] = rows[:, :4].copy()
    assert_equal(tensor, rows)


def test_a_chain_of_dependent_operations(device):
    """Each writes what the next one reads, then over what the one before read."""
    x = np.arange(6, dtype=np.int32)
    one, two = rs.asarray(x, device=device), rs.empty(rs.TensorDesc("s32", (6,)), device)
    for _ in range(25):
        rs.reorder(one[::-1], out=two)
        rs.reorder(two.reshape(2, 3), "AB->BA", out=one.reshape(3, 2))
        x = np.ascontiguousarray(x[::-1].reshape(2, 3).T).ravel()
    assert_equal(one, x)


# resample


@pytest.mark.parametrize(
    ("values", "size", "linear", "nearest"),
    [
        # s = -1/6, 1/2, 7/6
        ([10, 20], 3, [10, 15, 20], [10, 20, 20]),
        # s = -1/4, 1/4, 3/4, 5/4
        ([0, 8], 4, [0, 2, 6, 8], [0, 0, 8, 8]),
        # s = 1/4, 7/4
        ([0, 8, 16], 2, [2, 14], [0, 16]),
        # s = 1: the middle one
        ([1, 5, 100], 1, [5], [5]),
        # s = 1/2: halves go up
        ([2, 6], 1, [4], [6]),
        # s = 1/2, 5/2: halves go up
        ([0, 4, 8, 12], 2, [2, 10], [4, 12]),
        ([7], 4, [7, 7, 7, 7], [7, 7, 7, 7]),
        ([3, 9], 2, [3, 9], [3, 9]),
    ],
    ids=str,
)
def test_answers_by_hand(values, size, linear, nearest, device):
    x = rs.asarray(np.float32(values), device=device)
    assert_equal(rs.resample(x, (size,)), np.float32(linear))
    assert_equal(rs.resample(x, (size,), mode="nearest"), np.float32(nearest))


def test_integers_round_half_to_even(device):
    """2 -> 3 puts the middle half way: 0.5, 1.5, 2.5, -0.5, -1.5."""
    pairs = [(0, 1), (1, 2), (2, 3), (-1, 0), (-2, -1), (4, 5)]
    expected = [0, 2, 2, 0, -2, 4]
    for dtype in (np.int8, np.int32):
        result = rs.resample(rs.asarray(np.array(pairs, dtype), device=device), (3,), axes=(1,))
        np.testing.assert_array_equal(result.numpy()[:, 1], expected)


def onednn(x: np.ndarray, size: int, mode: str) -> list[Fraction]:
    """oneDNN's formulas, one axis: ``s = (o + 0.5) * I / O - 0.5``."""
    length, result = len(x), []
    for o in range(size):
        s = (o + Fraction(1, 2)) * length / size - Fraction(1, 2)
        if mode == "nearest":
            # roundf: halves away from zero; s > -1/2 always
            result.append(Fraction(float(x[max(floor(s + Fraction(1, 2)), 0)])))
        else:
            i0, i1 = max(floor(s), 0), min(ceil(s), length - 1)
            w1 = abs(s - i0) if s > 0 else Fraction(0)
            w1 = w1 if i1 > i0 else Fraction(0)
            result.append((1 - w1) * Fraction(float(x[i0])) + w1 * Fraction(float(x[i1])))
    return result


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_onednn_s_formulas(mode, device):
    for length, size in itertools.product((1, 2, 3, 5, 8, 13), (1, 2, 3, 4, 7, 12, 16, 29)):
        x = fill.numbers(rs.TensorDesc("f32", ()).dtype, length, 5)
        exact = onednn(x, size, mode)
        result = rs.resample(rs.asarray(x, device=device), (size,), mode=mode).numpy()
        bound = 0.0 if mode == "nearest" else 5 * 2.0**-24 * float(np.abs(x).max())
        for value, right in zip(result, exact, strict=True):
            assert abs(Fraction(float(value)) - right) <= bound, (length, size)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (2, 0), (-1, -3), (0, 1, 2), (3, 1), (0, 1, 2, 3), ()])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_any_axes(axes, mode, device):
    x = fill.numbers(rs.TensorDesc("f32", ()).dtype, 3 * 4 * 5 * 2).reshape(3, 4, 5, 2)
    sizes = (5, 3, 9, 4)[: len(axes)]
    result = rs.resample(rs.asarray(x, device=device), sizes, axes=axes, mode=mode).numpy()
    lowest, highest = rs.reference.resample_limits(x, sizes, axes=axes, mode=mode)
    assert result.shape == lowest.shape
    assert ((lowest <= result) & (result <= highest)).all()


@pytest.mark.parametrize("rank", [5, 6, 8])
def test_every_axis_of_many(rank, device):
    """More than three interpolated axes take another path through the kernel."""
    x = fill.numbers(rs.TensorDesc("f32", ()).dtype, 2**rank).reshape((2,) * rank)
    sizes = (3, 2, 1, 3, 2, 3, 1, 3)[:rank]
    result = rs.resample(rs.asarray(x, device=device), sizes).numpy()
    lowest, highest = rs.reference.resample_limits(x, sizes)
    assert ((lowest <= result) & (result <= highest)).all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "u8", "s8", "s32"])
def test_up_in_one_axis_and_down_in_the_other(dtype, device):
    x = fill.numbers(rs.TensorDesc(dtype, ()).dtype, 3 * 17 * 19, 3).reshape(3, 17, 19)
    result = rs.resample(rs.asarray(x, device=device), (40, 7)).numpy()
    lowest, highest = rs.reference.resample_limits(x, (40, 7))
    wide = np.float64 if dtype not in ("u8", "s8", "s32") else np.int64
    low, value, high = (each.astype(wide) for each in (lowest, result, highest))
    assert ((low <= value) & (value <= high)).all()


def test_an_unchanged_size_is_a_copy_of_every_bit(device):
    dtype = rs.TensorDesc("f32", ()).dtype
    x = fill.bits(dtype, 8 * 32).reshape(8, 32)
    assert np.isnan(x).any()
    result = rs.resample(rs.asarray(x, device=device), (8, 32)).numpy()
    np.testing.assert_array_equal(result.view(np.uint32), x.view(np.uint32))


def test_layouts_of_the_result(device):
    x = fill.numbers(rs.TensorDesc("u8", ()).dtype, 1 * 6 * 7 * 3).reshape(1, 6, 7, 3)
    image = rs.asarray(x, device=device)
    # NHWC by name: the logical order is N, C, H, W.
    nchw = image.permute(0, 3, 1, 2)
    expected = rs.reference.resample(x.transpose(0, 3, 1, 2), (9, 4), mode="nearest")
    kept = rs.resample(nchw, (9, 4), mode="nearest")
    assert_equal(kept, expected)
    assert kept.desc == rs.TensorDesc.xla("u8", (1, 3, 9, 4), (1, 3, 2, 0)), "the memory order of x"
    packed = rs.resample(nchw, (9, 4), mode="nearest", layout="NCHW")
    assert_equal(packed, expected)
    assert packed.desc == rs.TensorDesc("u8", (1, 3, 9, 4))
    padded = rs.TensorDesc("u8", (1, 3, 9, 4), (0, 64, 7, 1), 5)
    assert_equal(rs.resample(nchw, (9, 4), mode="nearest", layout=padded), expected)
    assert_equal(rs.resample(nchw, (9, 4), mode="nearest", layout=str(padded)), expected)


def test_a_layout_with_an_arrow_permutes_the_result(device):
    x = fill.numbers(rs.TensorDesc("u8", ()).dtype, 2 * 6 * 7 * 3).reshape(2, 6, 7, 3)
    result = rs.resample(rs.asarray(x, device=device), (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW")
    expected = rs.reference.resample(x, (9, 4), axes=(1, 2), mode="nearest").transpose(0, 3, 1, 2)
    assert_equal(result, expected)
    assert result.desc == rs.TensorDesc("u8", (2, 3, 9, 4))
    out = poisoned(rs.TensorDesc("u8", (2, 3, 9, 4), (150, 50, 5, 1), 1), device)
    rs.resample(x, (9, 4), axes=(1, 2), mode="nearest", layout="NHWC->NCHW", out=out)
    assert_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=["f32", "f16", "bf16"])
def test_infinity_beside_a_weight_of_zero(dtype, device):
    x = np.array([1, np.inf, 3, -np.inf], dtype)
    # 4 -> 2 lies between elements 0, 1 and 2, 3; 4 -> 4 on the elements; 4 -> 12 hits elements at o = 1, 4, 7, 10.
    result = rs.resample(rs.asarray(x, device=device), (12,)).numpy().astype(np.float32)
    np.testing.assert_array_equal(result[[1, 4, 7, 10]], x.astype(np.float32))
    assert result[0] == 1, "left of the first centre: that element alone"
    np.testing.assert_array_equal(result[[2, 3, 5, 6]], np.inf)
    halves = rs.resample(rs.asarray(x, device=device), (2,)).numpy().astype(np.float32)
    np.testing.assert_array_equal(halves, [np.inf, -np.inf])


def test_nan_reaches_only_what_reads_it(device):
    x = np.float32([1, np.nan, 3, 4, 5])
    result = rs.resample(rs.asarray(x, device=device), (10,)).numpy()
    assert np.isnan(result).tolist() == [False, True, True, True, True, False, False, False, False, False]


@pytest.mark.parametrize("value", [-(1 << 31), (1 << 31) - 1, -1, 0, 12345, 16_777_216])
def test_constant_s32_images(value, device):
    x = np.full((3, 5), value, np.int32)
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy()
    # f32 holds 2^31 - 1 as 2^31, which saturates to what it was.
    np.testing.assert_array_equal(result, np.full((7, 4), value))


@pytest.mark.parametrize("value", [-(1 << 31) + 1, (1 << 31) - 2, 16_777_217, -123_456_789])
def test_constant_s32_images_beyond_24_bits(value, device):
    x = np.full((3, 5), value, np.int32)
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy().astype(np.float64)
    assert np.abs(result - value).max() <= float(rs.reference.resample_bound(x, (7, 4)).max())


@pytest.mark.parametrize(("dtype", "low", "high"), [(np.uint8, 0, 255), (np.int8, -128, 127)])
def test_constant_images_of_bytes_are_exact(dtype, low, high, device):
    levels = np.arange(low, high + 1).astype(dtype)
    x = np.broadcast_to(levels[:, None, None], (256, 3, 5))
    result = rs.resample(rs.asarray(x, device=device), (7, 4)).numpy()
    np.testing.assert_array_equal(result, np.broadcast_to(levels[:, None, None], (256, 7, 4)))


# Memory


def test_ten_thousand_operations_make_a_handful_of_allocations(device):
    x = rs.asarray(np.arange(1 * 3 * 8 * 8, dtype=np.float32).reshape(1, 3, 8, 8), device=device)
    small = rs.resample(x, (4, 4))
    device.wait()
    start = device.counters()
    for repeat in range(2500):
        rs.reorder(x, "NHWC")
        rs.reorder(x[..., ::-1], "NCHW->NHWC")
        rs.strided_slice(x, (0, 0, 1, 1), (1, 3, 6, 6), (1, -1, 2, 2), out=rs.empty(small.desc, device)[..., :3, :3])
        rs.resample(x, (4, 4))
        if repeat == 500:
            device.wait()
            settled = device.counters()
    device.wait()
    end = device.counters()
    assert end.dispatches - start.dispatches == 10_000
    assert end.allocations - start.allocations <= 50
    # Prepared submissions keep less than 1 MiB of parameters (MOST_PREPARED), which are taken in chunks. How much of
    # that is there by ``settled`` depends on how far the host runs ahead of the device.
    assert end.bytes_allocated <= settled.bytes_allocated + (2 << 20)
    assert end.bytes_in_use == start.bytes_in_use
    assert end.pipelines - start.pipelines <= 50


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: rs.reorder(x, "ABC->CBA"),
        lambda x: rs.resample(x, (700, 900)),
        lambda x: rs.resample(x, (700, 900), mode="nearest"),
        lambda x: rs.strided_slice(
            x, (0, 0, 0), x.sizes, (1, -1, 2), out=rs.empty(rs.TensorDesc("f32", (3, 512, 256)), x.device)
        ),
    ],
    ids=["reorder", "linear", "nearest", "slice"],
)
def test_an_operation_takes_its_destination_and_at_most_2_mib(operation, device):
    x = rs.asarray(np.ones((3, 512, 512), np.float32), device=device)
    device.wait()
    before = device.counters()
    result = operation(x)
    after = device.counters()
    assert after.bytes_in_use - before.bytes_in_use <= result.desc.nbytes + (2 << 20)
    del result
    device.wait()
    assert device.counters().bytes_in_use - before.bytes_in_use <= 2 << 20


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_tables_of_a_long_axis_are_not_held_at_once(mode, device):
    """A million rows of 4 or 16 bytes, in parts of at most 1 MiB."""
    x = rs.asarray(np.arange(1000, dtype=np.float32), device=device)
    device.wait()
    before = device.counters().bytes_in_use
    result = rs.resample(x, (1_000_000,), mode=mode)
    assert device.counters().bytes_in_use - before <= result.desc.nbytes + (2 << 20)
    np.testing.assert_allclose(result.numpy(), np.repeat(np.arange(1000), 1000), atol=0.5)


def test_scales_of_a_permuted_result_are_those_of_its_axes(device):
    x = np.random.default_rng(5).random((1, 3, 8, 3), np.float32)
    scale = np.float32([1, 2, 4])
    result = rs.resample(rs.asarray(x, device=device), (4, 3), layout="NCHW->NHWC", dst_scale=scale)
    plain = rs.resample(rs.asarray(x, device=device), (4, 3)).numpy().transpose(0, 2, 3, 1)
    assert_equal(result, plain / scale)


def test_a_layout_for_the_size_of_the_result_alone(device):
    x = np.random.default_rng(6).random((16, 16), np.float32)
    result = rs.resample(rs.asarray(x, device=device), (8, 8), layout="{1,0:pad(9,9)=0}")
    assert result.desc == rs.TensorDesc.parse("f32[8,8]{1,0:pad(9,9)=0}")


def test_sums_too_long_for_rows_are_right(device):
    x = np.arange(8 * 65536, dtype=np.float32).reshape(8, 65536) % 7
    result = rs.resample(rs.asarray(x, device=device), (4, 32), mode="area").numpy()
    lowest, highest = rs.reference.resample_limits(x, (4, 32), mode="area")
    assert ((lowest <= result) & (result <= highest)).all()
    grad = rs.resample_backward(rs.asarray(x, device=device), (4, 32), mode="nearest")
    assert_equal(grad, x.reshape(4, 2, 32, 2048).sum(axis=(1, 3), dtype=np.float64).astype(np.float32))
