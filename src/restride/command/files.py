"""Read and write arrays in files by the ending of the name: .npy, images with Pillow, and .bin, a buffer's bytes."""

from __future__ import annotations

import ast
import json
import logging
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, ClassVar, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from restride import reference
from restride.command.named_files import Reach, require_dataset, require_store, require_tiff
from restride.command.process import UsageError, tell, warnings_to
from restride.dtypes import EXTENSIONS, Array, DType, as_dtype
from restride.errors import DescriptorError, RestrideError, UnsupportedError, command_text, needed_package
from restride.files import reading, writing
from restride.files.reading import open_regular
from restride.files.writing import Content, write_file
from restride.layout import TensorDesc
from restride.layout.lines import layout_for
from restride.ops.reorder import reorder
from restride.reference.memory import element_positions
from restride.stream.files import arrays_in, links_in
from restride.stream.tiff import series_in
from restride.tensor.arrays import asarray, from_buffer
from restride.tensor.device import Device
from restride.tensor.images import IMAGE_FORMATS, READ_FORMATS, encoded, imread, pillow, require_holds
from restride.tensor.tensor import Tensor

# What tifffile logs about a file is raised as an error here, or is no fault.
logging.getLogger("tifffile").addHandler(logging.NullHandler())

READ = {".npy": "npy", **READ_FORMATS, ".bin": "raw"}
"""Formats of the files that are read, by the ending of the name."""
WRITTEN = {".npy": "npy", **IMAGE_FORMATS, ".bin": "raw"}
"""Formats of the files that are written, by the ending of the name."""
_ARRAYS = {".npy": "npy", ".tif": "tiff", ".tiff": "tiff", ".h5": "hdf5", ".hdf5": "hdf5", ".zarr": "zarr"}
"""Formats of the files that `restride pyramid` reads."""
_MAX_HEADER = 10_000
"""Maximum bytes of a .npy header, numpy's own limit: parsing a longer one can exhaust the stack."""


@dataclass(frozen=True, eq=False)
class FileArray:
    """The content of a .npy file or an image: elements in logical order.

    An image is u8[height,width], u8[height,width,channels], u16[height,width], or with alpha u16[height,width,2].
    """

    array: Array
    is_image: bool = False

    @property
    def desc(self) -> TensorDesc:
        """Element type and sizes, row-major."""
        return TensorDesc(self.array.dtype, self.array.shape)

    def elements(self) -> Array:
        """The elements in logical order."""
        return self.array

    def tensor(self, device: Device) -> Tensor:
        """The elements on ``device``."""
        return asarray(self.array, device=device)

    def content(self, path: Path) -> Content:
        """The content of the file ``path`` with these elements, as ``content_of`` makes it."""
        return content_of(path, self.array)

    def __str__(self) -> str:
        return str(self.desc)


@dataclass(frozen=True, eq=False)
class FileBuffer:
    """The content of a .bin file: ``data``, 1-D and ``desc.nbytes`` long, in the layout ``desc``, padding included."""

    data: npt.NDArray[np.uint8]
    desc: TensorDesc
    is_image: ClassVar[bool] = False

    def elements(self) -> Array:
        """The elements in logical order, as the numpy reference reads them."""
        return reference.from_buffer(self.data, self.desc)

    def padding(self) -> Array:
        """The elements of the buffer that no index reaches, in memory order."""
        line = self.data.view(self.desc.dtype.dtype)
        return np.delete(line, element_positions(self.desc).reshape(-1))

    def tensor(self, device: Device) -> Tensor:
        """The unchanged buffer on ``device``."""
        return from_buffer(self.data, self.desc, device)

    def content(self, _: Path) -> Content:
        """The content of a file with these bytes alone."""
        return self.data.data

    def __str__(self) -> str:
        return f"{self.desc}, {self.data.size} bytes"


FileContent = FileArray | FileBuffer
"""The content of a file: elements in logical order, or for a .bin file the bytes of a buffer."""


# Looks at file names, and checks that files can be read and written.


