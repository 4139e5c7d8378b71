"""``restride pyramid``: convert an image in a file of any size to OME-Zarr, level by level, chunk by chunk."""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from restride.cli import options
from restride.cli.files import mapped_array, named_errors, require_file
from restride.cli.operate import print_time
from restride.cli.parser import Commands, add_command, add_device_options, open_device
from restride.cli.process import Exit, UsageError, in_options, tell
from restride.errors import RestrideError
from restride.stream.files import arrays_in
from restride.stream.tiff import series_in
from restride.weights import MODES

_PYRAMID = """\
Writes IN and ever smaller versions of it as a group of OME-Zarr 0.5 (Zarr 3), which viewers open. Files may be larger
than memory. Called again with the same IN and options after an interruption, it goes on. docs/scale.md says what is
written.

IN is .npy, .tif (its first series), .h5 or .zarr. An array inside the last two is named behind the file, as in
volume.h5/raw or image.zarr/0, unless it is the only one. --axes names the axes of IN with the letters t, c, z, y and x;
by default they are those that IN states, with its pixel sizes (TIFF, OME-TIFF, ImageJ, Zarr, OME-Zarr, HDF5), otherwise
yx, zyx, czyx or tczyx by their number. Pages of a TIFF that says nothing about them are z, and samples are c. OUT has
the axes in the order tczyx. y and x shrink by --factor, z by --z-factor, t and c never.

examples:
  restride pyramid volume.tif volume.ome.zarr --levels 4 --pixel-size 0.5 0.1 0.1 --unit micrometer
  restride pyramid photo.npy photo.ome.zarr --axes yxc --like pillow --mode lanczos
  restride pyramid scan.h5/raw scan.ome.zarr --z-factor 0.5 --chunks 64 64 64 --shards 256 256 256
  restride pyramid cells.tif cells.ome.zarr --labels nuclei=nuclei.tif --from-source"""

_KINDS = {".npy": "npy", ".tif": "tiff", ".tiff": "tiff", ".h5": "hdf5", ".hdf5": "hdf5", ".zarr": "zarr"}


