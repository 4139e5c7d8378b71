"""``restride crop``: cut boxes out of an image or an array in a file, and resize each to the same sizes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from restride import reference
from restride.cli import options
from restride.cli.comparison import Comparison, compare_bits, compare_limits
from restride.cli.files import Array, format_of, read_array
from restride.cli.operate import FILES, FileContent, Operation, add_operation, layout_notes
from restride.cli.parser import Commands, add_device_options
from restride.cli.process import UsageError
from restride.dtypes import as_dtype
from restride.errors import ErrorContext
from restride.layout import TensorDesc
from restride.layout.argument import axis_order, laid_out
from restride.ops.boxes import FLIPS, UNITS, read_boxes
from restride.ops.crop_resize import crop_resize, normalized
from restride.ops.images import Images
from restride.ops.letterbox import Letterboxed
from restride.tensor.tensor import Tensor

_CROP = f"""\
Cuts boxes out of IN and resizes each to --sizes. A box may reach outside IN and gets --fill there; without a box, all
of IN is one. OUT has the boxes along a new first axis, unless it is an image, which holds one box. Rows and columns are
the first two axes of an image and the last two of a .npy file. docs/crop_resize.md draws every rule.

A box is Y0,X0,Y1,X1. Integers mean the slice [Y0:Y1, X0:X1]. Numbers with a point mean places between the centres of
pixels, as in TensorFlow; with --units normalized, 0 is the first centre and 1 the last. A file of --boxes has the
numbers in the same order; of a detector's float boxes x0, y0, x1, y1, save np.rint(boxes[:, [1, 0, 3,
2]]).astype(np.int64).

--mean and --std compute (v - mean) / std in f32, of integers after they are scaled to [0, 1]. Scales, types and layouts
are those of `restride resample`.