def format_of(path: Path, known: Mapping[str, str] = READ) -> str:
    """The format by the ending of the name: ``"npy"``, ``"raw"``, or Pillow's name of an image format.

    known: ``READ`` or ``WRITTEN``.

    Raises:
        UsageError: the name has another ending.
    """
    format_ = known.get(path.suffix.lower())
    if format_ is None:
        raise UsageError(f"{path}: the name must end in {', '.join(known)}")
    return format_


def is_image(path: Path) -> bool:
    """True if the ending of the name is that of an image.

    Raises:
        UsageError: no file with this ending can be read.
    """
    return not is_raw(path) and format_of(path) != "npy"


def is_raw(path: Path) -> bool:
    """True for the name of a raw buffer: it ends in .bin, or has no ending of a known format."""
    ending = path.suffix.lower()
    return ending == ".bin" or not (ending in READ or ending in WRITTEN or ending in _ARRAYS)


def _require_array(path: Path) -> None:
    if is_raw(path):
        format_of(path)
        raise UsageError(f"{path} is a .bin file of raw bytes, where an array or an image is needed")


def require_file(path: Path) -> None:
    """Raise ``UsageError`` unless ``path`` is a file."""
    with named_errors("read", path):
        reading.require_regular(path.stat())


def require_writable(path: Path, *, may_be_raw: bool = False) -> None:
    """Raise ``UsageError``, before any work, if an output file cannot be written, whatever its content.

    may_be_raw: a name without an ending of a known format is that of a raw buffer.
    """
    if not (may_be_raw and is_raw(path)):
        format_of(path, WRITTEN)
    if is_image(path):
        pillow()
    require_places(path)


def require_unlinked(*paths: Path) -> None:
    """Raise ``UsageError`` if a file inside a folder that a command fills is a link, which somebody else made."""
    for path in paths:
        with named_errors("write", path):
            writing.require_unlinked(path)


def require_apart(sources: Iterable[Path], output: Path, remedy: str = "name another file") -> None:
    """Raise ``UsageError`` if a file to be written is one that is read, whatever names or links the two have.

    remedy: what to do instead.
    """
    for source in sources:
        with suppress(OSError):  # one of them does not exist
            if output.samefile(source):
                named = "an input" if source == output else f"the input {source}"
                raise UsageError(f"{output} is {named}, and the result would replace it: {remedy}")


def require_places(*paths: Path) -> None:
    """Raise ``UsageError``, before any work, if a report cannot be written to its path, or two paths are one file."""
    for path in paths:
        with named_errors("write", path):
            writing.require_writable(path)
    if len(set(map(os.path.realpath, paths))) < len(paths):
        raise UsageError(f"each report needs a file of its own, not {', '.join(map(str, paths))}")


def require_room(path: Path, dtype: np.dtype[np.generic], sizes: Sequence[int]) -> None:
    """Raise ``UsageError`` unless the format of ``path`` can hold elements of ``dtype`` in ``sizes``."""
    if not is_image(path):
        return
    try:
        require_holds(format_of(path, WRITTEN), dtype, tuple(sizes))
    except DescriptorError as error:
        raise UsageError(f"{command_text(error)}: {_way_out(path, dtype, tuple(sizes))}") from error


def _way_out(path: Path, dtype: np.dtype[np.generic], sizes: tuple[int, ...]) -> str:
    """Advice for the user if the image format of ``path`` cannot hold elements of ``dtype`` in ``sizes``."""
    if 0 in sizes:
        return "it is empty, as of a window outside the image"
    with suppress(DescriptorError, UnsupportedError):
        require_holds("PNG", dtype, sizes)
        return f"give {path.stem}.png as the output"
    is_of_other_axes = dtype == np.uint8 and len(sizes) == 3
    return f"give {path.stem}.npy as the output" + ", or name the axes of rows and columns" * is_of_other_axes


