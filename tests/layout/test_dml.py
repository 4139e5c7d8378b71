"""DirectML's buffer size: rounding to 4 bytes, no padding after the last row, and its limits."""

import numpy as np
import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.dml import dml_buffer_tensor_size


@pytest.mark.parametrize(
    ("dtype", "sizes", "strides", "nbytes"),
    [
        ("f32", (1, 1, 3, 5), None, 60),
        ("f32", (1, 1, 3, 5), (15, 15, 5, 1), 60),
        ("f32", (1, 1, 3, 5), (15, 1, 5, 1), 60),
        ("u8", (2, 3), None, 8),
        ("u8", (2, 3), (1, 2), 8),
        ("u8", (2, 3), (0, 1), 4),
        ("u8", (2, 3), (5, 1), 8),
        ("u8", (2, 3), (6, 1), 12),
        ("f16", (2, 3), (5, 1), 16),
        ("f16", (3,), None, 8),
        ("f64", (2, 3), (5, 1), 64),
        ("s8", (1,), None, 4),
        ("s8", (5,), (0,), 4),
        ("u8", (1, 7), (2**32 - 1, 1), 8),
        ("u8", (2, 2), (2**32 - 1, 1), 2**32 + 4),
        ("u8", (2**32 - 1,), None, 2**32),
        ("f64", (2**32 - 1,), (2**32 - 1,), ((2**32 - 2) * (2**32 - 1) + 1) * 8),
        (np.float32, np.array([2, 2]), np.array([2, 1]), 16),
    ],
)
def test_bytes(dtype, sizes, strides, nbytes):
    assert dml_buffer_tensor_size(dtype, sizes, strides) == nbytes


def test_it_is_the_descriptor_rounded_up_to_words():
    for strides in [(5, 1), (1, 2), (0, 1), (0, 0), (7, 3)]:
        desc = TensorDesc("u8", (2, 3), strides)
        assert dml_buffer_tensor_size("u8", (2, 3), strides) == (desc.nbytes + 3) // 4 * 4


@pytest.mark.parametrize(
    ("sizes", "strides", "message"),
    [
        ((), None, "DirectML tensors have 1 to 8 axes, sizes has 0, for f32[]"),
        ((1,) * 9, None, "DirectML tensors have 1 to 8 axes, sizes has 9"),
        ((2, 0), None, "DirectML sizes are 1 to 2^32 - 1, sizes[1] is 0, for f32[2,0]"),
        ((2, -1), None, "sizes[1] is -1"),
        ((2**32,), None, "sizes[0] is 4294967296"),
        ((2**16, 2**16), None, "at most 2^32 - 1 elements, sizes hold 4294967296, for f32[65536,65536]"),
        ((2**16, 2**16), (0, 0), "at most 2^32 - 1 elements"),
        ((2, 3), (3,), "strides must have one value per axis: got (3,) for 2 axes, for f32[2,3]"),
        ((2, 3), (-3, 1), "DirectML strides are 0 to 2^32 - 1, strides[0] is -3, for f32[2,3]"),
        ((2, 3), (2**32, 1), "strides[0] is 4294967296"),
        ((2, 3.5), None, "sizes[1] must be an integer, got 3.5 (float)"),
        ((2, 3), (3, True), "strides[1] must be an integer, got the boolean True, for f32[2,3]"),
    ],
)
def test_limits(sizes, strides, message):
    with pytest.raises(DescriptorError) as caught:
        dml_buffer_tensor_size("f32", sizes, strides)
    assert message in str(caught.value)
