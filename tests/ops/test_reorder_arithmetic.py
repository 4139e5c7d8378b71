"""Reorders with scales, zero points and a sum on both runtimes: the order of the steps, layouts, and what they cost."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride.dtypes import DTYPES

POISON = 0xA5


def poisoned(desc: rs.TensorDesc | str, device: rs.Device) -> rs.Tensor:
    desc = rs.TensorDesc.parse(desc) if isinstance(desc, str) else desc
    return rs.from_buffer(np.full(desc.nbytes + 16, POISON, np.uint8), desc, device)


def assert_bits(actual: np.ndarray, expected: np.ndarray, message: str = "") -> None:
    """The same bits; a NaN may be any, for f32 instructions differ in it."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    nan = expected != expected  # noqa: PLR0124 - what no other type than floats has
    np.testing.assert_array_equal(actual != actual, nan, message)  # noqa: PLR0124
    unsigned = f"u{expected.dtype.itemsize}"
    there = ~nan
    np.testing.assert_array_equal(actual[there].view(unsigned), expected[there].view(unsigned), message)


def check(x: np.ndarray, device: rs.Device, layout: object = None, **arguments: object) -> rs.Tensor:
    """A reorder on the device, equal to the reference."""
    result = rs.reorder(rs.asarray(x, device=device), layout, **arguments)
    assert_bits(result.numpy(), rs.reference.reorder(x, layout, **arguments), f"{x.dtype} {layout} {arguments}")
    return result


def check_out(x: np.ndarray, out: rs.Tensor, old: np.ndarray, **arguments: object) -> None:
    """A reorder onto ``old`` in ``out``, whose whole buffer is as the reference has it; a sum leaves padding alone."""
    rs.reorder(old, out=out)
    before = out.buffer()
    its_old = old if "sum_scale" in arguments else None
    expected = rs.reference.reorder(x, dtype=out.dtype, out=its_old, **arguments)
    assert rs.reorder(x, out=out, **arguments) is out
    assert_bits(out.numpy(), expected)
    if its_old is None:
        np.testing.assert_array_equal(out.buffer(), rs.reference.to_buffer(expected, out.desc, before))
    else:
        np.testing.assert_array_equal(surroundings(out, expected), surroundings_of(before, out.desc, old))


def surroundings_of(buffer: np.ndarray, desc: rs.TensorDesc, elements: np.ndarray) -> np.ndarray:
    """The bytes of a buffer that holds ``elements`` as ``desc`` says, with zeros in their place."""
    packed = rs.reference.to_buffer(elements, desc, np.zeros_like(buffer))
    padding = rs.reference.to_buffer(np.zeros_like(elements), desc, np.zeros_like(buffer))
    return buffer ^ packed ^ padding


def surroundings(tensor: rs.Tensor, elements: np.ndarray) -> np.ndarray:
    return surroundings_of(tensor.buffer(), tensor.desc, elements)


