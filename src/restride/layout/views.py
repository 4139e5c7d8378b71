"""Views: other descriptors over the same buffer. Each function is pure, a descriptor in and a descriptor out.

Index i of a tensor lies at ``starts + sum of i_k * steps[k]``: with strides a place in the buffer, one number; with
tiles and blocks one number for each of the coordinates that are split into digits.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from math import prod
from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from restride.arguments import LIMIT, MAX_RANK, counts, integer, integers, one_per_axis, permutation
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, shown
from restride.layout import TensorDesc
from restride.layout.tensor_desc import desc_of_parts, with_strides, with_walk

IndexStep = tuple[int, ...]
"""How far one step of an index moves: in the buffer, or along each coordinate that is split into digits."""


_Item: TypeAlias = SupportsIndex | slice | EllipsisType | None
BasicIndex: TypeAlias = _Item | tuple[_Item, ...]
"""The indices of numpy's basic indexing, each of which gives a view."""


def index(desc: TensorDesc, key: object) -> TensorDesc:
    """``desc[key]`` by numpy's basic indexing: integers, slices with any step, ``...`` and ``None`` (a new axis).

    A start moves the offset, a step multiplies the stride: ``f32[8]{0}`` by ``[6::-2]`` has size 4, stride -2 and
    offset 6.

    Raises:
        DescriptorError: an integer out of range, too many indices, a step of 0, more than 8 axes left, or arrays, lists
            and booleans, which would have to copy.
    """
    with ErrorContext(desc):
        items = key if isinstance(key, tuple) else (key,)
        for item in items:
            _refuse_copying(item)
        ellipses = items.count(Ellipsis)
        used = len(items) - items.count(None) - ellipses
        if used > desc.rank:
            raise DescriptorError(f"{used} indices are too many for {desc.rank} axes")
        if ellipses > 1:
            raise DescriptorError(f"an index can hold one Ellipsis ('...'), got {shown(key)}")
        if not ellipses:
            items = (*items, Ellipsis)
        sizes: list[int] = []
        steps: list[IndexStep] = []
        starts, old_steps = desc.walk
        axis = 0
        for item in items:
            if item is None:
                sizes.append(1)
                steps.append((0,) * len(starts))
            elif item is Ellipsis:
                rest = desc.rank - used
                sizes += desc.sizes[axis : axis + rest]
                steps += old_steps[axis : axis + rest]
                axis += rest
            elif isinstance(item, slice):
                start, count, factor = _walk(desc.sizes[axis], axis, item)
                if start:
                    starts = _moved(starts, old_steps[axis], start)
                sizes.append(count)
                steps.append(_stepped(old_steps[axis], factor, count))
                axis += 1
            else:
                starts = _moved(starts, old_steps[axis], _position(desc.sizes[axis], axis, item))
                axis += 1
        return _view(desc, sizes, starts, steps)


def part(desc: TensorDesc, ranges: Sequence[range]) -> TensorDesc:
    """The part of ``desc`` that has these indices of each axis, which ascend by 1 and all exist."""
    starts, steps = desc.walk
    for step, indices in zip(steps, ranges, strict=True):
        if indices.start:
            starts = _moved(starts, step, indices.start)
    return _view(desc, [indices.stop - indices.start for indices in ranges], starts, steps)


def moved(desc: TensorDesc, nbytes: int) -> TensorDesc:
    """The strided layout, moved by ``nbytes`` in its buffer; ``nbytes`` is a multiple of the size of an element."""
    offset = desc.offset + nbytes // desc.dtype.itemsize
    if not offset and desc.is_row_major:
        return with_strides(desc, desc.sizes)
    return with_strides(desc, desc.sizes, desc.strides, offset)


def from_start(desc: TensorDesc, alignment: int) -> tuple[TensorDesc, int]:
    """The layout with its offset lowered by the largest multiple of ``alignment`` bytes that its lowest element allows.

    The second value is that number of bytes.

    Image 5 of u8[8,30,40,3], at offset 18,000, is at 0 and 18,000 bytes later with an alignment of 16; image 5 of
    u8[8,3,3,3], at offset 135, is at 7 and 128 bytes later. A layout without strides stays where it is.

    alignment: a power of two of 16 or more; 0: no layout is moved.
    """
    if not alignment or not is_movable(desc):
        return desc, 0
    nbytes = desc.lowest * desc.dtype.itemsize // alignment * alignment
    return (moved(desc, -nbytes), nbytes) if nbytes > 0 else (desc, 0)


