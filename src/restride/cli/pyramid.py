"""``restride pyramid``: convert an image in a file of any size to OME-Zarr, level by level, chunk by chunk."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import SupportsIndex

from restride.cli.operate import timed_device
from restride.command.files import named_errors, open_array
from restride.command.options import RULES, OptionRows, add_options, given, require_mode
from restride.command.parser import Commands, add_command, add_device_options
from restride.command.process import Exit, UsageError, say
from restride.errors import needed_package
from restride.ops.resample import resample
from restride.request import MODES

_PYRAMID = """\
Writes IN and ever smaller versions of it as a group of OME-Zarr 0.5 (Zarr 3), which viewers open. Files may be larger
than memory. Called again with the same IN and options after an interruption, it goes on. docs/scale.md says what is
written.

IN is .npy, .tif (its first series), .h5 or .zarr. An array inside the last two is named behind the file, as in
volume.h5/raw or image.zarr/0, unless it is the only one. --axes names the axes of IN with the letters t, c, z, y and x;
by default they are those that IN states, with its pixel sizes (TIFF, OME-TIFF, ImageJ, Zarr, OME-Zarr, HDF5), otherwise
yx, zyx, czyx or tczyx by their number. Pages of a TIFF that says nothing about them are z, and samples are c. OUT has
the axes in the order tczyx. y and x shrink by --factor, z by --z-factor, t and c never. Files may stand before or after
options.

examples:
  restride pyramid volume.tif volume.ome.zarr --levels 4 --pixel-size 0.5 0.1 0.1 --unit micrometer
  restride pyramid photo.npy photo.ome.zarr --axes yxc --like pillow --mode lanczos
  restride pyramid scan.h5/raw scan.ome.zarr --z-factor 0.5 --chunks 64 64 64 --shards 256 256 256
  restride pyramid cells.tif cells.ome.zarr --labels nuclei=nuclei.tif --from-source"""

_LEVELS: OptionRows = {
    "levels": {"help": "levels of OUT, the first of which is IN (default: 5)", "kind": SupportsIndex},
    "axes": "names of the axes of IN, such as czyx or yxc",
    "factor": {"help": "size of each level along y and x, relative to the one before (default: 0.5)", "kind": float},
    "z_factor": {"help": "size of each level along z, relative to the one before (default: 1)", "kind": float},
    "from_source": {"help": "make each level from level 0, not the one before; nearest always is", "kind": bool},
    "labels": {
        "help": "a label image of IN, resized by mode nearest; repeat it for more",
        "metavar": "NAME=FILE",
        "action": "append",
    },
}
_DISTANCES = "distance of neighbouring elements of each axis (default: 1)"
_CHUNKS = "elements of a chunk along each axis (default: 512 along y and x, or 64 and along z too if z shrinks)"
_SHARDS = "elements of a file along each axis, multiples of --chunks (default: a file for each chunk)"
_STORAGE: OptionRows = {
    "pixel_sizes": {"help": _DISTANCES, "flag": "--pixel-size", "kind": Sequence[float]},
    "unit": "unit of distances in space, such as micrometer",
    "time_unit": "unit of distances in time, such as second",
    "chunks": {"help": _CHUNKS, "kind": Sequence[SupportsIndex]},
    "shards": {"help": _SHARDS, "kind": Sequence[SupportsIndex]},
    "memory": "most memory to take (default: 512MiB)",
}
_MODE = f"{', '.join(MODES)} (default: area_weighted), or a mode of --like, in its spelling or this"


def add_commands(commands: Commands) -> None:
    """Add ``pyramid``."""
    parser = add_command(commands, "pyramid", _PYRAMID, run)
    parser.add_argument("input", metavar="IN", type=Path, help="file to read, or FILE/NAME in one")
    parser.add_argument("output", metavar="OUT", type=Path, help="folder to write, such as image.ome.zarr")
    text = "read files in other folders too that IN or a label image names"
    parser.add_argument("--follow-files", action="store_true", help=text)
    add_options(parser, None, {"": _LEVELS, "metadata and storage": _STORAGE})
    add_options(parser, resample, {"rules": {**RULES, "mode": _MODE}})
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Open the source and write level after level."""
    path: Path = arguments.output
    if path.suffix != ".zarr":
        raise UsageError(f"{path}: the name must end in .zarr, best in .ome.zarr")
    with needed_package("OME-Zarr", "zarr", "ome"):
        from restride.interop.ome import pyramid
    named = given(arguments) | {"mode": require_mode(arguments)}
    with ExitStack() as stack:
        source = open_array(arguments.input, stack, follow=arguments.follow_files)
        labels = {}
        for option in named.pop("labels", ()):
            name, separator, file = option.partition("=")
            if not separator or name in labels:
                raise UsageError(f"--labels {option!r} must be NAME=FILE, each name once")
            labels[name] = open_array(Path(file), stack, follow=arguments.follow_files)
        device = stack.enter_context(timed_device(arguments, "kernels prepared, files read and written"))
        with named_errors("write", path):
            written = pyramid(source, path, labels=labels, devices=[device], progress=True, **named)
    for name, level in written.items():
        sizes = list(level.plan.grid.sizes)
        say(f"{path}/{name}: {sizes}, {level.chunks - level.skipped} chunks written, {level.skipped} were there")
    return Exit.OK