@contextmanager
def named_errors(action: str, path: Path) -> Iterator[None]:
    """Turn an ``OSError`` inside the block into a ``UsageError`` that names the file."""
    try:
        yield
    except OSError as error:
        is_absent = action == "read" and isinstance(error, FileNotFoundError)
        named = UsageError(f"cannot {action} {path}: {'no such file' if is_absent else error.strerror or error}")
        for note in getattr(error, "__notes__", ()):
            named.add_note(note)
        raise named from error


# Reads files whole.


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """Read a file of at most ``most_bytes`` bytes.

    Raises:
        UsageError: there is no such file, it cannot be read, or it is longer.
    """
    try:
        with named_errors("read", path), open_regular(path) as file:
            return reading.read_bounded(file, most_bytes)
    except DescriptorError as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def read_file(path: Path, dtype: str | None, desc: str | None) -> FileContent:
    """Read a file; ``dtype`` as in ``read_array``, ``desc`` as in ``read_buffer``.

    Raises:
        UsageError: what these two refuse, or ``dtype`` or ``desc`` is given for a file that it does not go with.
    """
    if not is_raw(path):
        if desc is not None:
            raise UsageError(f"--desc says what the bytes of a .bin file are; {path} says itself what it holds")
        return read_array(path, dtype)
    if dtype is not None:
        raise UsageError(f"--dtype says what the bytes of a .npy file are; {path} needs --desc, which has the type")
    return read_buffer(path, desc)


def read_array(path: Path, dtype: str | None = None) -> FileArray:
    """Read the array in ``path``; ``dtype`` reinterprets a .npy file's elements as another type of the same width.

    Raises:
        UsageError: no such file, damaged, or not an array of numbers.
    """
    _require_array(path)
    if is_image(path) and dtype is not None:
        raise UsageError(f"--dtype says what the bytes of a .npy file are; {path} is an image")
    with named_errors("read", path):
        return FileArray(_read_image(path) if is_image(path) else _read_npy(path, dtype), is_image(path))


def decoded_nbytes(path: Path) -> int:
    """About how many bytes a file takes once it is read, by its header; ``sys.maxsize`` if Pillow cannot open it.

    An image counts four bytes a pixel, as Pillow keeps RGB, or eight if a sample has more than 8 bits.
    """
    try:
        if not is_image(path):
            return path.stat().st_size
        with (
            warnings_to(lambda _: None),
            open_regular(path) as file,
            pillow().open(file, formats=tuple(READ_FORMATS.values())) as image,
        ):
            width, height = image.size
            is_deep = any(";16" in str(tile[3]) for tile in image.tile)
            return int(width) * int(height) * (8 if is_deep else 4)
    except Exception:  # noqa: BLE001 - of any type, as in ``imread``, which says what is wrong
        return sys.maxsize


def mapped_array(path: Path) -> Array:
    """The array in a .npy file as a memory map, in the file's byte order; only the header is read yet.

    Raises:
        UsageError: no such file, damaged, or not an array of numbers.
    """
    with named_errors("read", path), open_regular(path) as file:
        sizes, is_fortran, stored, start = _npy_elements(file, path)
        _element_type(stored, None, path)
        order: Literal["C", "F"] = "F" if is_fortran else "C"
        return np.memmap(file, stored, "r", start, sizes, order) if math.prod(sizes) else np.empty(sizes, stored)


def read_buffer(path: Path, desc: str | None) -> FileBuffer:
    """Read the bytes in ``path``, whose layout is the text ``desc``: a descriptor, or a line with the layout in it.

    Raises:
        UsageError: ``desc`` is missing or wrong, there is no such file, or its size is not exactly that of ``desc``.
    """
    if desc is None:
        if path.suffix.lower() not in READ:
            known = ", ".join(READ)
            raise UsageError(
                f"{path}: the name must end in {known}, or --desc must say what its bytes are, as for a .bin file"
            )
        raise UsageError(f"{path} holds bytes alone: say what they are, such as --desc 'f32[2,20,4,4]:nChw16c'")
    try:
        layout = layout_for("source", desc) or TensorDesc.parse(desc)
    except RestrideError as error:
        raise UsageError(f"--desc {desc!r}: {command_text(error)}") from error
    with named_errors("read", path), open_regular(path) as file:
        present = os.fstat(file.fileno()).st_size
        if present != layout.nbytes:
            raise UsageError(f"{path} has {present} bytes; {layout} needs exactly {layout.nbytes}")
        return FileBuffer(np.fromfile(file, np.uint8, present), layout)


