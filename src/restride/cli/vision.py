"""``restride vision``: computes the inputs of a vision model from image files, by the configuration of the model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from restride.cli.files import Array, require_file, require_places, write_whole
from restride.cli.folders import files_of
from restride.cli.operate import timed_device
from restride.cli.options import Rows, add_options, given
from restride.cli.parser import Commands, add_command, add_device_options
from restride.cli.process import Exit, UsageError, counted
from restride.dtypes import DType
from restride.errors import ErrorContext, needed_package
from restride.layout import TensorDesc
from restride.runtime.file_store import Content
from restride.tensor.images import READ_FORMATS

if TYPE_CHECKING:
    from restride.vision import Processor

_VISION = """\
Makes of photographs what the image processor of a vision or vision-language model makes of them, with the bits of
transformers' PIL backend, and writes its results by their names: pixel_values, and grids, masks or sizes where the
model has them. CONFIG is preprocessor_config.json, processor_config.json, or a folder with one of these; nothing is
fetched. IN are image files, folders without their subfolders, and patterns in quotes, where ** stands for subfolders.
All of them are one call. docs/vision.md lists the models, and says what is refused.

examples:
  restride vision model/ *.jpg -o inputs.npz
  restride vision preprocessor_config.json photos -o inputs.safetensors --to bf16
  restride vision preprocessor_config.json *.jpg --plan          sizes, tiles and dispatches, without a device"""

_FORMATS = (".npz", ".safetensors")

_ELEMENTS: Rows = {
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
    add_options(parser, None, {"": _ELEMENTS})
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the pipeline in words; then the plan of each size, or compute and write the results."""
    from restride.vision import processor  # on use, because it is slow to import

    output: Path | None = arguments.output
    if not arguments.plan:
        if output is None:
            raise UsageError("one of these is required: -o, --plan (see `restride vision --help`)")
        _require_writable(output)
    paths = list(dict.fromkeys(path for each in arguments.inputs for path in files_of(each, READ_FORMATS)))
    for path in paths:
        require_file(path)
    process = processor(arguments.config)
    if output is None or arguments.plan:
        print(process)
        _print_plans(process, paths)
        return Exit.OK
    with timed_device(arguments, "files read, kernels prepared and results read back") as device:
        results = process(list(map(str, paths)), device=device, **given(arguments))
    arrays = {key: _as_array(key, value) for key, value in results.items()}
    write_whole(output, _content(output, arrays))
    print(process)
    print(f"{output}: {counted(len(arrays), 'result')} from {counted(len(paths), 'file')}")
    for key, array in arrays.items():
        print(f"  {key}: {TensorDesc(array.dtype, array.shape)}")
    return Exit.OK


def _print_plans(process: Processor, paths: list[Path]) -> None:
    """Print what becomes of an image of each size, in the order in which the sizes first occur."""
    from restride.vision.images import opened

    sizes: dict[tuple[int, int], list[Path]] = {}
    for path in paths:
        width, height = opened(path).size
        sizes.setdefault((height, width), []).append(path)
    for (height, width), members in sizes.items():
        with ErrorContext(f"{members[0]} of {height} rows x {width} columns"):
            plan = process.plan((height, width))
        others = f" and {len(members) - 1} more" if len(members) > 1 else ""
        print(f"{members[0]}{others}, {height} rows x {width} columns:")
        print(f"  resized to {', '.join(f'{tall} x {wide}' for tall, wide in plan.resized) or 'no other size'}")
        print(f"  tiles or patches: {plan.tiles}, dispatches: {plan.dispatches}")
        for key, result in plan.results.items():
            print(f"  {key}: {'a list' if result is None else list(result)}")


def _require_writable(path: Path) -> None:
    """Refuse, before any work, an output that cannot be written."""
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"{path}: results are written by their names, so the name must end in {' or '.join(_FORMATS)}")
    if path.suffix.lower() == ".safetensors":
        _safetensors()
    require_places(path)


def _safetensors() -> Any:
    with needed_package("a .safetensors file (.npz needs nothing)", "safetensors", "safetensors"):
        from safetensors import numpy

        return numpy


def _as_array(key: str, value: Any) -> Array:
    """A result as an array; lists of counts must be rectangular."""
    try:
        return np.ascontiguousarray(value)
    except ValueError as error:
        raise UsageError(f"{key} has lists of several lengths, {value}, which no array holds") from error


def _content(path: Path, arrays: dict[str, Any]) -> Content:
    """The content of a file with these arrays. A .npz file has bf16 as raw elements of 2 bytes, as numpy writes it."""
    if path.suffix.lower() == ".safetensors":
        content: bytes = _safetensors().save(arrays)
        return content

    def write(file: BinaryIO) -> None:
        np.savez(file, **arrays)

    return write
