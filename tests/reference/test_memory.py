"""The reference's memory lines against the worked numbers of the specifications, written out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.reference.memory import PADDING_VALUE, ZERO, element_positions, extent, memory_line, read_tag

P, Z = PADDING_VALUE, ZERO


def line(text: str) -> list[int]:
    return [int(number) for number in memory_line(TensorDesc.parse(text))]


def positions(text: str) -> np.ndarray[Any, Any]:
    return element_positions(TensorDesc.parse(text))


def by_formula(sizes: tuple[int, ...], offset: Callable[..., Any]) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.fromfunction(offset, sizes, dtype=np.int64)
    return found


class TestXlaOrdersAndPadding:
    def test_both_orders_of_the_document(self) -> None:
        assert line("f32[2,3]{0,1}") == [0, 3, 1, 4, 2, 5]  # a d b e c f
        assert line("f32[2,3]{1,0}") == line("f32[2,3]") == [0, 1, 2, 3, 4, 5]

    def test_three_axes(self) -> None:
        assert positions("u8[10,20,30]{2,1,0}")[8, 15, 27] == 5277
        assert positions("u8[10,20,30]{1,2,0}")[8, 15, 27] == 5355

    def test_padded_sizes_of_the_document(self) -> None:
        """a d 0 b e 0 c f 0 0 0 0 0 0 0."""
        assert line("f32[2,3]{0,1:pad(3,5)=0}") == [0, 3, P, 1, 4, P, 2, 5, P, P, P, P, P, P, P]
        assert line("f32[2,3]{1,0:pad(3,5)=0}") == [0, 1, 2, P, P, 3, 4, 5, P, P, P, P, P, P, P]


class TestTiles:
    def test_figure_1(self) -> None:
        assert line("f32[3,5]{1,0:T(2,2)}") == [
            *(0, 1, 5, 6), *(2, 3, 7, 8), *(4, Z, 9, Z),
            *(10, 11, Z, Z), *(12, 13, Z, Z), *(14, Z, Z, Z),
        ]  # fmt: skip
        assert positions("f32[3,5]{1,0:T(2,2)}")[2, 3] == 17

    def test_figure_2(self) -> None:
        assert positions("bf16[4,8]{1,0:T(2,4)(2,1)}").tolist() == [
            [0, 2, 4, 6, 8, 10, 12, 14],
            [1, 3, 5, 7, 9, 11, 13, 15],
            [16, 18, 20, 22, 24, 26, 28, 30],
            [17, 19, 21, 23, 25, 27, 29, 31],
        ]

    def test_three_levels_of_one_axis(self) -> None:
        found = positions("bf16[2048]{0:T(1024)(128)(2,1)}")
        assert [found[index] for index in (0, 128, 1, 129, 256, 1024)] == [0, 1, 2, 3, 256, 1024]

    def test_a_tile_of_fewer_axes_covers_the_fastest_ones(self) -> None:
        found = positions("bf16[2,8,128]{2,1,0:T(8,128)(2,1)}")
        assert (found[0, 1, 0], found[0, 0, 1], found[0, 2, 0], found[1, 0, 0]) == (1, 2, 256, 1024)

    def test_a_tile_of_more_axes_than_the_array(self) -> None:
        assert positions("f32[8]{0:T(2,2)}")[5] == 9
        assert line("f32[3]{0:T(2,2)}") == [0, 1, Z, Z, 2, Z, Z, Z]
        assert line("u32[]{:T(4)}") == [0, Z, Z, Z]

    def test_a_sub_tile_that_does_not_divide_pads_inside_the_tile(self) -> None:
        assert line("f32[6]{0:T(4)(3)}") == [0, 1, 2, 3, Z, Z, 4, 5, Z, Z, Z, Z]

    def test_a_sub_tile_reaches_into_the_numbers_of_tiles(self) -> None:
        # 4x4 is tiles 2,2 of places 2,2; (2,1,1) moves the second tile number to the end.
        assert line("f32[4,4]{1,0:T(2,2)(2,1,1)}") == [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15]

    def test_tiles_are_of_physical_axes(self) -> None:
        # Column-major: 5 columns of 3, cut in tiles of 2 columns and 2 rows.
        assert line("f32[3,5]{0,1:T(2,2)}") == [
            *(0, 5, 1, 6), *(10, Z, 11, Z), *(2, 7, 3, 8), *(12, Z, 13, Z), *(4, 9, Z, Z), *(14, Z, Z, Z),
        ]  # fmt: skip

    def test_padded_sizes_are_what_is_tiled(self) -> None:
        assert line("f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}") == [
            *(0, 1, 3, 4), *(2, P, 5, P), *(P, Z, P, Z),
            *(P, P, Z, Z), *(P, P, Z, Z), *(P, Z, Z, Z),
        ]  # fmt: skip

    def test_combined_dimensions_of_the_document(self) -> None:
        combined = positions("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}")
        np.testing.assert_array_equal(combined.reshape(112, 110), positions("f32[112,110]{1,0:T(2,3)}"))

    def test_a_combined_dimension_of_a_later_tile(self) -> None:
        # 2x4 under T(2,2) is 1,2,2,2; (*,4) joins the last two, which leaves the tile as it is.
        assert line("f32[2,4]{1,0:T(2,2)(*,4)}") == line("f32[2,4]{1,0:T(2,2)}")
        # (*,3) cuts those 4 in 3 and 1.
        assert line("f32[2,4]{1,0:T(2,2)(*,3)}") == [0, 1, 4, 5, Z, Z, 2, 3, 6, 7, Z, Z]

    def test_no_elements_no_tiles(self) -> None:
        assert line("f32[0,3]{1,0:T(2,2)}") == line("f32[3,0]{0,1}") == []
        assert extent(TensorDesc.parse("f32[0,3]:aB8b")) == 0


class TestTags:
    """Formulas: oneDNN, "Understanding memory formats"."""

    def test_plain(self) -> None:
        n, c, h, w = 2, 3, 4, 5
        nchw = by_formula((n, c, h, w), lambda i, j, k, m: i * c * h * w + j * h * w + k * w + m)
        nhwc = by_formula((n, c, h, w), lambda i, j, k, m: i * h * w * c + k * w * c + m * c + j)
        chwn = by_formula((n, c, h, w), lambda i, j, k, m: j * h * w * n + k * w * n + m * n + i)
        for tags, expected in ((("nchw", "abcd"), nchw), (("nhwc", "acdb"), nhwc), (("chwn", "bcda"), chwn)):
            for tag in tags:
                np.testing.assert_array_equal(positions(f"f32[{n},{c},{h},{w}]:{tag}"), expected)

    def test_nChw8c(self) -> None:
        c, h, w = 24, 3, 2
        found = by_formula(
            (2, c, h, w), lambda i, j, k, m: i * c * h * w + j // 8 * h * w * 8 + k * w * 8 + m * 8 + j % 8
        )
        np.testing.assert_array_equal(positions(f"f32[2,{c},{h},{w}]:nChw8c"), found)

    def test_an_axis_is_padded_to_its_blocks(self) -> None:
        # 5 channels of a 1x2 image in blocks of 4: pixel 0 has channels 0-3, then pixel 1, then channel 4 of both.
        expected = [0, 2, 4, 6, 1, 3, 5, 7, 8, Z, Z, Z, 9, Z, Z, Z]
        assert line("f32[1,5,1,2]:nChw4c") == line("f32[1,5,1,2]:aBcd4b") == expected

    def test_OIhw8i16o2i(self) -> None:
        found = by_formula(
            (32, 32, 1, 3),
            lambda o, i, h, w: (
                ((((o // 16 * 2 + i // 16) * 1 + h) * 3 + w) * 8 + i % 16 // 2) * 32 + o % 16 * 2 + i % 2
            ),
        )
        np.testing.assert_array_equal(positions("bf16[32,32,1,3]:OIhw8i16o2i"), found)
        np.testing.assert_array_equal(positions("bf16[32,32,1,3]:ABcd8b16a2b"), found)

    def test_BA16a16b2a(self) -> None:
        found = by_formula(
            (64, 32), lambda a, b: ((b // 16 * 2 + a // 32) * 16 + a % 32 // 2) * 32 + b % 16 * 2 + a % 2
        )
        np.testing.assert_array_equal(positions("s8[64,32]:BA16a16b2a"), found)

    @pytest.mark.parametrize(
        ("tag", "order", "blocks"),
        [
            ("x", (0,), ()),
            ("hwigo", (3, 4, 2, 0, 1), ()),
            ("ntc", (1, 0, 2), ()),
            ("ldgoi", (0, 1, 3, 4, 2), ()),
            ("ldoi", (0, 1, 3, 2), ()),
            ("gOIhw4o4i", (0, 1, 2, 3, 4), ((1, 4), (2, 4))),
            ("gIOhw2i8o16i2o", (0, 1, 2, 3, 4), ((2, 2), (1, 8), (2, 16), (1, 2))),
        ],
    )
    def test_letters_stand_for_axes(
        self, tag: str, order: tuple[int, ...], blocks: tuple[tuple[int, int], ...]
    ) -> None:
        assert read_tag(tag) == (order, blocks)

    @pytest.mark.parametrize(
        "tag", ["", "16c", "nchw16", "nChw0c", "nchw16c", "nChw", "nchn", "bc", "nchwo", "nCHw16c"]
    )
    def test_texts_that_are_no_tag_are_refused(self, tag: str) -> None:
        with pytest.raises(DescriptorError, match=f"tag '{tag}' must"):
            read_tag(tag)


class TestViews:
    TILED = TensorDesc.parse("f32[3,5]{1,0:T(2,2)}")

    def test_a_row_backwards(self) -> None:
        view = TensorDesc.parse("f32[3]{at=(2,4-2a),in=[3,5]{1,0:T(2,2)}}")
        assert element_positions(view).tolist() == [20, 16, 12]
        assert extent(view) == 24

    def test_a_transpose_of_blocks(self) -> None:
        view = TensorDesc.parse("f32[5,2]{at=(b,a),in=[2,5]:aB4b}")
        np.testing.assert_array_equal(element_positions(view), positions("f32[2,5]:aB4b").T)

    def test_an_axis_that_does_not_move(self) -> None:
        view = TensorDesc.view_of(self.TILED, (2, 3), (0, 1), ((0, 0), (1, 0)))
        assert element_positions(view).tolist() == [[1, 3, 13], [1, 3, 13]]

    def test_a_scalar_seen_many_times(self) -> None:
        view = TensorDesc.view_of(TensorDesc.parse("f32[]{:T(4)}"), (2, 2), (), ((), ()))
        assert element_positions(view).tolist() == [[0, 0], [0, 0]]

    def test_a_view_has_no_line_of_its_own(self) -> None:
        for text in ("f32[3]{at=(2,a),in=[3,5]{1,0:T(2,2)}}", "f32[3]{strides=(1)}"):
            with pytest.raises(DescriptorError, match="needs a descriptor of a whole buffer"):
                line(text)
