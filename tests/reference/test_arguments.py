"""Arguments of the reference: what is refused, with the rule and the value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import restride as rs
from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.reference import from_buffer, to_buffer


class TestArguments:
    """Element types and layouts are written as the public functions take them."""

    X = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    BY_TYPE: ClassVar[dict[str, Callable[[Any], Any]]] = {
        "convert": lambda dtype: rs.reference.convert(TestArguments.X, dtype),
        "crop_resize": lambda dtype: crop_resize(dtype=dtype),
        "crop_resize_limits": lambda dtype: rs.reference.crop_resize_limits(
            TestArguments.X, [(0, 0, 2, 2)], (3, 3), axes=(0, 1), dtype=dtype
        ),
        "reorder": lambda dtype: rs.reference.reorder(TestArguments.X, dtype=dtype),
        "resample": lambda dtype: rs.reference.resample(TestArguments.X, (2, 2, 2), dtype=dtype),
        "resample_limits": lambda dtype: rs.reference.resample_limits(TestArguments.X, (2, 2, 2), dtype=dtype),
        "resample_backward": lambda dtype: rs.reference.resample_backward(TestArguments.X, (2, 2, 2), dtype=dtype),
        "resample_backward_limits": lambda dtype: rs.reference.resample_backward_limits(
            TestArguments.X, (2, 2, 2), dtype=dtype
        ),
    }

    @pytest.mark.parametrize("name", BY_TYPE)
    def test_element_types(self, name: str) -> None:
        for same in (
            ("f16", "float16", np.float16, np.dtype(np.float16), rs.TensorDesc("f16", ()).dtype),
            ("f32", "float32", np.float32),
            *([] if "backward" in name else [("u8", "uint8", np.uint8)]),
        ):
            expected = np.asarray(self.BY_TYPE[name](same[-1]))
            assert expected.dtype == same[2]
            for dtype in same:
                made = np.asarray(self.BY_TYPE[name](dtype))
                assert (made.dtype, made.tolist()) == (expected.dtype, expected.tolist()), dtype
        with pytest.raises(DescriptorError, match="counts bytes in numpy"):
            self.BY_TYPE[name]("f2")

    def test_texts_of_descriptors(self) -> None:
        for text in ("f32[2,4,3]{0,1,2}", "f32[2,4,3]{2,1,0:T(2,2)}", "f32[2,4,3]:aBc4b"):
            desc = TensorDesc.parse(text)
            raw = to_buffer(self.X, text)
            np.testing.assert_array_equal(raw, to_buffer(self.X, desc))
            np.testing.assert_array_equal(from_buffer(raw, text), self.X)
        with pytest.raises(DescriptorError, match="desc must be a TensorDesc or its text"):
            to_buffer(self.X, np.float32)  # type: ignore[arg-type]

    def test_boxes_of_unsigned_integers(self) -> None:
        np.testing.assert_array_equal(crop_resize(np.uint8([(0, 1, 2, 3)])), crop_resize([(0, 1, 2, 3)]))

    def test_a_box_of_floats_in_pixels_of_one_row(self) -> None:
        with pytest.raises(UnsupportedError, match="needs an image of 2 x 2 or more"):
            rs.reference.crop_resize(self.X[:1], [(0.0, 0.5, 0.0, 2.0)], (3, 3), axes=(0, 1))


def crop_resize(boxes: Any = ((0, 0, 2, 2),), dtype: Any = None) -> Any:
    return rs.reference.crop_resize(TestArguments.X, boxes, (3, 3), axes=(0, 1), dtype=dtype)