def add_commands(commands: Commands) -> None:
    """Add ``pyramid``."""
    parser = add_command(commands, "pyramid", _PYRAMID)
    parser.add_argument("input", metavar="IN", type=Path, help="file to read, or FILE/NAME in one")
    parser.add_argument("output", metavar="OUT", type=Path, help="folder to write, such as image.ome.zarr")
    parser.add_argument(
        "--levels", type=int, default=5, metavar="N", help="levels of OUT, the first of which is IN (default: 5)"
    )
    parser.add_argument("--axes", help="names of the axes of IN, such as czyx or yxc")
    for name, default, text in (("--factor", 0.5, "y and x"), ("--z-factor", 1, "z")):
        parser.add_argument(
            name,
            type=options.number,
            default=default,
            metavar="N",
            help=f"size of each level along {text}, relative to the one before (default: %(default)s)",
        )
    parser.add_argument(
        "--from-source", action="store_true", help="make each level from level 0, not the one before; nearest always is"
    )
    parser.add_argument(
        "--labels",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="a label image of IN, resized by mode nearest; repeat it for more",
    )
    group = parser.add_argument_group("metadata and storage")
    options.add_numbers(
        group, "--pixel-size", "distance of neighbouring elements of each axis (default: 1)", kind=options.number
    )
    group.add_argument("--unit", help="unit of distances in space, such as micrometer")
    group.add_argument("--time-unit", help="unit of distances in time, such as second")
    options.add_numbers(
        group,
        "--chunks",
        "elements of a chunk along each axis (default: 512 along y and x, or 64 and along z too if z shrinks)",
    )
    options.add_numbers(
        group, "--shards", "elements of a file along each axis, multiples of --chunks (default: a file for each chunk)"
    )
    group.add_argument("--memory", default="512MiB", help="most memory to take (default: %(default)s)")
    group = parser.add_argument_group("rules")
    options.add_rules(group, [name for name in options.RULES if name != "mode"])
    group.add_argument(
        "--mode", help=f"{', '.join(MODES)} (default: area_weighted), or a mode of --like, in its spelling or this"
    )
    add_device_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open the source and write level after level."""
    path: Path = arguments.output
    if path.suffix != ".zarr":
        raise UsageError(f"{path}: the name must end in .zarr, best in .ome.zarr")
    ome = _extra("restride.interop.ome", "OME-Zarr")
    rules = options.rules(arguments)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings(action="always", category=UserWarning))
        warnings.showwarning = lambda message, *_: tell(in_options(str(message)))
        source = _open_source(arguments.input, stack)
        labels = {}
        for text in arguments.labels:
            name, separator, file = text.partition("=")
            if not separator or name in labels:
                raise UsageError(f"--labels {text!r} must be NAME=FILE, each name once")
            labels[name] = _open_source(Path(file), stack)
        device = stack.enter_context(open_device(arguments))
        start = time.perf_counter()
        with named_errors("write", path):
            written = ome.pyramid(
                source,
                path,
                arguments.levels,
                axes=arguments.axes,
                factor=arguments.factor,
                z_factor=arguments.z_factor,
                from_source=arguments.from_source,
                labels=labels,
                pixel_sizes=arguments.pixel_size,
                unit=arguments.unit,
                time_unit=arguments.time_unit,
                chunks=arguments.chunks,
                shards=arguments.shards,
                memory=arguments.memory,
                devices=[device],
                progress=True,
                **rules,
            )
        print_time(start, device, "kernels prepared, files read and written")
    for name, level in written.items():
        sizes = list(level.plan.grid.sizes)
        print(f"{path}/{name}: {sizes}, {level.chunks - level.skipped} chunks written, {level.skipped} were there")
    return Exit.OK


def _extra(module: str, what: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"{what} needs {error.name}: pip install 'restride[ome]'") from error


def _open_source(path: Path, stack: ExitStack) -> Any:
    """Open the array in a file, or at FILE/NAME, until the stack closes.

    Raises:
        UsageError: there is no such file, it has no array or several, or it is damaged.
    """
    within = [each for each in (path, *path.parents) if each.suffix.lower() in _KINDS]
    if not within:
        raise UsageError(f"{path}: the name must end in {', '.join(_KINDS)}, or be FILE.h5/NAME or FILE.zarr/NAME")
    file = next((each for each in within if each.exists()), within[0])
    kind, name = _KINDS[file.suffix.lower()], path.relative_to(file).as_posix().removeprefix(".")
    if kind != "zarr":
        require_file(file)
    if kind in ("npy", "tiff") and name:
        raise UsageError(f"{path}: {file} is a file of one array")
    if kind == "npy":
        return mapped_array(file)
    read = {"tiff": _tiff, "hdf5": _hdf5, "zarr": _zarr}[kind]
    try:
        return read(file, name, stack)
    except (UsageError, RestrideError):
        raise
    except Exception as error:  # each library raises its own types
        raise UsageError(f"cannot read {path}: {str(error) or type(error).__name__}") from error


def _tiff(file: Path, _name: str, stack: ExitStack) -> Any:
    tifffile = _extra("tifffile", f"{file}: TIFF")
    series = series_in(stack.enter_context(tifffile.TiffFile(file)))
    if len(series) > 1:
        tell(f"{file} has {len(series)} series, of which the first is read, and {len(series) - 1} are not")
    return series[0]


def _hdf5(file: Path, name: str, stack: ExitStack) -> Any:
    h5py = _extra("h5py", f"{file}: HDF5")
    opened = stack.enter_context(h5py.File(file, "r"))
    return opened[_array_name(file, name, arrays_in(opened))]


def _zarr(file: Path, name: str, _stack: ExitStack) -> Any:
    zarr = _extra("zarr", f"{file}: Zarr")
    opened = zarr.open(str(file), mode="r")
    if isinstance(opened, zarr.Group):
        return opened[_array_name(file, name, arrays_in(opened))]
    if name:
        raise UsageError(f"{file}/{name}: {file} is an array")
    return opened


def _array_name(file: Path, name: str, names: list[str]) -> str:
    """The name of the array: ``name`` if it is one of ``names``, or the only one."""
    if name in names:
        return name
    if name or len(names) != 1:
        problem = f"no array {name!r}" if name else f"{len(names)} arrays"
        raise UsageError(f"{file} has {problem}: name one of {', '.join(f'{file}/{each}' for each in names[:9])}")
    return names[0]
