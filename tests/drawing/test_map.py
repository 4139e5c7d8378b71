"""Pictures of layouts in the terminal, what a reorder moves, and the command: every number is the descriptor's own."""

import io
import os
import random
import re
import shlex
import subprocess
import sys
import tracemalloc
import unicodedata
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.random_layouts import random_layout, random_pair

from restride.cli import main
from restride.drawing.explain import explain
from restride.drawing.map import HUES, Kind, LayoutMap, block_sizes, memory_line, rgb, shown
from restride.drawing.moves import MOST_COUNTED, Move, Runs, _counted_runs, _offsets, _planned_runs
from restride.drawing.picture import show, takes_colour
from restride.drawing.terminal import CROSSINGS
from restride.errors import DescriptorError, UnsupportedError
from restride.kernel import Limits
from restride.layout import TensorDesc
from restride.plan.copy import copy_kernels
from restride.plan.fill import padding_kernels
from restride.reference import memory

FIGURE_1 = "f32[3,5]{1,0:T(2,2)}"
FIGURE_2 = "f32[4,8]{1,0:T(2,4)(2,1)}"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

FIGURE_1_TEXT = """\
f32[3,5]{1,0:T(2,2)}
15 elements of 4 bytes in 96 bytes, 36 of them padding

      0    1     2    3     4    5
  ┌──────────┬──────────┬──────────┐
0 │   0    1 │   4    5 │   8   ·9 │
1 │   2    3 │   6    7 │  10  ·11 │
  ├──────────┼──────────┼──────────┤
2 │  12   13 │  16   17 │  20  ·21 │
3 │ ·14  ·15 │ ·18  ·19 │ ·22  ·23 │
  └──────────┴──────────┴──────────┘

memory, element after element, and the index that lies there
 0 │ 0,0  0,1  1,0  1,1 │ 0,2  0,3  1,2  1,3 │ 0,4    ·  1,4    · │
12 │ 2,0  2,1    ·    · │ 2,2  2,3    ·    · │ 2,4    ·    ·    · │
─ tiles of 4 elements   · padding, holds 0"""

FIGURE_2_TEXT = """\
f32[4,8]{1,0:T(2,4)(2,1)}
32 elements of 4 bytes in 128 bytes, no padding

     0    1    2    3    4    5    6    7
  ┏━━━━┯━━━━┯━━━━┯━━━━┳━━━━┯━━━━┯━━━━┯━━━━┓
0 ┃  0 │  2 │  4 │  6 ┃  8 │ 10 │ 12 │ 14 ┃
1 ┃  1 │  3 │  5 │  7 ┃  9 │ 11 │ 13 │ 15 ┃
  ┣━━━━┿━━━━┿━━━━┿━━━━╋━━━━┿━━━━┿━━━━┿━━━━┫
2 ┃ 16 │ 18 │ 20 │ 22 ┃ 24 │ 26 │ 28 │ 30 ┃
3 ┃ 17 │ 19 │ 21 │ 23 ┃ 25 │ 27 │ 29 │ 31 ┃
  ┗━━━━┷━━━━┷━━━━┷━━━━┻━━━━┷━━━━┷━━━━┷━━━━┛

memory, element after element, and the index that lies there
 0 ┃ 0,0  1,0 │ 0,1  1,1 │ 0,2  1,2 │ 0,3  1,3 ┃
 8 ┃ 0,4  1,4 │ 0,5  1,5 │ 0,6  1,6 │ 0,7  1,7 ┃
16 ┃ 2,0  3,0 │ 2,1  3,1 │ 2,2  3,2 │ 2,3  3,3 ┃
24 ┃ 2,4  3,4 │ 2,5  3,5 │ 2,6  3,6 │ 2,7  3,7 ┃
━ tiles of 8 elements   ─ sub-tiles of 2 elements"""


def layouts(count, seed):
    rng = random.Random(seed)
    return [random_layout(rng, max_elements=120) for _ in range(count)]


