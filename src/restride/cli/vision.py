"""``restride vision``: computes the inputs of a vision model from image files, by the configuration of the model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from restride.cli.ahead import Take, in_turn
from restride.cli.folders import files_of
from restride.cli.operate import Skipping, add_skip_bad, timed_device
from restride.command.files import decoded_nbytes, require_apart, require_file, require_named, write_named
from restride.command.options import OptionRows, add_options, given
from restride.command.parser import Commands, add_command, add_device_options
from restride.command.process import Exit, UsageError, counted, say, tell
from restride.dtypes import Array, DType
from restride.errors import prefixed
from restride.layout import TensorDesc
from restride.tensor.images import READ_FORMATS

if TYPE_CHECKING:
    from restride.vision import ImagePlan, Processor

_VISION = """\
Makes of photographs what the image processor of a vision or vision-language model makes of them, with the bits of
transformers' PIL backend, and writes its results by their names: pixel_values, and grids, masks or sizes where the
model has them. CONFIG is preprocessor_config.json, processor_config.json, or a folder with one of these; nothing is
fetched. IN are image files, folders without their subfolders, and patterns in quotes, where ** stands for subfolders.
Results are those of one call, in this order, and a file that is named twice is read twice. Images are read and computed
in parts that fit the device. With --skip-bad OUT also has the names of the files, as files, and of those that are left
out, as skipped: arrays of text in .npz, JSON in the metadata of .safetensors. docs/vision.md lists the models, and says
what is refused.

examples:
  restride vision model/ *.jpg -o inputs.npz
  restride vision preprocessor_config.json photos -o inputs.safetensors --to bf16
  restride vision preprocessor_config.json *.jpg --plan          sizes, tiles and dispatches, without a device"""

_MOST_BYTES = 256 << 20
"""Most bytes of the images that are computed at a time, by their plans: it bounds the memory of the host too."""

_ELEMENTS: OptionRows = {
    "dtype": {
        "help": "element type of pixels, f32, f16 or bf16 (default: as transformers)",
        "flag": "--to",
        "kind": DType,
    }
}


def add_commands(commands: Commands) -> None:
    """Add ``vision``."""
    parser = add_command(commands, "vision", _VISION, run)
    parser.add_argument("config", metavar="CONFIG", type=Path, help="the configuration, or the folder of a model")
    parser.add_argument("inputs", metavar="IN", type=Path, nargs="+", help="images, folders or patterns")
    text = "the .npz or .safetensors file to write, in one step once all went well"
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, help=text)
    text = "print what becomes of an image of each size, without a device, and write nothing"
    parser.add_argument("--plan", action="store_true", help=text)
    add_skip_bad(parser)
    add_options(parser, None, {"": _ELEMENTS})
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the pipeline in words; then the plan of each size, or compute and write the results."""
    from restride.vision import processor  # on use, because it is slow to import

    output: Path | None = arguments.output
    if not arguments.plan:
        if output is None:
            raise UsageError("one of these is required: -o, --plan (see `restride vision --help`)")
        require_named(output)
    paths = [path for each in arguments.inputs for path in files_of(each, READ_FORMATS)]
    for path in paths:
        require_file(path)
    if output is not None and not arguments.plan:
        require_apart([*paths, arguments.config], output)
    files = _Files(processor(arguments.config), arguments, paths)
    if output is None or arguments.plan:
        say(str(files.process), has_lines=True)
        _print_plans(files)
    else:
        _write(output, files, arguments)
    for line in files.lines:
        tell(f"skipped: {line}")
    return Exit.USAGE if files.skipped else Exit.OK


class _Files:
    """An iterable over the files that can be read, and of which ``process`` refuses no image: path, image and plan.

    skipped: the other files, once they were reached. lines: the reason for each.
    """

    def __init__(self, process: Processor, options: argparse.Namespace, paths: Sequence[Path]) -> None:
        self.process, self._options, self._paths = process, options, paths
        self.skipped: list[Path] = []
        self.lines: list[str] = []

    def __iter__(self) -> Iterator[tuple[Path, Any, ImagePlan]]:
        from restride.vision.images import opened

        def decoded(path: Path, take: Take) -> Any:
            take(decoded_nbytes(path))
            return opened(path)

        planned = cache(self.process.plan)
        with closing(in_turn(decoded, self._paths)) as turns:
            for place, (path, turn) in enumerate(zip(self._paths, turns, strict=True)):
                done = None
                with Skipping(self._options, self.lines, is_first=place == len(self.skipped)):
                    image = turn()
                    image.filename = str(path)  # for errors about several images
                    with prefixed(str(path)):
                        done = path, image, planned((image.height, image.width))
                if done is None:
                    self.skipped.append(path)
                else:
                    yield done


def _write(output: Path, files: _Files, arguments: argparse.Namespace) -> None:
    """Compute the results, write them if there are any, and say what is written."""
    names: list[str] = []

    def parts(most: int) -> Iterator[list[Any]]:
        images: list[Any] = []
        taken = 0
        for path, image, plan in files:
            if images and taken + plan.nbytes > most:
                yield images
                images, taken = [], 0
            names.append(str(path))
            images.append(image)
            taken += plan.nbytes
        if images:
            yield images

    with timed_device(arguments, "files read, kernels prepared and results read back") as device:
        most = min(_MOST_BYTES, device.limits.max_memory // 2)
        results = files.process.in_parts(parts(most), device=device, **given(arguments))
    say(str(files.process), has_lines=True)
    if names:
        arrays = {key: _as_array(key, value) for key, value in results.items()}
        texts = {"files": names, "skipped": list(map(str, files.skipped))} if arguments.skip_bad else {}
        write_named(output, arrays, **texts)
        say(f"{output}: {counted(len(arrays), 'result')} from {counted(len(names), 'file')}")
        for key, array in arrays.items():
            say(f"  {key}: {TensorDesc(array.dtype, array.shape)}")


def _print_plans(files: _Files) -> None:
    """Print what becomes of an image of each size, in the order in which the sizes first occur."""
    members: dict[tuple[int, int], list[Path]] = {}
    plans: dict[tuple[int, int], ImagePlan] = {}
    for path, image, plan in files:
        size = image.height, image.width
        members.setdefault(size, []).append(path)
        plans[size] = plan
    for (height, width), plan in plans.items():
        first, *others = members[height, width]
        more = f" and {len(others)} more" if others else ""
        say(f"{first}{more}, {height} rows x {width} columns:")
        say(f"  resized to {', '.join(f'{tall} x {wide}' for tall, wide in plan.resized) or 'no other size'}")
        say(f"  tiles or patches: {plan.tiles}, dispatches: {plan.dispatches}")
        for key, result in plan.results.items():
            say(f"  {key}: {'a list' if result is None else list(result)}")


def _as_array(key: str, value: object) -> Array:
    """A result as an array; lists of counts must be rectangular."""
    try:
        return np.ascontiguousarray(value)
    except ValueError as error:
        raise UsageError(f"{key} has lists of different lengths, {value}, which no array holds") from error
