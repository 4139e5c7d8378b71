"""Raw buffers in files: the bytes as they lie on a device, padding included, and the descriptor they are read by."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from restride import reference
from restride.cli.process import UsageError
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError, RestrideError
from restride.layout import TensorDesc
from restride.ops.reorder import reorder
from restride.reference.memory import element_positions
from restride.runtime.file_store import Content, write_file
from restride.tensor.arrays import asarray, from_buffer
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor

# The .npy format, read by hand: no pickles, no expressions, and no byte allocated that the file does not have.

Array = npt.NDArray[Any]

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
"""Bytes of a header; numpy's own limit, above which parsing it can exhaust the stack."""

_RAW_TYPES = ("bf16", "f8e4m3fn", "f8e5m2")
"""What numpy can only write as raw bytes."""


def read_npy(path: Path, dtype: str | None = None) -> Array:
    """The array in a .npy file, in C or Fortran order, brought to this machine's byte order.

    ``dtype`` takes its elements as a type of the same width.

    Raises:
        UsageError: not a .npy file, truncated, or its elements are no numbers.
    """
    with path.open("rb") as file:
        descr, fortran_order, shape = _header(file, path)
        stored = _stored_type(descr, path)
        element = _element_type(stored, dtype, path)
        needed = math.prod(shape) * stored.itemsize
        start = file.tell()
        present = file.seek(0, 2) - start
        if present < needed:
            raise UsageError(
                f"{path} is truncated: its header says {stored.str}{list(shape)}, {needed} bytes, and {present} follow"
            )
        file.seek(start)
        data = np.fromfile(file, np.uint8, needed)
    if not stored.isnative:
        data.view(f"u{stored.itemsize}").byteswap(inplace=True)
    try:
        array: Array = data.view(element.dtype).reshape(shape, order="F" if fortran_order else "C")
    except ValueError as error:  # a size beyond what numpy can index, beside a size of 0
        raise UsageError(f"{path} has sizes {list(shape)}: {error}") from error
    return array


def write_npy(file: BinaryIO, array: Array) -> None:
    """Write an array; bf16 and f8 elements as raw bytes, which numpy can read back and view."""
    is_raw = as_dtype(array.dtype).name in _RAW_TYPES
    np.lib.format.write_array(file, array.view(f"V{array.dtype.itemsize}") if is_raw else array, allow_pickle=False)