def run(capsys, *arguments):
    code = main(["show", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize(("text", "picture"), [(FIGURE_1, FIGURE_1_TEXT), (FIGURE_2, FIGURE_2_TEXT)])
def test_the_figures_of_the_xla_document(text, picture):
    assert show(text).text() == picture


def test_combined_dimensions_are_tiled_across_rows():
    """The last two axes, 11 x 10, are one of 110 in tiles of 3: they begin elsewhere in each row."""
    lines = show("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}").text(100).splitlines()
    first = lines.index("[0, 0, 0, :, :]")
    assert lines[first + 2 : first + 8] == [
        "   ┌─────────────────┬─────────────────┬─────────────────┬─────┐",
        " 0 │   0     1     2 │   6     7     8 │  12    13    14 │  18 │",
        "   ├───────────┬─────┴───────────┬─────┴───────────┬─────┴─────┤",
        " 1 │  19    20 │  24    25    26 │  30    31    32 │  36    37 │",
        "   ├─────┬─────┴───────────┬─────┴───────────┬─────┴───────────┤",
        " 2 │  38 │  42    43    44 │  48    49    50 │  54    55    56 │",
    ]


def test_both_kinds_of_padding_are_marked_and_explained():
    text = show("f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}").text()
    assert "0 │   0    1 │   4   =5 │  =8   ·9 │" in text
    assert " 0 │ 0,0  0,1  1,0  1,1 │ 0,2    =  1,2    = │   =    ·    =    · │" in text
    assert text.endswith("─ tiles of 4 elements   · padding, holds 0   = padding, holds -1.5")
    assert "= padding, holds 7\n" in show("f32[2]{0:pad(3)=7}").text() + "\n"


def test_what_strides_skip_is_never_written():
    text = show("f32[2,3]{strides=(5,1),offset=2}").text()
    assert "6 elements of 4 bytes; the buffer has 40 bytes or more" in text
    assert "2 │ 0,0  0,1  0,2    -    -  1,0  1,1  1,2 │\n- not reached by any index, never written" in text


def test_a_view_of_tiles():
    text = show("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}").text()
    assert " │  7  15 │" in text
    assert "7 │ 0  -  -  -  -  -  -  -  1 │" in text


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("f32[]", " ┌───┐\n │ 0 │\n └───┘"),
        ("f32[3]", "   0  1  2\n ┌─────────┐\n │ 0  1  2 │\n └─────────┘"),
        ("f32[2,2]{0,1}", "    0  1\n  ┌──────┐\n0 │ 0  2 │\n1 │ 1  3 │\n  └──────┘"),
        ("f32[2,0]", "no element: nothing to draw"),
        ("f32[0]{0:T(8)}", "no element: nothing to draw"),
    ],
)
def test_low_ranks_and_empty_arrays(text, grid):
    assert grid in show(text).text()


def test_more_than_two_axes_are_a_stack_of_grids():
    text = show("f32[2,2,2]").text()
    assert re.findall(r"^\[.*\]$", text, re.MULTILINE) == ["[0, :, :]", "[1, :, :]"]
    text = show("f32[2,16,4,4]:nChw16c").text()
    titles = ["[0, 0, :, :]", "[0, 1, :, :]", "… 28 more grids …", "[1, 14, :, :]", "[1, 15, :, :]"]
    assert [line for line in text.splitlines() if line.startswith(("[", "…"))] == titles
    assert "  ┌────────────────────┐" in text, "a block of channels has one cell of a grid: no outlines"


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, *layouts(150, seed=1)])
def test_every_cell_is_what_the_descriptor_says(text):
    desc = TensorDesc.parse(text)
    if not desc.numel:
        return
    its_map = LayoutMap(desc)
    rows, columns = its_map.grid
    seen = set()
    for plane, row, column in product(range(its_map.planes), range(rows), range(columns)):
        cell = its_map.at(plane, row, column)
        if cell.index is not None:
            assert cell.offset == desc.offset_of(cell.index)
            assert desc.rank < 2 or cell.index == (*its_map.leading(plane), row, column)
            seen.add(cell.index)
        else:
            assert desc.is_whole
            assert desc.index_of(cell.offset) is None
            assert cell == its_map.at_offset(cell.offset)
    assert len(seen) == desc.numel
    for offset in its_map.span:
        cell = its_map.at_offset(offset)
        assert (cell.offset, cell.index) == (offset, desc.index_of(offset))
        assert (cell.kind is Kind.ELEMENT) == (cell.index is not None)
    if desc.is_whole:
        kinds = [its_map.at_offset(offset).kind for offset in its_map.span]
        names = {memory.ZERO: Kind.ZERO, memory.PADDING_VALUE: Kind.VALUE}
        assert kinds == [names.get(int(number), Kind.ELEMENT) for number in memory.memory_line(desc)]


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, "f32[2,3]", *layouts(60, seed=2)])
def test_colour_changes_nothing_else_and_is_the_same_in_grid_and_memory(text):
    coloured = show(text).text(100, is_coloured=True)
    assert ESCAPES.sub("", coloured).replace(" \n", "\n").rstrip() == show(text).text(100).rstrip()
    desc = TensorDesc.parse(text)
    its_map = LayoutMap(desc)
    for offset in its_map.span if desc.numel else ():
        cell = its_map.at_offset(offset)
        assert (cell.hue is None) == (cell.index is None)
        if cell.index is not None and its_map.blocks:
            assert cell.hue == offset // its_map.blocks[0] % len(HUES)


