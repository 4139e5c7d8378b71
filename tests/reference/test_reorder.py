"""The references for strided_slice and reorder, and the raw buffers they are laid out in."""

from __future__ import annotations

import itertools
import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.random_layouts import random_layout

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.reference import from_buffer, reorder, strided_slice, to_buffer

FOUR = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)


class TestStridedSlice:
    @pytest.mark.parametrize(
        ("strides", "expected"), [((1, 1, 2, 2), [[2, 4], [10, 12]]), ((1, 1, -2, 2), [[14, 16], [6, 8]])]
    )
    def test_directml_worked_examples(self, strides: tuple[int, ...], expected: list[list[int]]) -> None:
        result = strided_slice(FOUR, (0, 0, 0, 1), (1, 1, 4, 3), strides)
        assert result.dtype == np.float32
        assert result[0, 0].tolist() == expected

    def test_every_window_of_one_axis(self) -> None:
        x = np.arange(6)
        for offset, size, stride in itertools.product(range(6), range(1, 7), (-7, -3, -2, -1, 1, 2, 3, 7)):
            if offset + size > 6:
                continue
            most = 1 + (size - 1) // abs(stride)
            start = offset if stride > 0 else offset + size - 1
            for count in range(1, most + 1):
                expected = [start + stride * index for index in range(count)]
                assert strided_slice(x, [offset], [size], [stride], [count]).tolist() == expected
            assert len(strided_slice(x, [offset], [size], [stride])) == most

    @pytest.mark.parametrize(
        ("offsets", "sizes", "strides", "output_sizes", "message"),
        [
            ((0, 4), (2, 5), (1, 1), None, r"window \[4, 9\) exceeds size 8 of axis 1 in f32\[2,8\]\{1,0\}"),
            ((0, -1), (2, 5), (1, 1), None, r"offset -1 is negative; .* axis 1 in f32\[2,8\]\{1,0\}"),
            ((0, 0), (0, 5), (1, 1), None, r"window size 0 of axis 0 in f32\[2,8\]\{1,0\} must be at least 1"),
            ((0, 0), (2, 5), (1, 0), None, r"stride 0 of axis 1 in f32\[2,8\]\{1,0\} must not be zero"),
            ((0, 0), (2, 5), (1, 2), (2, 4), r"output size 4 of axis 1 in .* must be in \[1, 3\]"),
            ((0, 0), (2, 5), (1, -2), (2, 0), r"output size 0 of axis 1 in .* must be in \[1, 3\]"),
            ((0,), (2, 5), (1, 1), None, r"offsets \[0\] must have one value for each of the 2 axes of f32\[2,8\]"),
            ((0, 0), (2, 5), (1, 1.0), None, r"strides\[1\] must be an integer, got 1.0 \(float\)"),
        ],
    )
    def test_errors(self, offsets: Any, sizes: Any, strides: Any, output_sizes: Any, message: str) -> None:
        with pytest.raises(DescriptorError, match=message):
            strided_slice(np.zeros((2, 8), np.float32), offsets, sizes, strides, output_sizes)

    def test_rank_zero_is_refused(self) -> None:
        with pytest.raises(DescriptorError, match="1 to 8 dimensions"):
            strided_slice(np.float32(1), (), (), ())


