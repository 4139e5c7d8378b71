"""LazyArray: the result of a chain as an array that computes what is asked of it; a source for another stream.

A stream of one reads the source of the LazyArray, by one longer chain, so all of it counts as the stream's memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from restride.dtypes import DTypeLike, as_dtype
from restride.errors import DescriptorError
from restride.stream.chain import Chain, WindowedChain
from restride.stream.ends import Source
from restride.tensor.device import Device


class LazyArray:
    """The result of a chain on a source, of which only the windows that are indexed are read and computed.

    Args:
        source: as in ``rs.stream``.
        chain: the operations.
        device: that computes; default: ``rs.default_device()``.
        source_dtype: as in ``rs.stream``.

    Example:
        >>> photo = np.arange(48, dtype=np.uint8).reshape(6, 8)
        >>> half = rs.LazyArray(photo, rs.Chain().resample((3, 4), mode="nearest"))
        >>> half.shape, half[1:, 2]
        ((3, 4), array([29, 45], dtype=uint8))
    """

    def __init__(
        self, source: Any, chain: Chain, device: Device | None = None, source_dtype: DTypeLike | None = None
    ) -> None:
        self._source, self._work = unwrapped(source, chain, source_dtype)
        self._device = device or (source.device if isinstance(source, LazyArray) else None)

    @property
    def source(self) -> Any:
        """What is read: no LazyArray, but the source of one."""
        return self._source.array

    @property
    def chain(self) -> Chain:
        """All operations on ``source``."""
        return self._work.chain

    @property
    def device(self) -> Device | None:
        """That computes; None: the default one."""
        return self._device

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the result."""
        return self._work.sizes

    @property
    def ndim(self) -> int:
        """Number of its axes."""
        return len(self._work.sizes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the result, as numpy has it."""
        return self._work.dtype.dtype

    def __getitem__(self, key: Any) -> npt.NDArray[Any]:
        """The elements that numpy's basic indexing names, read and computed now."""
        work = self.chain[key].of(self._source.sizes, self._source.dtype)
        window = tuple(range(size) for size in work.sizes)
        return work.run(self._source.read(work.windows(window)[0]), window, self._device).numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a LazyArray has no elements yet: copy=False is impossible")
        return np.asarray(self[...], dtype)

    def __repr__(self) -> str:
        return f"<restride.LazyArray {self._work}>"


def unwrapped(source: Any, chain: Chain, source_dtype: DTypeLike | None) -> tuple[Source, WindowedChain]:
    """What is read and all operations on it: of a ``LazyArray`` its source, and its chain before ``chain``.

    Raises:
        DescriptorError, UnsupportedError: as ``Source`` and the operations do; or ``source_dtype`` is of the bits of a
            result that is not stored.
    """
    if not isinstance(chain, Chain):
        raise DescriptorError(f"chain must be a restride.Chain, got {type(chain).__name__}")
    if not isinstance(source, LazyArray):
        reader = Source(source, source_dtype)
        return reader, chain.of(reader.sizes, reader.dtype)
    inner = source._work  # noqa: SLF001 - of the same module
    if source_dtype is not None and as_dtype(source_dtype) != inner.dtype:
        raise DescriptorError(
            f"source_dtype {source_dtype!r} is for stored bits, and the LazyArray has elements of {inner.dtype}"
        )
    joined = Chain((*inner.chain.operations, *chain.operations))
    return source._source, joined.of(inner.source_sizes, inner.source_dtype)  # noqa: SLF001 - of the same module