def test_rows_have_colours_where_there_are_no_tiles_and_a_reorder_keeps_them():
    text = show("f32[2,2]", "f32[2,2]{0,1}").text(80, is_coloured=True)
    blue, orange = (f"\x1b[38;5;16;48;5;{hue}m" for hue in HUES[:2])
    first, second = text.split("\n\nf32[2,2]{0,1}")
    assert f"{blue} 0,0 \x1b[0m{blue} 0,1 \x1b[0m{orange} 1,0 \x1b[0m{orange} 1,1 " in first
    assert f"{blue} 0,0 \x1b[0m{orange} 1,0 \x1b[0m{blue} 0,1 \x1b[0m{orange} 1,1 " in second


@pytest.mark.parametrize(
    "text",
    [
        "bf16[1024,1000]{1,0:T(8,128)(2,1)}",
        "f32[100,64,1000,1000]:nChw16c",
        "bf16[1048576]{0:T(1024)(128)(2,1)}",
        "u8[3000,3000]{strides=(-3072,1),offset=9212928}",
        "f32[1000000,1000000]",
        FIGURE_2,
    ],
)
@pytest.mark.parametrize("width", [60, 80, 132])
def test_large_arrays_are_cut_to_the_width(text, width):
    lines = show(text).text(width).splitlines()
    assert max(len(line) for line in lines if re.search("[│┃]", line)) <= width
    assert len(lines) <= 80
    assert ("…" in "".join(lines)) == (text != FIGURE_2)


def test_positions_left_out():
    assert shown(5, 5).names == [0, 1, 2, 3, 4]
    assert shown(100, 8).names == [0, 1, 2, 3, None, 97, 98, 99]
    assert shown(100, 8).edges == [(-1, 0), (0, 1), (1, 2), (2, 3), (3, 4), (96, 97), (97, 98), (98, 99), (99, -1)]
    for size, room in product(range(1, 12), range(1, 9)):
        names = shown(size, room).names
        assert len(names) <= max(room, 2)
        assert names[0] == 0
        assert names.count(None) == (size > room)


def test_rows_of_memory_are_whole_tiles():
    widths = {(text, room): memory_line(LayoutMap(TensorDesc.parse(text)), room, 8).width for text, room in WIDTHS}
    assert widths == WIDTHS


WIDTHS = {
    (FIGURE_1, 30): 24,
    (FIGURE_1, 23): 12,
    (FIGURE_1, 3): 3,
    (FIGURE_2, 25): 16,
    (FIGURE_2, 7): 4,
    ("f32[100]", 20): 16,
}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("f32[3,5]", ()),
        ("f32[2,3]{1,0:pad(3,5)=0}", ()),
        ("f32[2,3]{strides=(5,1)}", ()),
        (FIGURE_1, (4,)),
        (FIGURE_2, (8, 2)),
        ("bf16[2048]{0:T(1024)(128)(2,1)}", (1024, 2)),  # (2,1) takes rows of (128) apart
        ("bf16[16,256]{1,0:T(8,128)(4,1)(2,1)}", (1024, 4, 2)),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", (6,)),
        ("f32[5,5]{1,0:T(4,4)(3,3)}", (36, 9)),  # 3 does not divide 4: a tile has padding inside
        ("f32[2,16,4,4]:nchw", ()),
        ("f32[2,16,4,4]:nChw16c", (16,)),
        ("f32[32,32,3,3]:OIhw8i16o2i", (256, 32)),
        ("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}", (16,)),
    ],
)
def test_blocks_lie_together_in_memory(text, sizes):
    desc = TensorDesc.parse(text)
    assert block_sizes(desc) == sizes
    assert all(desc.extent % size == 0 for size in sizes)


