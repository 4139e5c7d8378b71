"""Chain: boxes one after the other, each by single operations, where a library's own integers say the result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import as_dtype
from restride.layout import TensorDesc
from restride.ops.crops.passes import Cut
from restride.ops.crops.source import Source
from restride.ops.reorder import reorder
from restride.ops.resample import resample
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor, empty


class _Part(NamedTuple):
    """Where a box lies along an axis of ``size`` outputs, perhaps beyond: -58 to 283 of 224, which has 58 to 282 of it.

    flipped: it is written from its other end.
    """

    start: int
    stop: int
    size: int
    flipped: bool

    @property
    def place(self) -> slice:
        """What it takes of the output."""
        return slice(max(self.start, 0), min(self.stop, self.size))

    @property
    def window(self) -> slice:
        """What of the box that is."""
        start, stop = self.place.start - self.start, self.place.stop - self.start
        whole = self.stop - self.start
        return slice(whole - stop, whole - start) if self.flipped else slice(start, stop)


class Chain(NamedTuple):
    """Boxes of a source, and the arguments of the resampling that each of them goes through."""

    source: Source
    cut: Cut
    images: npt.NDArray[np.int64]
    fill: npt.NDArray[Any]
    like: str | None
    choice: dict[str, Any]

    def made(self, sizes: tuple[int, ...], dtype: str) -> Tensor:
        """All boxes, before the arithmetic, packed."""
        device = self.source.tensors[0].device
        made = empty(TensorDesc(as_dtype(dtype), sizes), device)
        first, (rows, columns) = self.source.form.first, self.source.form.axes
        axes = rows - first, columns - first
        places = self.cut.places
        with device.batch():
            whole = [sizes[axis + 1] for axis in axes]
            if (places[:, :2] > 0).any() or (places[:, 2:] < whole).any():
                reorder(self._filled(sizes), out=made)
            for box, place in enumerate(places.tolist()):
                parts = [
                    _Part(start, stop, sizes[axis + 1], bool(flipped))
                    for start, stop, axis, flipped in zip(
                        place[:2], place[2:], axes, self.cut.flipped[box], strict=True
                    )
                ]
                its_place = made[(box, *_on(axes, [part.place for part in parts]))]
                steps = [slice(None, None, -1 if part.flipped else 1) for part in parts]
                wanted = {name: value for name, value in self.choice.items() if value is not None}
                resample(
                    self._piece(box, axes),
                    [part.stop - part.start for part in parts],
                    axes=axes,
                    like=self.like,
                    window=[part.window for part in parts],
                    out=its_place[_on(axes, steps)],
                    **wanted,
                )
        return made

    def _piece(self, box: int, axes: tuple[int, int]) -> Tensor:
        """What the image has in a box, and ``fill`` around it."""
        index = int(self.images[box])
        image = (
            self.source.tensors[0][index]
            if self.source.form.first
            else self.source.tensors[index if self.source.is_list else 0]
        )
        y0, x0, y1, x1 = self.cut.edges[box].tolist()
        bounds = ((y0, y1), (x0, x1))
        extents = [image.sizes[axis] for axis in axes]
        inside = [(max(low, 0), min(high, extent)) for (low, high), extent in zip(bounds, extents, strict=True)]
        its = image[_on(axes, [slice(low, max(low, high)) for low, high in inside])]
        sizes = list(image.sizes)
        for axis, (low, high) in zip(axes, bounds, strict=True):
            sizes[axis] = high - low
        if its.sizes == tuple(sizes):
            return its
        piece = reorder(self._filled(tuple(sizes)))
        if its.desc.numel:
            ranges = [slice(a - low, b - low) for (a, b), (low, _) in zip(inside, bounds, strict=True)]
            reorder(its, out=piece[_on(axes, ranges)])
        return piece

    def _filled(self, sizes: tuple[int, ...]) -> Tensor:
        """``fill`` everywhere, not in memory."""
        fill = self.fill
        if fill.ndim and self.source.form.channel is not None:
            behind = self.source.form.desc.rank - 1 - self.source.form.channel
            fill = fill.reshape(-1, *[1] * behind)
        return asarray(np.ascontiguousarray(fill), device=self.source.tensors[0].device).broadcast_to(sizes)


def _on(axes: tuple[int, int], slices: list[slice]) -> tuple[slice, ...]:
    """An index of an image that has these slices along rows and columns."""
    index = [slice(None)] * (axes[1] + 1)
    for axis, part in zip(axes, slices, strict=True):
        index[axis] = part
    return tuple(index)