def _read_npy(path: Path, dtype: str | None) -> Array:
    """Read the array in a .npy file, in this machine's byte order; allocates no more bytes than the file has."""
    with open_regular(path) as file:
        sizes, is_fortran, stored, start = _npy_elements(file, path)
        element = _element_type(stored, dtype, path)
        file.seek(start)
        data = np.fromfile(file, np.uint8, math.prod(sizes) * stored.itemsize)
    if not stored.isnative:
        data.view(f"u{stored.itemsize}").byteswap(inplace=True)
    try:
        array: Array = data.view(element.dtype).reshape(sizes, order="F" if is_fortran else "C")
    except ValueError as error:  # one size is 0, and another exceeds what numpy can index
        raise UsageError(f"{path} has sizes {list(sizes)}: {error}") from error
    return array


def _npy_elements(file: BinaryIO, path: Path) -> tuple[tuple[int, ...], bool, np.dtype[np.generic], int]:
    """Sizes, whether in Fortran order, element type and byte offset of the elements, all of which the file has."""
    # numpy writes ml_dtypes' float8_e5m2 as '<f1', a type that numpy cannot read.
    head = BytesIO(file.read(_MAX_HEADER + 12).replace(b"'<f1'", b"'|V1'", 1))
    try:
        major, minor = npy.read_magic(head)
        if major not in {1, 2, 3}:
            raise ValueError(f"version {major}.{minor} is none of 1.0, 2.0 and 3.0")  # noqa: TRY301 - named below
        # 3.0 differs from 2.0 only in the encoding of field names, which are refused below.
        read_header = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
        with warnings_to(_refuse):
            _require_literal(head.getvalue(), major)
            sizes, is_fortran, stored = read_header(head, max_header_size=_MAX_HEADER)
    except Exception as error:  # ten types, by what is wrong: ValueError, TokenError, RecursionError, ...
        raise UsageError(f"{path} is not a .npy file, or its header is damaged: {str(error)[:200]}") from error
    if any(type(size) is not int or size < 0 for size in sizes):
        raise UsageError(f"{path} has a damaged .npy header: shape is {str(sizes)[:60]}")
    if stored.fields is not None:
        raise UsageError(f"{path} holds records with named fields; save each field as its own array")
    if stored.hasobject:
        raise UsageError(f"{path} holds pickled Python objects, which are never loaded; save an array of numbers")
    start, needed = head.tell(), math.prod(sizes) * stored.itemsize
    present = file.seek(0, 2) - start
    if present < needed:
        raise UsageError(
            f"{path} is truncated: its header says {stored.str}{list(sizes)}, {needed} bytes, and {present} follow"
        )
    return sizes, is_fortran, stored, start


def _refuse(warning: str) -> NoReturn:
    raise ValueError(warning)


def _require_literal(head: bytes, major: int) -> None:
    """Raise if a header is no Python literal, because numpy would try to repair it in quadratic time."""
    start = 10 if major == 1 else 12
    length = int.from_bytes(head[8:start], "little")
    text = head[start : start + min(length, _MAX_HEADER)].decode("utf-8" if major == 3 else "latin1")
    try:
        ast.literal_eval(text)
    except SyntaxError as error:
        if re.search("[0-9]L", text):
            raise ValueError("Reading sizes such as 2L, of a file created on Python 2, is not supported") from error
        if length <= _MAX_HEADER:
            raise