def _header(file: BinaryIO, path: Path) -> tuple[object, bool, tuple[int, ...]]:
    start = file.read(8)
    if start[:6] != _MAGIC or len(start) < 8:
        raise UsageError(f"{path} is not a .npy file: it does not begin with {_MAGIC!r}")
    major = start[6]
    if major not in {1, 2, 3}:
        raise UsageError(f"{path} is a .npy file of version {major}.{start[7]}; 1.0, 2.0 and 3.0 are known")
    length = int.from_bytes(file.read(2 if major == 1 else 4), "little")
    if length > _LONGEST_HEADER:
        raise UsageError(f"{path} claims a header of {length} bytes, more than the {_LONGEST_HEADER} that are accepted")
    text = file.read(length)
    if len(text) < length:
        raise UsageError(f"{path} is truncated: {len(text)} of its {length} header bytes are there")
    try:
        header = ast.literal_eval(text.decode("utf-8" if major == 3 else "latin-1").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path} has a damaged .npy header: it is not a dictionary of plain values") from error
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise UsageError(f"{path} has a damaged .npy header: it needs descr, fortran_order and shape")
    shape, fortran_order = header["shape"], header["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
        raise UsageError(f"{path} has a damaged .npy header: shape is {str(shape)[:60]}")
    if not isinstance(fortran_order, bool):
        raise UsageError(f"{path} has a damaged .npy header: fortran_order is {str(fortran_order)[:60]}")
    return header["descr"], fortran_order, shape


def _stored_type(descr: object, path: Path) -> np.dtype[Any]:
    if descr == "<f1":  # ml_dtypes' float8_e5m2 as numpy writes it, and cannot read it
        return np.dtype("V1")
    if isinstance(descr, list):
        raise UsageError(f"{path} holds records with named fields; save each field as its own array")
    try:
        stored = np.dtype(descr) if isinstance(descr, str) else None
    except TypeError:
        stored = None
    if stored is None:
        raise UsageError(f"{path} has a damaged .npy header: descr is {str(descr)[:60]}")
    if stored.hasobject:
        raise UsageError(f"{path} holds pickled Python objects, which are never loaded; save an array of numbers")
    return stored


def _element_type(stored: np.dtype[Any], dtype: str | None, path: Path) -> DType:
    if dtype is not None:
        element = as_dtype(dtype)
        if element.itemsize != stored.itemsize:
            raise UsageError(
                f"--dtype {element} has {element.itemsize} bytes an element, those of {path} ({stored.str}) have "
                f"{stored.itemsize}"
            )
        return element
    if stored.kind == "V":
        fitting = [name for name in _RAW_TYPES if as_dtype(name).itemsize == stored.itemsize]
        hint = f"; if they are {' or '.join(fitting)}, say so with --dtype" if fitting else ""
        raise UsageError(f"{path} holds raw elements of {stored.itemsize} bytes ({stored.str}){hint}")
    try:
        return as_dtype(stored.newbyteorder("="))
    except DescriptorError as error:
        raise UsageError(f"{path}: {error}") from error


# Arrays in files: .npy read and written without pickles, images through Pillow, every write atomic.

_FORMATS = {".npy": "npy", ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".bin": "raw"}
IMAGES = ("PNG", "JPEG")
_INSTALL_PILLOW = "images need Pillow: pip install 'restride[images]'"
_JPEG_QUALITY = 95
_LONGEST_JPEG_SIDE = 65_500
"""Pixels; libjpeg's own limit."""
_MODES = {"1": "L", "P": "RGB", "PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB"}
"""What a picture with another kind of pixel is read as."""


@dataclass(frozen=True, eq=False)
class FileArray:
    """What a .npy file or an image holds: elements in logical order.

    An image is u8 of sizes [height, width] or [height, width, channels], or a grey one of u16.
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

    def write(self, path: Path) -> None:
        """``write_array`` of the elements."""
        write_array(path, self.array)

    def __str__(self) -> str:
        return str(self.desc)


def format_of(path: Path) -> str:
    """``"npy"``, ``"PNG"``, ``"JPEG"`` or ``"raw"``, by the name of the file.

    Raises:
        UsageError: another name.
    """
    known = _FORMATS.get(path.suffix.lower())
    if known is None:
        raise UsageError(f"{path}: the name must end in {', '.join(_FORMATS)}")
    return known


def read_array(path: Path, dtype: str | None = None) -> FileArray:
    """The array in ``path``; ``dtype`` takes a .npy file's elements as another type of the same width.

    Raises:
        UsageError: no such file, damaged, or not an array of numbers.
    """
    is_image = _array_format(path) in IMAGES
    if is_image and dtype is not None:
        raise UsageError(f"--dtype says what the bytes of a .npy file are; {path} is an image")
    with named_errors("read", path):
        require_file(path)
        return FileArray(_read_image(path) if is_image else read_npy(path, dtype), is_image)


def write_array(path: Path, array: Array) -> None:
    """Write ``array``; what was in ``path`` stays whole until the new file is.

    Raises:
        UsageError: the format cannot hold the array, or the file system refused.
    """
    kind = _array_format(path)
    require_room(path, array.dtype, array.shape)
    write_whole(path, _npy_writer(array) if kind == "npy" else _image_writer(array, kind))


def write_whole(path: Path, content: Content) -> None:
    """Put ``content`` into ``path`` in one step, as ``write_file`` does.

    Raises:
        UsageError: the file system refused.
    """
    with named_errors("write", path):
        write_file(path, content)


def require_writable(path: Path) -> None:
    """Raise ``UsageError`` before any work if an output file cannot be written, whatever it shall hold."""
    if format_of(path) in IMAGES:
        pillow()
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise UsageError(f"cannot write {path}: {'it is a folder' if path.is_dir() else 'no such folder'}")


def require_file(path: Path) -> None:
    """Raise ``UsageError`` unless ``path`` is a file."""
    if not path.is_file():
        raise UsageError(f"cannot read {path}: {'not a file' if path.exists() else 'no such file'}")


def require_room(path: Path, dtype: np.dtype[Any], sizes: Sequence[int]) -> None:
    """Raise ``UsageError`` unless the format of ``path`` can hold elements of ``dtype`` in ``sizes``."""
    kind = format_of(path)
    if kind not in IMAGES:
        return
    another = f"give {path.stem}.npy as the output"
    channels = sizes[2] if len(sizes) == 3 else 1
    if not (dtype == np.uint8 or (kind == "PNG" and dtype == np.uint16 and channels == 1)):
        holds = "u8 elements" if kind == "JPEG" else "u8 elements, or u16 of one channel"
        raise UsageError(f"a {kind} image holds {holds}, not {as_dtype(dtype)} of sizes {list(sizes)}: {another}")
    if len(sizes) not in {2, 3} or channels not in ((1, 3) if kind == "JPEG" else (1, 2, 3, 4)) or min(sizes) < 1:
        raise UsageError(
            f"a {kind} image has sizes [height, width] or [height, width, channels] with "
            f"{'1 or 3' if kind == 'JPEG' else '1 to 4'} channels, not {list(sizes)}: {another}"
        )
    if kind == "JPEG" and max(sizes) > _LONGEST_JPEG_SIDE:
        raise UsageError(f"a JPEG image has at most {_LONGEST_JPEG_SIDE} pixels a side, not {list(sizes)}: {another}")


def pillow() -> Any:
    """The module ``PIL.Image``.

    Raises:
        UsageError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise UsageError(_INSTALL_PILLOW) from error
    return Image


@contextmanager
def named_errors(action: str, path: Path) -> Iterator[None]:
    """What the file system refuses inside becomes a ``UsageError`` that says which file it was about."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot {action} {path}: {error.strerror or error}") from error


def _array_format(path: Path) -> str:
    kind = format_of(path)
    if kind == "raw":
        raise UsageError(f"{path} is a .bin file of raw bytes, where an array or an image is needed")
    return kind


def _npy_writer(array: Array) -> Callable[[BinaryIO], None]:
    return lambda file: write_npy(file, array)


def _read_image(path: Path) -> Array:
    image_module = pillow()
    from PIL import ImageOps

    try:
        with image_module.open(path, formats=("PNG", "JPEG")) as opened:
            # Cameras write how they were held; the picture is taken as a viewer shows it.
            image = ImageOps.exif_transpose(opened)
            if image.mode.startswith("I"):  # grey of 16 bits; "I" in older Pillows, "I;16" now
                return np.asarray(image).astype(np.uint16)
            if image.mode == "P" and "transparency" in image.info:
                image = image.convert("RGBA")
            return np.asarray(image.convert(_MODES.get(image.mode, image.mode)))
    except (image_module.DecompressionBombError, ValueError, SyntaxError, EOFError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def _image_writer(array: Array, kind: str) -> Callable[[BinaryIO], None]:
    pixels = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    image = pillow().fromarray(np.ascontiguousarray(pixels))
    options = {"quality": _JPEG_QUALITY} if kind == "JPEG" else {}
    return lambda file: image.save(file, kind, **options)


# Raw buffers in files: the bytes as they lie on a device, padding included, and the descriptor they are read by.


@dataclass(frozen=True, eq=False)
class FileBuffer:
    """What a .bin file holds: ``data``, 1-D and ``desc.nbytes`` long, which ``desc`` says the meaning of."""

    data: npt.NDArray[np.uint8]
    desc: TensorDesc

    def elements(self) -> Array:
        """The elements in logical order, as the numpy reference finds them."""
        return reference.from_buffer(self.data, self.desc)

    def padding(self) -> Array:
        """The elements of the buffer that no index reaches, in memory order."""
        line = self.data.view(self.desc.dtype.dtype)
        return np.delete(line, element_positions(self.desc).reshape(-1))

    def tensor(self, device: Device) -> Tensor:
        """The buffer on ``device``, as it is."""
        return from_buffer(self.data, self.desc, device)

    def write(self, path: Path) -> None:
        """Write the bytes and nothing else; what was in ``path`` stays whole until the new file is.

        Raises:
            UsageError: the file system refused.
        """
        write_whole(path, self.data.data)

    def __str__(self) -> str:
        return f"{self.desc}, {self.data.size} bytes"


def is_raw(path: Path) -> bool:
    """True if the name of the file says that it holds a raw buffer.

    Raises:
        UsageError: the name says nothing that is known.
    """
    return format_of(path) == "raw"


def read_buffer(path: Path, desc: str | None) -> FileBuffer:
    """The bytes in ``path``, which the descriptor text ``desc`` says the meaning of.

    Raises:
        UsageError: no ``desc`` or a wrong one, no such file, or not exactly as many bytes as ``desc`` needs.
    """
    if desc is None:
        raise UsageError(f"{path} holds bytes alone: say what they are, such as --desc 'f32[2,20,4,4]:nChw16c'")
    try:
        its_desc = TensorDesc.parse(desc)
    except RestrideError as error:
        raise UsageError(f"--desc {desc!r}: {error}") from error
    with named_errors("read", path):
        require_file(path)
        with path.open("rb") as file:
            present = file.seek(0, 2)
            if present != its_desc.nbytes:
                raise UsageError(f"{path} has {present} bytes; {its_desc} needs exactly {its_desc.nbytes}")
            file.seek(0)
            return FileBuffer(np.fromfile(file, np.uint8, present), its_desc)


def buffer_of(result: Tensor, source: Tensor) -> FileBuffer:
    """The buffer of a ``result`` that was made of ``source``, with nothing in it that is not the result's.

    A slice is a view of all of the source's buffer: it is packed first. Strides leave what lies between their elements
    as memory held it before: here it is zero.
    """
    if result.memory is source.memory:
        result = reorder(result)
    elif result.desc.extent > result.desc.numel and not result.desc.is_whole:
        zeros = from_buffer(np.zeros(result.desc.nbytes, np.uint8), result.desc, result.device)
        result = reorder(result, out=zeros)
    return FileBuffer(result.buffer(), result.desc)