def is_movable(desc: TensorDesc) -> bool:
    """True for a strided layout without tiles, padding or blocks, whose elements have the size of their type."""
    bits = desc.parts.element_size_in_bits
    return (
        desc.strides is not None
        and desc.inner is None
        and desc.blocking is None
        and bits in (0, 8 * desc.dtype.itemsize)
    )


def permute(desc: TensorDesc, axes: Iterable[SupportsIndex]) -> TensorDesc:
    """Axis ``k`` of the result is axis ``axes[k]`` of ``desc``, as numpy's transpose; negative axes count from the end.

    Raises:
        DescriptorError: not a permutation of all axes.
    """
    with ErrorContext(desc):
        order = permutation("axes", axes, desc.rank)
    sizes = tuple(desc.sizes[axis] for axis in order)
    if desc.is_written_by_order and desc.minor_to_major is not None and desc.blocking is None:
        minor_to_major = tuple([order.index(axis) for axis in desc.minor_to_major])
        return desc_of_parts(desc.dtype, desc.parts._replace(sizes=sizes, minor_to_major=minor_to_major, tag=None))
    starts, steps = desc.walk
    return _view(desc, sizes, starts, [steps[axis] for axis in order])


def broadcast_to(desc: TensorDesc, sizes: Iterable[SupportsIndex]) -> TensorDesc:
    """``desc`` repeated to ``sizes`` by stride 0, by numpy's rules: new axes lead, an axis of size 1 takes any size.

    Raises:
        DescriptorError: fewer axes than ``desc`` has, or a size that is neither kept nor grown from 1.
    """
    with ErrorContext(desc):
        wanted = counts("sizes", sizes)
        extra = len(wanted) - desc.rank
        if extra < 0:
            raise DescriptorError(f"sizes {wanted} have fewer axes than the {desc.rank} of the tensor")
        starts, old_steps = desc.walk
        still = (0,) * len(starts)
        steps = [still] * extra
        for axis, (size, step) in enumerate(zip(desc.sizes, old_steps, strict=True)):
            if size not in {1, wanted[axis + extra]}:
                raise DescriptorError(f"size {size} of axis {axis} cannot broadcast to {wanted[axis + extra]}")
            steps.append(step if size == wanted[axis + extra] else still)
        return _view(desc, wanted, starts, steps)


def reshape(desc: TensorDesc, sizes: SupportsIndex | Iterable[SupportsIndex]) -> TensorDesc:
    """The elements in row-major order, with other sizes; one size may be -1, which the others determine.

    Raises:
        DescriptorError: another number of elements, or strides that allow these sizes only in a copy.
    """
    with ErrorContext(desc):
        wanted = _completed(desc.numel, integers("sizes", sizes if np.iterable(sizes) else (sizes,)))
        starts, old_steps = desc.walk
        if not desc.numel:
            return _view(desc, wanted, starts, ())
        old = [(size, step) for size, step in zip(desc.sizes, old_steps, strict=True) if size > 1]
        steps: list[IndexStep] = [(0,) * len(starts)] * len(wanted)
        # Starting with the last axis, the fastest remaining old axes are merged into one run as far as their steps
        # allow, and the run is cut into new sizes. A new size that does not divide the run cannot be walked with one
        # step.
        run, step = 1, steps[0] if steps else ()
        for axis in reversed(range(len(wanted))):
            if wanted[axis] == 1:
                continue
            if run == 1:
                run, step = old.pop()
                while old and old[-1][1] == _times(step, run):
                    run *= old.pop()[0]
            if run % wanted[axis]:
                raise DescriptorError(
                    f"sizes {wanted} need a copy: the layout does not allow such a view; rs.xp.reshape copies"
                )
            steps[axis] = step
            run //= wanted[axis]
            step = _times(step, wanted[axis])
        return _view(desc, wanted, starts, steps)


