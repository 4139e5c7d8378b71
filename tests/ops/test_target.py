"""Destinations: padding that stays, interleaved rows, permuted sizes, and halves of one buffer."""

from __future__ import annotations

import numpy as np
import pytest
from support.destinations import POISON, assert_equal, poisoned

import restride as rs
from restride_conformance import fill


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


@pytest.mark.parametrize("layout", [None, "{0,1:S(1)}", "f32[3,4]{1,0:T(2,2)S(1)}", "any", "AB->BA"])
def test_a_result_is_in_the_memory_space_of_its_source(layout, device):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    src = rs.asarray(x, "f32[3,4]{1,0:T(2,2)S(1)}", device)
    found = rs.reorder(src, layout)
    assert found.desc.memory_space == 1
    assert_equal(found, x.T if layout == "AB->BA" else x)
    assert src[1:].copy().desc.memory_space == 1
    assert rs.resample(src, sizes=(2, 2)).desc.memory_space == 1
    out = rs.empty("f32[3,4]{0,1:S(1)}", device)
    assert_equal(rs.reorder(src, out=out), x)


def test_arrays_of_the_host_go_into_the_memory_space_of_out(device):
    out = rs.empty("f32[3,4]{0,1:T(2,2)S(1)}", device)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert_equal(rs.reorder(x, out=out), x)
    out[1] = 7
    assert out.numpy()[1].tolist() == [7] * 4
    assert_equal(rs.resample(x, sizes=(3, 4), out=out), x)


def test_nothing_is_copied_to_another_memory_space(device):
    x = rs.asarray(np.zeros((3, 4), np.float32), "f32[3,4]{1,0:S(1)}", device)
    for refused in (
        lambda: rs.reorder(x, "{0,1}"),
        lambda: rs.reorder(x, "ab"),
        lambda: rs.reorder(x[1:], "f32[2,4]{1,0:S(2)}"),
        lambda: rs.reorder(x, out=rs.empty("f32[3,4]", device)),
        lambda: rs.asarray(x, "f32[3,4]"),
        lambda: rs.plan_reorder("f32[3,4]", "f32[3,4]{1,0:S(1)}", device=device),
    ):
        with pytest.raises(rs.UnsupportedError, match="memory space"):
            refused()


def test_elements_of_other_bits_than_their_type_are_not_read_or_written(device):
    for refused in (
        lambda: rs.empty("s8[8]{0:E(4)}", device),
        lambda: rs.from_buffer(bytes(8), "s8[8]{0:E(4)}", device),
        lambda: rs.reorder(np.zeros(8, np.int8), "{0:E(4)}"),
        lambda: rs.asarray(np.zeros(8, np.int8), "s8[8]{0:E(4)}", device),
        lambda: rs.plan_reorder("pred[8]{0:E(32)}", device=device),
    ):
        with pytest.raises(rs.UnsupportedError, match=r"elements of (4|32) bits are described and drawn, but not read"):
            refused()
