"""``restride resize``, ``slice``, ``reorder``, ``resample``, ``crop`` and ``yuv``: one table of commands."""

from __future__ import annotations

import argparse
from operator import itemgetter
from pathlib import Path
from typing import Any

from restride.cli.operate import FileCommand, FileOperation, call
from restride.command.files import READ, WRITTEN, FileContent, is_image, is_raw, named_errors, read_array, require_file
from restride.command.options import ELEMENTS, NORMALIZATION, RULES, SCALES, given, number
from restride.command.parser import Commands, parse_index
from restride.command.process import UsageError
from restride.dtypes import Array, as_dtype
from restride.errors import ErrorContext
from restride.layout import TensorDesc, views
from restride.ops.crop_resize import crop_resize, normalized
from restride.ops.images import Images
from restride.ops.letterbox import Letterboxed
from restride.ops.reorder import reorder, strided_slice
from restride.ops.resample import resample, resolve, split_arguments
from restride.ops.resize import KEEP_ASPECT, resize, settle
from restride.ops.yuv import yuv_to_rgb
from restride.request import Request
from restride.request.boxes import FLIPS, UNITS, read_boxes
from restride.request.yuv import sizes_of_rgb

FILES = f"""\
Files may stand before or after options. IN ends in {", ".join(READ)}, OUT in {", ".join(WRITTEN)}.
An image is u8 of sizes [height, width, channels], a gray one [height, width], u16 if it is a PNG of 16 bits, with alpha
or without; PNG of 16-bit colours need the extra codecs. A transparent colour of a PNG becomes alpha. A .npy
file has its elements in logical order. A .bin file is a raw buffer as it lies on the device, padding included: --desc
describes IN, and the description of OUT is printed. With --desc that is so of every name that ends in no format's
ending: x.f32, x.raw, x.

Each file is read whole, and all of it goes to the device, also for a small window of it. An array that is too large for
that is for rs.stream in Python, which works part by part (docs/scale.md), or for `restride pyramid`.

IN may be a folder, without its subfolders, or a pattern in quotes; ** in it stands for subfolders. Then OUT is a
folder, and its files have the names of the inputs, with .png for formats that are not written. An error ends the
command at its file.
"""
_RESIZE = f"""\
Resizes photographs as rs.resize does: rows and columns to --sizes, or by --shorter, --longer, --fit or --cover, which
keep the aspect. Shrinking averages what it leaves out (antialiased), as Pillow and torchvision do. Photographs are
turned upright by their EXIF orientation; colours are those of the file, but OUT has no EXIF, and no ICC profile.
Alpha is a channel like others, unless --premultiply weights colours by it. Mode nearest takes every element type, the
others f32, f16, bf16, f8 and integers of 8, 16 and 32 bits. docs/resample.md explains each argument.

{FILES}
examples:
  restride resize photo.jpg small.jpg --sizes 480 640
  restride resize photos small --shorter 256                      each photograph of a folder
  restride resize 'photos/*.jpg' small --fit 1080 1920 --skip-bad
  restride resize photo.jpg same.png --sizes 224 224 --like pillow --mode lanczos      Pillow's very bytes
  restride resize drawing.png icon.png --cover 64 64 --premultiply --linear-light --check"""
_SLICE = f"""\
Cuts a window out of IN and walks it with a stride along each axis. INDEX is numpy's syntax. --offsets, --sizes and
--strides are DirectML's, one number for each axis; with a negative stride the walk starts at the end of the window.

{FILES}
examples:
  restride slice photo.png half.png '[::2, ::2, :]'       every second pixel
  restride slice photo.png mirror.png '[:, ::-1]'         flipped
  restride slice x.npy y.npy --offsets 0 1 --sizes 4 3 --strides -2 2
  restride slice x.bin y.npy '[0, :20]' --desc 'f32[2,32,4,4]:nChw16c'"""
