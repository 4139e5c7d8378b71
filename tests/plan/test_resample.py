"""Who makes what of a resampling: the problems that each kernel gets, with which constants, and tables in quads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.positions import one_axis, tables_of

from restride.errors import UnsupportedError
from restride.kernel import Choices, Limits
from restride.layout import TensorDesc
from restride.plan.dispatches import bind
from restride.plan.problem import Axis, Problem, simplify, table_words
from restride.plan.resample import (
    Invocations,
    by_neighbours,
    by_rows,
    by_taps,
    invocations,
    passes,
    resample_kernels,
    taps_fit,
)
from restride.request import Request
from restride.request.arithmetic import NO_ARITHMETIC
from restride.weights import in_quads, resizing

ROOMY = Limits()
AREA, LINEAR, NEAREST = Request(mode="area"), Request(mode="linear"), Request(mode="nearest")
WIDENED = Request(mode="linear", antialias=True)


def problem(src: str, dst: str, choice: Request = WIDENED, axes: tuple[int, ...] | None = None) -> Problem:
    """A strided problem as a plan has it."""
    source, made = TensorDesc.parse(src), TensorDesc.parse(dst)
    tables = {axis: (slot, table) for slot, (axis, table) in enumerate(tables_of(source, made, choice, axes))}
    walked = []
    for axis, (size, *strides) in enumerate(zip(made.sizes, source.strides, made.strides, strict=True)):
        slot, table = tables.get(axis, (0, None))
        walked.append(Axis(size, *strides, table, source.sizes[axis], slot))
    offsets, itemsizes = (source.offset, made.offset), (made.dtype.itemsize, source.dtype.itemsize)
    return simplify(Problem(tuple(walked), *offsets, *itemsizes))


def chosen(src: str, dst: str, choice: Request = WIDENED, axes: tuple[int, ...] | None = None) -> Invocations:
    return invocations(problem(src, dst, choice, axes), ROOMY)


# --- which problems each kernel gets


def test_cells_are_the_worked_example():
    made = by_rows(problem("u8[8,1080,1920]", "u8[8,540,960]", AREA), ROOMY)
    assert (made.shader, made.total, *made.push.values()) == ("resample_cells", 130_560, 240, 68)
    # The rows are axis 1, of two taps like axis 0, whose cells are two apart; no slot between.
    axes = {"ROW_AXIS": 1, "TABLED": 3, "TAPS": 2, "TAPS_0": 2, "TAPS_1": 2, "AXIS_1": 0}
    assert made.constants == {"BITS": 8, "ELEMENTS": 4, **axes, "ALONG_AXIS_0": 1, "STEP": 2, "ROWS": 8}


@pytest.mark.parametrize(
    ("src", "dst", "choice"),
    [
        ("u8[9,24,16]", "u8[9,12,8]", AREA),
        ("u8[24,16]", "u8[12,8]", LINEAR),  # two taps of a half too
        ("u8[24,32]", "u8[8,8]", AREA),  # a third of the rows, a quarter of the columns
        ("u8[8,24,16]", "u8[4,12,8]", AREA),
        ("u8[8,6,24,16]", "u8[4,6,12,8]", AREA),  # the axis between has no table
        ("f32[24,16]{strides=(17,1),offset=3}", "u8[12,8]{strides=(20,1),offset=4}", AREA),
        ("s8[24,16]{strides=(-16,1),offset=368}", "s8[12,8]", AREA),
    ],
)
def test_cells_of_equal_sizes(src, dst, choice):
    assert chosen(src, dst, choice).shader == "resample_cells"


@pytest.mark.parametrize(
    ("src", "dst", "choice"),
    [
        ("u8[9,24,17]", "u8[9,12,8]", AREA),  # an odd row: cells are wider than two
        ("u8[9,25,16]", "u8[9,12,8]", AREA),
        ("u8[9,24,12]", "u8[9,12,6]", AREA),  # six outputs are no whole words
        ("u8[9,24,16]{strides=(408,17,1)}", "u8[9,12,8]", AREA),  # rows that begin inside a word
        ("u8[9,24,16]{strides=(384,16,1),offset=2}", "u8[9,12,8]", AREA),
        ("u8[9,24,16]", "u8[9,12,8]{strides=(120,10,1)}", AREA),
        ("u8[9,24,16]{strides=(768,32,2)}", "u8[9,12,8]", AREA),
        ("u8[24,9,16]{0,1,2}", "u8[12,9,8]{0,1,2}", AREA),  # sums along axis 0 are the second
        ("u8[9,24,16]", "u8[9,24,8]", AREA),  # along one axis
        ("u8[9,24,40]", "u8[9,12,8]", AREA),  # five taps
        ("u8[24,32]", "u8[12,8]", LINEAR),  # of four elements the middle two, which begin inside a word
        ("u8[9,24,16]", "u8[9,12,8]", WIDENED),  # other weights at the edges
        ("u8[9,12,8]", "u8[9,24,16]", LINEAR),
        ("u8[9,24,16]", "u8[9,12,8]", NEAREST),
        ("u8[24,16]", "u8[12,8]{strides=(8,-1),offset=7}", AREA),
        ("f64[24,16]", "f64[12,8]", AREA),
    ],
)
def test_cells_that_are_unequal_or_begin_inside_words(src, dst, choice):
    assert chosen(src, dst, choice).shader != "resample_cells"


def test_rows_are_the_worked_example():
    made = by_rows(problem("u8[3,224,224]", "u8[3,1080,1920]", LINEAR), ROOMY)
    assert (made.shader, made.total, *made.push.values()) == ("resample_runs", 97_200, 240, 135)
    # The rows are axis 1, axes 0 and 1 have tables, of two taps each; no slot 1 inside; along axis 0, runs of three.
    axes = {"ROW_AXIS": 1, "TABLED": 3, "TAPS": 2, "TAPS_0": 2, "TAPS_1": 2, "AXIS_1": 0}
    assert made.constants == {"BITS": 8, "ELEMENTS": 8, **axes, "ALONG_AXIS_0": 1, "RUN_LENGTH": 3, "ROWS": 8}


def test_taps_are_the_worked_example():
    asked = problem("u8[3,1080,1920]", "f32[3,1080,224]", WIDENED)
    assert asked.axes[0].table.taps == 18
    made = by_taps(asked, ROOMY)
    assert made.problem.axes[0].table.taps == 20
    # Planes and rows are one axis, of 405 blocks.
    assert (made.shader, made.total, *made.push.values()) == ("resample_along", 90_720, 224, 405)
    pixels = {"CHANNELS": 1, "CHANNEL_AXIS": 0}
    assert made.constants == {"TAP_AXIS": 0, "WHOLE_QUADS": 1, "ROW_AXIS": 1, **pixels, "ROWS": 8}
    apart = by_taps(problem("u8[3,1080,1920]{strides=(2073604,1920,1)}", "f32[3,1080,224]", WIDENED), ROOMY)
    assert (apart.total, *apart.push.values()) == (90_720, 224, 135)


def test_neighbours_are_the_worked_example():
    made = by_neighbours(problem("f32[3,1080,224]", "u8[3,224,224]", WIDENED))
    assert (made.shader, made.total) == ("resample_across", 37_632)
    assert made.constants == {"TAP_AXIS": 1, "WHOLE_QUADS": 1}


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_channels_side_by_side_are_one_pixel(channels):
    made = chosen(f"u8[2,9,64,{channels}]", f"f32[2,9,12,{channels}]")
    if channels == 5:
        assert made.shader == "resample_across"
        return
    assert (made.shader, made.total, made.push["blocks"]) == ("resample_along", 12 * 3, 3)
    axes = {"TAP_AXIS": 1, "ROW_AXIS": 2} if channels > 1 else {"TAP_AXIS": 0, "ROW_AXIS": 1}
    assert made.constants == {**axes, "WHOLE_QUADS": 1, "CHANNELS": channels, "CHANNEL_AXIS": 0, "ROWS": 8}


def test_channels_of_a_planar_destination_lie_side_by_side_in_the_source_alone():
    made = chosen("u8[9,64,3]", "f32[9,12,3]{1,0,2}")
    axes = {"TAP_AXIS": 0, "ROW_AXIS": 1, "CHANNEL_AXIS": 2}
    assert made.shader == "resample_along"
    assert made.constants == {**axes, "WHOLE_QUADS": 1, "CHANNELS": 3, "ROWS": 8}


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[9,63]{strides=(64,1)}", "f32[9,12]"),  # the last aligned four would end past the axis
        ("f32[9,64]{strides=(64,1),offset=2}", "f32[9,12]"),
        ("f32[9,64]{strides=(65,1)}", "f32[9,12]"),
        ("u8[9,64,3]{strides=(194,3,1)}", "f32[9,12,3]"),
        ("f16[9,61]", "f32[9,12]"),
    ],
)
def test_quads_of_rows_that_are_not_whole_quads_are_put_together(src, dst):
    made = by_taps(problem(src, dst, WIDENED), ROOMY)
    assert (made.shader, made.constants["WHOLE_QUADS"]) == ("resample_along", 0)


def test_whole_quads_that_no_binding_covers_are_not_made_by_taps():
    """Linear from 64 to 3 reads 10 to 53; in quads, 8 to 55."""
    asked = problem("f32[9,64]", "f32[9,3]", LINEAR)
    exact, padded = (bind(each, ROOMY).windows[0].nbytes for each in (asked, by_taps(asked, ROOMY).problem))
    assert exact < padded
    assert by_taps(asked, Limits(max_buffer_range=padded)) is not None
    assert by_taps(asked, Limits(max_buffer_range=padded - 4)) is None
    assert invocations(asked, Limits(max_buffer_range=exact)).shader == "resample"


@pytest.mark.parametrize(
    ("src", "dst", "pieces"),
    [
        ("f32[40,7]{strides=(8,1)}", "f32[5,7]", 2),  # the second has three elements
        ("f32[40,8]{strides=(9,1)}", "f32[5,8]", 2),
        ("f32[40,8]", "f32[5,8]{strides=(9,1)}", 2),
        ("f32[40,8]{strides=(8,1),offset=1}", "u8[5,8]", 2),
        ("f32[40,8]", "f32[5,8]{strides=(8,1),offset=1}", 2),
        ("u8[40,5]", "f32[5,5]", 2),
    ],
)
def test_neighbours_that_are_not_whole_quads_are_put_together(src, dst, pieces):
    made = by_neighbours(problem(src, dst, WIDENED))
    assert (made.shader, made.push["row_pieces"], made.constants["WHOLE_QUADS"]) == ("resample_across", pieces, 0)


@pytest.mark.parametrize(
    ("src", "dst", "elements", "rows"),
    [
        ("f32[3,224,224]", "f32[3,1080,1920]", 4, 8),  # 194,400 invocations
        ("u8[3,224,224]", "u8[3,1080,1920]", 4, 8),
        ("f32[3,224,224]", "f32[3,480,640]", 4, 2),  # 115,200, and by four rows 57,600 of 80,000
        ("f32[3,1080,1920]", "f32[3,224,224]", 2, 2),  # 37,632, one for every four elements
        ("u8[3,1080,1920]", "u8[3,224,224]", 4, 1),  # 37,632
    ],
)
def test_a_gpu_has_fewer_rows_where_invocations_would_be_too_few(src, dst, elements, rows):
    asked = problem(src, dst, LINEAR)
    made = by_rows(asked, replace(ROOMY, choices=Choices.usual("discrete")))
    assert (made.constants["ELEMENTS"], made.constants["ROWS"]) == (elements, rows)
    assert made.total == asked.count // (elements * rows) >= min(asked.count // 4, 80_000)
    assert by_rows(asked, replace(ROOMY, choices=Choices("apart", "shared", "8", "few"))).constants["ROWS"] == 8
    assert by_rows(asked, ROOMY).constants["ROWS"] == 8


@pytest.mark.parametrize(
    ("src", "dst", "few", "many"),
    [
        ("f32[3,1080,1920]", "f32[3,1080,224]", 4, 4),  # 17.5 KB of four rows; 181,440 invocations
        ("u8[3,1080,1920]", "f32[3,1080,224]", 8, 8),  # 8.8 KB; 90,720
        ("u8[1080,1920,3]", "f32[1080,224,3]", 4, 2),  # 13.2 KB; 60,480 and 120,960
        ("f32[30,60000]", "f32[30,300]", 1, 1),  # 102 KB of one row
        ("f32[300,24]", "f32[300,60]", 8, 4),  # 4,500 invocations of 18,000 elements
    ],
)
def test_a_gpu_has_as_many_rows_of_pixels_as_a_cache_keeps_and_invocations_allow(src, dst, few, many):
    asked = problem(src, dst, Request(mode="cubic", antialias=True), axes=(1,) if src.endswith(",3]") else None)
    for choices, rows in ((Choices("apart"), few), (Choices("apart", invocations="many"), many), (Choices(), 8)):
        made = by_taps(asked, replace(ROOMY, choices=choices))
        assert made.constants["ROWS"] == rows
        assert made.push["blocks"] == -(-asked.axes[made.constants["ROW_AXIS"]].size // rows)


SHADERS_OF = {
    by_taps: ("resample_along",),
    by_neighbours: ("resample_across",),
    by_rows: ("resample_rows", "resample_moves"),
}
NOT_TAKEN: dict[Callable[..., Invocations | None], list[tuple[str, str, Request]]] = {
    by_taps: [
        ("f32[9,64]{strides=(128,2)}", "f32[9,12]", WIDENED),  # every second element
        ("f32[9,64]{strides=(64,-1),offset=63}", "f32[9,12]", WIDENED),  # from the other end
        ("f32[9,3]", "f32[9,12]", LINEAR),  # less than a four
        ("f32[9,64]", "u8[9,12]", WIDENED),  # elements share words
        ("f32[64]", "f32[12]", WIDENED),  # no rows
        ("f32[9,64]", "f32[9,12]", NEAREST),
        ("f32[9,9,64]{strides=(576,64,1)}", "f32[9,3,12]", WIDENED),  # two tables
        ("u8[9,64,5]", "f32[9,12,5]", WIDENED),
        ("u8[9,64,3]{strides=(256,4,1)}", "f32[9,12,3]", WIDENED),  # pixels apart
        ("u8[9,64,3]{strides=(192,3,2)}", "f32[9,12,3]", WIDENED),
        ("u8[64,3]", "f32[12,3]", WIDENED),  # channels are no rows
    ],
    by_neighbours: [
        ("f32[40,3]{strides=(8,1)}", "f32[5,3]{strides=(8,1)}", WIDENED),
        ("f32[40,7]{strides=(8,1)}", "u8[5,7]{strides=(8,1)}", WIDENED),  # elements share words
        ("f32[40,8]{strides=(16,2)}", "f32[5,8]", WIDENED),
        ("f32[40,8]", "f32[5,8]{strides=(16,2)}", WIDENED),
        ("f32[40,8]", "u8[5,8]{strides=(9,1)}", WIDENED),
        ("f32[40,8]", "u8[5,8]{strides=(8,1),offset=1}", WIDENED),
        ("f32[40,8]", "f32[5,8]", NEAREST),
        ("f32[8,40]", "f32[8,5]", WIDENED),  # the innermost axis has the table
        ("f32[40,40,8]", "f32[5,5,8]", WIDENED),  # two tables
    ],
    by_rows: [
        ("u8[8,8]", "u8[12,13]", LINEAR),  # rows of 13 bytes share words
        ("u8[8,8]", "u8[12,12]{strides=(13,1)}", LINEAR),
        ("u8[8,8]", "u8[12,12]{strides=(12,1),offset=1}", LINEAR),
        ("u8[8,8]", "u8[12,12]{0,1}", AREA),  # 8 -> 12 has two taps: rows are innermost, nothing inside
        ("u8[8,8]", "u8[1,12]", LINEAR),  # one row
        ("u8[8,8]", "u8[12,4]", LINEAR),  # one piece
        ("f64[8,8]", "f64[12,12]", NEAREST),
        ("u8[24,24]", "u8[12,5]", AREA),  # six taps inside
        ("f32[25,8]", "f32[5,12]", AREA),  # five of the rows
    ],
}


@pytest.mark.parametrize(
    ("maker", "src", "dst", "choice"), [(maker, *row) for maker, rows in NOT_TAKEN.items() for row in rows]
)
def test_problems_that_a_kernel_does_not_take(maker, src, dst, choice):
    asked = problem(src, dst, choice)
    assert (maker(asked) if maker is by_neighbours else maker(asked, ROOMY)) is None
    assert chosen(src, dst, choice).shader not in SHADERS_OF[maker]


def test_a_problem_that_no_other_kernel_takes_goes_by_elements():
    made = chosen("u8[24,24]", "u8[5,13]", AREA)
    assert (made.shader, made.total) == ("resample", -(-5 * 13 // 4))
    assert made.constants == {"BITS": 8, "OWN_WORDS": 1}


# --- groups


@pytest.mark.parametrize(
    ("dtype", "factor", "group"),
    [
        ("f32", 2, 2),  # 0 0 1 1
        ("f32", 4, 1),  # 0 0 0 0
        ("f32", 8, 1),
        ("f32", 3, 4),  # 0 0 0 1, 1 1 2 2, 2 3 3 3
        ("f16", 2, 2),
        ("f16", 4, 2),
        ("f16", 3, 4),
        ("u8", 2, 4),
        ("u8", 3, 4),
        ("u8", 4, 4),
    ],
)
def test_four_neighbours_of_whole_factors_are_of_one_group(dtype, factor, group):
    made = chosen(f"{dtype}[8,16]", f"{dtype}[{8 * factor},{16 * factor}]", NEAREST)
    assert made.shader == "resample_moves"
    assert made.constants["GROUP"] == group


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[8,16]{strides=(32,2)}", "f32[16,32]"),
        ("f32[8,16]{strides=(17,1)}", "f32[16,32]"),
        ("f32[8,16]{strides=(16,1),offset=1}", "f32[16,32]"),
        ("u8[8,16]{strides=(18,1)}", "u8[16,32]"),
        ("f32[8,15]{strides=(16,1)}", "f32[16,30]"),  # no whole quads
        ("f32[8,48]", "f32[16,36]"),  # four neighbours are too far apart
        ("f32[8,16]", "f32[16,32]{strides=(33,1)}"),  # pieces of one
        ("u8[4,12]{strides=(16,1)}", "u8[8,16]"),  # sixteen at once would end past the last twelve
        ("f32[4,2,3]{strides=(8,4,1)}", "f32[8,2,4]"),
    ],
)
def test_neighbours_that_are_no_group(src, dst):
    assert chosen("f32[8,16]", "f32[16,32]", NEAREST).constants["GROUP"] == 2
    made = chosen(src, dst, NEAREST)
    assert made.shader == "resample" or (made.shader, made.constants["GROUP"]) == ("resample_moves", 0)


@pytest.mark.parametrize(
    ("src", "dst", "choice", "times"),
    [
        ("f32[8,16]", "f32[16,32]", NEAREST, 2),
        ("f32[8,16]", "f32[24,16]", NEAREST, 3),
        ("f32[5,16]", "f32[45,20]", NEAREST, 9),  # more than a block
        ("f32[8,16]", "f32[16,32]", Request(mode="nearest", coordinates="asymmetric"), 1),  # halves go up: 0 1 1 2 2
        ("f32[8,16]", "f32[20,32]", NEAREST, 1),
        ("f32[8,16]", "f32[4,32]", NEAREST, 1),
        ("f32[1,16]", "f32[4,32]", NEAREST, 1),
        ("f32[8,16]", "f32[16,32]{strides=(-32,1),offset=480}", NEAREST, 1),  # from the last row on
    ],
)
def test_rows_that_are_repeated(src, dst, choice, times):
    assert chosen(src, dst, choice).constants["REPEATED"] == times


@pytest.mark.parametrize(
    ("src", "dst", "pattern", "whole"),
    [
        ("f32[8,16]", "f32[16,32]", 0x11100, 1),
        ("f32[8,16]", "f32[16,64]", 0x10000, 1),
        ("u8[8,16]", "u8[32,32]", 0, 1),  # the table of u8 has groups of four: elements 0 0 1 1, then 2 2 3 3
        ("f16[8,16]", "f16[24,32]", 0x11100, 0),  # blocks of eight rows, each row thrice
        ("f32[9,16]", "f32[18,32]", 0x11100, 0),  # the last block has two rows
        ("f32[8,16]", "f32[16,24]", 0, 1),  # 0 1 1 2, which is no group
        ("f32[8,16]", "f32[20,32]", 0x11100, 0),
    ],
)
def test_patterns_and_whole_blocks_of_rows_that_are_moved(src, dst, pattern, whole):
    made = chosen(src, dst, NEAREST).constants
    assert (made["PATTERN"], made["WHOLE_BLOCKS"]) == (pattern, whole)


@pytest.mark.parametrize(
    ("src", "dst", "choice", "elements", "run"),
    [
        ("f32[8,16]", "f32[16,32]", LINEAR, 8, 6),  # -1 to 4, at the edge the first of them twice
        ("f32[8,16]", "f32[16,64]", LINEAR, 8, 4),
        ("f32[8,16]", "f32[16,36]", LINEAR, 4, 4),  # 36 is no multiple of eight
        ("f32[8,4]", "f32[16,8]", LINEAR, 4, 3),  # one piece of eight would be a row
        ("f32[8,16]", "f32[16,64]", Request(mode="cubic"), 8, 6),
        ("f32[8,32]", "f32[16,48]", LINEAR, 8, 7),
        ("u8[8,16]", "u8[16,32]", LINEAR, 8, 6),
        ("u8[8,32]", "u8[16,36]", LINEAR, 4, 5),
        ("u8[8,16]", "f32[16,31]", Request(mode="cubic"), 1, 4),  # four taps in two words
        ("f32[3,8,16]", "f32[6,16,32]", LINEAR, 8, 6),
    ],
)
def test_runs_that_neighbours_read(src, dst, choice, elements, run):
    made = chosen(src, dst, choice)
    assert made.shader == "resample_runs"
    assert [made.constants[name] for name in ("ELEMENTS", "ALONG_AXIS_0", "RUN_LENGTH")] == [elements, 1, run]


@pytest.mark.parametrize(
    ("src", "dst", "choice", "elements"),
    [
        ("f32[8,160]", "f32[16,32]", LINEAR, 4),
        ("f32[8,192]", "f32[16,32]", LINEAR, 2),  # four neighbours reach over 72 bytes
        ("f32[8,96]{strides=(192,2)}", "f32[16,32]", LINEAR, 2),
        ("u8[8,192]", "f32[16,32]", LINEAR, 4),
        ("f16[8,384]", "f16[16,32]", LINEAR, 2),
        ("u8[8,768]", "u8[16,32]", LINEAR, 4),  # a word
        ("f32[8,192]", "f32[16,32]", NEAREST, 4),
    ],
)
def test_neighbours_that_read_far_apart_are_fewer(src, dst, choice, elements):
    made = chosen(src, dst, choice)
    shader = "resample_moves" if choice is NEAREST else "resample_rows"
    assert (made.shader, made.constants["ELEMENTS"]) == (shader, elements)


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        ("f32[8,16]{strides=(32,2)}", "f32[16,32]"),  # elements apart
        ("f32[8,16]{strides=(16,-1),offset=15}", "f32[16,32]"),
        ("f32[8,48]", "f32[16,32]"),  # six elements, a quarter fewer than eight
        ("f32[8,16]", "f32[16,31]"),  # elements one by one
        ("u8[8,64]", "u8[16,16]"),  # fourteen
        ("f32[4,8,16]{1,2,0}", "f32[8,16,32]{1,2,0}"),  # sums along axis 0 are the second
    ],
)
def test_neighbours_that_share_no_run(src, dst):
    assert chosen(src, dst, LINEAR).shader != "resample_runs"


# --- windows and tables


def planned(src: TensorDesc, dst: TensorDesc, choice: Request, limits: Limits, axes: tuple[int, ...] | None = None):
    return list(resample_kernels(src, dst, tables_of(src, dst, choice, axes), NO_ARITHMETIC, limits))


def test_taps_further_apart_than_a_window_are_known_and_refused():
    src, narrow = TensorDesc("f32", (3, 4096)), Limits(4096)
    outer, inner = TensorDesc("f32", (6, 4096)), TensorDesc("f32", (3, 50))
    assert not taps_fit(src, tables_of(src, outer, LINEAR), narrow)
    with pytest.raises(UnsupportedError, match="reads elements further apart than the 4096 bytes of a binding"):
        planned(src, outer, LINEAR, narrow)
    # An inner axis has its taps side by side, and nearest has one tap.
    for dst, choice in ((inner, LINEAR), (outer, NEAREST)):
        assert taps_fit(src, tables_of(src, dst, choice), narrow)
        assert len(planned(src, dst, choice, narrow)) > 1


def test_taps_of_several_axes_add_up():
    src = TensorDesc("f32", (2, 2, 2), (1000, 1001, 1002))
    dst = TensorDesc("f32", (3, 3, 3))
    assert not taps_fit(src, tables_of(src, dst, LINEAR), Limits(9200))
    with pytest.raises(UnsupportedError, match="further apart than the 9200 bytes"):
        planned(src, dst, LINEAR, Limits(9200))


def test_an_empty_result_plans_nothing():
    assert planned(TensorDesc("f32", (3, 0)), TensorDesc("f32", (5, 0)), NEAREST, ROOMY) == []


def test_a_table_of_a_huge_stride_is_right_modulo_32_bits():
    rows = table_words(one_axis(4, 3, mode="nearest"), (1 << 63) + 5)
    assert rows[:, 0].tolist() == [i * 5 for i in (0, 2, 3)]


def test_two_to_three_is_the_worked_example():
    assert table_words(one_axis(2, 3, mode="nearest"), 10).tolist() == [[0], [10], [10]]
    linear = table_words(one_axis(2, 3), 4)
    assert linear[:, :2].copy().view(np.float32).tolist() == [[1, 0], [0.5, 0.5], [0, 1]]
    assert linear[:, 2:].tolist() == [[0, 0]] * 3
    assert table_words(one_axis(4, 3), 10)[:, 2].tolist() == [0, 10, 20]


def test_parts_and_reversals_of_a_table_are_rows_of_the_whole():
    whole = one_axis(7, 17)
    rows = table_words(whole, 3).tolist()
    assert table_words(whole.reversed(), 3).tolist() == rows[::-1]
    assert table_words(whole.part(4, 6), 3).tolist() == rows[4:10]
    assert table_words(whole.reversed().part(4, 6), 3).tolist() == rows[::-1][4:10]
    assert table_words(whole.part(4, 6).reversed().part(1, 2), 3).tolist() == rows[4:10][::-1][1:3]
    assert whole.part(4, 6).reads() == (1, 4)


def test_tables_of_sizes_that_overflow_64_bits_are_exact():
    # (2o + 1) * I passes 2^63; index 3 of 5 reads at 0.7 * I - 0.5.
    size = (1 << 62) + 1
    made = one_axis(size, 5, mode="nearest")
    assert made.first().tolist() == [(2 * o + 1) * size // 10 for o in range(5)]


# --- tables in quads


def test_quads_are_the_worked_example():
    """Area 12 -> 4 reads three each: the third row 6, 7 and 8."""
    (_, table), *_ = tables_of(TensorDesc("f32", (12,)), TensorDesc("f32", (4,)), AREA)
    made = in_quads(table, 12, aligned=True)
    assert (made.taps, table_words(made, 3).shape) == (8, (4, 12))
    assert table_words(made, 3)[2, 8] == 4 * 3
    third = np.float32(1 / 3)
    assert table_words(made, 3)[2, :8].copy().view(np.float32).tolist() == [0, 0, third, third, third, 0, 0, 0]
    # The fourth would begin at 8, and its second four past the axis: it begins at 4, too.
    assert table_words(made, 1)[3, 8] == 4
    assert table_words(made, 1)[3, :8].copy().view(np.float32).tolist() == [0] * 5 + [third] * 3


def test_passes_do_the_least_work_and_never_one_axis_twice():
    def of(sizes, new_sizes, **choice) -> list[list[int]]:
        resized = resizing(sizes, Request(new_sizes, **choice))
        return [[axis for axis, _ in tables] for tables in passes(resized)]

    assert of((1080, 1920), (224, 224)) == [[1, 0]]
    assert of((1080, 1920), (224, 224), antialias=True) == [[1], [0]]
    assert of((5, 5), (5, 5)) == []
    assert of((2, 2, 2, 2, 2), (3, 3, 3, 3, 3), mode="nearest") == [[4, 3, 2, 1, 0]]
    five = of((2, 2, 2, 2, 2), (3, 3, 3, 3, 3))
    assert [axis for axes in five for axis in axes] == [4, 3, 2, 1, 0]
    assert max(map(len, five)) <= 3
    assert of((70_000, 4), (1, 8), mode="area") in ([[1], [0], [0]], [[1, 0], [0]])
