"""Arrays in files: .npy read and written without pickles, images through Pillow, every write atomic."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from restride.arrays import asarray
from restride.cli.exits import UsageError
from restride.cli.npy import read_npy, write_npy
from restride.desc import TensorDesc
from restride.device import Device
from restride.dtypes import as_dtype
from restride.tensor import Tensor

Array = npt.NDArray[Any]

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


def write_whole(path: Path, writer: Callable[[BinaryIO], None]) -> None:
    """Let ``writer`` fill a new file beside ``path``, then put it in place of ``path`` in one step."""
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with named_errors("write", path):
        try:
            with part.open("xb") as file:
                writer(file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


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
