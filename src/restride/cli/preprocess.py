"""``restride preprocess``: turn photographs of any sizes into one batch for a network, by a preset or own recipe."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from restride.cli.files import (
    Array,
    about_raw_elements,
    is_image,
    is_raw,
    read_array,
    require_file,
    require_writable,
    write_array,
)
from restride.cli.folders import files_of
from restride.cli.operate import timed_device
from restride.cli.options import NORMALIZATION, RULES, Rows, add_options, given
from restride.cli.parser import Commands, add_command, add_device_options
from restride.cli.process import Exit, UsageError, counted, tell
from restride.dtypes import as_dtype
from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.ops.preprocess import PRESETS, Preprocess
from restride.tensor.device import Device
from restride.tensor.images import READ_FORMATS, to_rgb

_PREPROCESS = """\
Makes one batch for a network from image files, in the order given: resized, normalized, converted and laid out by the
recipe of --preset, which other options may change, or by --sizes and the options below it. docs/preprocess.md explains
each argument, and says which pipelines the presets are.

Image files are read as RGB and turned as their EXIF says; gray is repeated three times, alpha is dropped. A .npy file
is read as it is: [rows, columns, channels], a batch of such images, or frames of --input nv12 of sizes [3/2
rows, columns]. With --letterbox, the place of each image in its result is printed. IN may also be a folder,
without its subfolders, or a pattern in quotes, where ** stands for subfolders; their files are sorted by name. Files
may stand before or after options.

examples:
  restride preprocess --preset imagenet *.jpg -o batch.npy
  restride preprocess --preset yolo --to f16 *.jpg -o batch.npy
  restride preprocess *.jpg -o batch.npy --sizes 224 224 --antialias --mean 0.5 --std 0.5"""

_READ = (".npy", *READ_FORMATS)
"""Endings of the files that are taken of a folder."""

_RECIPE: Rows = {
    "sizes": {"help": "height and width of every result", "nargs": 2},
    "shorter": "first resize the shorter side to N, then crop the middle",
    **NORMALIZATION,
    "fill": "value of elements outside the image (default: 0, or the preset's)",
    "rounding": "of the rows and columns of letterboxed images, and with --shorter of the corner of the middle",
    **{name: RULES[name] for name in ("mode", "antialias", "like")},
    "input": "what .npy files hold",
    "matrix": "matrix of the colours of frames",
    "full_range": "luma of frames is 0 to 255",
    "layout": "axes of the batch",
    "dtype": {"help": "element type of OUT", "flag": "--to"},
}


def add_commands(commands: Commands) -> None:
    """Add ``preprocess``."""
    parser = add_command(commands, "preprocess", _PREPROCESS, run)
    parser.add_argument("inputs", metavar="IN", type=Path, nargs="+", help="images, folders or patterns")
    text = "the .npy file to write, in one step once all went well"
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, required=True, help=text)
    parser.add_argument("--preset", choices=PRESETS, metavar="NAME", help=f"recipe of a model: {', '.join(PRESETS)}")
    add_options(parser, Preprocess.__init__, {"recipe": _RECIPE})
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, preprocess and write the images; each file is read while the one before it is computed."""
    if arguments.output.suffix.lower() != ".npy":
        raise UsageError(f"{arguments.output}: a batch is written to a .npy file, so the name must end in .npy")
    require_writable(arguments.output)
    paths = [path for each in arguments.inputs for path in files_of(each, _READ)]
    for path in paths:
        _require_input(path, arguments.input)
    with timed_device(arguments, "files read, kernels prepared and results read back") as device:
        batch, lines = _batch(_recipe(arguments, device), paths)
    write_array(arguments.output, batch)
    for note in about_raw_elements(arguments.output, as_dtype(batch.dtype)):
        tell(note)
    for line in lines:
        print(line)
    print(f"{arguments.output}: {TensorDesc(batch.dtype, batch.shape)} from {counted(len(paths), 'file')}")
    return Exit.OK


def _require_input(path: Path, pixels: str | None) -> None:
    """Raise ``UsageError`` unless the file exists and can hold the pixels of ``--input``."""
    require_file(path)
    if is_image(path) and pixels not in (None, "rgb"):
        raise UsageError(f"{path} is read as RGB: --input {pixels} goes with .npy files")
    if is_raw(path):
        raise UsageError(
            f"{path} holds bytes alone: `restride slice {path} frame.npy '[:]' --desc 'u8[1620,1920]'` makes a "
            f".npy file of a frame of 1080 x 1920"
        )


def _recipe(arguments: argparse.Namespace, device: Device) -> Preprocess[Any]:
    named = given(arguments)
    if arguments.preset is not None:
        return Preprocess.preset(arguments.preset, device=device, **named)
    if arguments.sizes is None:
        raise UsageError("one of these is required: --preset, --sizes (see `restride preprocess --help`)")
    return Preprocess(**named, device=device)


def _batch(recipe: Preprocess[Any], paths: list[Path]) -> tuple[Array, list[str]]:
    """The batch of all files, and if they are letterboxed a line with the place of each image in its result."""
    results: list[Array] = []
    lines: list[str] = []
    reading = _Reading(paths)
    try:
        for path, result in zip(paths, recipe.stream(reading, progress=True), strict=True):
            tensor, placed = result if isinstance(result, tuple) else (result, None)
            if results and tensor.sizes[1:] != results[0].shape[1:]:
                first = TensorDesc(tensor.dtype, results[0].shape)
                raise UsageError(f"{path}: it becomes {tensor.desc}, and {paths[0]} {first}: not one batch")
            results.append(tensor.numpy())
            for y0, x0, y1, x1 in [] if placed is None else placed.places.tolist():
                lines.append(f"{path}: rows {y0} to {y1}, columns {x0} to {x1}")
        return np.concatenate(results), lines
    except (DescriptorError, UnsupportedError) as error:
        raise UsageError(f"{reading.path}: {str(error).rpartition(' of the stream: ')[2]}") from error


class _Reading:
    """An iterable over the images of files. path: the file that was read last."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        self.path = paths[0]

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[Array]:
        for path in self._paths:
            self.path = path
            file = read_array(path)
            yield to_rgb(file.array) if file.is_image else file.array
