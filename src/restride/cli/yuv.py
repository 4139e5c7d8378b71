"""``restride yuv``: convert frames of cameras and decoders in a file to RGB."""

from __future__ import annotations

import argparse

from restride import reference
from restride.cli import operate
from restride.cli.comparison import Comparison, compare_bits
from restride.cli.files import Array, is_raw, named_errors, require_file
from restride.cli.operate import FILES, FileContent, Operation, add_operation, layout_notes
from restride.cli.parser import Commands, add_device_options
from restride.cli.process import UsageError
from restride.layout import TensorDesc
from restride.layout.argument import axis_order
from restride.ops.yuv import sizes_of_rgb, yuv_to_rgb
from restride.plan.yuv import FORMATS, MATRICES, checked

_YUV = f"""\
Converts video frames with chroma at half of the rows and columns to RGB. IN is u8 of sizes [..., 3/2 rows, columns],
luma above chroma, as OpenCV and most decoders give it; OUT has the sizes [..., rows, columns, 3]. A .bin file has such
frames one after the other: --sizes gives rows and columns of a frame.

{FILES}
examples:
  restride yuv frame.bin frame.png --sizes 1080 1920
  restride yuv frames.bin planes.npy --sizes 720 1280 --format i420 --matrix bt709 --layout 'NHWC->NCHW'
  restride yuv frame.npy frame.png --format nv21 --like opencv --check"""


def add_commands(commands: Commands) -> None:
    """Add ``yuv``."""
    parser = add_operation(commands, "yuv", _YUV, _yuv)
    parser.add_argument("--format", choices=FORMATS, default="nv12", help="layout of chroma (default: %(default)s)")
    parser.add_argument("--sizes", type=int, nargs=2, metavar="N", help="rows and columns of a frame in a .bin file")
    parser.add_argument(
        "--matrix", choices=MATRICES, default="bt601", help="matrix of the colours (default: %(default)s)"
    )
    parser.add_argument("--full-range", action="store_true", help="luma is 0 to 255, as in JPEG, not 16 to 235")
    parser.add_argument("--like", choices=("opencv",), help="the bytes of cv2.cvtColor")
    parser.add_argument("--layout", help="layout of OUT, as in `restride reorder`: 'HWC->CHW' gives planes")
    add_device_options(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run ``operate.run`` with the descriptor of the frames that follows from ``--sizes``."""
    if arguments.sizes is not None:
        arguments.desc = _described(arguments)
    elif is_raw(arguments.input) and arguments.desc is None:
        raise UsageError(f"{arguments.input} holds bytes alone: say rows and columns of a frame, --sizes 1080 1920")
    return operate.run(arguments)


def _described(arguments: argparse.Namespace) -> str:
    """The descriptor of a .bin file of whole frames: with sizes 2,2, 6 bytes are one frame and 12 bytes two."""
    path, (rows, columns) = arguments.input, arguments.sizes
    if not is_raw(path) or arguments.desc is not None:
        instead = f"{path} says itself what it holds" if not is_raw(path) else "--desc says that too"
        raise UsageError(f"--sizes says how frames lie in a .bin file; {instead}")
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


def _yuv(arguments: argparse.Namespace, file: FileContent) -> Operation:
    form = (arguments.format, arguments.matrix, arguments.full_range)
    checked(*form, arguments.like)
    rgb = TensorDesc("u8", sizes_of_rgb(file.desc))
    order = axis_order(rgb, arguments.layout)

    def check(array: Array, result: Array) -> Comparison:
        return compare_bits(result, reference.yuv_to_rgb(array, *form, like=arguments.like).transpose(order))

    return Operation(
        rgb.dtype,
        tuple(rgb.sizes[axis] for axis in order),
        lambda x: yuv_to_rgb(x, *form, like=arguments.like, layout=arguments.layout),
        check,
        layout_notes(arguments, file),
    )
