"""Values that are no image, of every kind that may be passed as one, by names in words.

Each is made anew: some can be read once, and two of them are closed.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import restride as rs

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)


def encoded(kind: str = "PNG") -> bytes:
    """The bytes of an image file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, kind)
    return file.getvalue()


def _opened(content: bytes, *, load: bool = False, close: bool = False) -> Any:
    from PIL import Image

    image = Image.open(io.BytesIO(content))
    if load:
        image.load()
    if close:
        image.close()
    return image


def _mode(name: str) -> Any:
    from PIL import Image

    return Image.new(name, (20, 30))


class OnCuda:
    """A tensor of 3 or 4 axes in the memory of a CUDA device that is not there."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.ndim = shape, len(shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **_options: object) -> object:
        raise BufferError("no such device")


class OnCudaByInterface:
    """An object with CUDA's array interface alone."""

    shape, ndim, dtype = (5, 5, 3), 3, np.dtype("u1")
    __cuda_array_interface__ = {"shape": (5, 5, 3), "typestr": "|u1", "data": (1, False), "version": 3}  # noqa: RUF012


class Failing:
    """An array of 4 or 3 axes whose elements cannot be had."""

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def __array__(self, *_values: object, **_options: object) -> Any:
        raise RuntimeError("the elements are lost")


class Asynchronous:
    """An upload as web frameworks have it: ``read`` must be awaited."""

    filename = "cat.png"

    async def read(self, _size: int = -1) -> bytes:
        return b""


class FailingFile:
    """A file object whose ``read`` raises an error of its own."""

    def read(self, _size: int = -1) -> bytes:
        raise KeyError("gone")


def _closed_file() -> Any:
    file = io.BytesIO(encoded())
    file.close()
    return file


def _recursive() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


def values() -> dict[str, Callable[[], Any]]:
    """A function that makes each value, by its name; of numpy, Pillow and the standard library alone."""
    made: dict[str, Callable[[], Any]] = {
        "cut image of Pillow": lambda: _opened(encoded()[:200]),
        "cut JPEG of Pillow": lambda: _opened(encoded("JPEG")[:900]),
        "damaged image of Pillow": lambda: _opened(encoded()[:60] + bytes(3000)),
        "closed image of Pillow": lambda: _opened(encoded(), close=True),
        "closed image of Pillow with pixels": lambda: _opened(encoded(), load=True, close=True),
        "mode La": lambda: _mode("La"),
        "image of Pillow without columns": lambda: _mode("RGB").crop((0, 0, 0, 30)),
        "class of Pillow": lambda: type(_mode("RGB")),
        "masked": lambda: np.ma.masked_array(PIXELS, PIXELS > 5),
        "None": lambda: None,
        "number": lambda: 5,
        "fraction": lambda: 2.5,
        "number of numpy": lambda: np.float32(3),
        "dictionary": lambda: {"image": PIXELS},
        "set": lambda: {1},
        "generator": lambda: (row for row in PIXELS),
        "function": lambda: encoded,
        "list in a list": lambda: [[PIXELS]],
        "list of itself": _recursive,
        "list of None": lambda: [None],
        "list of numbers": PIXELS.tolist,
        "no file": lambda: "none.png",
        "folder": tempfile.gettempdir,
        "path with a null byte": lambda: "a\0b.png",
        "long path": lambda: "x" * 5000,
        "empty path": lambda: "",
        "address": lambda: "https://example.org/a.png",
        "no bytes": lambda: b"",
        "bytes of no image": lambda: b"no image",
        "bytes of a cut image": lambda: encoded()[:200],
        "bytearray of no image": lambda: bytearray(b"no image"),
        "view of no image": lambda: memoryview(b"no image"),
        "file of no image": lambda: io.BytesIO(b"no image"),
        "file of text": lambda: io.StringIO("no image"),
        "closed file": _closed_file,
        "file to write": lambda: io.BufferedWriter(io.BytesIO()),
        "asynchronous file": Asynchronous,
        "failing file": FailingFile,
        "class of files": lambda: io.BytesIO,
        "tensor on CUDA": lambda: OnCuda(5, 5, 3),
        "batch on CUDA": lambda: OnCuda(2, 5, 5, 3),
        "CUDA's interface": OnCudaByInterface,
        "failing array": lambda: Failing(3),
        "failing batch": lambda: Failing(4),
        "array of images": lambda: np.array([PIXELS, None], object),
    }
    for channels in (1, 3, 4):
        for kind in ("O", "U3", "S3", "M8[s]", "m8[s]", "c8", "V2", [("a", "u1")]):
            for rank in (3, 4):
                shape = (1, 9, 10, channels)[-rank:]
                made[f"{kind} of {list(shape)}"] = lambda kind=kind, shape=shape: np.zeros(shape, kind)
    for shape in ((), (3,), (0,), (0, 5, 3), (5, 0, 3), (0, 0, 3), (1, 0, 5, 3), (1, 1, 5, 5, 3)):
        made[f"array of {list(shape)}"] = lambda shape=shape: np.zeros(shape, np.uint8)
        made[f"tensor on the device of {list(shape)}"] = lambda shape=shape: rs.asarray(np.zeros(shape, np.uint8))
    return made


def out_of_range() -> dict[str, Callable[[], Any]]:
    """Floats that no byte stands for, of each number of channels."""
    return {
        f"{value} of {channels} channels": lambda value=value, channels=channels: np.full(
            (9, 10, channels), value, np.float32
        )
        for channels in (1, 3, 4)
        for value in (np.nan, np.inf, -5.0, 300.0, 1.5)
    }


def of_torch(torch: Any) -> dict[str, Callable[[], Any]]:
    """The same, of torch's tensors."""
    made: dict[str, Callable[[], Any]] = {
        "nested tensor": lambda: torch.nested.nested_tensor([torch.zeros(3, 3), torch.zeros(2, 3)])
    }
    for shape in ((9, 10, 3), (2, 9, 10, 3)):
        zeros = torch.zeros(shape)
        made |= {
            f"sparse tensor of {list(shape)}": zeros.to_sparse,
            f"meta tensor of {list(shape)}": lambda zeros=zeros: zeros.to("meta"),
            f"meta tensor of bf16 of {list(shape)}": lambda zeros=zeros: zeros.bfloat16().to("meta"),
            f"complex tensor of {list(shape)}": lambda zeros=zeros: zeros.to(torch.complex64),
            f"negated view of {list(shape)}": lambda zeros=zeros: zeros.to(torch.complex64).conj().imag,
            f"tensor of mkldnn of {list(shape)}": zeros.to_mkldnn,
            f"quantized tensor of {list(shape)}": lambda zeros=zeros: torch.quantize_per_tensor(
                zeros, 1.0, 0, torch.quint8
            ),
        }
    made["compressed rows"] = lambda: torch.zeros(9, 3).to_sparse_csr()
    made["tensor without rows"] = lambda: torch.zeros(0, 10, 3)
    return made


def of_scipy(sparse: Any) -> dict[str, Callable[[], Any]]:
    """The same, of SciPy's sparse arrays."""
    return {
        f"sparse array of {list(shape)}": lambda shape=shape: sparse.coo_array(np.zeros(shape))
        for shape in ((5, 3), (5, 5, 3), (2, 5, 5, 3))
    }