def test_crossings_have_their_arms():
    for number, character in enumerate(CROSSINGS[1:], 1):
        weights = {name: number // power % 3 for name, power in (("UP", 27), ("RIGHT", 9), ("DOWN", 3), ("LEFT", 1))}
        name = unicodedata.name(character).replace("HORIZONTAL", "LEFT RIGHT").replace("VERTICAL", "UP DOWN")
        assert {word for word in name.split() if word in weights} == {arm for arm, weight in weights.items() if weight}
        assert ("LIGHT" in name, "HEAVY" in name) == (1 in weights.values(), 2 in weights.values())


def test_hues_are_colours_of_xterm():
    assert rgb(0) == "#afd7ff"
    assert len({rgb(hue) for hue in range(len(HUES))}) == len(HUES)


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_counted_right(seed):
    src, dst = (TensorDesc.parse(text) for text in random_pair(random.Random(seed), max_elements=120))
    move = Move(src, dst)
    by_dst = sorted((dst.offset_of(index), src.offset_of(index)) for index in np.ndindex(src.sizes))
    lengths, before = [], None
    for at_dst, at_src in by_dst:
        if before == (at_dst - 1, at_src - 1):
            lengths[-1] += 1
        else:
            lengths.append(1)
        before = at_dst, at_src
    runs = move.runs
    assert (runs.count, runs.longest, runs.is_exact) == (len(lengths), max(lengths, default=0), True)
    planned = _planned_runs(src, dst)
    if planned is not None:
        assert planned.count >= runs.count
        assert planned.longest <= runs.longest
        assert not planned.is_exact
    padding = move.padding_nbytes // dst.dtype.itemsize
    assert padding == (np.count_nonzero(memory.memory_line(dst) < 0) if dst.is_whole else 0)


def test_runs_of_a_layout_onto_itself_are_one_without_padding():
    assert Move(*[TensorDesc.parse(FIGURE_2)] * 2).runs.count == 1
    offsets = _offsets(TensorDesc.parse(FIGURE_2))
    assert (_counted_runs(offsets, offsets).longest, _counted_runs(offsets, offsets[::-1]).longest) == (32, 1)


def test_what_a_reorder_moves():
    src, dst = TensorDesc.parse("f32[3,5]{0,1}"), TensorDesc.parse(FIGURE_1)
    lines = list(Move(src, dst).lines())
    assert lines[:2] == [
        "moves 15 elements: reads 60 bytes, writes 60 bytes, and 36 bytes of padding",
        "contiguous runs: 15, the longest of 1 element",
    ]
    for work, kernels in (
        ("writes padding", padding_kernels(dst, Limits())),
        ("copies elements", copy_kernels(src, dst, Limits())),
    ):
        shaders = [kernel.shader for kernel in kernels]
        assert shaders
        for shader in shaders:
            count = shaders.count(shader)
            assert f"{shader} {work}: {count} dispatch{'' if count == 1 else 'es'}, " in "\n".join(lines)
    assert show(src, dst).text().endswith("\n\n" + "\n".join(lines))


def test_runs_of_large_arrays_come_from_the_plan():
    src, dst = (TensorDesc.parse(text) for text in ("f32[100,64,1000,1000]:nChw16c", "f32[100,64,1000,1000]:nhwc"))
    assert src.numel > MOST_COUNTED
    assert list(Move(src, dst).lines())[1] == "contiguous runs: at most 400000000, the longest of 16 elements or more"


@pytest.mark.parametrize("last", ["{1,0}", f"{{strides=({1 << 63},1)}}"])
def test_counting_runs_takes_little_memory(last):
    half = MOST_COUNTED // 2
    for most in (half, half + 1):
        src, dst = TensorDesc.parse(f"f32[2,{most}]"), TensorDesc.parse(f"f32[2,{most}]{last}")
        tracemalloc.start()
        try:
            assert Move(src, dst).runs is not None
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 32 << 20


def test_numbers_beyond_64_bits_and_memories_are_still_drawn():
    text = show("f32[2,3]{strides=(1000000000000000000000000,1)}", "f32[2,3]").text(100)
    assert "1000000000000000000000002" in text
    assert "contiguous runs: 2, the longest of 3 elements" in text
    text = show("f32[1000000,1000000]", "f32[1000000,1000000]{0,1}").text()
    assert "999999999999" in text
    assert text.endswith(f"kernels: not planned, a buffer has more than {16 << 30} bytes")


def test_an_empty_reorder_moves_nothing():
    assert list(Move(TensorDesc.parse("f32[0,3]"), TensorDesc.parse("f32[0,3]{0,1}")).lines()) == [
        "moves 0 elements: reads 0 bytes, writes 0 bytes",
        "planned without a device, whose limits may cut a large one further",
    ]
    huge = TensorDesc.parse("f32[0,1000000000000]")
    assert Move(huge, huge).runs == Runs(0, 0)


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [
        ("f32[3,2]", DescriptorError, "must have the sizes of f32[2,3]"),
        ("f16[2,3]", DescriptorError, "must have the element type of f32[2,3]"),
        ("f32[2,3]{strides=(0,1)}", DescriptorError, "must not overlap itself"),
    ],
)
def test_two_layouts_must_fit(to, error, message):
    with pytest.raises(error, match=re.escape(message)):
        show("f32[2,3]", to)