def _element_type(stored: np.dtype[np.generic], dtype: str | None, path: Path) -> DType:
    if dtype is not None:
        element = as_dtype(dtype)
        if element.itemsize != stored.itemsize:
            raise UsageError(
                f"--dtype {element} has {element.itemsize} bytes an element, those of {path} ({stored.str}) have "
                f"{stored.itemsize}"
            )
        return element
    if stored.kind == "V":
        fitting = [element.name for element in EXTENSIONS if element.itemsize == stored.itemsize]
        hint = f"; if they are {' or '.join(fitting)}, say so with --dtype" if fitting else ""
        raise UsageError(f"{path} holds raw elements of {stored.itemsize} bytes ({stored.str}){hint}")
    try:
        return as_dtype(stored.newbyteorder("="))
    except DescriptorError as error:
        raise UsageError(f"{path}: {command_text(error)}") from error


def _read_image(path: Path) -> Array:
    with warnings_to(lambda text: tell(f"warning: {path}: {text}")):
        try:
            return imread(path)
        except (DescriptorError, UnsupportedError) as error:
            raise UsageError(command_text(error)) from error


# Opens arrays of any size, of which only the requested parts are read.


def open_array(path: Path, stack: ExitStack, *, follow: bool = False) -> Any:
    """Open the array in a file, or at FILE/NAME, until the stack closes.

    follow: open files elsewhere too that the file names.

    Raises:
        UsageError: there is no such file, it has no array or several, or it is damaged.
        UnsupportedError: it names a file in another folder, or a package of the extra ``ome`` is missing.
    """
    within = [each for each in (path, *path.parents) if each.suffix.lower() in _ARRAYS]
    if not within:
        raise UsageError(f"{path}: the name must end in {', '.join(_ARRAYS)}, or be FILE.h5/NAME or FILE.zarr/NAME")
    file = next((each for each in within if each.exists()), within[0])
    kind, name = _ARRAYS[file.suffix.lower()], path.relative_to(file).as_posix().removeprefix(".")
    if kind != "zarr":
        require_file(file)
    if kind in ("npy", "tiff") and name:
        raise UsageError(f"{path}: {file} is a file of one array, which has no name inside")
    if kind == "npy":
        return mapped_array(file)
    try:
        return _opened(file, kind, name, stack, Reach.of(file, follow=follow))
    except RestrideError:
        raise
    except Exception as error:  # each library raises its own types
        raise UsageError(f"cannot read {path}: {str(error) or type(error).__name__}") from error


def _opened(file: Path, kind: str, name: str, stack: ExitStack, reach: Reach) -> Any:
    if kind == "tiff":
        with needed_package(f"{file}: TIFF", "tifffile", "ome"):
            from tifffile import TiffFile
        opened = stack.enter_context(TiffFile(file))
        require_tiff(opened, reach)
        series = series_in(opened)
        if len(series) > 1:
            tell(f"{file} has {len(series)} series, of which the first is read, and {len(series) - 1} are not")
        return series[0]
    if kind == "hdf5":
        with needed_package(f"{file}: HDF5", "h5py", "ome"):
            import h5py
        opened = stack.enter_context(h5py.File(file, "r"))
        name = name or _array_name(file, name, opened)
        require_dataset(opened, name, reach)
        found = opened.get(name)  # also through links, which ``arrays_in`` does not follow
        return found if isinstance(found, h5py.Dataset) else opened[_array_name(file, name, opened)]
    with needed_package(f"{file}: Zarr", "zarr", "ome"):
        import zarr
    require_store(reach)
    opened = zarr.open(file, mode="r")  # a Path, because zarr would take a text for an address (URL) too
    if isinstance(opened, zarr.Group):
        return opened[_array_name(file, name, opened)]
    if name:
        raise UsageError(f"{file}/{name}: {file} is an array, with none inside")
    return opened


def _array_name(file: Path, name: str, opened: object) -> str:
    """The name of the array: ``name`` if the file has it, or that of its only array; only the error lists links."""
    names = arrays_in(opened)
    if name in names:
        return name
    if not name and len(names) == 1:
        return names[0]
    links = [] if names else links_in(opened)
    problem = f"no array {name!r}" if name else f"{len(names)} arrays" if names else "no array, but links" * bool(links)
    others = ", ".join(f"{file}/{each}" for each in (names or links)[:9] if each != name)
    raise UsageError(f"{file} has {problem or 'no array'}{': name one of ' * bool(others)}{others}")


