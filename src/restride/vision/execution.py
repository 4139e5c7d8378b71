"""Execution: the pictures of a recipe computed on a device, in one batch after one upload."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from restride.dtypes import Array, DType
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.layout.pattern import Pattern
from restride.layout.views import from_start, index, regrouped
from restride.ops.lookup import lookup
from restride.ops.perform import Plan
from restride.ops.reorder import reorder
from restride.ops.resample import plan_resample
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, empty
from restride.vision import work
from restride.vision.options import Options
from restride.vision.picture import Cropped, Padded, Picture, Resized, SourceImage, source_of
from restride.vision.recipe import Key, OutputValue, Pixels
from restride.vision.work import PictureRun, Stack

Element = Literal["u8", "s32"]
"""Element types of pictures on the device."""

_MAX_WORDS = 1 << 20
"""A picture of at most this many elements stays in words: 4 MiB, which caches hold. In larger pictures llvmpipe looks
up elements that are 12 bytes apart at 0.4 of the speed."""

Colour = tuple[int, ...]
"""The colour that fills a pad: one element, or one for each channel."""

_ZERO: Colour = (0,)

ImageWindow = tuple[slice, slice]
"""A range of rows and a range of columns of a picture."""

Computed = Tensor | Array | list[Any]
"""A result that is computed."""

_parse = lru_cache(maxsize=64)(Pattern.parse)


def execute(
    results: Mapping[Key, OutputValue],
    sources: Sequence[SourceImage],
    elements: Sequence[Array | Tensor],
    options: Options,
    device: Device,
    dtype: DType | None,
) -> dict[Key, Computed]:
    """Compute the results, by their keys: pixels as tensors on the device; other results stay as they are.

    Args:
        results: the results of a family's ``build``.
        sources: the source that each of ``elements`` belongs to.
        elements: images as [rows, columns, channels] of u8, on the host or on the device.
        options: the family's options.
        device: where to compute.
        dtype: element type of the pixels; None: that of the table, f32 or u8.
    """
    execution = _Execution(results, sources, elements, device)
    with device.batch():
        return {
            key: execution.pixels(result, options, dtype) if isinstance(result, Pixels) else result
            for key, result in results.items()
        }


class _Execution:
    """The pictures of one call; a picture's tensor [images, rows, columns, channels] has all images of its source."""

    def __init__(
        self,
        results: Mapping[Key, OutputValue],
        sources: Sequence[SourceImage],
        elements: Sequence[Array | Tensor],
        device: Device,
    ) -> None:
        self._device = device
        self._places = work.Places(results, sources)
        self._uses = self._places.uses
        self._tensors: dict[Picture | Colour, Tensor] = {}
        self._stacks: dict[Stack, Tensor] = {}
        self._upload(elements)
        for picture, images in self._places.members.items():
            first = elements[images[0]]
            if isinstance(first, Tensor):
                desc = TensorDesc("u8", (len(images), *first.sizes), offset=first.desc.offset)
                self._tensors[picture] = Tensor(first.memory, desc, device) if len(images) > 1 else first[None]

    def _upload(self, elements: Sequence[Array | Tensor]) -> None:
        """Copy all images on the host, and the colours of paddings, into one buffer of the device."""
        blocks: dict[Picture | Colour, tuple[tuple[int, ...], list[Array]]] = {}
        for picture in self._uses.pictures:
            if work.is_uploaded(picture):
                images = self._places.members[source_of(picture)]
                blocks[picture] = self._sizes(picture), [_on_host(picture, elements[image]) for image in images]
            elif isinstance(picture, Padded):
                blocks[picture.fill] = (len(picture.fill),), [np.array(picture.fill, np.uint8)]
        if self._uses.zeros:
            blocks[_ZERO] = (1,), [np.zeros(1, np.uint8)]
        parts: list[Array] = []
        descs: dict[Picture | Colour, TensorDesc] = {}
        end = 0
        for key, (sizes, arrays) in blocks.items():
            descs[key] = TensorDesc("u8", sizes, offset=end)
            gap = -math.prod(sizes) % work.ALIGNMENT
            parts += [*arrays, np.zeros(gap, np.uint8)]
            end += math.prod(sizes) + gap
        if not parts:
            return
        memory = self._device.allocate(TensorDesc("u8", (end,)))
        self._device.runtime.write(memory, 0, *(part.data for part in parts))
        self._tensors |= {key: Tensor(memory, desc, self._device) for key, desc in descs.items()}

    def _sizes(self, picture: Picture) -> tuple[int, int, int, int]:
        return self._places.images(picture), picture.height, picture.width, picture.channels

    def tensor(self, picture: Picture) -> Tensor:
        """The picture as a tensor, which is computed once."""
        if picture not in self._tensors:
            self._tensors[picture] = self._computed(picture)
        return self._tensors[picture]

    def _computed(self, picture: Picture) -> Tensor:
        if isinstance(picture, Resized):
            return self._resized(picture, picture)
        if isinstance(picture, Cropped):
            window = _part_of(picture, picture.height, picture.width)
            if picture.of in self._uses.alone and isinstance(picture.of, Resized):
                return self._resized(picture.of, picture, window)
            return self.tensor(picture.of)[:, *window]
        return self._padded(picture) if isinstance(picture, Padded) else self._tensors[picture]

    def _padded(self, picture: Padded) -> Tensor:
        inner = picture.of
        window = slice(None), *_part_of(picture, inner.height, inner.width)
        canvas_desc, *others = (TensorDesc(element, self._sizes(picture)) for element in self._elements(picture))
        plan = None
        if isinstance(inner, Resized) and inner in self._uses.alone:
            before = self.tensor(inner.of)
            plan = _cheapest(inner, (self._plan(inner, before, index(desc, window)) for desc in (canvas_desc, *others)))
            canvas_desc = TensorDesc(plan.dst.dtype, canvas_desc.sizes)
        canvas = empty(canvas_desc, self._device)
        reorder(self._tensors[picture.fill].broadcast_to(canvas.sizes), out=canvas)
        if plan is None:
            reorder(self.tensor(inner), out=canvas[window])
        else:
            plan(before, canvas[window])
        return _as_bytes(canvas)

    def _resized(self, picture: Resized, needed: Picture, window: ImageWindow = (slice(None), slice(None))) -> Tensor:
        """The picture ``needed``: the resized ``picture`` itself, or a crop of it, which needs only this window."""
        before = self.tensor(picture.of)
        if not work.changes(picture):
            return before[:, *window]
        stack = self._places.stacks.get(needed)
        if stack is None:
            plans = (self._plan(picture, before, None, window, element) for element in self._elements(needed))
            return _as_bytes(_cheapest(picture, plans)(before))
        return self._resized_into(stack, picture, needed, window)

    def _resized_into(self, stack: Stack, picture: Resized, needed: Picture, window: ImageWindow) -> Tensor:
        """As ``_resized``, written to its part of a stack; the stack's first picture decides the element type."""
        before, whole = self.tensor(picture.of), self._stacks.get(stack)
        count, *sizes = self._sizes(needed)
        part = slice(stack.starts[needed], stack.starts[needed] + count)
        elements = self._elements(needed) if whole is None else (whole.dtype,)
        descs = [TensorDesc(element, (stack.count, *sizes)) for element in elements]
        plan = _cheapest(picture, (self._plan(picture, before, index(desc, part), window) for desc in descs))
        if whole is None:
            whole = self._stacks[stack] = empty(TensorDesc(plan.dst.dtype, descs[0].sizes), self._device)
        return _as_bytes(plan(before, whole[part]))

    def _elements(self, picture: Picture) -> tuple[Element, ...]:
        """The element types that a computed picture may have, the preferred one first.

        If rows are not whole words, for example, the last pass of a resize writes words, and another dispatch converts
        them to bytes. So a picture that is only looked up may stay words, of which the lookup reads the low byte. A
        large picture may not, because four times the memory takes longer than that dispatch.
        """
        is_large = picture.height * picture.width * picture.channels > _MAX_WORDS
        return ("u8",) if is_large or picture in self._uses.resized_again else ("u8", "s32")

    def _plan(
        self,
        picture: Resized,
        before: Tensor,
        dst: TensorDesc | None,
        window: ImageWindow = (slice(None), slice(None)),
        element: Element | None = None,
    ) -> Plan:
        """The plan of a resize into ``dst``, or into a new tensor of ``element``. Pillow resizes both axes or none.

        The tensors are planned as if at the first offset with the same alignment, so that an image has the same plan at
        any place of a batch.
        """
        mode: Any = picture.mode
        alignment = self._device.limits.window_alignment
        return plan_resample(
            from_start(before.desc, alignment)[0],
            None if dst is None else from_start(dst, alignment)[0],
            (picture.height, picture.width),
            axes=(1, 2),
            mode=mode,
            like="pillow",
            window=window,
            dtype=element,
            device=self._device,
        )

    def pixels(self, result: Pixels, options: Options, dtype: DType | None) -> Tensor:
        """The tensor of a result, of which every part is written once."""
        tables: dict[tuple[int, bool], Array] = {}
        for put in result.puts:
            kind = put.picture.channels, put.picture.floats
            if kind not in tables:
                table = result.table(options, *kind)
                with np.errstate(over="ignore"):
                    tables[kind] = table if dtype is None else table.astype(dtype.dtype)
                _require_finite(tables[kind])
        element = np.result_type(*tables.values())
        tables = {kind: table.astype(element, copy=False) for kind, table in tables.items()}
        memory = result.memory or range(len(result.sizes))
        whole = empty(TensorDesc(element, [result.sizes[axis] for axis in memory]), self._device)
        if result.zeros:
            reorder(self._tensors[_ZERO].broadcast_to(whole.sizes), out=whole)
        out = whole.permute([list(memory).index(axis) for axis in range(len(result.sizes))])
        for run in self._places.runs(result):
            picture = run.put.picture
            self._write(run, out, tables[picture.channels, picture.floats])
        return whole.reshape(result.shape)

    def _written(self, picture: Picture) -> Tensor:
        """The tensor that has the picture: its own, or that of its stack, in which every picture is then computed."""
        stack = self._places.stacks.get(picture)
        if stack is None:
            return self.tensor(picture)
        for each in stack.starts:
            self.tensor(each)
        return _as_bytes(self._stacks[stack])

    def _write(self, run: PictureRun, out: Tensor, table: Array) -> None:
        source = self._written(run.put.picture)[run.selected]
        view, axis = _arranged(source, run)
        part = _part(out, run).reshape(view.sizes)
        if table.dtype == np.uint8:
            reorder(view, out=part)
        else:
            lookup(view, table, axis=None if table.ndim == 1 else axis, out=part)