def regrouped(
    desc: TensorDesc, parts: Sequence[Sequence[int]], groups: Sequence[Sequence[tuple[int, int]]]
) -> tuple[TensorDesc, tuple[int, ...]]:
    """Axes split and joined in another order: the view before they are joined, and the sizes after.

    Parts that a single stride can walk are joined in the view already, so the view has the final sizes where no copy is
    needed. Parts of size 1 are left out. ``u8[4,6]`` with parts (4), (3, 2) and groups ((1, 1), (0, 0)), ((1, 0)) has
    sizes (8, 3); its view is (2, 4, 3), since no single stride walks through 2 columns of 4 rows.

    Args:
        desc: any layout.
        parts: for each axis, the sizes that it is split into, the slowest first; their product is its size.
        groups: for each axis of the result, its parts, (axis, place), the slowest first; each part once.

    Raises:
        UnsupportedError: the view would have more than 8 axes.
    """
    starts, steps = desc.walk
    sizes: list[int] = []
    view_sizes: list[int] = []
    view_steps: list[IndexStep] = []
    for group in groups:
        joined: list[tuple[int, IndexStep]] = []
        for axis, place in group:
            size, step = parts[axis][place], _times(steps[axis], prod(parts[axis][place + 1 :]))
            if size == 1:
                continue
            if joined and joined[-1][1] == _times(step, size):
                joined[-1] = joined[-1][0] * size, step
            else:
                joined.append((size, step))
        sizes.append(prod(parts[axis][place] for axis, place in group))
        # The view keeps axes of size 1, so that it can have the sizes of the result.
        for size, step in joined or [(1, (0,) * len(starts))]:
            view_sizes.append(size)
            view_steps.append(step)
    if len(view_sizes) > MAX_RANK:
        view_steps = [step for step, size in zip(view_steps, view_sizes, strict=True) if size > 1]
        view_sizes = [size for size in view_sizes if size > 1]
    if len(view_sizes) > MAX_RANK:
        raise UnsupportedError(
            f"axes are taken apart into {len(view_sizes)}, of sizes {tuple(view_sizes)}; at most {MAX_RANK} can be "
            f"moved in one dispatch, for {desc}"
        )
    return _view(desc, view_sizes, starts, view_steps), tuple(sizes)


