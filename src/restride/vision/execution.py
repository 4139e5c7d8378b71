"""Execution: the pictures of a recipe computed on a device, in one batch after one upload."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from restride.dtypes import DType
from restride.layout import TensorDesc
from restride.layout.pattern import Pattern
from restride.layout.views import regrouped
from restride.ops.reorder import reorder
from restride.ops.resample import resample
from restride.tensor.arrays import from_buffer
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, empty
from restride.vision import work
from restride.vision.options import Options
from restride.vision.picture import Cropped, Padded, Picture, Resized, Source
from restride.vision.recipe import Array, Pixels
from restride.vision.work import Run

_ALIGNMENT = 16
"""Images of equal sizes begin at multiples of so many bytes, so that kernels can load whole vectors."""

_parse = lru_cache(maxsize=64)(Pattern.parse)


def execute(
    results: Mapping[str, Any],
    sources: Sequence[Source],
    elements: Sequence[Array | Tensor],
    options: Options,
    device: Device,
    dtype: DType | None,
) -> dict[str, Any]:
    """The results by their keys: those that are pixels as tensors of the device, and the others as they are.

    Args:
        results: of a family.
        sources: the image that each of ``elements`` is.
        elements: [rows, columns, channels] of u8, on the host or on the device.
        options: of the family.
        device: where to compute.
        dtype: element type of the pixels; None: what the table has, f32 or u8.
    """
    execution = _Execution(results, sources, elements, device)
    with device.batch():
        return {
            key: execution.pixels(result, options, dtype) if isinstance(result, Pixels) else result
            for key, result in results.items()
        }


class _Execution:
    """Pictures of one call as tensors [images, rows, columns, channels] of all images of equal sizes."""

    def __init__(
        self,
        results: Mapping[str, Any],
        sources: Sequence[Source],
        elements: Sequence[Array | Tensor],
        device: Device,
    ) -> None:
        self._results = results
        self._device = device
        members: dict[Source, list[int]] = {}
        for image, source in enumerate(sources):
            members.setdefault(source, []).append(image)
        self._members = members
        places = {image: place for images in members.values() for place, image in enumerate(images)}
        self._places = [places[image] for image in range(len(sources))]
        self._pictures = work.needed(results)
        self._tensors: dict[Picture, Tensor] = {}
        self._fills: dict[tuple[int, ...], Tensor] = {}
        self._upload(elements)

    def _upload(self, elements: Sequence[Array | Tensor]) -> None:
        """Copy all images of the host, and the colours beside them, into one buffer of the device."""
        uploaded = [picture for picture in self._pictures if work.is_uploaded(picture)]
        fills = {picture.fill for picture in self._pictures if isinstance(picture, Padded)} | {(0,)}
        starts: dict[Any, int] = {}
        end = 0
        for item in (*uploaded, *sorted(fills)):
            starts[item] = end
            nbytes = math.prod(self._sizes(item)) if isinstance(item, Picture) else len(item)
            end += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        memory = np.zeros(end, np.uint8)
        for item, start in starts.items():
            if not isinstance(item, Picture):
                memory[start : start + len(item)] = item
                continue
            sizes = self._sizes(item)
            block = memory[start : start + math.prod(sizes)].reshape(sizes)
            for place, image in enumerate(self._members[work.source_of(item)]):
                _copy(item, elements[image], block[place])
        buffer = from_buffer(memory, f"u8[{end}]", self._device)
        for item, start in starts.items():
            sizes = self._sizes(item) if isinstance(item, Picture) else (len(item),)
            tensor = buffer[start : start + math.prod(sizes)].reshape(sizes)
            if isinstance(item, Picture):
                self._tensors[item] = tensor
            else:
                self._fills[item] = tensor
        for source, images in self._members.items():
            image = elements[images[0]]
            if isinstance(image, Tensor):
                self._tensors[source] = image[None]

    def _sizes(self, picture: Picture) -> tuple[int, int, int, int]:
        images = len(self._members[work.source_of(picture)])
        return images, picture.height, picture.width, picture.channels

    def tensor(self, picture: Picture) -> Tensor:
        """A picture, computed once."""
        if picture not in self._tensors:
            self._tensors[picture] = self._computed(picture)
        return self._tensors[picture]

    def _computed(self, picture: Picture) -> Tensor:
        if isinstance(picture, Resized):
            return self._resized(picture)
        if isinstance(picture, Cropped):
            rows = slice(picture.top, picture.top + picture.height)
            return self.tensor(picture.of)[:, rows, picture.left : picture.left + picture.width]
        assert isinstance(picture, Padded)
        canvas = empty(TensorDesc("u8", self._sizes(picture)), self._device)
        reorder(self._fills[picture.fill].broadcast_to(canvas.sizes), out=canvas)
        inner = picture.of
        rows = slice(picture.top, picture.top + inner.height)
        part = canvas[:, rows, picture.left : picture.left + inner.width]
        if work.is_resized_into(picture, self._pictures, self._results):
            assert isinstance(inner, Resized)
            self._resized(inner, part)
        else:
            reorder(self.tensor(inner), out=part)
        return canvas

    def _resized(self, picture: Resized, out: Tensor | None = None) -> Tensor:
        """Resize only the axes that change, as Pillow does."""
        before = self.tensor(picture.of)
        sides = {1: picture.height, 2: picture.width}
        changed = [axis for axis, side in sides.items() if before.sizes[axis] != side]
        if not changed:
            return before
        sizes = [sides[axis] for axis in changed]
        mode: Any = picture.mode
        return resample(before, sizes, axes=changed, mode=mode, like="pillow", out=out)

    def pixels(self, result: Pixels, options: Options, dtype: DType | None) -> Tensor:
        """A result, every part of it written once."""
        tables: dict[tuple[int, bool], Array] = {}
        for put in result.puts:
            kind = put.picture.channels, put.picture.floats
            if kind not in tables:
                table = result.table(options, *kind)
                tables[kind] = table if dtype is None else table.astype(dtype.dtype)
        element = next(iter(tables.values())).dtype
        out = empty(TensorDesc(element, result.sizes), self._device)
        if result.zeros:
            reorder(self._fills[(0,)].broadcast_to(out.sizes), out=out)
        for run in work.runs(result, self._places):
            picture = run.put.picture
            self._write(run, out, tables[picture.channels, picture.floats])
        return out.reshape(result.shape)

    def _write(self, run: Run, out: Tensor, table: Array) -> None:
        source = self.tensor(run.put.picture)[run.place : run.place + run.images]
        view, axis = _arranged(source, run)
        part = _part(out, run).reshape(view.sizes)
        if table.dtype == np.uint8:
            reorder(view, out=part)
        else:
            look_up(view, table, None if table.ndim == 1 else axis, part)


def _copy(picture: Picture, image: Array | Tensor, block: Array) -> None:
    """Copy one image of the host into its part of the upload, with the colour around it."""
    if isinstance(picture, Padded):
        block[:] = np.array(picture.fill, np.uint8)
        inner = picture.of
        block = block[picture.top : picture.top + inner.height, picture.left : picture.left + inner.width]
    block[:] = image


def _arranged(source: Tensor, run: Run) -> tuple[Tensor, int]:
    """The pictures of a run as the view that is written, and the axis of its channels."""
    order = run.put.order
    left, right = order.pattern.split("->")
    lengths = dict(order.lengths)
    images = run.images
    if run.is_tall:
        source = source.reshape(1, images * source.sizes[1], *source.sizes[2:])
        images = 1
    if images == 1:
        source = source[0]
    else:
        left, right = f"b {left}", f"b {right}"
    if "t" in lengths:
        source = source[..., None].broadcast_to(*source.sizes, lengths.pop("t"))
    parts, groups = _parse(f"{left}->{right}").split(source.sizes, lengths)
    view, _ = regrouped(source.desc, parts, groups)
    return Tensor(source.memory, view, source.device), right.split().index("c")


def _part(out: Tensor, run: Run) -> Tensor:
    """The places of a result that a run writes: [images, places, ...], without the first axis for one image."""
    put, strides = run.put, _strides(out.sizes)
    extent = put.extent or out.sizes[1:]
    offset = put.start * strides[0] + sum(
        step * stride for step, stride in zip(put.corner, strides[1:], strict=False)
    )
    if run.images == 1 or run.is_tall:
        sizes, steps = (run.images * put.count, *extent), strides
    else:
        sizes, steps = (run.images, put.count, *extent), (run.spacing * strides[0], *strides)
    return Tensor(out.memory, TensorDesc(out.dtype, sizes, steps, offset), out.device)


def _strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides of a row-major tensor."""
    return tuple(math.prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def look_up(x: Tensor, table: Array, axis: int | None, out: Tensor) -> None:
    """Stand-in: the elements of ``table`` that the bytes of ``x`` name, computed on the host."""
    indices = x.numpy()
    if axis is None:
        values = table[indices]
    else:
        rows = np.arange(table.shape[0]).reshape([-1 if place == axis else 1 for place in range(indices.ndim)])
        values = table[rows, indices]
    out[...] = values