def _cheapest(picture: Resized, plans: Iterable[Plan]) -> Plan:
    """The plan of ``picture`` with the fewest dispatches; after a plan with as few as possible, no other is made."""
    made = []
    for plan in plans:
        made.append(plan)
        if plan.dispatches <= work.passes(picture):
            break
    return min(made, key=lambda each: each.dispatches)


def _require_finite(table: Array) -> None:
    """Refuse numbers of a configuration that make infinities or NaN of some byte.

    Raises:
        DescriptorError: they do.
    """
    if not np.isfinite(table).all():
        raise DescriptorError(
            f"rescale_factor, image_mean and image_std must give finite values of {table.dtype}, and do not"
        )


def _part_of(picture: Cropped | Padded, height: int, width: int) -> ImageWindow:
    """The rows and columns that begin at ``top`` and ``left``."""
    return slice(picture.top, picture.top + height), slice(picture.left, picture.left + width)


def _as_bytes(x: Tensor) -> Tensor:
    """The low bytes of a tensor of words that hold bytes: every fourth byte of its memory."""
    if x.dtype == "u8":
        return x
    strides = [4 * stride for stride in x.desc.strides or ()]
    return Tensor(x.memory, TensorDesc("u8", x.sizes, strides, 4 * x.desc.offset), x.device)


def _on_host(picture: Picture, image: Array | Tensor) -> Array:
    """One image on the host, row-major; a padded image is surrounded by the colour of its padding."""
    if not isinstance(picture, Padded):
        return np.ascontiguousarray(image)
    inner = picture.of
    canvas = np.empty((picture.height, picture.width, picture.channels), np.uint8)
    canvas[:] = np.array(picture.fill, np.uint8)
    canvas[_part_of(picture, inner.height, inner.width)] = image
    return canvas


def _arranged(source: Tensor, run: PictureRun) -> tuple[Tensor, int]:
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


def _part(out: Tensor, run: PictureRun) -> Tensor:
    """The part of a result that a run writes: [images, places, ...], without the first axis if there is one image."""
    put, strides = run.put, out.desc.strides or ()
    extent = put.extent or out.sizes[1:]
    offset = put.start * strides[0] + sum(step * stride for step, stride in zip(put.corner, strides[1:], strict=False))
    if run.images == 1 or run.is_tall:
        sizes, steps = (run.images * put.count, *extent), strides
    else:
        sizes, steps = (run.images, put.count, *extent), (run.spacing * strides[0], *strides)
    return Tensor(out.memory, TensorDesc(out.dtype, sizes, steps, offset), out.device)