def floats(count: int, seed: int = 0) -> np.ndarray:
    """Both signs, all 24 bits in use, between 2^-8 and 2^8."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(1, 2, count) * 2.0 ** rng.integers(-8, 8, count) * rng.choice([-1, 1], count)).astype(
        np.float32
    )


# The steps


def test_each_step_is_rounded_by_itself_in_the_order_that_the_documentation_states(device):
    x, old = floats(20_000), floats(20_000, 1)
    a, z, s, d, b = (np.float32(number) for number in (1.7, 0.3, -0.6, 3.3, 0.7))
    expected = (a * (x - z) + s * old) / d + b
    wide = [array.astype(np.float64) for array in (x, old)]
    for what, other in {
        "contracted: the last product": (((wide[0] - z).astype(np.float32) * np.float64(a)) + s * old) / d + b,
        "contracted: the sum": ((a * (x - z)).astype(np.float64) + np.float64(s) * wide[1]).astype(np.float32) / d + b,
        "distributed": (a * x - a * z + s * old) / d + b,
        "reciprocal": (a * (x - z) + s * old) * (np.float32(1) / d) + b,
        "sum after the division": a * (x - z) / d + s * old + b,
        "one rounding": ((a * (wide[0] - z) + s * wide[1]) / d + b),
    }.items():
        assert (other.astype(np.float32) != expected).any(), f"these numbers do not tell {what} from the steps"
    out = rs.asarray(old, device=device)
    rs.reorder(x, out=out, src_scale=a, src_zero_point=z, sum_scale=s, dst_scale=d, dst_zero_point=b, dtype="f32")
    assert_bits(out.numpy(), expected)


@pytest.mark.parametrize("present", [1, 2, 4, 8, 16, 3, 12, 24, 21])
def test_steps_that_are_absent_are_left_out(present, device):
    x, old = floats(500), floats(500, 1)
    given = {"src_scale": 1.7, "src_zero_point": 0.3, "sum_scale": -0.6, "dst_scale": 3.3, "dst_zero_point": 0.7}
    arguments = {name: value for bit, (name, value) in enumerate(given.items()) if present >> bit & 1}
    out = rs.asarray(old, device=device)
    rs.reorder(x, out=out, **arguments)
    its_old = {"out": old} if "sum_scale" in arguments else {}
    assert_bits(out.numpy(), rs.reference.reorder(x, **arguments, **its_old))


def test_arguments_that_change_nothing_are_as_if_left_out(device):
    """s64 is copied, where f32 would round it."""
    x = np.array([2**53 + 1, -(2**62) - 1, 2**24 + 1])
    ones = np.ones((3,), np.float32)
    result = check(x, device, src_scale=1, src_zero_point=0, dst_scale=ones, dst_zero_point=-0.0)
    assert result.numpy().tolist() == x.tolist()
    rounded = rs.reorder(rs.asarray(x, device=device), src_scale=[1, 1, 2]).numpy()
    assert rounded.tolist() == [2**53, -(2**62), 2**25]


def test_the_documented_examples_of_onednn(device):
    """f32 1024 is 127 in s8, f32 -124 is 0 in u8."""
    for scales in ({}, {"src_scale": np.float32(2), "dst_scale": 2}):
        x = np.array([1024, -124, 1.5, -2.5], np.float32)
        assert check(x, device, dtype="s8", **scales).numpy().tolist() == [127, -124, 2, -2]
        assert check(x, device, dtype="u8", **scales).numpy().tolist() == [255, 0, 2, 0]


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("nearest_even", [0, 2, 2, 4, -2, -4, 1, -3]),
        ("truncate", [0, 1, 2, 3, -2, -3, 1, -2]),
        ("half_away", [1, 2, 3, 4, -3, -4, 1, -3]),
    ],
)
def test_the_result_of_the_steps_is_rounded_and_saturated_as_without_them(rounding, expected, device):
    x = np.array([0.5, 1.5, 2.5, 3.5, -2.5, -3.5, 1.25, -2.75], np.float32)
    result = check(2 * x, device, dtype="s8", dst_scale=2, rounding=rounding)
    assert result.numpy().tolist() == expected


def test_what_leaves_the_range_after_the_steps(device):
    x = np.array([np.nan, np.inf, -np.inf, 3e38, 75, 150, -0.5, 2**31, -(2**40), 0, -0.0, 1e-45], np.float32)
    saturated = check(x, device, dtype="u8", src_scale=2).numpy()
    assert saturated.tolist() == [0, 255, 0, 255, 150, 255, 0, 255, 0, 0, 0, 0]
    wrapped = check(x, device, dtype="u8", src_scale=2, saturate=False).numpy()
    assert wrapped.tolist() == [0, 0, 0, 0, 150, 44, 255, 0, 0, 0, 0, 0]
    for dtype in ("s32", "u64", "f16", "f8e4m3fn"):
        for saturate in (True, False):
            check(x[:8], device, dtype=dtype, src_scale=2, saturate=saturate)


@pytest.mark.parametrize("src", ["s32", "u32", "s64", "u64", "f64"])
def test_wide_elements_are_rounded_to_f32_once(src, device):
    """16777217 is no f32: 16777216 is, to even. 2^24 + 1 + 2^-20 of f64 is beyond the tie."""
    numbers = [16_777_217, 16_777_219, 2**31 - 1, 1]
    numbers += [2**24 + 1 + 2**-20, 1 + 2**-24 + 2**-50, 1 + 2**-24, 1e-50] if src == "f64" else []
    numbers += [2**53 + 2**29 + 1, 2**63 - 1, 2**40 + 2**16, 0] if src in ("s64", "u64") else []
    x = np.array(numbers, DTYPES[src].dtype)
    result = check(x, device, dtype="f64", src_scale=3).numpy()
    assert result[0] == 50_331_648
    np.testing.assert_array_equal(result, (np.float32(3) * x.astype(np.float32)).astype(np.float64))
    # And back: what f32 makes of them is what they become.
    assert check(x, device, src_scale=3, dst_scale=3).dtype == src


def test_pred_is_0_or_1_on_both_sides(device):
    x = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    assert check(x, device, dtype="f32", src_scale=3).numpy().tolist() == [0, 3, 3, 3]
    y = np.array([1, 0.25, 0, -1], np.float32)
    assert check(y, device, dtype="pred", src_zero_point=0.25, src_scale=7).numpy().tolist() == [1, 0, 1, 1]


# The division


def equal_or_flushed(actual: np.ndarray, expected: np.ndarray, operands: np.ndarray) -> None:
    """Bits of numpy's quotients, but what is denormal, or made of one, may be as of zeros."""
    tiny = np.finfo(np.float32).tiny
    normal = ((np.abs(operands) >= tiny) | (operands == 0)).all(axis=0) & ((np.abs(expected) >= tiny) | (expected == 0))
    assert normal.mean() > 0.5
    assert_bits(actual[normal], expected[normal])
    rest = ~normal & ~np.isnan(expected) & (actual.view(np.uint32) != expected.view(np.uint32))
    is_zero, is_from_zero = actual[rest] == 0, (np.abs(operands[:, rest]) < tiny).any(axis=0)
    assert (is_zero | is_from_zero).all()


