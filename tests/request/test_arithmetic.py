"""The arithmetic of a reorder as a value: what is refused, what is dropped, what is equal."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import restride as rs
from restride.dtypes import DTYPES
from restride.reference.reorder import entries
from restride.request.arithmetic import ROUNDINGS, Arithmetic, Numbers, Scaling, arithmetic

F32, U8 = rs.TensorDesc("f32", (2, 8)), rs.TensorDesc("u8", (2, 8))


def to_u8(**arguments):
    return arithmetic(F32, U8, (0, 1), Numbers(**arguments))


def between(src, dst, **arguments):
    return arithmetic(rs.TensorDesc(src, (4,)), rs.TensorDesc(dst, (4,)), (0,), Numbers(**arguments))


def each(scaling, sizes):
    """The (scale, zero point) of every index, by the definition of Scaling."""
    pairs = np.frombuffer(scaling.pairs, np.float32).reshape(*scaling.sizes, 2)
    for axis, (count, group, size) in enumerate(zip(scaling.sizes, scaling.groups, sizes, strict=True)):
        entry = np.arange(size) // group if count > 1 else np.zeros(size, int)
        pairs = pairs.take(entry, axis)
    return pairs


def test_nothing_given_is_a_conversion():
    assert to_u8() == Arithmetic()
    assert to_u8().is_conversion


def test_a_side_without_a_step_has_its_neutral_value():
    got = to_u8(src_scale=2, dst_zero_point=3)
    assert got.src == Scaling((1, 1), (1, 1), np.float32([2, 0]).tobytes(), has_scale=True, has_zero_point=False)
    assert got.dst == Scaling((1, 1), (1, 1), np.float32([1, 3]).tobytes(), has_scale=False, has_zero_point=True)
    assert not got.is_conversion


@pytest.mark.parametrize(
    ("value", "sizes"),
    [
        (np.arange(1, 9), (1, 8)),
        ([1, 2, 3, 4, 5, 6, 7, 8], (1, 8)),
        (np.arange(1, 3).reshape(2, 1), (2, 1)),
        (np.arange(1, 17.0).reshape(2, 8), (2, 8)),
        (np.array([[2]], np.uint8), (1, 1)),
        (np.array([[1, 2]] * 8, ml_dtypes.bfloat16).T, (2, 8)),
        (np.array([[1], [2]], ml_dtypes.float8_e5m2), (2, 1)),
        (np.array([[1], [2]], ml_dtypes.int4), (2, 1)),
        (np.array([[1], [2]], ">f8"), (2, 1)),
    ],
)
def test_arrays_of_any_numbers_broadcast_as_numpy_does(value, sizes):
    got = to_u8(src_scale=value).src
    assert (got.sizes, got.groups, got.count) == (sizes, (1, 1), sizes[0] * sizes[1])
    assert np.array_equal(each(got, (2, 8))[..., 0], np.broadcast_to(np.asarray(value, np.float32), (2, 8)))


def test_values_are_rounded_to_f32_once():
    assert np.frombuffer(to_u8(src_scale=0.1).src.pairs, np.float32)[0] == np.float32(0.1)
    # Half way between two of f32, and a little above: by way of f64 only the first would be a tie.
    above = between("s64", "f32", src_zero_point=2**60 + 2**36 + 1).src
    assert np.frombuffer(above.pairs, np.float32)[1] == np.float32(2.0**60 + 2.0**37)


def test_a_tensor_is_read_back(device):
    scales = np.float32([[2], [3]])
    assert to_u8(src_scale=rs.asarray(scales, device=device)) == to_u8(src_scale=scales)
    turned = rs.asarray(scales.T.copy(), device=device).permute(1, 0)
    assert to_u8(dst_zero_point=turned) == to_u8(dst_zero_point=scales)


def test_scale_and_zero_point_take_the_finer_sizes():
    got = to_u8(src_scale=[[2.0], [3.0]], src_zero_point=np.arange(4).reshape(1, 4), group_sizes=(1, 2)).src
    assert (got.sizes, got.groups) == ((2, 4), (1, 2))
    assert each(got, (2, 8))[1, :, 0].tolist() == [3] * 8
    assert each(got, (2, 8))[1, :, 1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    # One entry an index beside one a group of 3: 2 of the latter are 8 of the former.
    got = to_u8(src_scale=np.arange(1, 9).reshape(1, 8), src_zero_point=[[5, 6, 7]], group_sizes=(1, 3)).src
    assert (got.sizes, got.groups) == ((1, 8), (1, 1))
    assert each(got, (2, 8))[0].T.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8], [5, 5, 5, 6, 6, 6, 7, 7]]


def test_a_group_of_the_whole_axis_is_one_entry():
    got = to_u8(src_scale=[[2.0], [3.0]], group_sizes=(1, 8))
    assert got == to_u8(src_scale=[[2.0], [3.0]])
    assert got == to_u8(src_scale=[[2.0], [3.0]], group_sizes=(1, 100))


def test_groups_go_with_their_axes_to_the_destination():
    x, turned = rs.TensorDesc("f32", (2, 6, 5)), rs.TensorDesc("u8", (5, 2, 6))
    scales = np.arange(1, 16).reshape(5, 1, 3)
    got = arithmetic(x, turned, (2, 0, 1), Numbers(dst_scale=scales, group_sizes=(1, 2, 1)))
    assert (got.dst.sizes, got.dst.groups) == ((5, 1, 3), (1, 1, 2))
    back = got.dst.permuted((1, 2, 0))
    assert (back.sizes, back.groups) == ((1, 3, 5), (1, 2, 1))
    assert np.array_equal(each(back, x.sizes), each(got.dst, turned.sizes).transpose(1, 2, 0, 3))


def test_entries_are_those_of_the_reference():
    random = np.random.default_rng(5)
    for _ in range(300):
        sizes = tuple(int(size) for size in random.integers(1, 7, random.integers(0, 4)))
        groups = tuple(int(group) for group in random.integers(1, 5, len(sizes)))
        given = []
        for _ in range(2):
            shape = [random.choice([1, n, -(-n // g)]) for n, g in zip(sizes, groups, strict=True)]
            given.append(random.integers(2, 100, shape))
        desc = rs.TensorDesc("f32", sizes)
        got = arithmetic(desc, desc, range(len(sizes)), Numbers(*given, group_sizes=groups)).src
        for place, (values, neutral) in enumerate(zip(given, (1, 0), strict=True)):
            expected = entries(values, sizes, groups, neutral)
            assert np.array_equal(each(got, sizes)[..., place], expected), (sizes, groups, values)


NEUTRAL = {
    "src_scale": np.ones((2, 8)),
    "src_zero_point": [0, 0, 0, 0, 0, 0, 0, -0.0],
    "dst_scale": 1,
    "dst_zero_point": np.zeros((2, 1), np.uint8),
    "sum_scale": 0,
}


@pytest.mark.parametrize("argument", NEUTRAL)
def test_neutral_arguments_are_as_if_left_out(argument):
    assert to_u8(**{argument: NEUTRAL[argument]}) == Arithmetic()


def test_neutral_is_what_f32_makes_neutral():
    assert to_u8(src_scale=1 + 2.0**-30, sum_scale=1e-50).is_conversion
    assert to_u8(src_scale=[1, 1, 1, 1, 1, 1, 1, 1 + 2.0**-22]).src.count == 8
    assert to_u8(src_scale=np.ones(8), src_zero_point=7) == to_u8(src_zero_point=7)


def test_the_scale_of_a_sum_is_one_number_of_f32():
    assert to_u8(sum_scale=0.1).sum_scale == float(np.float32(0.1))
    assert to_u8(sum_scale=np.float64(2)) == to_u8(sum_scale=2)
    assert not to_u8(sum_scale=2).is_conversion


def patterns(dtype):
    """Every element of a type of 8 or 16 bits."""
    if dtype == "pred":
        return np.array([False, True])
    unsigned = np.uint8 if dtype.itemsize == 1 else np.uint16
    return np.arange(1 << 8 * dtype.itemsize, dtype=unsigned).view(dtype.dtype)


@pytest.mark.parametrize("src", [name for name, dtype in DTYPES.items() if dtype.itemsize <= 2])
def test_conversions_are_equal_if_their_results_are(src):
    """Of all settings of rounding and saturate: one arithmetic, one result; another arithmetic, another result."""
    x = patterns(DTYPES[src])
    for dst in DTYPES:
        results = {}
        for rounding, saturate in itertools.product(ROUNDINGS, (True, False)):
            result = rs.reference.reorder(x, dtype=dst, rounding=rounding, saturate=saturate).tobytes()
            results.setdefault(between(src, dst, rounding=rounding, saturate=saturate), set()).add(result)
        assert all(len(same) == 1 for same in results.values()), dst
        assert len(set.union(*results.values())) == len(results), dst


AIMED = [0, 1, 2, 3, 5, 100, 127, 128, 200, 255, 256, 448, 464, 500, 65504, 65535, 65536, 2**24 + 1, 2**31 - 1, 2**53]


def numbers_of(dtype):
    values = np.array([*AIMED, *(-value for value in AIMED), *(value / 8 + 0.5 for value in AIMED)])
    return rs.reference.reorder(values, dtype=dtype)


@pytest.mark.parametrize(
    "arguments",
    [
        {"src_zero_point": 1},
        {"dst_zero_point": 1},
        {"src_zero_point": 1, "dst_zero_point": 1},
        {"src_scale": 0.3},
        {"dst_scale": 3, "dst_zero_point": 1},
        {"sum_scale": 0.5},
        {"sum_scale": 0.5, "dst_zero_point": 1},
    ],
    ids=str,
)
def test_what_one_arithmetic_stands_for_has_one_result(arguments):
    for src, dst in itertools.product(DTYPES, repeat=2):
        x = numbers_of(src)
        old = numbers_of(dst)[::-1]
        results = {}
        for rounding, saturate, rounds_first in itertools.product(ROUNDINGS, (True, False), (True, False)):
            settings = {**arguments, "rounding": rounding, "saturate": saturate, "rounds_first": rounds_first}
            got = rs.reference.reorder(x, dtype=dst, out=old, **settings).tobytes()
            results.setdefault(between(src, dst, **settings), set()).add(got)
        assert all(len(same) == 1 for same in results.values()), (src, dst)


@pytest.mark.parametrize(
    ("src", "dst", "settings", "expected"),
    [
        ("f32", "u8", {"rounding": "truncate", "saturate": False}, Arithmetic(rounding="truncate", saturate=False)),
        ("s32", "u8", {"rounding": "truncate", "saturate": False}, Arithmetic(saturate=False)),
        ("u8", "s16", {"rounding": "truncate", "saturate": False}, Arithmetic()),
        ("f32", "f32", {"rounding": "truncate", "saturate": False}, Arithmetic()),
        ("f8e5m2", "f8e5m2", {"rounding": "truncate", "saturate": False}, Arithmetic()),
        ("f64", "pred", {"rounding": "truncate", "saturate": False}, Arithmetic()),
        ("f8e4m3fn", "f16", {"saturate": False}, Arithmetic()),
        ("f8e5m2", "f16", {"saturate": False}, Arithmetic(saturate=False)),
        ("u16", "f16", {"saturate": False}, Arithmetic(saturate=False)),
        ("s16", "f16", {"saturate": False}, Arithmetic()),
        ("f64", "f32", {"saturate": False}, Arithmetic()),
        ("f32", "u8", {"rounds_first": True}, Arithmetic()),
    ],
)
def test_settings_that_cannot_matter_are_the_defaults(src, dst, settings, expected):
    assert between(src, dst, **settings) == expected


def test_rounding_first_matters_where_a_zero_point_follows():
    def of(src, dst, **arguments):
        return between(src, dst, rounds_first=True, rounding="truncate", **arguments)

    first = of("f32", "u8", dst_scale=2, dst_zero_point=3)
    assert (first.rounds_first, first.rounding) == (True, "truncate")
    assert not of("f32", "u8", dst_scale=2).rounds_first
    assert of("f32", "f8e5m2", dst_scale=2).rounds_first
    # Integers less integers are integers, which nothing rounds.
    integral = of("s32", "u8", src_zero_point=2, dst_zero_point=3)
    assert (integral.rounds_first, integral.rounding) == (False, "nearest_even")
    assert of("s32", "u8", src_scale=2, dst_zero_point=3).rounds_first


def test_the_bounds_of_64_bit_zero_points_are_exact():
    assert between("s64", "f32", src_zero_point=2**63 - 1).src.has_zero_point
    assert between("s64", "f32", src_zero_point=[-(2**63), 0, 0, 1]).src.has_zero_point
    assert between("u64", "f32", src_zero_point=np.uint64(2**64 - 1)).src.has_zero_point
    assert between("s64", "f32", src_zero_point=2.0**63 - 1024).src.has_zero_point
    for src, value in (("s64", 2.0**63), ("s64", np.uint64(2**63)), ("u64", -1), ("u64", 2.0**64)):
        with pytest.raises(rs.DescriptorError, match=f"src_zero_point must be an integer of {src}"):
            between(src, "f32", src_zero_point=value)


NAN_AT_3 = np.array([[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, np.nan, 1, 1, 1, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"src_scale": 0}, r"src_scale must be finite and not 0 as f32, got 0, for f32\[2,8\]\{1,0\}$"),
        ({"src_scale": NAN_AT_3}, r"src_scale must be .* not 0 as f32, got nan at entry \(1, 3\), for f32\[2,8\]"),
        ({"dst_scale": [-np.inf]}, r"dst_scale must be finite and not 0 as f32, got -inf, for u8\[2,8\]"),
        ({"dst_scale": 1e-50}, "dst_scale must be finite and not 0 as f32, got 1e-50, for u8"),
        ({"dst_scale": 1e39}, "dst_scale must be finite and not 0 as f32, got 1e.39, for u8"),
        ({"src_scale": "2"}, "src_scale must be numbers, got an array of <U1, for f32"),
        ({"src_scale": True}, "src_scale must be numbers, got an array of bool, for f32"),
        ({"src_scale": 1j}, "src_scale must be numbers, got an array of complex128, for f32"),
        ({"src_scale": [[1, 2], [3]]}, "src_scale of type list is not one that numpy takes: .*, for f32"),
        ({"src_scale": np.zeros(2, "V4")}, r"src_scale must be numbers, got an array of \|V4, for f32"),
        (
            {"src_scale": [1, 2]},
            r"src_scale of sizes \[2\] must broadcast against sizes \[2, 8\], for f32\[2,8\]\{1,0\}$",
        ),
        (
            {"src_scale": np.ones((1, 2, 8))},
            r"src_scale of sizes \[1, 2, 8\] must broadcast against sizes \[2, 8\], for f32",
        ),
        (
            {"src_scale": [1, 2, 3, 4], "group_sizes": (1, 2)},
            r"src_scale of sizes \[4\] must broadcast in groups of \[1, 2\], which need all 2 axes, .* for f32\[2,8\]",
        ),
        (
            {"src_scale": np.ones((1, 5)), "group_sizes": (1, 2)},
            r"src_scale of sizes \[1, 5\] must .*: axis 1 of size 8 in groups of 2 takes 1 or 4 or 8 entries, not 5,",
        ),
        (
            {"src_scale": np.ones((2, 2)), "group_sizes": (1, 3)},
            "axis 1 of size 8 in groups of 3 takes 1 or 3 or 8 entries, not 2, for",
        ),
        (
            {"dst_scale": np.ones((3, 8))},
            r"dst_scale of sizes \[3, 8\] must .*: axis 0 of size 2 takes 1 or 2 entries, not 3, for u8\[2,8\]\{1,0\}",
        ),
        ({"src_zero_point": np.nan}, "src_zero_point must be finite as f32, got nan, for f32"),
        ({"src_zero_point": -1e39}, r"src_zero_point must be finite as f32, got -1e\+39, for f32"),
        (
            {"dst_zero_point": 0.5},
            "dst_zero_point must be an integer of u8, 0 to 255, got 0.5; a side of floats takes any .*, for u8",
        ),
        ({"dst_zero_point": np.nan}, "dst_zero_point must be an integer of u8, 0 to 255, got nan; .*, for u8"),
        ({"dst_zero_point": [[255], [256]]}, r"an integer of u8, 0 to 255, got 256 at entry \(1, 0\), for u8"),
        ({"dst_zero_point": [[0], [-1]]}, r"an integer of u8, 0 to 255, got -1 at entry \(1, 0\), for u8"),
        ({"group_sizes": (1, 2)}, r"group_sizes need a scale or a zero point, got \(1, 2\) alone, for f32"),
        ({"src_scale": 2, "group_sizes": (2,)}, r"group_sizes must be 2 integers of 1 or more, got \(2,\), for f32"),
        ({"src_scale": 2, "group_sizes": (0, 1)}, r"group_sizes must be 2 integers of 1 or more, got \(0, 1\)"),
        ({"src_scale": 2, "group_sizes": (1.5, 1)}, r"group_sizes\[0\] must be an integer, got 1.5 \(float\), for f32"),
        ({"src_scale": 2, "group_sizes": 2}, "group_sizes must be a sequence of integers, got 2"),
        ({"sum_scale": np.inf}, "sum_scale must be one number, finite as f32, got inf, for f32"),
        ({"sum_scale": [1]}, r"sum_scale must be one number, finite as f32, got \[1\], for f32"),
        ({"sum_scale": "1"}, "sum_scale must be numbers, got an array of <U1"),
        ({"rounding": "up"}, "rounding must be one of 'nearest_even', 'truncate', 'half_away', not 'up', for f32"),
        ({"rounding": None}, "rounding must be one of .*, not None, for f32"),
        ({"saturate": 1}, "saturate must be one of True, False, not 1, for f32"),
    ],
)
def test_what_breaks_a_rule_is_refused(arguments, message):
    with pytest.raises(rs.DescriptorError, match=message):
        to_u8(**arguments)


def test_a_zero_point_of_pred_is_0_or_1():
    assert between("pred", "f32", src_zero_point=1).src.has_zero_point
    with pytest.raises(rs.DescriptorError, match="src_zero_point must be an integer of pred, 0 to 1, got 2, for pred"):
        between("pred", "f32", src_zero_point=2)


def test_zero_points_of_floats_are_any_numbers():
    assert between("f32", "f8e4m3fn", src_zero_point=0.485, dst_zero_point=-1e9).dst.has_zero_point


def test_values_are_not_those_of_an_array_that_changes_later():
    scales = np.float32([[2], [3]])
    given = to_u8(src_scale=scales)
    scales[:] = 9
    assert given == to_u8(src_scale=[[2], [3]])
    assert hash(given) == hash(to_u8(src_scale=[[2], [3]]))
