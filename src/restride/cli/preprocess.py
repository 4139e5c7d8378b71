"""``restride preprocess``: turn photographs of any sizes into one batch for a network, by a preset or own recipe."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from restride.cli.ahead import Take, in_turn
from restride.cli.folders import files_of
from restride.cli.operate import Skipping, add_skip_bad, timed_device
from restride.command.files import (
    NAMED,
    about_raw_elements,
    decoded_nbytes,
    is_image,
    is_raw,
    read_array,
    require_apart,
    require_file,
    require_named,
    require_writable,
    write_array,
    write_named,
)
from restride.command.options import NORMALIZATION, RULES, OptionRows, add_options, given
from restride.command.parser import Commands, add_command, add_device_options
from restride.command.process import Exit, UsageError, counted, say, tell
from restride.dtypes import Array, as_dtype
from restride.errors import DescriptorError, UnsupportedError, command_text
from restride.layout import TensorDesc
from restride.ops.letterbox import Letterboxed
from restride.ops.preprocess import PRESETS, Preprocess
from restride.tensor.device import Device
from restride.tensor.images import READ_FORMATS, to_rgb
from restride.tensor.tensor import Tensor

_PREPROCESS = """\
Makes one batch for a network from image files, in the order given: resized, normalized, converted and laid out by the
recipe of --preset, which other options may change, or by --sizes and the options below it. docs/preprocess.md explains
each argument, and says which pipelines the presets are.

Image files are read as RGB and turned as their EXIF says; gray is repeated three times, alpha is dropped. A .npy file
is read as it is: [rows, columns, channels], a batch of such images, or frames of --input nv12 of sizes [3/2
rows, columns]. With --letterbox, the place of each image in its result is printed. IN may also be a folder,
without its subfolders, or a pattern in quotes, where ** stands for subfolders; their files are sorted by name. Files
may stand before or after options.

OUT is a .npy file, or .npz or .safetensors with the batch by that name. With --skip-bad these also have the names of
the files, as files, and of those that are left out, as skipped: arrays of text in .npz, JSON in the metadata of
.safetensors. A .npy file has no room for them.

examples:
  restride preprocess --preset imagenet *.jpg -o batch.npy
  restride preprocess --preset yolo --to f16 *.jpg -o batch.npy
  restride preprocess *.jpg -o batch.npy --sizes 224 224 --antialias --mean 0.5 --std 0.5"""

_READ = (".npy", *READ_FORMATS)
"""Endings of the files that are taken from a folder."""

_RECIPE: OptionRows = {
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
    text = "the .npy, .npz or .safetensors file to write, in one step once all went well"
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, required=True, help=text)
    text = "let OUT be one of IN, which is replaced in one step once all went well"
    parser.add_argument("--in-place", action="store_true", help=text)
    parser.add_argument("--preset", choices=PRESETS, metavar="NAME", help=f"recipe of a model: {', '.join(PRESETS)}")
    add_skip_bad(parser)
    add_options(parser, Preprocess.__init__, {"recipe": _RECIPE})
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, preprocess and write the images; threads read files ahead of the one that is computed."""
    output: Path = arguments.output
    _require_output(output, skips=arguments.skip_bad)
    paths = [path for each in arguments.inputs for path in files_of(each, _READ)]
    for path in paths:
        _require_input(path, arguments.input)
    if not arguments.in_place:
        require_apart(paths, arguments.output, "say --in-place to replace it, or name another file")
    with timed_device(arguments, "files read, kernels prepared and results read back") as device:
        batch = _Batch(_recipe(arguments, device), arguments)
        batch.add(paths)
    if batch.results:
        array = np.concatenate(batch.results)
        texts = {"files": batch.files, "skipped": batch.skipped} if arguments.skip_bad else {}
        if output.suffix.lower() in NAMED:
            write_named(output, {"batch": array}, **texts)
        else:
            write_array(output, array)
        for note in about_raw_elements(output, as_dtype(array.dtype)):
            tell(note)
        for line in batch.places:
            say(line)
        say(f"{output}: {TensorDesc(array.dtype, array.shape)} from {counted(len(batch.results), 'file')}")
    for line in batch.lines:
        tell(f"skipped: {line}")
    return Exit.USAGE if batch.skipped else Exit.OK