@pytest.mark.parametrize("kind", ["any", "halfway"])
def test_a_million_quotients_are_rounded_exactly(kind, device):
    """Vulkan's own division may be 2.5 units off. Here every element has a divisor of its own: 8 MB of pairs."""
    rng = np.random.default_rng(len(kind))
    count = 1 << 20
    if kind == "any":  # any bits, half of them close enough in size for normal quotients
        a, b = rng.integers(0, 1 << 32, (2, count), np.uint32).view(np.float32)
        close = np.ldexp(rng.uniform(-1, 1, count), rng.integers(-60, 60, count))
        a = np.where(np.arange(count) % 2, a, close).astype(np.float32)
    else:  # the quotient lies next to the middle between two numbers
        b = rng.integers(1 << 23, 1 << 24, count).astype(np.float32)
        quotient = rng.integers(1 << 23, 1 << 24, count) + 0.5
        a = (quotient * b * 2.0 ** rng.choice([-40, 0, 80], count)).astype(np.float32)
        a = (a.view(np.int32) + rng.integers(-1, 2, count, np.int32)).view(np.float32)
    b = np.where(np.isfinite(b) & (b != 0), b, np.float32(3))
    with np.errstate(all="ignore"):
        expected = a / b
    before = device.counters()
    tensor = rs.asarray(a, device=device)
    result = rs.reorder(tensor, dst_scale=b)
    assert 8 <= device.counters().dispatches - before.dispatches <= 16
    equal_or_flushed(result.numpy(), expected, np.stack([a, b]))