_REORDER = f"""\
Writes the elements of IN in another memory layout, as another element type, or both.

--layout 'NCHW->NHWC', in any letters, permutes the axes. A name such as NHWC, a oneDNN tag such as nChw16c, a
descriptor such as 'f32[8,200]{{1,0:T(8,128)}}', and 'any' for the layout of IN change the memory alone; in a .npy file
the elements then have the order of IN. A .bin file gets that memory, with its padding; gaps between elements are zero.

--to converts every element and rounds once. Scales and zero points compute in f32, then round and saturate:
    (src_scale * (IN - src_zero_point)) / dst_scale + dst_zero_point

{FILES}
examples:
  restride reorder nchw.npy nhwc.npy --layout 'NCHW->NHWC'
  restride reorder photo.png planes.npy --to f32 --dst-scale 255 --layout 'HWC->CHW'    0 to 255 becomes 0 to 1
  restride reorder planes.npy photo.png --to u8 --src-scale 255 --layout 'CHW->HWC'     and back
  restride reorder x.npy x8.npy --to s8 --dst-scale 0.02 0.05 0.1 --axis 1              a scale for each channel
  restride reorder weights.npy weights.bin --layout OIhw16i16o
  restride reorder weights.bin weights.npy --desc 'f32[64,32,3,3]:OIhw16i16o'
  restride reorder dump.f32 x.npy --desc 'src:f32:p:blocked:aBcd16b::f0 2x20x4x4'

The last one is a line of oneDNN's verbose mode. --desc and --layout take such lines, whole ones too, MLIR's memref<...>
and HLO's instructions: --desc their source, --layout their destination."""
_RESAMPLE = f"""\
Resizes IN along some of its axes, to --sizes or by --scales. Without --axes these are height and width of an image, and
the last axes of a .npy file. Without --antialias it reads two or four neighbours an axis, also where an axis shrinks;
`restride resize` has the defaults for photographs. docs/resample.md draws every rule, and says which rules torch, ONNX,
oneDNN, DirectML and Pillow have.

--mode nearest takes every element type; the others take f32, f16, bf16, f8 and integers of 8, 16 and 32 bits. The
result goes through the scales and zero points of `restride reorder`, which may differ along --axis of OUT, and is
rounded once, to the type of --to. --layout may permute the axes of OUT; the other options name the axes of IN. A number
with a point is the decimal number that it shows: 0.1 is a tenth.

{FILES}
examples:
  restride resample photo.jpg small.png --sizes 224 224 --antialias --exclude-outside     as restride resize does
  restride resample photo.jpg large.png --scales 4 4 --mode cubic
  restride resample photo.jpg same.png --sizes 224 224 --like pillow --mode lanczos       Pillow's very bytes
  restride resample photo.jpg fits.png --sizes 224 224 --policy not_larger --antialias
  restride resample nchw.npy big.npy --scales 2 2 --mode nearest --check
  restride resample nchw.npy part.npy --sizes 512 512 --window 0:256 128:512 --mode cubic
  restride resample photo.png planes.npy --sizes 224 224 --antialias --to f32 --dst-scale 255 --layout 'HWC->CHW'"""
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
_YUV = f"""\
Converts video frames with chroma at half of the rows and columns to RGB. IN is u8 of sizes [..., 3/2 rows, columns],
luma above chroma, as OpenCV and most decoders give it; OUT has the sizes [..., rows, columns, 3]. A .bin file has such
frames one after the other: --sizes gives rows and columns of a frame.

{FILES}
examples:
  restride yuv frame.bin frame.png --sizes 1080 1920
  restride yuv frames.bin planes.npy --sizes 720 1280 --format i420 --matrix bt709 --layout 'NHWC->NCHW'
  restride yuv frame.npy frame.png --format nv21 --like opencv --check"""


