"""Destinations: XLA's memory spaces, and the bits of an element."""

import numpy as np
import pytest
from support.destinations import assert_equal

import restride as rs


@pytest.mark.parametrize("layout", [None, "{0,1:S(1)}", "f32[3,4]{1,0:T(2,2)S(2)}", "ab", "any", "AB->BA"])
def test_memory_spaces_say_nothing_to_a_copy(layout, device):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    src = rs.asarray(x, "f32[3,4]{1,0:T(2,2)S(1)}", device)
    assert_equal(rs.reorder(src, layout), x.T if layout == "AB->BA" else x)
    for out in ("f32[3,4]", "f32[3,4]{0,1:S(1)}"):
        assert_equal(rs.reorder(src, out=rs.empty(out, device)), x)
        assert_equal(rs.reorder(x, out=rs.empty(out, device)), x)


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
