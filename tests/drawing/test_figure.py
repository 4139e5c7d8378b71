"""Pictures of layouts as files: numbers are the descriptor's, outlines are the tiles, docs are fresh."""

import io
import random
import re
from itertools import combinations, product
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support.judges import judge
from support.random_layouts import random_layout
from support.xla_figures import FIGURE_1, FIGURE_2

from restride.drawing import figure
from restride.drawing.explain import MEMORY
from restride.drawing.figure import BLUE, GREY, INK, PAPER, RED, Figure, Label, Rect, Stroke, draw_figure, write_png
from restride.drawing.map import HUES, LayoutMap, rgb
from restride.drawing.picture import show
from restride.layout import TensorDesc
from restride.reference import memory

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """Of a picture of one layout: offset by index, as the grids have it, and what stands at each offset of memory."""
    root = ET.fromstring(svg)
    labels = root.findall(f".//{SVG}text")
    grid = {label.get("data-index"): label.text for label in labels if label.get("data-index") is not None}
    line = {int(label.get("data-offset")): label.text for label in labels if label.get("data-offset") is not None}
    return grid, line


def spelled(index):
    return ",".join(map(str, index)) or "()"


def small_layouts(count, seed):
    """Layouts that a picture shows all of: 16 rows, six planes, eight rows of memory."""
    rng = random.Random(seed)
    found = []
    while len(found) < count:
        text = random_layout(rng, max_elements=24)
        desc = TensorDesc.parse(text)
        if desc.numel and desc.extent <= 60 and LayoutMap(desc).grid[0] <= 16 and LayoutMap(desc).planes <= 6:
            found.append(text)
    return found


@pytest.mark.parametrize(
    "text",
    [
        FIGURE_1,
        FIGURE_2,
        "f32[]",
        "f32[4]",
        "f32[2,3]{strides=(5,1)}",
        "f32[2,3]{strides=(-3,1),offset=3}",
        "f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}",
        "f32[1,3,2,2]:nChw4c",
        "f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}",
        *small_layouts(60, seed=4),
    ],
)
def test_the_numbers_are_the_offsets(text):
    desc = TensorDesc.parse(text)
    grid, line = texts(show(desc).svg())
    indices = list(np.ndindex(desc.sizes))
    assert grid == {spelled(index): str(desc.offset_of(index)) for index in indices}
    offsets = range(desc.extent) if desc.is_whole else range(desc.lowest, desc.highest + 1)
    assert list(line) == list(offsets)
    elements = {offset: text for offset, text in line.items() if text not in {"·", "=", "-"}}
    # Where a broadcast has several indices at one place, the first of them stands there.
    assert elements == {desc.offset_of(index): spelled(index) for index in reversed(indices)}
    if desc.is_whole:
        marks = {memory.ZERO: "·", memory.PADDING_VALUE: "="}
        found = memory.memory_line(desc)
        assert [line[at] for at in offsets if found[at] < 0] == [
            marks[number] for number in found.tolist() if number < 0
        ]


def test_what_is_left_out_leaves_right_numbers():
    for text in ("bf16[1024,1000]{1,0:T(8,128)(2,1)}", "f32[100,64,100,1000]:nChw16c", "f32[10000]{strides=(3)}"):
        desc = TensorDesc.parse(text)
        grid, line = texts(show(desc).svg())
        assert 8 < len(grid) < 2000
        for index, offset in grid.items():
            assert desc.offset_of(map(int, index.split(","))) == int(offset)
        for offset, index in line.items():
            at = desc.index_of(offset)
            assert index == (spelled(at) if at is not None else "·" if desc.is_whole else "-")
        first_plane = [size - 1 if axis in LayoutMap(desc).plane else 0 for axis, size in enumerate(desc.sizes)]
        assert spelled(first_plane) in grid or desc.is_padded


def grid_parts(text, plane=None):
    """Rectangles and lines of a figure's grids."""
    figure = draw_figure([LayoutMap(TensorDesc.parse(text), plane)])
    below = next(shape.y for shape in figure.shapes if isinstance(shape, Label) and shape.text == MEMORY)
    rects = [shape for shape in figure.shapes if isinstance(shape, Rect) and shape.y < below]
    lines = [shape for shape in figure.shapes if isinstance(shape, Stroke) and shape.y < below]
    return rects, lines