def _slice(options: argparse.Namespace, file: FileContent) -> FileOperation:
    desc, window = file.desc, given(options)
    if options.index is not None:
        if window:
            raise UsageError("give either an index such as '[..., ::2]' or --offsets, --sizes and --strides, not both")
        key = parse_index(options.index)
        taken = itemgetter(key)
        return FileOperation(views.index(desc, key), taken, lambda array: (taken(array),))
    if not {"offsets", "sizes"} <= window.keys():
        raise UsageError("slice needs an index such as '[..., ::2, ::-1]', or --offsets and --sizes")
    window.setdefault("strides", [1] * desc.rank)
    return call(options, file, views.window(desc, **window), **window)


def _resize(options: argparse.Namespace, file: FileContent) -> FileOperation:
    desc = file.desc
    asked: Any = given(options)
    with ErrorContext(desc):
        filters, channels = settle(desc, options.sizes, options.mode, asked)
        resized = resolve(desc, Request(**filters), str(options.input))
    light = {name: asked.get(name, False) for name in ("linear_light", "premultiply")}
    right = {name: value for name, value in filters.items() if value is not None} | light | {"channels": channels}
    return call(options, file, TensorDesc(desc.dtype, resized.sizes), of_reference=lambda _: right)


def _resample(options: argparse.Namespace, file: FileContent) -> FileOperation:
    desc = file.desc
    request, _, _ = split_arguments(given(options))
    with ErrorContext(desc):
        resized = resolve(desc, request, str(options.input))
    result = TensorDesc(desc.dtype, resized.sizes)
    aliasing = (
        "warning: the image shrinks, and what lies between the neighbours that are read is left out (aliasing): "
        "`restride resize` averages it, and so does --antialias"
    )
    notes = [aliasing] if file.is_image and _aliases(options, desc, result) else []
    return call(options, file, result, *notes, axes=resized.axes)


def _aliases(options: argparse.Namespace, src: TensorDesc, result: TensorDesc) -> bool:
    """True if an axis shrinks by a filter that could be antialiased, without ``--antialias`` or ``--like``."""
    is_plain = options.mode in (None, "linear", "cubic") and options.antialias is None and options.like is None
    return is_plain and any(new < old for new, old in zip(result.sizes, src.sizes, strict=True))


def _crop(options: argparse.Namespace, file: FileContent) -> FileOperation:
    desc = file.desc
    if desc.rank < 2:
        raise UsageError(f"{options.input} has no rows and columns: {desc}")
    rows, columns = options.axes or (-2, -1)
    images = Images((desc,), (rows % desc.rank, columns % desc.rank))
    units = options.units or UNITS[0]
    with ErrorContext(desc):
        boxes = read_boxes(_boxes(options, images, units), units)
    result = TensorDesc(desc.dtype, images.result_sizes(len(boxes), options.sizes))
    is_one = is_image(options.output)
    if is_one and len(boxes) != 1:
        raise UsageError(f"an image holds one box, not {len(boxes)}: give {options.output.stem}.npy as the output")
    mean, std = options.mean, options.std
    is_normal = (mean, std) != (None, None)
    if is_normal and options.dtype is None and "[" not in str(options.layout):
        options.dtype = as_dtype("f32")

    def of_reference(arguments: dict[str, Any]) -> dict[str, Any]:
        """The reference's arguments: scales and zero points instead of a mean and a standard deviation."""
        others = {name: value for name, value in arguments.items() if name not in ("mean", "std")}
        others["axes"] = images.axes
        if is_normal:
            _, asked, _ = split_arguments(others)
            with ErrorContext(desc):
                scales = normalized(mean, std, images, arguments["dtype"], None, asked)._asdict()
            others |= {name: scales[name] for name in SCALES if scales[name] is not None}
        return others

    notes = _places(options, boxes)
    return call(options, file, result, *notes, boxes=boxes, of_reference=of_reference, is_first=is_one)


def _boxes(options: argparse.Namespace, images: Images, units: str) -> Any:
    """The boxes as an argument of ``crop_resize``; by default one box, the whole image."""
    if options.file is not None:
        return read_array(options.file).array
    if options.boxes is None:
        return [(0, 0, *images.extents(images.desc))] if units == "pixels" else [(0, 0, 1, 1)]
    of_floats = {any(isinstance(edge, float) for edge in box) for box in options.boxes}
    if units == "pixels" and len(of_floats) > 1:
        raise UsageError(
            "a --box of integers is a slice, one with a point is not: write all of them with a point, or none"
        )
    return options.boxes


