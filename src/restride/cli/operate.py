"""``restride slice``, ``reorder`` and ``resample``: apply one operation to a file and write the result to another."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from restride import reference
from restride.cli import options
from restride.cli.comparison import Comparison, compare_bits, compare_limits, flush_limits
from restride.cli.files import (
    Array,
    FileArray,
    FileBuffer,
    buffer_of,
    is_raw,
    read_array,
    read_buffer,
    require_room,
    require_writable,
)
from restride.cli.parser import (
    Commands,
    Parser,
    add_command,
    add_device_options,
    open_device,
    parse_index,
    runtime_name,
)
from restride.cli.process import Exit, UsageError, in_options, tell
from restride.dtypes import DType
from restride.errors import ErrorContext
from restride.layout import TensorDesc, views
from restride.layout.argument import axis_order, is_permutation, laid_out
from restride.ops.reorder import reorder, strided_slice
from restride.ops.resample import about_channels, require_rows_and_columns, resample
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor
from restride.weights import DEFAULTS, POLICIES, Request, resizing

FILES = """\
Files may stand before or after options, and end in .npy, .png, .jpg or .bin. An image is u8 of sizes [height, width,
channels], a gray one [height, width], u16 if it is a PNG of 16 bits, with alpha or without; 16-bit colours are read as
u8, as Pillow reads them. A transparent colour of a PNG becomes alpha. A .npy file has its elements in logical order. A
.bin file is a raw buffer as it lies on the device, padding included: --desc describes IN, and the description of OUT is
printed.
"""
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
  restride reorder weights.bin weights.npy --layout oihw --desc 'f32[64,32,3,3]:OIhw16i16o'"""
_RESAMPLE = f"""\
Resizes IN along some of its axes, to --sizes or by --scales. Without --axes these are height and width of an image, and
the last axes of a .npy file. docs/resample.md draws every rule, and says which rules torch, ONNX, oneDNN, DirectML and
Pillow have.

--mode nearest takes every element type; the others take f32, f16, bf16, f8 and integers of 8, 16 and 32 bits. The
result goes through the scales and zero points of `restride reorder`, which may differ along --axis of OUT, and is
rounded once, to the type of --to. --layout may permute the axes of OUT; the other options name the axes of IN. A number
with a point is the decimal number that it shows: 0.1 is a tenth.

{FILES}
examples:
  restride resample photo.jpg small.png --sizes 224 224
  restride resample photo.jpg small.png --sizes 224 224 --antialias --exclude-outside     averages what it leaves out
  restride resample photo.jpg same.png --sizes 224 224 --like pillow --mode lanczos       Pillow's very bytes
  restride resample photo.jpg fits.png --sizes 224 224 --policy not_larger --antialias
  restride resample nchw.npy big.npy --scales 2 2 --mode nearest --check
  restride resample nchw.npy part.npy --sizes 512 512 --window 0:256 128:512 --mode cubic
  restride resample photo.png planes.npy --sizes 224 224 --antialias --to f32 --dst-scale 255 --layout 'HWC->CHW'"""


FileContent = FileArray | FileBuffer
"""The content of a file: elements in logical order, or for a .bin file the bytes of a buffer."""


@dataclass(frozen=True)
class Operation:
    """An operation on a file.

    dtype, sizes: of the result. on_device: computes the result. check: compares the source's and the result's elements
    with the reference. notes: lines to print afterwards.
    """

    dtype: DType
    sizes: tuple[int, ...]
    on_device: Callable[[Tensor], Tensor]
    check: Callable[[Array, Array], Comparison]
    notes: tuple[str, ...] = ()