def test_quotients_at_the_ends_of_the_range(device):
    """Overflow, the largest number, the step to denormals, zeros, infinities and NaN."""
    tiny, largest = np.finfo(np.float32).tiny, np.finfo(np.float32).max
    numerators = np.array(
        [largest, -largest, tiny, -tiny, 0, -0.0, np.inf, -np.inf, np.nan, 1, 3, 2**-149, 3 * 2**-140], np.float32
    )
    divisors = np.array(
        [0.5, 0.99999994, 1.0000001, 2, 1.5, -3, largest, tiny, 2**-149, -(2**100), 2**-100, 4, 7e-40], np.float32
    )
    a, b = (grid.copy() for grid in np.broadcast_arrays(numerators[:, None], divisors))
    with np.errstate(all="ignore"):
        expected = a / b
    result = rs.reorder(rs.asarray(a, device=device), dst_scale=b).numpy()
    equal_or_flushed(result.ravel(), expected.ravel(), np.stack([a.ravel(), b.ravel()]))


# Arrays of scales


@pytest.mark.parametrize(
    "sizes",
    [(), (7,), (1, 7), (5, 1), (3, 1, 1), (3, 5, 1), (3, 1, 7), (2, 1, 5, 1), (2, 3, 5, 7), (1, 1, 1, 1)],
    ids=str,
)
def test_scales_and_zero_points_broadcast_as_in_numpy(sizes, device):
    rng = np.random.default_rng(len(sizes))
    x = rng.integers(0, 256, (2, 3, 5, 7), np.uint8)
    scale, zero_point = floats(int(np.prod(sizes))).reshape(sizes), rng.integers(0, 256, sizes)
    check(x, device, dtype="f32", src_scale=scale, src_zero_point=zero_point)
    y = 40 * floats(210, 2).reshape(2, 3, 5, 7)
    check(y, device, dtype="u8", dst_scale=scale, dst_zero_point=zero_point)
    check(x, device, "NHWC", dtype="f32", src_scale=scale)
    check(x, device, dtype="f32", src_scale=scale, src_zero_point=3)  # one array, one number


def test_scale_and_zero_point_may_lie_along_different_axes(device):
    x = np.arange(60, dtype=np.uint8).reshape(3, 4, 5)
    rows, columns = floats(12).reshape(3, 4, 1), np.arange(5)
    check(x, device, dtype="f32", src_scale=rows, src_zero_point=columns)
    check(x, device, dtype="f32", src_zero_point=columns, dst_scale=rows, dst_zero_point=floats(3).reshape(3, 1, 1))