def _places(options: argparse.Namespace, boxes: Array) -> list[str]:
    """A note for each letterboxed box with its place in its result; none for boxes of floats."""
    if options.letterbox is None or boxes.dtype.kind != "i":
        return []
    places = Letterboxed.of(boxes, options.sizes, options.letterbox).places.tolist()
    return [
        f"box {number} is in rows {top} to {bottom} and columns {left} to {right} of its result"
        for number, (top, left, bottom, right) in enumerate(places)
    ]


def box(text: str) -> tuple[int | float, ...]:
    """Parse a box such as ``20,30,220,330``."""
    parts = text.split(",")
    if len(parts) != 4:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no box of four numbers, Y0,X0,Y1,X1")
    return tuple(map(number, parts))


def _file_of_boxes(text: str) -> Path:
    if text.count(",") == 3 and not text.endswith(".npy"):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no .npy file: give a box by --box")
    return Path(text)


def _describe_frames(options: argparse.Namespace) -> str | None:
    """The descriptor of a .bin file of whole frames: with sizes 2,2, 6 bytes are one frame and 12 bytes two."""
    path: Path = options.input
    if options.sizes is None:
        if is_raw(path) and options.desc is None:
            raise UsageError(f"{path} holds bytes alone: say rows and columns of a frame, --sizes 1080 1920")
        desc: str | None = options.desc
        return desc
    rows, columns = options.sizes
    if not is_raw(path) or options.desc is not None:
        instead = f"{path} says itself what it holds" if not is_raw(path) else "--desc says that already"
        raise UsageError(f"--sizes {rows} {columns} says how frames lie in a .bin file: leave it out, {instead}")
    if rows < 2 or columns < 2 or rows % 2 or columns % 2:
        raise UsageError(f"--sizes of a frame must be even and 2 or more, got {rows} {columns}")
    nbytes = rows // 2 * 3 * columns
    with named_errors("read", path):
        require_file(path)
        present = path.stat().st_size
    if not present or present % nbytes:
        raise UsageError(f"{path} has {present} bytes; frames of {rows} x {columns} have {nbytes} each")
    frames = (present // nbytes,) if present > nbytes else ()
    return str(TensorDesc("u8", (*frames, rows // 2 * 3, columns)))


COMMANDS = (
    FileCommand(
        "resize",
        _RESIZE,
        resize,
        {
            "": {
                "sizes": {"help": "rows and columns of OUT", "nargs": 2},
                "shorter": "how long the shorter side becomes",
                "longer": "how long the longer side becomes",
                "fit": {"help": "OUT is the largest that fits into these rows and columns", "nargs": 2},
                "cover": {"help": "OUT is the smallest that covers these rows and columns", "nargs": 2},
                "axes": {"help": "axes of rows and columns, where the sizes of a .npy file do not tell", "nargs": 2},
                "mode": RULES["mode"],
                "like": RULES["like"],
                "antialias": "widen the filters of a --like that does not do so itself; without --like the default",
                "linear_light": "average light, not the codes of sRGB",
                "premultiply": "weight colours by their alpha, so that hidden colours do not bleed out",
            }
        },
        _resize,
        one_of={name: f"--{name}" for name in ("sizes", *KEEP_ASPECT)},
    ),
    FileCommand(
        "slice",
        _SLICE,
        strided_slice,
        {
            "": {
                "offsets": "first element of the window, for each axis",
                "sizes": "elements in the window, for each axis",
                "strides": "step inside the window, for each axis, not 0 (default: 1)",
                "output_sizes": "elements taken, for each axis (default: all that fit)",
            }
        },
        _slice,
        inputs=1,  # INDEX, which may be missing, follows
    ),
    FileCommand(
        "reorder",
        _REORDER,
        reorder,
        {
            "": {"layout": "'NCHW->NHWC', a name such as NHWC, a oneDNN tag such as nChw16c, a descriptor, or any"},
            "elements": ELEMENTS,
        },
        lambda options, file: call(options, file, file.desc),
        one_of={"layout": "--layout", "dtype": "--to"} | dict.fromkeys(SCALES, "a scale or a zero point"),
    ),
    FileCommand(
        "resample",
        _RESAMPLE,
        resample,
        {
            "": {
                "sizes": "new size of each axis: height and width of an image",
                "scales": "new elements for each old one, for each axis",
                "axes": "which axes; negative ones count from the end",
                "window": "the part of OUT to compute, for each axis: 0:10 5:9",
                "layout": "layout of OUT, as in `restride reorder`: 'HWC->CHW', a name, a tag (default: that of IN)",
            },
            "rules": {
                **RULES,
                "keep_aspect_ratio_policy": {
                    "help": "reach --sizes, or keep one scale for all axes",
                    "flag": "--policy",
                },
                "extrapolation_value": "result of tf_crop_and_resize where it reads beyond the ends",
                "roi": "region of tf_crop_and_resize: the starts of all axes, then the ends",
                "input_offsets": "DirectML's input offset of each axis, instead of --coordinates",
                "output_offsets": "DirectML's output offset of each axis",
                "recompute_scale_factor": "compute coordinates from the sizes that --scales give",
            },
            "elements": ELEMENTS,
        },
        _resample,
        one_of={"sizes": "--sizes", "scales": "--scales"},
    ),
    FileCommand(
        "crop",
        _CROP,
        crop_resize,
        {
            "": {
                "sizes": {"help": "height and width of each box", "nargs": 2, "required": True},
                "units": "units of boxes",
                "axes": {"help": "axes of rows and columns; negative ones count from the end", "nargs": 2},
                **NORMALIZATION,
                "flip": {"help": "one word, or one for each box", "choices": FLIPS, "metavar": "FLIP"},
                "layout": "layout of OUT, as in `restride reorder`: 'NHWC->NCHW' permutes, a name changes memory",
            },
            "rules": RULES,
            "elements": ELEMENTS,
        },
        _crop,
    ),
    FileCommand(
        "yuv",
        _YUV,
        yuv_to_rgb,
        {
            "": {
                "format": "layout of chroma",
                "matrix": "matrix of the colours",
                "full_range": "luma is 0 to 255, as in JPEG, not 16 to 235",
                "like": "the bytes of cv2.cvtColor",
                "layout": "layout of OUT, as in `restride reorder`: 'HWC->CHW' gives planes",
            }
        },
        lambda options, file: call(options, file, TensorDesc("u8", sizes_of_rgb(file.desc))),
        describe=_describe_frames,
        described_by=("desc", "sizes"),
    ),
)


def add_commands(commands: Commands) -> None:
    """Add the commands of the table, and the options that are not arguments of a function."""
    added = {command.name: command.add(commands) for command in COMMANDS}
    added["resize"].add_argument(
        "--no-antialias",
        dest="antialias",
        action="store_const",
        const=False,
        help="read two or four neighbours an axis, however many lie between",
    )
    added["slice"].add_argument("index", metavar="INDEX", nargs="?", help="numpy's slice syntax: '[..., ::2, ::-1]'")
    boxes = added["crop"].add_mutually_exclusive_group()
    boxes.add_argument(
        "--box", dest="boxes", type=box, action="append", metavar="Y0,X0,Y1,X1", help="a box; repeat it for more"
    )
    boxes.add_argument(
        "--boxes", dest="file", type=_file_of_boxes, metavar="FILE", help="a .npy file of (boxes, 4) numbers"
    )
    text = "rows and columns of a frame in a .bin file"
    added["yuv"].add_argument("--sizes", type=int, nargs=2, metavar="N", help=text)