def add_commands(commands: Commands) -> None:
    """Add ``slice``, ``reorder`` and ``resample``."""
    parser = add_operation(commands, "slice", _SLICE, _slice)
    parser.add_argument("index", metavar="INDEX", nargs="?", help="numpy's slice syntax: '[..., ::2, ::-1]'")
    for name, text in (
        ("--offsets", "first element of the window"),
        ("--sizes", "elements in the window"),
        ("--strides", "step inside the window, not 0 (default: 1)"),
        ("--output-sizes", "elements taken (default: all that fit)"),
    ):
        options.add_numbers(parser, name, f"{text}, for each axis")
    add_device_options(parser)
    parser = add_operation(commands, "reorder", _REORDER, _reorder)
    parser.add_argument(
        "--layout",
        help="'NCHW->NHWC', a name such as NHWC, a oneDNN tag such as nChw16c, a descriptor, or any",
    )
    options.add_elements(parser)
    add_device_options(parser)
    parser = add_operation(commands, "resample", _RESAMPLE, _resample)
    _add_sizes(parser)
    options.add_elements(parser, "OUT, before --layout permutes it,")
    add_device_options(parser)


def _add_sizes(parser: Parser) -> None:
    """Add options for sizes and scales, axes and window, and one for each of ``DEFAULTS``."""
    options.add_numbers(parser, "--sizes", "new size of each axis: height and width of an image")
    options.add_numbers(parser, "--scales", "new elements for each old one, for each axis", kind=options.number)
    options.add_numbers(parser, "--axes", "which axes; negative ones count from the end")
    parser.add_argument(
        "--window", type=_part, nargs="+", metavar="A:B", help="the part of OUT to compute, for each axis: 0:10 5:9"
    )
    parser.add_argument(
        "--layout", help="layout of OUT, as in `restride reorder`: 'HWC->CHW', a name, a tag (default: that of IN)"
    )
    group = parser.add_argument_group("rules")
    options.add_rules(group)
    group.add_argument(
        "--policy",
        dest="keep_aspect_ratio_policy",
        choices=POLICIES,
        metavar="POLICY",
        default=DEFAULTS["keep_aspect_ratio_policy"],
        help=f"reach --sizes, or keep one scale for all axes: {', '.join(POLICIES)} (default: %(default)s)",
    )
    group.add_argument(
        "--extrapolation-value",
        type=options.number,
        default=0.0,
        metavar="N",
        help="result of tf_crop_and_resize where it reads beyond the ends (default: 0)",
    )
    for option, text in (
        ("--roi", "region of tf_crop_and_resize: the starts of all axes, then the ends"),
        ("--input-offsets", "DirectML's input offset of each axis, instead of --coordinates"),
        ("--output-offsets", "DirectML's output offset of each axis"),
    ):
        options.add_numbers(group, option, text, kind=options.number)
    group.add_argument(
        "--recompute-scale-factor",
        action="store_const",
        const=True,
        help="compute coordinates from the sizes that --scales give",
    )


def _part(text: str) -> slice:
    """Parse a part of an axis such as ``0:10``, or ``:`` for all of it."""
    try:
        (item,) = parse_index(text)
    except (UsageError, ValueError):
        item = None
    if not isinstance(item, slice):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no part of an axis, such as 0:10 or :")
    return item