def window(
    desc: TensorDesc,
    offsets: Iterable[SupportsIndex],
    sizes: Iterable[SupportsIndex],
    strides: Iterable[SupportsIndex],
    output_sizes: Iterable[SupportsIndex] | None = None,
) -> TensorDesc:
    """DirectML's ``DML_SLICE1``: along each axis, the window ``[offset, offset + size)`` walked by ``stride``.

    A positive stride starts at the window's first element, a negative one at its last. ``output_sizes`` may take fewer
    than all ``1 + (size - 1) // |stride|`` elements; None: all of them.

    Raises:
        DescriptorError: not one number per axis, no axis, an empty window, a window past the tensor, a stride of 0, or
            an output size outside [1, the number of elements there are].
    """
    with ErrorContext(desc):
        if not desc.rank:
            raise DescriptorError(f"windows need 1 to {MAX_RANK} axes, got none")
        begins = one_per_axis("offsets", offsets, desc.rank)
        spans = one_per_axis("sizes", sizes, desc.rank)
        factors = one_per_axis("strides", strides, desc.rank)
        elements: list[int] = []
        starts, steps = desc.walk
        for axis, (begin, span, factor) in enumerate(zip(begins, spans, factors, strict=True)):
            _check_window(axis, desc.sizes[axis], begin, span, factor)
            elements.append(1 + (span - 1) // abs(factor))
            starts = _moved(starts, steps[axis], begin + (span - 1 if factor < 0 else 0))
        if output_sizes is not None:
            most, elements = elements, list(one_per_axis("output_sizes", output_sizes, desc.rank))
            for axis, (count, limit) in enumerate(zip(elements, most, strict=True)):
                if not 1 <= count <= limit:
                    raise DescriptorError(
                        f"output_sizes[{axis}] = {count} is outside [1, {limit}] for the window of {spans[axis]} by "
                        f"stride {factors[axis]} on axis {axis}"
                    )
        return _view(desc, elements, starts, [_stepped(*each) for each in zip(steps, factors, elements, strict=True)])


def _check_window(axis: int, size: int, start: int, span: int, step: int) -> None:
    """DirectML's rules for the window of one axis."""
    if start < 0:
        raise DescriptorError(f"offsets[{axis}] = {start} must be 0 or more for axis {axis}")
    if span < 1:
        raise DescriptorError(f"sizes[{axis}] = {span} must be 1 or more, windows are not empty: axis {axis}")
    if start + span > size:
        raise DescriptorError(f"window [{start}, {start + span}) exceeds size {size} of axis {axis}")
    if step == 0:
        raise DescriptorError(f"strides[{axis}] = 0 must not be 0 for axis {axis}")


def _view(desc: TensorDesc, sizes: Sequence[int], starts: IndexStep, steps: Sequence[IndexStep]) -> TensorDesc:
    """A view of ``desc`` in its simplest form: by strides if they describe it, by row-major order if it is packed.

    Its numbers follow from those of ``desc``, which are checked. They may be larger, and are checked again if ``desc``
    is huge.
    """
    if 0 in sizes:
        return with_strides(desc, sizes)
    if desc.strides is None:
        view = with_walk(desc.inner or desc, sizes, starts, steps)
        if view.strides is None:
            return view
        offset, strides = view.offset, view.strides
    else:
        (offset,), strides = starts, tuple([stride for (stride,) in steps])
    if desc.highest >= LIMIT:
        integer("offset", offset)
        integers("strides", strides)
    view = with_strides(desc, sizes, strides, offset)
    if desc.strides is not None and desc.is_written_by_order and not offset and view.is_row_major:
        return with_strides(desc, sizes)
    return view


def _times(step: IndexStep, factor: int) -> IndexStep:
    return tuple(move * factor for move in step)


def _moved(starts: IndexStep, step: IndexStep, count: int) -> IndexStep:
    """``starts`` moved by ``count`` steps."""
    return tuple(start + move * count for start, move in zip(starts, step, strict=True))


def _stepped(step: IndexStep, factor: int, count: int) -> IndexStep:
    """The step between every ``factor``-th of ``count`` elements; a single element has no next one: its step stays."""
    return _times(step, factor) if count > 1 and factor != 1 else step


def _walk(size: int, axis: int, item: slice) -> tuple[int, int, int]:
    """Start, number of elements and step of a Python slice of an axis."""
    try:
        start, stop, step = item.indices(size)
    except (TypeError, ValueError) as error:
        raise DescriptorError(f"{error}: {item} of axis {axis}") from None
    # len(range(start, stop, step)), which cannot count beyond 2^63.
    return start, max(0, (stop - start + step - (1 if step > 0 else -1)) // step), step


def _position(size: int, axis: int, item: object) -> int:
    """An integer index of an axis, counted from the front."""
    position = integer("index", item)
    if not -size <= position < size:
        raise DescriptorError(f"index {position} is out of range for axis {axis} of size {size}")
    return position + size if position < 0 else position


def _refuse_copying(item: Any) -> None:
    """Refuse arrays, lists and booleans: a descriptor cannot describe what they select."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return
    if not isinstance(item, (bool, np.bool_, np.ndarray)):
        try:
            operator.index(item)
        except TypeError:
            pass
        else:
            return
    raise DescriptorError(
        f"an index is an integer, a slice, '...' or None; arrays, lists and booleans would copy, as rs.xp.take does: "
        f"got {shown(item)}"
    )


def _completed(numel: int, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a reshape of ``numel`` elements, with -1 filled in."""
    known = prod(size for size in sizes if size != -1)
    if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise DescriptorError(f"sizes {sizes} must be 0 or more, or -1 for one of them, to reshape")
    if -1 in sizes:
        if not known or numel % known:
            raise DescriptorError(f"no size fits the -1 in sizes {sizes}: there are {numel} elements")
        return tuple(numel // known if size == -1 else size for size in sizes)
    if known != numel:
        raise DescriptorError(f"sizes {sizes} hold {known} elements, but there are {numel}")
    return sizes
