"""LazyArray: the result of a chain as an array that computes elements on indexing, and may be a stream's source.

A stream from a LazyArray joins both chains and reads the LazyArray's own source, so its memory limit covers all work.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array, DTypeLike, as_dtype
from restride.errors import DescriptorError, Message
from restride.layout.views import BasicIndex
from restride.stream.chain import Chain, WindowedChain
from restride.stream.ends import Source
from restride.stream.files import SourceArray, library_of
from restride.stream.tiff import open_series, series_of
from restride.tensor.device import Device


class LazyArray:
    """The result of a chain on a source; only windows that are indexed are read and computed.

    Args:
        source: as in ``rs.stream``.
        chain: the operations.
        device: where to compute; default: ``rs.default_device()``.
        source_dtype: as in ``rs.stream``.

    Example:
        >>> photo = np.arange(48, dtype=np.uint8).reshape(6, 8)
        >>> half = rs.LazyArray(photo, rs.Chain().resample((3, 4), mode="nearest"))
        >>> half.shape, half[1:, 2]
        ((3, 4), array([29, 45], dtype=uint8))
    """

    def __init__(
        self, source: SourceArray, chain: Chain, device: Device | None = None, source_dtype: DTypeLike | None = None
    ) -> None:
        self._given, self._added = source, chain
        self._source, self._work = unwrapped(source, chain, source_dtype)
        self._device = device or (source.device if isinstance(source, LazyArray) else None)

    @property
    def source(self) -> Any:
        """The array that is read; for a LazyArray on a LazyArray, the innermost source."""
        return self._source.array

    @property
    def chain(self) -> Chain:
        """All operations on ``source``."""
        return self._work.chain

    @property
    def device(self) -> Device | None:
        """Where to compute; None: the default device."""
        return self._device

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the result."""
        return self._work.sizes

    @property
    def ndim(self) -> int:
        """The number of axes of the result."""
        return len(self._work.sizes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the result, as a numpy type."""
        return self._work.dtype.dtype

    def __getitem__(self, key: BasicIndex) -> Array:
        """Read and compute the elements that numpy's basic indexing selects."""
        work = self.chain[key].of(self._source.sizes, self._source.dtype)
        window = tuple(range(size) for size in work.sizes)
        return work.run(self._source.read(work.windows(window)[0]), window, self._device).numpy()

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("iteration over a LazyArray without axes")
        return map(self.__getitem__, range(self.shape[0]))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a LazyArray has no elements yet: copy=False is impossible")
        return np.asarray(self[...], dtype)

    def __repr__(self) -> str:
        return f"<restride.LazyArray {self._work}>"


def require_values(source: Source, work: WindowedChain) -> None:
    """Check that ``work`` does not average elements of ``source`` that are numbers of colours in a palette.

    Raises:
        DescriptorError: it averages them.
    """
    if source.is_palette and work.blends:
        raise DescriptorError(
            Message.of(
                "the elements of source are numbers of colours in a palette, and their means are other colours: ",
                "mode='nearest' keeps them as numbers, or convert the file to RGB",
                "--mode nearest keeps them as numbers, or convert the file to RGB",
            )
        )


def unwrapped(source: Any, chain: Chain, source_dtype: DTypeLike | None) -> tuple[Source, WindowedChain]:
    """The source to read and the chain on it; for a ``LazyArray``, its source, and its chain followed by ``chain``.

    Raises:
        DescriptorError, UnsupportedError: ``Source`` or an operation raises it; or ``source_dtype`` is passed for a
            LazyArray, whose elements are not stored bits.
    """
    if not isinstance(chain, Chain):
        raise DescriptorError(f"chain must be a restride.Chain, got {type(chain).__name__}")
    if isinstance(source, LazyArray):
        inner = source._work  # noqa: SLF001 - of the same module
        if source_dtype is not None and as_dtype(source_dtype) != inner.dtype:
            raise DescriptorError(
                f"source_dtype {source_dtype!r} is for a source of stored bits, not for a LazyArray of {inner.dtype}"
            )
        reader = source._source  # noqa: SLF001 - of the same module
        before = inner.chain
    else:
        if library_of(source) == "xarray" and getattr(source, "chunks", None):
            source = source.data  # dask's array, whose chunks are tasks of their own
        before, is_palette, series = Chain(), False, series_of(source)
        if series is not None:
            source, before, is_palette = open_series(series, None if series is source else source)
        reader = Source(source, source_dtype, is_palette=is_palette)
    work = Chain((*before.operations, *chain.operations)).of(reader.sizes, reader.dtype)
    require_values(reader, work)
    return reader, work
