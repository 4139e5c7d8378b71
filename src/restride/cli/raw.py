"""Raw buffers in files: the bytes as they lie on a device, padding included, and the descriptor they are read by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from restride import reference
from restride.arrays import from_buffer
from restride.cli.exits import UsageError
from restride.cli.files import format_of, named_errors, require_file, write_whole
from restride.desc import TensorDesc
from restride.device import Device
from restride.errors import RestrideError
from restride.ops import reorder
from restride.reference.memory import element_positions
from restride.tensor import Tensor

Array = npt.NDArray[Any]


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

        def writer(file: BinaryIO) -> None:
            file.write(self.data.data)

        write_whole(path, writer)

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