{FILES}
examples:
  restride crop photo.jpg face.png --box 20,30,220,330 --sizes 224 224
  restride crop photo.jpg faces.npy --box 20,30,220,330 --box 100,400,260,640 --sizes 96 96 --layout 'NHWC->NCHW'
  restride crop photo.jpg batch.npy --boxes found.npy --sizes 224 224 --mean 0.485 0.456 0.406 --std 0.229 0.224 0.225
  restride crop photo.jpg fits.png --sizes 640 640 --letterbox center --fill 114 --like opencv"""


def add_commands(commands: Commands) -> None:
    """Add ``crop``."""
    parser = add_operation(commands, "crop", _CROP, _crop)
    boxes = parser.add_mutually_exclusive_group()
    boxes.add_argument("--box", type=_box, action="append", metavar="Y0,X0,Y1,X1", help="a box; repeat it for more")
    boxes.add_argument("--boxes", type=Path, metavar="FILE", help="a .npy file of (boxes, 4) numbers")
    options.add_numbers(parser, "--sizes", "height and width of each box", count=2, required=True)
    parser.add_argument("--units", choices=UNITS, default=UNITS[0], help="units of boxes (default: %(default)s)")
    options.add_numbers(parser, "--axes", "axes of rows and columns; negative ones count from the end", count=2)
    options.add_normalization(parser)
    parser.add_argument(
        "--flip", choices=FLIPS, nargs="+", metavar="FLIP", help=f"{', '.join(FLIPS)}: one word, or one for each box"
    )
    parser.add_argument(
        "--layout",
        help="layout of OUT, as in `restride reorder`: 'NHWC->NCHW' permutes, a name or a tag changes memory alone",
    )
    options.add_rules(parser.add_argument_group("rules"))
    options.add_elements(parser, "OUT, before --layout permutes it,")
    add_device_options(parser)


def _crop(arguments: argparse.Namespace, file: FileContent) -> Operation:
    desc, layout = file.desc, arguments.layout
    if desc.rank < 2:
        raise UsageError(f"{arguments.input} has no rows and columns: {desc}")
    axes = arguments.axes or ((0, 1) if file.is_image else None)
    rows, columns = axes or (-2, -1)
    images = Images((desc,), (rows % desc.rank, columns % desc.rank))
    with ErrorContext(desc):
        boxes = read_boxes(_boxes(arguments, images), arguments.units)
    result = TensorDesc(desc.dtype, images.result_sizes(len(boxes), arguments.sizes))
    order = axis_order(result, layout)
    common = {
        "axes": axes,
        "units": arguments.units,
        "letterbox": arguments.letterbox,
        "flip": options.one_or_many(arguments.flip, "none"),
        "fill": options.one_or_many(arguments.fill, 0),
        **options.rules(arguments),
    }
    normal = {"mean": options.one_or_many(arguments.mean), "std": options.one_or_many(arguments.std)}
    is_normal = normal != {"mean": None, "std": None}
    dtype = arguments.to or laid_out(result, layout).dtype
    if is_normal and arguments.to is None and "[" not in str(layout):
        dtype = as_dtype("f32")
    # Scales and zero points apply to the result, whose axes are the boxes, then the axes of IN in order.
    on_device, expected = (
        options.elements(arguments, result, turned) | {"dtype": dtype} for turned in (order, range(result.rank))
    )
    if is_normal:
        own = dict.fromkeys(options.SCALES) | expected
        with ErrorContext(desc):
            expected = normalized(normal["mean"], normal["std"], images, dtype, None, own)
    box_axis = order.index(0)  # the axis of the boxes in OUT; an image has one box and no such axis
    has_axis = format_of(arguments.output) not in ("PNG", "JPEG")
    if not has_axis and len(boxes) != 1:
        raise UsageError(f"an image is one box, not {len(boxes)}: give {arguments.output.stem}.npy as the output")
    one: tuple[Any, ...] = () if has_axis else (*[slice(None)] * box_axis, 0)

    def crop(x: Tensor) -> Tensor:
        return crop_resize(x, boxes, arguments.sizes, layout=layout, **common, **normal, **on_device)[one]

    def check(array: Array, output: Array) -> Comparison:
        every = common | expected | {"axes": images.axes}
        named = {name: value for name, value in every.items() if value is not None}
        answer = reference.crop_resize(array, boxes, arguments.sizes, **named).transpose(order)[one]
        if (arguments.mode or "").startswith("nearest") and named.keys().isdisjoint(options.SCALES):
            return compare_bits(output, answer)
        limits = reference.crop_resize_limits(array, boxes, arguments.sizes, **named)
        return compare_limits(output, answer, *(limit.transpose(order)[one] for limit in limits))

    sizes = tuple(result.sizes[axis] for axis in order if axis or has_axis)
    notes = (
        layout_notes(arguments, file) + options.alpha_notes(arguments, desc, file.is_image) + _places(arguments, boxes)
    )
    return Operation(dtype, sizes, crop, check, notes)


def _boxes(arguments: argparse.Namespace, images: Images) -> Any:
    """The boxes as an argument of ``crop_resize``; by default one box, the whole image."""
    if arguments.boxes is not None:
        return read_array(arguments.boxes).array
    if arguments.box is None:
        return [(0, 0, *images.extents(images.desc))] if arguments.units == "pixels" else [(0, 0, 1, 1)]
    of_floats = {any(isinstance(edge, float) for edge in box) for box in arguments.box}
    if arguments.units == "pixels" and len(of_floats) > 1:
        raise UsageError("a --box of integers is a slice, and one with a point is none: write all of them one way")
    return arguments.box


def _places(arguments: argparse.Namespace, boxes: Array) -> tuple[str, ...]:
    """A note for each letterboxed box with its place in its result; none for boxes of floats."""
    if arguments.letterbox is None or boxes.dtype.kind != "i":
        return ()
    notes = []
    places = Letterboxed.of(boxes, arguments.sizes, arguments.letterbox).places
    for number, (top, left, bottom, right) in enumerate(places.tolist()):
        notes.append(f"box {number} is in rows {top} to {bottom} and columns {left} to {right} of its result")
    return tuple(notes)


def _box(text: str) -> tuple[int | float, ...]:
    """Parse a box such as ``20,30,220,330``."""
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no box, Y0,X0,Y1,X1")
    return tuple(options.number(part) for part in parts)