def test_the_worked_example():
    assert explain(TensorDesc.parse(FIGURE_1)).splitlines() == [
        "f32[3,5]{1,0:T(2,2)}",
        "  a is the index along axis 0, of size 3",
        "  b is the index along axis 1, of size 5",
        "  offset = 12*(a div 2)+4*(b div 2)+2*(a mod 2)+(b mod 2)",
        "  where",
        "    (a div 2)  0 to 1:  which group of 2 along a",
        "    (b div 2)  0 to 2:  which group of 2 along b",
        "    (a mod 2)  0 to 1:  the place inside a group of 2 along a",
        "    (b mod 2)  0 to 1:  the place inside a group of 2 along b",
        "  the last element, index 2,4, lies at",
        "    12 *  1  =  12  for (a div 2)",
        "     4 *  2  =   8  for (b div 2)",
        "     2 *  0  =   0  for (a mod 2)",
        "     1 *  0  =   0  for (b mod 2)",
        "  offset 20, byte 80",
        "  15 elements of 4 bytes in 96 bytes, 36 of them padding",
    ]


@pytest.mark.parametrize("text", ["f32[]", "f32[2,3]{strides=(-3,1),offset=3}", "f32[0,2]", *layouts(60, seed=3)])
def test_the_parts_of_an_explanation_add_up(text):
    desc = TensorDesc.parse(text)
    explained = explain(desc)
    parts = [int(part) for part in re.findall(r" = +(-?\d+)  (?:for|in any case)", explained)]
    found = re.search(r"  offset (\d+), byte (\d+)", explained)
    if not desc.numel:
        assert (parts, found) == ([], None)
        return
    last = desc.offset_of([size - 1 for size in desc.sizes])
    assert (sum(parts), int(found[1]), int(found[2])) == (last, last, last * desc.dtype.itemsize)
    assert f"  offset = {desc.address}\n" in explained