def line_between(lines, rect, *, beside):
    """Colour of the uppermost line left of a rectangle, or above it."""
    middle = (rect.x, rect.y + rect.height / 2) if beside else (rect.x + rect.width / 2, rect.y)
    found = [line for line in lines if line.x <= middle[0] <= line.to_x and line.y <= middle[1] <= line.to_y]
    return found[-1].colour if found else None


def test_figure_2_has_its_tiles_and_red_sub_tiles():
    """Each colour is a 2x4 tile and each red box a 2x1 tile, as XLA's document says of its figure."""
    rects, lines = grid_parts(FIGURE_2)
    cells = dict(zip(product(range(4), range(8)), rects, strict=True))
    for (row, column), rect in cells.items():
        assert rect.fill == rgb(row // 2 * 2 + column // 4)
        assert line_between(lines, rect, beside=True) == (INK if column % 4 == 0 else RED)
        assert line_between(lines, rect, beside=False) == (INK if row % 2 == 0 else None)


def test_each_level_of_tiles_has_its_own_line_and_name():
    figure = draw_figure([LayoutMap(TensorDesc.parse("bf16[16,256]{1,0:T(8,128)(4,1)(2,1)}"))])
    names = ["T(8,128): tiles of 1024 elements", "(4,1): sub-tiles of 4 elements"]
    names += ["(2,1): tiles inside them of 2 elements"]
    places = [place for place, shape in enumerate(figure.shapes) if getattr(shape, "text", "") in names]
    samples = [figure.shapes[place - 1] for place in places]
    assert [(sample.colour, sample.width) for sample in samples] == [(INK, 2.5), (RED, 1.5), (BLUE, 1)]
    assert [name for name in figure.description.splitlines() if name in names] == names
    drawn = {shape.colour for shape in figure.shapes if isinstance(shape, Stroke) and shape not in samples}
    assert drawn == {INK, RED, BLUE}


def contrast(colour, other):
    """Of two colours ``#rrggbb``, as WCAG 2 defines it: 1 to 21."""
    shares = [np.array([int(each[place : place + 2], 16) for place in (1, 3, 5)]) / 255 for each in (colour, other)]
    linear = [np.where(each <= 0.04045, each / 12.92, ((each + 0.055) / 1.055) ** 2.4) for each in shares]
    darker, lighter = sorted(float(each @ (0.2126, 0.7152, 0.0722)) + 0.05 for each in linear)
    return lighter / darker


def test_text_and_outlines_can_be_told_from_every_hue():
    hues = [PAPER, *map(rgb, range(len(HUES)))]
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast(GREY, PAPER) >= 4.5
    assert min(contrast(INK, hue) for hue in hues) >= 4.5
    assert min(contrast(line, hue) for line, hue in product((RED, BLUE), hues)) >= 3


def test_a_thick_line_bounds_a_block_and_nothing_else():
    for text, plane, colours in (
        ("f32[32,32,3,3]:OIhw16i16o", None, {INK}),
        ("f32[32,32,3,3]:OIhw16i16o", (2, 3), {GREY}),
        ("f32[1,3,4,5]{1,3,2,0}", None, {GREY}),
        ("f32[3,4]{at=(1+a,b),in=[4,4]{1,0:T(2,4)}}", None, {GREY, INK}),
    ):
        _, lines = grid_parts(text, plane)
        assert {line.colour for line in lines} == colours, text


@pytest.mark.parametrize(
    "text",
    ["f32[2,16,2,1]:nChw16c", "f32[3,2,2,1,1,1,2]", "f32[32,32,3,3]:OIhw16i16o", "f32[12,11,2,1]{0,1,2,3:T(2,2)}"],
)
def test_titles_of_grids_do_not_touch(text):
    figure = draw_figure([LayoutMap(TensorDesc.parse(text))])
    titles = [shape for shape in figure.shapes if isinstance(shape, Label) and shape.text.startswith(("[", "…"))]
    assert titles
    for one, other in combinations(titles, 2):
        assert abs(one.y - other.y) >= 16 or one.x + one.width <= other.x or other.x + other.width <= one.x


def test_figure_1_has_white_padding_inside_its_tiles():
    rects, lines = grid_parts(FIGURE_1)
    cells = dict(zip(product(range(4), range(6)), rects, strict=True))
    for (row, column), rect in cells.items():
        assert rect.fill == (rgb(row // 2 * 3 + column // 2) if row < 3 and column < 5 else PAPER)
        assert line_between(lines, rect, beside=True) == (INK if column % 2 == 0 else None)
        assert line_between(lines, rect, beside=False) == (INK if row % 2 == 0 else None)


@pytest.mark.parametrize("text", [FIGURE_1, FIGURE_2, "f32[2,16,4,4]:nChw16c", "f32[0,2]", *small_layouts(20, seed=5)])
def test_shapes_stay_on_the_paper(text):
    figure = draw_figure([LayoutMap(TensorDesc.parse(text))], ["a remark"])
    for shape in figure.shapes:
        assert 0 <= shape.x <= figure.width
        assert 0 <= shape.y <= figure.height
        if isinstance(shape, Label) and shape.anchor == "start":
            assert shape.x + shape.width <= figure.width
        if isinstance(shape, Rect):
            assert shape.x + shape.width <= figure.width
            assert shape.y + shape.height <= figure.height


def test_the_file_needs_nothing_else_and_says_what_it_is():
    svg = show(FIGURE_1, "f32[3,5]{0,1}").svg()
    root = ET.fromstring(svg)
    title = f"Memory layout {FIGURE_1} to f32[3,5]{{0,1}}"
    assert (root.get("role"), root.get("aria-label"), root[0].text) == ("img", title, title)
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    assert "offset = 12*(a div 2)+4*(b div 2)+2*(a mod 2)+(b mod 2)\nT(2,2): tiles of 4 elements" in root[1].text
    assert root[2].get("fill") == PAPER, "paper of its own, for dark pages"
    assert root[2].attrib.items() >= {"width": root.get("width"), "height": root.get("height")}.items()
    assert not re.search(r"href|url\(|<style|<script|<image", svg)
    assert "moves 15 elements: reads 60 bytes, writes 60 bytes" in svg
    assert show(FIGURE_1)._repr_svg_() == show(FIGURE_1).svg()


def test_a_png_shows_the_colours_of_the_tiles():
    image_module = pytest.importorskip("PIL.Image")
    figure = draw_figure([LayoutMap(TensorDesc.parse(FIGURE_2))])
    pixels = np.asarray(image_module.open(io.BytesIO(show(FIGURE_2).png())))
    assert pixels.shape == (2 * figure.height, 2 * figure.width, 3)
    for rect in (shape for shape in figure.shapes if isinstance(shape, Rect)):
        inside = pixels[round(2 * rect.y) + 6, round(2 * rect.x) + 6]
        assert "#" + bytes(inside).hex() == rect.fill


def test_a_png_has_no_sign_that_the_font_lacks():
    pytest.importorskip("PIL.Image")
    pictures = [write_png(Figure("", "", 40, 40, [Label(10, 20, text)])) for text in "⋮…"]
    assert pictures[0] == pictures[1]
    assert pictures[0] != write_png(Figure("", "", 40, 40))


def test_png_has_a_monospaced_font_where_the_system_has_one():
    """Offsets stand below each other: every character is as wide as another."""
    font_module = judge("PIL.ImageFont")
    font = figure._font(26)
    if font.getname() != font_module.load_default(26).getname():
        assert font.getlength("i") == font.getlength("m") == font.getlength("8")
    else:
        with pytest.raises(OSError):
            font_module.truetype(figure._MONOSPACED[0], 26)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("f32[4,8]{1,0:T(2,4)(2,1)}", [INK, RED]),
        ("f32[8,8]{1,0:T(4,4)(4,4)}", [INK]),  # the sub-tiles are the tiles
        ("f32[8,8]{1,0:T(8,8)(2,4)(1,4)}", [INK, RED, BLUE]),
    ],
)
def test_every_line_of_the_legend_is_in_the_picture(text, drawn):
    """The sample of an outline stands only beside what is outlined so; other levels are named without one."""
    shapes = draw_figure([LayoutMap(TensorDesc.parse(text))]).shapes
    samples = [shape for shape in shapes if isinstance(shape, Stroke) and shape.to_x - shape.x == 16 and shape.x == 20]
    assert [sample.colour for sample in samples] == drawn
    others = {(shape.colour, shape.width) for shape in shapes if isinstance(shape, Stroke) and shape not in samples}
    assert {(sample.colour, sample.width) for sample in samples} <= others
    without = [shape.text for shape in shapes if isinstance(shape, Label) and "without outlines" in shape.text]
    assert len(without) == len(TensorDesc.parse(text).tiles) - len(drawn)