@pytest.mark.parametrize("layout", [None, "{0,1}", "{1,0:T(2,4)}", "{0,1:T(3,2)(2)}"])
@pytest.mark.parametrize("group", [1, 2, 5, 8, 13])
def test_groups_share_a_scale_and_the_last_one_may_be_partial(group, layout, device):
    x = np.arange(6 * 13, dtype=np.uint8).reshape(6, 13)
    scale = floats(3 * -(-13 // group)).reshape(3, -1)
    result = check(x, device, layout and f"f32[6,13]{layout}", dtype="f32", src_scale=scale, group_sizes=(2, group))
    by_hand = x * scale.repeat(2, axis=0)[:, np.arange(13) // group]
    np.testing.assert_array_equal(result.numpy(), by_hand)
    check(x * np.float32(8), device, dtype="u8", dst_scale=scale, dst_zero_point=7, group_sizes=(2, group))


def test_an_arrow_has_source_arrays_in_the_axes_before_and_destination_arrays_in_those_after(device):
    x = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    by_channel, by_row = floats(3).reshape(3, 1, 1), floats(4, 1).reshape(4, 1, 1)
    result = check(x, device, "NCHW->NHWC", dtype="f32", src_scale=by_channel, dst_scale=by_row)
    np.testing.assert_array_equal(result.numpy(), (x * by_channel).transpose(0, 2, 3, 1) / by_row)
    # Groups go with their axes: of 3 channels in twos there are 2, first in front, then last.
    grouped = check(
        x,
        device,
        "NCHW->NHWC",
        dtype="f32",
        src_scale=floats(2).reshape(1, 2, 1, 1),
        dst_scale=floats(6, 1).reshape(1, 1, 3, 2),
        group_sizes=(1, 2, 1, 2),
    )
    by_hand = (x * floats(2)[[0, 0, 1]].reshape(3, 1, 1)).transpose(0, 2, 3, 1)
    by_hand = by_hand / floats(6, 1).reshape(3, 2)[np.ix_([0, 0, 1, 1, 2], [0, 0, 1])]
    np.testing.assert_array_equal(grouped.numpy(), by_hand)


@pytest.mark.parametrize("make", [np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.uint8])
def test_scales_of_any_type_count_as_f32(make, device):
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    scale = np.array([3, 5, 7, 1 + 2**-3]).astype(make)
    np.testing.assert_array_equal(check(x, device, dtype="f32", src_scale=scale).numpy(), x * scale.astype(np.float32))


def test_tensors_as_scales_are_read_once_what_writes_them_is_done(device):
    x = rs.asarray(np.arange(12, dtype=np.uint8).reshape(3, 4), device=device)
    scale = rs.reorder(
        rs.asarray(np.array([[1, 10, 100, 1000]], np.float64), device=device), dtype="f32", src_scale=0.5
    )
    result = rs.reorder(x, dtype="f32", src_scale=scale, dst_zero_point=rs.asarray(np.float32(0.25), device=device))
    expected = np.arange(12).reshape(3, 4) * np.float32([0.5, 5, 50, 500]) + np.float32(0.25)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_scales_are_those_of_the_call_whatever_becomes_of_the_array(device):
    x = rs.asarray(np.ones((4, 8), np.uint8), device=device)
    scale = np.arange(2, 10, dtype=np.float32)
    results = []
    for _ in range(6):
        results.append(rs.reorder(x, dtype="f32", src_scale=scale))
        scale += 1
    for step, result in enumerate(results):
        np.testing.assert_array_equal(result.numpy(), np.broadcast_to(np.arange(2, 10) + step, (4, 8)))


@pytest.mark.parametrize(
    "layout", ["f32[3,90001]", "f32[3,90001]{0,1}", "f32[3,90001]{1,0:T(2,8)}", "f32[3,90001]{1,0:T(2,7)(3)}"]
)
def test_more_pairs_than_one_dispatch_takes(layout, device):
    """270,003 pairs of 8 bytes are two megabytes: at most one at a time."""
    x = np.random.default_rng(0).integers(0, 256, (3, 90_001), np.uint8)
    scale = floats(x.size).reshape(x.shape)
    tensor = rs.asarray(x, device=device)
    before = device.counters()
    result = rs.reorder(tensor, layout, dtype="f32", src_scale=scale, src_zero_point=x[::-1])
    after = device.counters()
    assert after.dispatches - before.dispatches >= 3
    assert after.bytes_in_use - before.bytes_in_use <= result.desc.nbytes + (3 << 20)
    assert after.uploaded == before.uploaded
    expected = scale * (x.astype(np.float32) - x[::-1])
    assert_bits(result.numpy(), expected)


# The sum, and where elements go


DESTINATIONS = (
    "[5,6]",
    "[5,6]{0,1}",
    "[5,6]{strides=(7,1),offset=3}",
    "[5,6]{strides=(-6,-1),offset=29}",
    "[5,6]{strides=(2,11),offset=1}",
    "[5,6]{strides=(60,9),offset=0}",
    "[5,6]{1,0:T(2,4)}",
    "[5,6]{1,0:T(3,4)(3)}",
    "[5,6]{0,1:pad(7,9)=3}",
    "[5,6]:AB8b2a",
    "[5,6]{at=(1+2a,7-b),in=[11,9]{1,0:T(4,4)}}",
)


@pytest.mark.parametrize("layout", DESTINATIONS)
@pytest.mark.parametrize("dtype", ["u8", "s16", "f64"])
def test_every_destination_is_written_where_it_lies_and_nowhere_else(dtype, layout, vulkan_device):
    """With the padding of whole layouts; with a sum, that stays too."""
    device = vulkan_device
    desc = rs.TensorDesc.parse(dtype + layout)
    x, old = floats(30).reshape(5, 6), np.arange(30).reshape(5, 6).astype(desc.dtype.dtype)
    arguments = {"src_scale": np.arange(1, 6).reshape(5, 1), "dst_zero_point": 9}
    check_out(x, poisoned(desc, device), old, **arguments)
    check_out(x, poisoned(desc, device), old, sum_scale=0.5, **arguments)


def test_the_destination_itself_as_source(device):
    """In place: each element is read before it is written, and the padding stays."""
    x = np.arange(-60, 60, dtype=np.int8).reshape(8, 15)
    for layout in ("[8,15]", "[8,15]{0,1:T(4,4)}", "[8,15]{strides=(17,1),offset=3}"):
        tensor = poisoned("s8" + layout, device)
        rs.reorder(x, out=tensor)
        around = surroundings(tensor, x)
        scaled = rs.reference.reorder(x, src_scale=1.5, dst_zero_point=3)
        assert rs.reorder(tensor, out=tensor, src_scale=1.5, dst_zero_point=3) is tensor
        assert_bits(tensor.numpy(), scaled)
        np.testing.assert_array_equal(surroundings(tensor, scaled), around)
        rs.reorder(tensor, out=tensor, sum_scale=2)  # x + 2 x
        assert_bits(tensor.numpy(), rs.reference.reorder(scaled, sum_scale=2, out=scaled))
    with pytest.raises(rs.DescriptorError, match="must lie apart from the source"):
        rs.reorder(tensor, out=tensor[::-1], src_scale=2)


@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("count", [1, 3, 4, 131])
def test_neighbours_of_narrow_elements_keep_their_bytes(offset, count, device):
    """In the words at both ends, and between elements that share words with others."""
    x = floats(count)
    for dtype, step in (("u8", 1), ("u8", 7), ("f16", 1), ("f16", 3)):
        desc = rs.TensorDesc(dtype, (count,), (step,), offset)
        out = poisoned(desc, device)
        rs.reorder(x, out=out, src_scale=5)
        expected = rs.reference.reorder(x, dtype=dtype, src_scale=5)
        before = np.full(desc.nbytes + 16, POISON, np.uint8)
        np.testing.assert_array_equal(out.buffer(), rs.reference.to_buffer(expected, desc, before))


def test_interleaved_narrow_destinations_do_not_lose_each_other_s_bytes(device):
    """Four conversions into the four bytes of each word, one after the other and with a sum."""
    words = poisoned("u8[4096,4]", device)
    x = np.random.default_rng(3).integers(0, 64, (4096, 4)).astype(np.float32)
    for lane in (2, 0, 3, 1):
        rs.reorder(x[:, lane], out=words[:, lane], src_scale=2)
    np.testing.assert_array_equal(words.numpy(), 2 * x)
    rs.reorder(x[:, 1:3], out=words[:, 1:3], src_scale=1.5, sum_scale=0.5)
    np.testing.assert_array_equal(words.numpy()[:, 1:3], rs.reference.convert(np.float32(2.5) * x[:, 1:3], "u8"))
    np.testing.assert_array_equal(words.numpy()[:, ::3], 2 * x[:, ::3])


# Errors and cost


@pytest.mark.parametrize(
    "arguments",
    [
        {"src_scale": 0},
        {"dst_scale": np.nan},
        {"src_scale": np.ones(5)},
        {"dst_zero_point": 300},
        {"src_zero_point": np.inf},
        {"sum_scale": np.inf},
        {"group_sizes": (1, 2), "src_scale": np.ones(4)},
        {"rounding": "up"},
        {"saturate": "yes"},
        {"dtype": "s4"},
    ],
    ids=str,
)
def test_an_error_leaves_the_destination_and_the_device_as_they_were(arguments, device):
    x = rs.asarray(np.ones((3, 8), np.float32), device=device)
    out = poisoned("u8[3,8]", device)
    before = device.counters().dispatches
    with pytest.raises(rs.DescriptorError) as raised:
        rs.reorder(x, out=out, **arguments)
    assert "[3,8]" in str(raised.value)
    assert device.counters().dispatches == before
    np.testing.assert_array_equal(out.buffer(), POISON)
    assert rs.reorder(x, out=out, src_scale=7).numpy().sum() == 24 * 7


def test_a_sum_needs_something_to_add_to(device):
    x = rs.asarray(np.ones(4, np.float32), device=device)
    with pytest.raises(rs.DescriptorError, match=r"sum_scale 2 reads an out, and there is none, for f32\[4\]"):
        rs.reorder(x, sum_scale=2)


@pytest.mark.parametrize(
    "layout", ["f16[2,3,16,24]", "f16[2,3,16,24]{strides=(2000,600,30,1),offset=4}", "f16[2,3,16,24]{3,2,1,0:T(8,8)}"]
)
def one_dispatch(layout: str, device: rs.Device) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (2, 40, 60, 3), np.uint8)
    image = rs.asarray(pixels, device=device)
    out = poisoned(layout, device)
    mean, std = (floats(3, seed).reshape(3, 1, 1) for seed in (1, 2))
    arguments = {"src_zero_point": 128, "dst_scale": std, "dst_zero_point": mean}
    before = device.counters()
    rs.reorder(image[:, 4:36:2, 50:2:-2].permute(0, 3, 1, 2), out=out, **arguments)
    after = device.counters()
    assert after.dispatches - before.dispatches == 1
    assert after.uploaded == before.uploaded
    expected = rs.reference.reorder(pixels[:, 4:36:2, 50:2:-2].transpose(0, 3, 1, 2), dtype="f16", **arguments)
    assert_bits(out.numpy(), expected)


ONE_DISPATCH = [
    "f16[2,3,16,24]",
    "f16[2,3,16,24]{strides=(2000,600,30,1),offset=4}",
    "f16[2,3,16,24]{strides=(1,2,6,100),offset=1}",
    "f16[2,3,16,24]{3,2,1,0:T(8,8)}",
]


@pytest.mark.parametrize("layout", ONE_DISPATCH)
def test_slice_permutation_conversion_and_scales_are_one_dispatch(layout, device):
    one_dispatch(layout, device)


def test_scales_of_other_values_need_no_other_pipeline(device):
    """Arrays are parameters, numbers push constants; uploads are what the caller asked for alone."""
    x = np.arange(96, dtype=np.uint8).reshape(4, 24)
    source, out = rs.asarray(x, device=device), poisoned("f32[4,24]", device)
    for arguments in ({"src_scale": 2, "dst_zero_point": 1}, {"src_scale": np.arange(1, 25), "dst_zero_point": 1}):
        rs.reorder(source, out=out, **arguments).numpy()
        before = device.counters()
        for factor in range(2, 12):
            changed = {name: value * factor for name, value in arguments.items()}
            rs.reorder(source, out=out, **changed)
            device.wait()  # on kompute a buffer is part of a pipeline: that of the parameters returns
        after = device.counters()
        assert after.pipelines == before.pipelines
        assert after.dispatches - before.dispatches == 10
        assert after.uploaded == before.uploaded
        assert_bits(out.numpy(), rs.reference.reorder(x, dtype="f32", **changed))
