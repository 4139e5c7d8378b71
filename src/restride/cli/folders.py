"""The files of folders and patterns, as inputs of a command, and the file that the result of each is written to."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from restride.command.files import (
    READ,
    WRITTEN,
    format_of,
    is_raw,
    require_apart,
    require_file,
    require_places,
    require_unlinked,
    require_writable,
)
from restride.command.process import UsageError, tell

_OTHERWISE = "say --in-place to replace it, or name another"


def outputs_of(
    inputs: Sequence[Path], output: Path, *, may_be_raw: bool = False, in_place: bool = False
) -> dict[Path, Path]:
    """The input files, each with the file that its result is written to; nothing is written yet.

    The result of a single existing file goes to ``output``, unless ``output`` is a folder. All other results go to the
    folder ``output``, which is made with the first result, under the names of the inputs; a name whose format cannot be
    written gets the ending .png.

    A folder stands for its files with the endings of ``READ``, without subfolders. A pattern stands for the files that
    match, and ``**`` also matches subfolders. As in a shell, names that begin with a dot are left out.

    may_be_raw: files without an ending of a known format are raw buffers, and so are their results in a folder.
    in_place: an output may be the file that it is made of.

    Raises:
        UsageError: an input stands for no file, two would be written to one output, an output is an input, by whatever
            name, or it cannot be written, or is a link in the folder ``output``.
    """
    sources = list(dict.fromkeys(source for each in inputs for source in files_of(each, None if may_be_raw else READ)))
    for source in sources:
        require_file(source)
    if sources == list(inputs) and len(sources) == 1 and not output.is_dir():
        if not output.suffix and not may_be_raw:
            raise UsageError(f"{output} is no folder here, and the name of a file must end in {', '.join(WRITTEN)}")
        require_writable(output, may_be_raw=may_be_raw)
        if not in_place:
            require_apart(sources, output, f"{_OTHERWISE} file")
        return {sources[0]: output}
    if not output.is_dir() and (output.exists() or output.suffix.lower() in WRITTEN):
        raise UsageError(f"{output} is the name of one file: several files, such as those of a folder, need a folder")
    targets: dict[Path, Path] = {}
    for source in sources:
        target = output / (source.name if may_be_raw and is_raw(source) else _name_of_output(source))
        if target in targets:
            raise UsageError(f"{targets[target]} and {source} would both be written to {target}: rename one")
        targets[target] = source
    if output.is_dir():
        for target, own in targets.items():
            if not in_place:
                require_apart([own], target, f"{_OTHERWISE} folder")
            require_apart((source for source in sources if source != own), target, "name another folder")
        for target in targets:
            require_unlinked(target)
            require_writable(target, may_be_raw=may_be_raw)
    else:
        require_places(output)
    return {source: target for target, source in targets.items()}


def files_of(path: Path, endings: Collection[str] | None) -> list[Path]:
    """A file itself, which may not exist, the files in a folder, or those that match a pattern, with these endings.

    endings: None: any.

    Raises:
        UsageError: a folder or a pattern has no such file.
    """
    pattern = os.fspath(Path(glob.escape(os.fspath(path)), "*") if path.is_dir() else path)
    if not glob.has_magic(pattern) or path.is_file():
        return [path]
    names = glob.glob(pattern, recursive=True)  # noqa: PTH207 - Path.glob also finds names that begin with a dot
    found = sorted(map(Path, names))
    taken = [each for each in found if (endings is None or each.suffix.lower() in endings) and each.is_file()]
    known = ", ".join(endings or ())
    if not taken:
        raise UsageError(f"{path}: there is no file" + (f" whose name ends in {known}" if known else ""))
    if odd := [each for each in found if not each.is_file() and not each.is_dir()]:
        tell(f"{path}: left out, because they are no files: {', '.join(each.name for each in odd[:9])}")
    if known and len(taken) < len(found) - len(odd):
        others = len(found) - len(odd) - len(taken)
        tell(f"{path}: {others} of {len(found)} are left out, folders or names that do not end in {known}")
    return taken


def _name_of_output(source: Path) -> str:
    """The name of ``source``, with .png in the place of an ending that only files to read have."""
    format_of(source)
    return source.name if source.suffix.lower() in WRITTEN else f"{source.stem}.png"