class TestReorder:
    def test_names_permute_only_with_an_arrow(self) -> None:
        x = np.arange(105, dtype=np.uint8).reshape(1, 3, 5, 7)
        np.testing.assert_array_equal(reorder(x, "NHWC"), x)
        np.testing.assert_array_equal(reorder(x, "NCHW->NHWC"), x.transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(reorder(x, "NCHW->WCHN"), x.transpose(3, 1, 2, 0))
        np.testing.assert_array_equal(reorder(x[0], "CHW->HWC"), x[0].transpose(1, 2, 0))
        np.testing.assert_array_equal(reorder(x, "abcd->dcba"), x.T)

    def test_a_copy_with_every_bit(self) -> None:
        x = np.array([0x7FA00001, 0xFFC12345, 1, 0x80000000], np.uint32).view(np.float32)
        moved = reorder(x)
        assert moved.tobytes() == x.tobytes()
        assert not np.shares_memory(moved, x)

    def test_descriptors_and_their_texts_leave_the_array(self) -> None:
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        np.testing.assert_array_equal(reorder(x, "f32[2,3]{0,1}"), x)
        np.testing.assert_array_equal(reorder(x, TensorDesc("f32", (2, 3), (1, 2))), x)
        for text in (
            "f32[2,3]{1,0:T(2,2)}",
            "f32[2,3]{0,1:pad(3,5)=7}",
            "f32[2,3]:Ab4a",
            "f32[2,3]{at=(a,4-b),in=[2,5]:aB4b}",
        ):
            np.testing.assert_array_equal(reorder(x, text), x)

    def test_tags_and_any_leave_the_array(self) -> None:
        x = np.arange(105, dtype=np.uint8).reshape(1, 3, 5, 7)
        for layout in ("nhwc", "acdb", "nChw16c", "ABcd4a4b", "OIhw4i16o4i", "any"):
            np.testing.assert_array_equal(reorder(x, layout), x)
            assert not np.shares_memory(reorder(x, layout), x)

    @pytest.mark.parametrize(
        ("layout", "message"),
        [
            ("f32[3,2]{1,0}", r"f32\[3,2\]\{1,0\} must have the sizes of the source f32\[2,3\]"),
            ("f32[3,2]:aB4b", r"f32\[3,2\]:aB4b must have the sizes"),
        ],
    )
    def test_errors(self, layout: str, message: str) -> None:
        with pytest.raises(DescriptorError, match=message):
            reorder(np.zeros((2, 3), np.float32), layout)


class TestBuffers:
    def test_other_bytes_are_kept(self) -> None:
        buffer = np.full(24, 0xAA, np.uint8)
        returned = to_buffer(np.array([1, 2], np.uint16), TensorDesc("u16", (2,), (-3,), 8), buffer)
        assert returned is buffer
        assert [index for index, byte in enumerate(buffer) if byte != 0xAA] == [10, 11, 16, 17]
        assert buffer.view(np.uint16)[[8, 5]].tolist() == [1, 2]

    def test_zero_strides_read_the_same_element(self) -> None:
        raw = np.array([1, 2, 3], np.uint8)
        assert from_buffer(raw, TensorDesc("u8", (2, 3), (0, 1))).tolist() == [[1, 2, 3], [1, 2, 3]]

    def test_round_trip_of_random_layouts_against_numpy(self) -> None:
        choose = random.Random(11)
        for dtype in ("pred", "s16", "bf16", "f8e5m2", "f64"):
            for _ in range(40):
                rank = choose.randint(0, 5)
                sizes = tuple(choose.choice((0, 1, 1, 2, 2, 3, 3, 4)) for _ in range(rank))
                order = choose.sample(range(rank), rank)
                strides, step, offset = [0] * rank, 1, choose.randint(0, 5)
                for axis in order:
                    strides[axis] = step
                    step *= sizes[axis] + choose.randint(0, 2) if sizes[axis] else 1
                for axis in range(rank):
                    if choose.random() < 0.3 and sizes[axis]:
                        offset += (sizes[axis] - 1) * strides[axis]
                        strides[axis] = -strides[axis]
                desc = TensorDesc(dtype, sizes, tuple(strides), offset)
                element = np.dtype(desc.dtype)
                raw = np.frombuffer(choose.randbytes((offset + 2 * step + 1) * element.itemsize), np.uint8).copy()
                if dtype == "pred":
                    raw &= 1
                # As void: as_strided knows no 8-bit floats.
                typed = raw.view(np.dtype((np.void, element.itemsize)))
                by_numpy = np.lib.stride_tricks.as_strided(
                    typed[offset:], sizes, [stride * element.itemsize for stride in strides], writeable=False
                )
                gathered = from_buffer(raw, desc)
                assert gathered.tobytes() == by_numpy.tobytes()
                assert to_buffer(gathered, desc, raw.copy()).tobytes() == raw.tobytes()

    def test_a_whole_layout_is_written_with_its_padding(self) -> None:
        x = np.arange(1, 7, dtype=np.uint8).reshape(2, 3)
        padded = TensorDesc.parse("u8[2,3]{1,0:T(2,2)pad(3,5)=9}")
        expected = [1, 2, 4, 5, 3, 9, 6, 9, 9, 0, 9, 0, 9, 9, 0, 0, 9, 9, 0, 0, 9, 0, 0, 0]
        assert to_buffer(x, padded).tolist() == expected
        assert to_buffer(x, padded, np.full(26, 0xAA, np.uint8)).tolist() == [*expected, 0xAA, 0xAA]
        assert to_buffer(x, TensorDesc.parse("u8[2,3]:Ab4a")).tolist() == [1, 4, 0, 0, 2, 5, 0, 0, 3, 6, 0, 0]
        assert to_buffer(np.zeros((0, 3), np.uint8), TensorDesc.parse("u8[0,3]{1,0:pad(1,3)=9}")).tolist() == [9, 9, 9]

    def test_a_view_of_a_whole_layout_keeps_what_is_not_its_own(self) -> None:
        view = TensorDesc.parse("u16[2]{at=(2,3-2a),in=[3,5]{1,0:T(2,2)pad(4,6)=9}}")
        buffer = np.full(48, 0xAA, np.uint8)
        to_buffer(np.array([1, 2], np.uint16), view, buffer)
        assert {place: value for place, value in enumerate(buffer.view(np.uint16)) if value != 0xAAAA} == {17: 1, 13: 2}
        assert from_buffer(buffer, view).tolist() == [1, 2]
        assert to_buffer(np.array([1, 2], np.uint16), view).size == 48

    def test_round_trip_of_random_layouts(self) -> None:
        choose = random.Random(12)
        for _ in range(300):
            desc = TensorDesc.parse(random_layout(choose, max_elements=60))
            element = np.dtype(desc.dtype)
            raw = np.frombuffer(choose.randbytes(desc.numel * element.itemsize), np.uint8)
            values = (raw & 1 if desc.dtype == "pred" else raw).view(element).reshape(desc.sizes)
            buffer = to_buffer(values, desc)
            assert buffer.size == desc.nbytes, desc
            assert from_buffer(buffer, desc).tobytes() == values.tobytes(), desc

    def test_errors(self) -> None:
        desc = TensorDesc("f32", (2, 3))
        with pytest.raises(DescriptorError, match=r"buffer of 20 bytes is smaller than the 24 bytes of f32\[2,3\]"):
            from_buffer(np.zeros(20, np.uint8), desc)
        with pytest.raises(DescriptorError, match=r"smaller than the 32 bytes of f32\[2,3\]:aB4b"):
            to_buffer(np.zeros((2, 3), np.float32), TensorDesc.parse("f32[2,3]:aB4b"), np.zeros(28, np.uint8))
        with pytest.raises(DescriptorError, match="must be 1-D uint8, not float32"):
            from_buffer(np.zeros(24, np.float32), desc)
        with pytest.raises(DescriptorError, match="must have the sizes and element type"):
            to_buffer(np.zeros((3, 2), np.float32), desc)
        with pytest.raises(DescriptorError, match="must have the sizes and element type"):
            to_buffer(np.zeros((2, 3), ml_dtypes.bfloat16), desc)