# Writes files.


def about_raw_elements(path: Path, dtype: DType) -> tuple[str, ...]:
    """The warning that numpy has no name for elements of ``dtype`` in the .npy file ``path``; empty if it has one."""
    if path.suffix.lower() != ".npy" or dtype not in EXTENSIONS:
        return ()
    stored = f"V{dtype.itemsize}"
    return (f"warning: numpy has no name for {dtype}: .npy files have it as {stored}, and --dtype {dtype} reads them",)


def write_array(path: Path, array: Array) -> None:
    """Write ``array`` atomically: an existing file stays intact until the new one is complete.

    Raises:
        UsageError: the format cannot hold the array, or the file cannot be written.
    """
    write_whole(path, content_of(path, array))


def content_of(path: Path, array: Array) -> Content:
    """The content of the file ``path`` with this array; an image is encoded at once.

    Raises:
        UsageError: the format cannot hold the array.
    """
    _require_array(path)
    require_room(path, array.dtype, array.shape)
    if is_image(path):
        return encoded(format_of(path, WRITTEN), array)
    is_raw_type = as_dtype(array.dtype) in EXTENSIONS
    stored = array.view(f"V{array.dtype.itemsize}") if is_raw_type else array
    # Given a real file, numpy would write through a C FILE, which ignores a full disk at its end, and needs to seek,
    # which a pipe cannot.
    return lambda file: npy.write_array(SimpleNamespace(write=file.write), stored, allow_pickle=False)


NAMED = (".npz", ".safetensors")
"""Endings of files that hold several arrays by their names."""


def require_named(path: Path) -> None:
    """Raise ``UsageError``, before any work, unless arrays can be written to ``path`` by their names.

    Raises:
        MissingPackage: safetensors is not installed.
    """
    if path.suffix.lower() not in NAMED:
        raise UsageError(f"{path}: results are written by their names, so the name must end in {' or '.join(NAMED)}")
    if path.suffix.lower() == ".safetensors":
        _safetensors()
    require_places(path)


def write_named(path: Path, arrays: Mapping[str, Array], **texts: Sequence[str]) -> None:
    """Write arrays by their names, and lists of texts: arrays in .npz, JSON in the metadata of .safetensors.

    A .npz file has bf16 as raw elements of 2 bytes, as numpy writes it.

    Raises:
        UsageError: the file cannot be written.
    """
    if path.suffix.lower() == ".safetensors":
        metadata = {name: json.dumps(list(each)) for name, each in texts.items()} or None
        write_whole(path, _safetensors().save(dict(arrays), metadata))
        return
    named: dict[str, Any] = {**arrays, **{name: np.array(each, np.str_) for name, each in texts.items()}}
    write_whole(path, lambda file: np.savez(file, **named))


def _safetensors() -> Any:
    with needed_package("a .safetensors file (.npz needs nothing)", "safetensors", "safetensors"):
        from safetensors import numpy

        return numpy


def write_whole(path: Path, content: Content) -> None:
    """Write ``content`` to ``path`` atomically, as ``write_file`` does.

    Raises:
        UsageError: the file cannot be written.
    """
    with named_errors("write", path):
        write_file(path, content)


def write_output(path: Path, content: Content) -> None:
    """Write ``content`` with ``write_whole``, and say so on stderr."""
    write_whole(path, content)
    tell(f"wrote {path}")


def buffer_of(result: Tensor, source: Tensor) -> FileBuffer:
    """The buffer of a ``result`` that was computed from ``source``, without any other bytes.

    A view of the source's buffer, such as a slice, is packed first. Gaps between the elements of a strided result,
    which an operation leaves as they were, become zero.
    """
    if result.memory is source.memory:
        result = reorder(result)
    elif result.desc.extent > result.desc.numel and not result.desc.is_whole:
        zeros = from_buffer(np.zeros(result.desc.nbytes, np.uint8), result.desc, result.device)
        result = reorder(result, out=zeros)
    return FileBuffer(result.buffer(), result.desc)
