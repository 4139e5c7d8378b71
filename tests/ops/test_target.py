"""Where results go: XLA's memory spaces, and the bits of an element."""

import numpy as np
import pytest
from support.destinations import assert_equal

import restride as rs


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