def _require_output(path: Path, *, skips: bool) -> None:
    """Raise ``UsageError``, before any work, unless the batch can be written to ``path``."""
    if path.suffix.lower() in NAMED:
        require_named(path)
        return
    if path.suffix.lower() != ".npy":
        raise UsageError(
            f"{path}: a batch is written to a .npy file, or by its name to {' or '.join(NAMED)}: the name must end in "
            f"one of these"
        )
    if skips:
        raise UsageError(
            f"{path}: with --skip-bad the names of files are written too, and .npy has no room for them: give "
            f"{path.with_suffix('.npz')}"
        )
    require_writable(path)


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


class _Batch:
    """The results of files, in order, one for each.

    files: the file of each image. places: if images are letterboxed, a line with the place of each in its result.
    skipped: files that are left out. lines: the reason for each.
    """

    def __init__(self, recipe: Preprocess[Any], options: argparse.Namespace) -> None:
        self._recipe, self._options = recipe, options
        self.results: list[Array] = []
        self.files: list[str] = []
        self.places: list[str] = []
        self.skipped: list[str] = []
        self.lines: list[str] = []

    def add(self, paths: Sequence[Path]) -> None:
        """Compute the results of files."""
        with closing(in_turn(_read, paths)) as turns:
            for path, result in self._computed(paths, turns):
                with self._skipping():
                    self._take(path, *(result if isinstance(result, tuple) else (result, None)))
                    continue
                self.skipped.append(str(path))

    def _computed(self, paths: Sequence[Path], turns: Iterator[Callable[[], Array]]) -> Iterator[tuple[Path, Any]]:
        """Yield the result of each file. A stream ends at a file that is bad, and the next stream begins after it."""
        while paths:
            reading = _Reading(paths, turns)
            with self._skipping():
                try:
                    yield from zip(paths, self._recipe.stream(reading, progress=True), strict=True)
                except (DescriptorError, UnsupportedError) as error:  # a UsageError of ``_read`` names the file
                    rule = command_text(error).removeprefix(f"image {reading.number - 1} of the stream: ")
                    raise UsageError(f"{reading.path}: {rule}") from error
                return
            self.skipped.append(str(reading.path))
            paths = paths[reading.number :]

    def _skipping(self) -> Skipping:
        return Skipping(self._options, self.lines, is_first=not self.results)

    def _take(self, path: Path, tensor: Tensor, placed: Letterboxed | None) -> None:
        if self.results and tensor.sizes[1:] != self.results[0].shape[1:]:
            first = TensorDesc(tensor.dtype, self.results[0].shape)
            raise UsageError(
                f"{path}: the results of a batch must have the same sizes: this one is {tensor.desc}, that of "
                f"{self.files[0]} is {first}"
            )
        self.results.append(tensor.numpy())
        self.files += [str(path)] * tensor.sizes[0]
        for y0, x0, y1, x1 in [] if placed is None else placed.places.tolist():
            self.places.append(f"{path}: rows {y0} to {y1}, columns {x0} to {x1}")


def _read(path: Path, take: Take) -> Array:
    take(decoded_nbytes(path))
    file = read_array(path)
    return to_rgb(file.array) if file.is_image else file.array


class _Reading:
    """An iterable over the images of files. path: the file that was read last. number: how many were read."""

    def __init__(self, paths: Sequence[Path], turns: Iterator[Callable[[], Array]]) -> None:
        self._paths, self._turns = paths, turns
        self.path, self.number = paths[0], 0

    def __len__(self) -> int:
        return len(self._paths)

    def __iter__(self) -> Iterator[Array]:
        for path in self._paths:
            self.path = path
            self.number += 1
            yield next(self._turns)()
