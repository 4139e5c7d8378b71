"""Chain: boxes one after the other, each by single operations, where a library's own integers say the result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.arrays import asarray
from restride.crops.passes import Cut
from restride.crops.source import Source
from restride.desc import TensorDesc
from restride.ops import reorder
from restride.resampling import resample
from restride.tensor import Tensor, empty


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
        made = empty(TensorDesc(dtype, sizes), device)
        first, (rows, columns) = self.source.form.first, self.source.form.axes
        axes = rows - first, columns - first
        places = self.cut.places
        with device.batch():
            if (places != (0, 0, *(sizes[axis + 1] for axis in axes))).any():
                reorder(self._filled(sizes), out=made)
            for box, (y0, x0, y1, x1) in enumerate(places.tolist()):
                ranges = [slice(y0, y1), slice(x0, x1)]
                its_place = made[(box, *_on(axes, ranges))]
                steps = [slice(None, None, -1 if flipped else 1) for flipped in self.cut.flipped[box]]
                wanted = {name: value for name, value in self.choice.items() if value is not None}
                resample(
                    self._piece(box, axes),
                    (y1 - y0, x1 - x0),
                    axes=axes,
                    like=self.like,
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