def test_the_command_prints_the_picture(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(capsys, FIGURE_1) == (0, FIGURE_1_TEXT + "\n", "")
    code, out, err = run(capsys, FIGURE_1, "f32[3,5]", "--explain")
    assert (code, err) == (0, "")
    assert (
        out
        == "\n\n".join(
            [show(FIGURE_1, "f32[3,5]").text(), *(explain(TensorDesc.parse(each)) for each in (FIGURE_1, "f32[3,5]"))]
        )
        + "\n"
    )


@pytest.mark.parametrize("suffix", ["svg", "png", "PNG"])
def test_the_command_writes_a_file(capsys, tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    assert run(capsys, FIGURE_1, "f32[3,5]", "-o", path) == (0, "", f"restride: wrote {path}\n")
    assert path.read_bytes() == show(FIGURE_1, "f32[3,5]").file(path)
    show(FIGURE_1, "f32[3,5]").save(tmp_path / f"saved.{suffix}")
    assert path.read_bytes() == (tmp_path / f"saved.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f32[2,3"], "expected ',' or ']' after a size at character 8 of 'f32[2,3': the text ends"),
        (["f32[3,5]{1,0:T(2,x)}"], "at character 18 of 'f32[3,5]{1,0:T(2,x)}'"),
        (["f32[2,3]:nq"], "of tag 'nq'"),
        (["f32[2,3]", "f32[3,2]"], "the second layout f32[3,2]{1,0} must have the sizes of f32[2,3]{1,0}"),
        (["f32[2,3]", "-o", "x.jpg"], "the name of a picture must end in .svg or .png, got 'x.jpg'"),
        (["f32[2,3]", "-o", "/no/such/folder/x.svg"], "cannot write /no/such/folder/x.svg: No such file or directory"),
        ([], "the following arguments are required: LAYOUT"),
    ],
)
def test_bad_arguments_are_one_line(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("restride: ")
    assert message in err


def test_colour_is_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert takes_colour(Terminal())
    assert not takes_colour(io.StringIO())
    assert not takes_colour(None)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert "\x1b[38;5;16;48;5;153m" in repr(show(FIGURE_1))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in str(show(FIGURE_1))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not takes_colour(Terminal())


def test_an_output_without_box_drawing_gets_ascii():
    done = subprocess.run(
        [sys.executable, "-m", "restride", "show", FIGURE_2],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode("ascii").splitlines()
    assert lines[4:7] == [
        "  +====+====+====+====+====+====+====+====+",
        "0 #  0 |  2 |  4 |  6 #  8 | 10 | 12 | 14 #",
        "1 #  1 |  3 |  5 |  7 #  9 | 11 | 13 | 15 #",
    ]


def test_pillow_is_asked_for_by_png_only(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    show(FIGURE_1).save(tmp_path / "x.svg")
    with pytest.raises(UnsupportedError, match=r"pip install 'restride\[images\]'"):
        show(FIGURE_1).save(tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_a_tensor_is_shown_by_its_descriptor(vulkan_device):
    import restride as rs

    x = rs.asarray(np.zeros((2, 3), np.float32), device=vulkan_device)
    assert show(x.permute(1, 0)).text() == show(x.permute(1, 0).desc).text()
    with pytest.raises(DescriptorError, match="must be a TensorDesc or its text"):
        show(3)


DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "layouts.md").read_text(encoding="utf-8")


def test_the_document_prints_what_the_command_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = re.findall(r"^    \$ restride show '(\S+)' --explain\n((?:(?:    .*)?\n)+?)(?=\S)", DOCUMENT, re.MULTILINE)
    assert found
    for text, output in found:
        assert run(capsys, text, "--explain")[1].rstrip() == re.sub("^    ", "", output, flags=re.MULTILINE).rstrip()


def test_the_layouts_of_the_document_are_layouts():
    texts = re.findall(r"^\| `(\S+)` \|", DOCUMENT, re.MULTILINE)
    assert len(texts) == 9
    for text in texts:
        assert str(TensorDesc.parse(text)).startswith(text.removesuffix("}"))


def test_the_second_layout_may_be_a_tag_or_a_name():
    assert str(show("f32[2,16,4,4]", "nChw16c")) == str(show("f32[2,16,4,4]", "f32[2,16,4,4]:nChw16c"))
    assert "f32[1,2,3,4]{1,3,2,0}" in str(show("f32[1,2,3,4]", "NHWC"))


def test_explain_works_out_the_element_that_is_asked_for(capsys):
    assert main(["show", "bf16[33,200]{1,0:T(8,128)(2,1)}", "--at", "5,130"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "the element of index 5,130 lies at" in lines
    assert "offset 1541, byte 3082" in lines  # 1024 * 1 + 256 * 2 + 2 * 2 + 1
    assert main(["show", "f32[3,5]", "--at", "3,0"]) == 2
    assert "index 3 is outside [0, 3) of axis 0, for f32[3,5]{1,0}" in capsys.readouterr().err
    assert main(["show", "f32[3,5]", "--at", "x"]) == 2
    assert "--at takes an index such as 2,3, not 'x'" in capsys.readouterr().err


def test_braces_that_a_shell_expanded_are_recognised(capsys):
    assert main(["show", "f32[2,3]0", "f32[2,3]1"]) == 2
    assert "put the layout in quotes" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x.npy", "a photo.JPG"])
def test_a_file_is_shown_by_another_command(name, capsys):
    assert main(["show", name]) == 2
    assert f"show draws layouts; its picture: restride view {shlex.quote(name)}" in capsys.readouterr().err


def test_a_permutation_moves_elements():
    picture = show("u8[4,6,3]", "HWC->CHW")
    assert picture.layouts == ["u8[3,4,6]{0,2,1}", "u8[3,4,6]"]
    assert "contiguous runs: 72, the longest of 1 element" in str(picture)