def add_operation(
    commands: Commands,
    name: str,
    description: str,
    operation: Callable[[argparse.Namespace, FileContent], Operation],
) -> Parser:
    """Add a command from IN to OUT that ``run`` executes; the caller adds further options, those of the device last."""
    parser = add_command(commands, name, description)
    parser.add_argument("input", metavar="IN", type=Path, help="file to read")
    parser.add_argument("output", metavar="OUT", type=Path, help="file to write, in one step once all went well")
    parser.add_argument("--check", action="store_true", help="compare with the numpy reference before OUT is written")
    parser.add_argument("--dtype", help="element type of a .npy IN in which numpy saved bf16 or f8 as raw bytes")
    parser.add_argument("--desc", metavar="TEXT", help="descriptor of a .bin IN, such as 'f32[2,32,4,4]:nChw16c'")
    parser.set_defaults(run=run, operation=operation)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Read the file, compute, check if requested, and write the result."""
    require_writable(arguments.output)
    file = _read(arguments)
    operation: Operation = arguments.operation(arguments, file)
    require_room(arguments.output, operation.dtype.dtype, operation.sizes)
    with open_device(arguments) as device:
        source = file.tensor(device)
        start = time.perf_counter()
        result = operation.on_device(source)
        output = buffer_of(result, source) if is_raw(arguments.output) else FileArray(result.numpy())
        print_time(start, device, "kernels prepared and result read back")
    for note in operation.notes:
        tell(note)
    if arguments.check and not _is_right(operation, file, output):
        tell(f"{arguments.output} is not written")
        return Exit.CHECK_FAILED
    output.write(arguments.output)
    print(f"{arguments.output}: {output}" + (f" from {source.desc}" if isinstance(output, FileArray) else ""))
    return Exit.OK


def print_time(start: float, device: Device, text: str) -> None:
    """Print on stderr the time since ``start``, from ``time.perf_counter``, and ``text`` about what it includes."""
    milliseconds = 1000 * (time.perf_counter() - start)
    tell(f"{milliseconds:.1f} ms on {device.info.name} ({runtime_name(device)}), {text}")


def _read(arguments: argparse.Namespace) -> FileContent:
    path: Path = arguments.input
    if not is_raw(path):
        if arguments.desc is not None:
            raise UsageError(f"--desc says what the bytes of a .bin file are; {path} says itself what it holds")
        return read_array(path, arguments.dtype)
    if arguments.dtype is not None:
        raise UsageError(f"--dtype says what the bytes of a .npy file are; {path} needs --desc, which has the type")
    return read_buffer(path, arguments.desc)


def _is_right(operation: Operation, file: FileContent, output: FileContent) -> bool:
    """Compare the elements of the result, and the padding of a buffer, with the reference; print the comparisons."""
    elements = output.elements()
    comparisons = {"check": operation.check(file.elements(), elements)}
    if isinstance(output, FileBuffer):
        image = FileBuffer(reference.to_buffer(elements, output.desc), output.desc)
        comparisons["check of the padding"] = compare_bits(output.padding(), image.padding())
    for name, comparison in comparisons.items():
        print(f"{name}: {comparison}", flush=True)
    return all(comparison.passed for comparison in comparisons.values())


def _slice(arguments: argparse.Namespace, file: FileContent) -> Operation:
    desc = file.desc
    if arguments.index is not None:
        if arguments.offsets or arguments.sizes or arguments.strides or arguments.output_sizes:
            raise UsageError("give either an index such as '[..., ::2]' or --offsets, --sizes and --strides, not both")
        key = parse_index(arguments.index)
        return Operation(
            desc.dtype,
            views.index(desc, key).sizes,
            lambda x: x[key],
            lambda array, result: compare_bits(result, np.asarray(array[key])),
        )
    if arguments.offsets is None or arguments.sizes is None:
        raise UsageError("slice needs an index such as '[..., ::2, ::-1]', or --offsets and --sizes")
    strides = arguments.strides or [1] * desc.rank
    window = (arguments.offsets, arguments.sizes, strides, arguments.output_sizes)
    return Operation(
        desc.dtype,
        views.window(desc, *window).sizes,
        lambda x: strided_slice(x, *window),
        lambda array, result: compare_bits(result, reference.strided_slice(array, *window)),
    )


def _reorder(arguments: argparse.Namespace, file: FileContent) -> Operation:
    layout: str | None = arguments.layout
    desc = file.desc
    order = axis_order(desc, layout)
    conversion = options.elements(arguments, desc, order)
    if layout is None and not conversion.keys() & {"dtype", *options.SCALES}:
        raise UsageError(
            "one of these is required: --layout, --to, a scale or a zero point (see `restride reorder --help`)"
        )
    # A layout that is a descriptor's text states its own element type.
    dtype = conversion.get("dtype") or laid_out(desc, layout).dtype
    if dtype != desc.dtype:
        conversion["dtype"] = dtype
    permutation = layout if is_permutation(layout) else None  # other layouts keep the order of the axes

    def check(array: Array, result: Array) -> Comparison:
        answer = reference.reorder(array, permutation, **conversion)
        if conversion.keys().isdisjoint(options.SCALES):
            return compare_bits(result, answer)
        flushed = reference.reorder(array, permutation, flush=True, **conversion)
        return compare_limits(result, answer, *flush_limits(answer, flushed))

    return Operation(
        dtype,
        tuple(desc.sizes[axis] for axis in order),
        lambda x: reorder(x, layout, **conversion),
        check,
        layout_notes(arguments, file),
    )


def _resample(arguments: argparse.Namespace, file: FileContent) -> Operation:
    layout: str | None = arguments.layout
    desc = file.desc
    order = axis_order(desc, layout)
    sampling = _sizes_and_rules(arguments, file.is_image)
    request = Request(**sampling)
    with ErrorContext(desc):
        resized = resizing(desc.sizes, request, desc.dtype.name)
        require_rows_and_columns(request, resized.axes, str(arguments.input), desc)
    result_desc = TensorDesc(desc.dtype, resized.sizes)
    warning = about_channels(request, desc.rank, resized.old, resized.new, arguments.input)
    sampling["axes"] = resized.axes
    # Scales and zero points apply to the interpolated elements, whose axes are in the order of IN.
    on_device, expected = (
        sampling | options.elements(arguments, result_desc, axes) for axes in (order, range(desc.rank))
    )
    dtype = on_device.get("dtype") or laid_out(result_desc, layout).dtype
    if dtype != desc.dtype:
        on_device["dtype"] = expected["dtype"] = dtype

    def check(array: Array, result: Array) -> Comparison:
        answer = reference.resample(array, **expected).transpose(order)
        if (arguments.mode or "").startswith("nearest") and expected.keys().isdisjoint(options.SCALES):
            return compare_bits(result, answer)
        limits = (limit.transpose(order) for limit in reference.resample_limits(array, **expected))
        return compare_limits(result, answer, *limits)

    return Operation(
        dtype,
        tuple(result_desc.sizes[axis] for axis in order),
        lambda x: resample(x, layout=layout, **on_device),
        check,
        layout_notes(arguments, file)
        + options.alpha_notes(arguments, desc, file.is_image)
        + ((in_options(warning),) if warning else ()),
    )


def _sizes_and_rules(arguments: argparse.Namespace, is_image: bool) -> dict[str, Any]:
    """The options as arguments of ``resample``, except the layout. The default axes of images are height and width.

    Raises:
        UsageError: neither sizes nor scales, not two for an image, or an unknown mode.
    """
    if arguments.sizes is None and arguments.scales is None:
        raise UsageError("one of these is required: --sizes, --scales (see `restride resample --help`)")
    sampling = options.rules(arguments)  # first, as it replaces arguments.mode, which is also one of DEFAULTS
    names = ("sizes", "scales", "axes", "window", "extrapolation_value", *DEFAULTS)
    sampling |= {name: getattr(arguments, name) for name in names}
    if sampling["axes"] is None and is_image:
        for name in ("sizes", "scales"):
            if sampling[name] is not None and len(sampling[name]) != 2:
                raise UsageError(
                    f"an image is resized along height and width: give 2 {name}, not {len(sampling[name])}, or name "
                    "others by --axes"
                )
        sampling["axes"] = (0, 1)
    return sampling


def layout_notes(arguments: argparse.Namespace, file: FileContent) -> tuple[str, ...]:
    """A note if ``--layout`` changes only memory, which does not show in an OUT in logical order; else none."""
    layout: str | None = arguments.layout
    is_logical = isinstance(file, FileArray) and not is_raw(arguments.output)
    if not is_logical or layout is None or is_permutation(layout):
        return ()
    note = (
        f"layout {layout!r} changes memory only, so the elements have the order of {arguments.input}; 'A->B', such as "
        f"'NCHW->NHWC', permutes the axes"
    )
    return (note,)
