"""Plans that write one value: into every element of a walk, the padding of a layout, or around a copied source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import prod

from restride.kernel import KernelSpec, Limits
from restride.layout import TensorDesc
from restride.layout.blocking import Blocking
from restride.layout.tensor_desc import element_bits
from restride.plan.copy import plan_copy, walking_kernel
from restride.plan.dispatches import bind, parts, plan_elements
from restride.plan.general import UNREAD, general_kernels
from restride.plan.problem import Axis, Problem, simplify, widen
from restride.plan.tiles import Place, Region, Walk, complement, walks
from restride.plan.transpose import shared_exchange

_THIN = 8
"""Padding is written box by box if it is at most one element in this many; otherwise the whole buffer is filled."""

_MAX_BLOCK = 32
"""Maximum size, padding included, of an axis that a transpose extends over padding."""

_MAX_PADDED = 8
"""Maximum bytes of an element that element_pad writes."""

_Box = tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(maxsize=1024)
def padding_kernels(desc: TensorDesc, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that write the padding of a whole layout: its value up to ``padded_sizes``, 0 inside tiles and blocks.

    The dispatches may overwrite elements of the layout, so copy elements afterwards. Cached for operations whose scales
    change from call to call: a call takes 90 to 800 us, or 0.2 us from the cache.
    """
    if desc.blocking is None or not desc.is_whole or not desc.is_padded:
        return ()
    return tuple(_padding(desc, desc.blocking, limits))


def _padding(desc: TensorDesc, blocking: Blocking, limits: Limits) -> Iterator[KernelSpec]:
    itemsize = desc.dtype.itemsize
    logical = desc.sizes + blocking.bounds[desc.rank :]
    value = element_bits(desc.padding_value, desc.dtype) if desc.padded_sizes else 0
    place = Place.of_coordinates(blocking)
    valued = [(value, _region(place, box)) for box in complement(blocking.bounds, logical)] if value else []
    if blocking.tail < blocking.extent:
        yield from _fill_range(range(blocking.tail, blocking.extent), itemsize, 0, limits)
    if blocking.box is not None and (desc.extent - desc.numel) * _THIN <= desc.extent:
        zeroed = complement(blocking.box, blocking.bounds if value else logical)
        fills = [(bits, walks(region)) for bits, region in (*((0, _region(place, box)) for box in zeroed), *valued)]
        strided = [(bits, walk) for bits, of_box in fills for walk in of_box or ()]
        if all(of_box for _, of_box in fills) and limits.allow(len(strided), desc.extent):
            for bits, walk in strided:
                yield from _fill(_problem(walk, itemsize), bits, limits)
            return
    if blocking.tail == prod(blocking.bounds):  # no zeros inside tiles: all padding has one value
        yield from _fill_range(range(blocking.tail), itemsize, value, limits)
        return
    yield from _fill_range(range(blocking.tail), itemsize, 0, limits)
    for bits, region in valued:
        yield from general_kernels(region, itemsize, limits, bits)


@lru_cache(maxsize=1024)
def padding_copy_kernels(src: TensorDesc, dst: TensorDesc, limits: Limits) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``src`` and write the padding too; empty unless all are transposes through shared memory.

    f32[8,60,56,56] to nChw16c: a transpose of 48 channels, and one of 16 of which the last 4 have no source. Cached as
    ``copy_kernels`` are.
    """
    if limits.choices.transpose != "shared" or not dst.is_padded:
        return ()
    problems = _padded_problems(src, dst)
    if not limits.allow(len(problems), src.numel) or not all(shared_exchange(each, limits) for each in problems):
        return ()
    return tuple(kernel for problem in problems for kernel in plan_copy(problem, limits))


def _padded_problems(src: TensorDesc, dst: TensorDesc) -> list[Problem]:
    """The walks of a copy, extended over the padding after each; empty if there is other padding, or a value not 0.

    60 channels in blocks of 16 have walks of 48 and of 12; the latter becomes one of 16, of which 12 are inside. A walk
    that ends in an incomplete block is the last one of its axis, so no other walk writes what it is extended over.
    """
    blocking = dst.blocking
    if blocking is None or blocking.weights is None or not dst.is_whole:
        return []
    weights = blocking.weights[: dst.rank]
    padded = prod(-(-size // ascending[-1]) * ascending[-1] for size, ascending in zip(dst.sizes, weights, strict=True))
    if padded != dst.extent or (dst.padded_sizes and element_bits(dst.padding_value, dst.dtype)):
        return []
    problems = []
    for walk in walks(Region.of(src, dst)) or ():
        axes = list(walk.axes)
        for number, ascending in enumerate(weights):
            *inner, last = (place for place, axis in enumerate(walk.cut_from) if axis == number)
            weight, count = prod(axes[place].size for place in inner), axes[last].size
            rest = -weight * count % ascending[-1]
            if rest:
                # Only the outermost digit can be extended to the end of a block: 12 channels in 4b4b are 3 x 4, and the
                # 3 becomes 4. Long blocks are filled instead, because the number of elements inside is compiled into
                # the kernel.
                if count == 1 or weight != ascending[-2] or count + rest // weight > _MAX_BLOCK:
                    return []
                axes[last] = axes[last]._replace(size=count + rest // weight, inside=range(count))
        problems.append(walk._replace(axes=tuple(axes)).problem(dst.dtype.itemsize))
    return problems


def _region(place: Place, box: _Box) -> Region:
    starts, sizes = box
    return Region(starts, sizes, Place.nowhere(len(sizes)), place)


def _problem(walk: Walk, itemsize: int) -> Problem:
    # The source is not read. It gets the destination's strides, so that all axes can be merged and widened.
    axes = tuple(axis._replace(src=axis.dst) for axis in walk.axes)
    return walk._replace(axes=axes, src_offset=walk.dst_offset).problem(itemsize)


def _fill_range(elements: range, itemsize: int, bits: int, limits: Limits) -> Iterator[KernelSpec]:
    """Dispatches that give every element of a range of the buffer the value ``bits``."""
    width = 16 // itemsize
    middle = range(-(-elements.start // width) * width, elements.stop // width * width)  # whole units of 16 bytes
    cuts = [elements.start, *((middle.start, middle.stop) if middle else ()), elements.stop]
    for offset, stop in pairwise(cuts):
        if size := stop - offset:
            yield from _fill(Problem((Axis(size, 1, 1),), offset, offset, itemsize), bits, limits)


def _fill(problem: Problem, bits: int, limits: Limits) -> Iterator[KernelSpec]:
    """Dispatches that give every destination element of ``problem`` the value ``bits``."""
    itemsize = problem.itemsize
    wide = widen(problem, 16)
    if wide.itemsize == 16:
        yield from _fill_words(wide, _repeated(bits, itemsize, 8), limits)
    elif itemsize == 8:
        for half in range(2):
            axes = tuple(axis._replace(src=axis.src * 2, dst=axis.dst * 2) for axis in problem.axes)
            offset = problem.dst_offset * 2 + half
            yield from _fill_words(Problem(axes, offset, offset, 4), bits >> 32 * half & 0xFFFFFFFF, limits)
    elif wide.itemsize >= 4:
        yield from _fill_words(widen(problem, 4), _repeated(bits, itemsize, 4), limits)
    else:
        value = _repeated(bits, itemsize, wide.itemsize)
        for kernel in plan_elements(wide, limits, "element_fill", {"low": value}):
            yield replace(kernel, bindings=(UNREAD, kernel.bindings[1]))


def _fill_words(problem: Problem, words: int, limits: Limits) -> Iterator[KernelSpec]:
    """Dispatches that fill elements of 4 or 16 bytes with one word, or with two in turn."""
    for part in parts(problem, limits):
        bound = bind(part, limits)
        push = {"low": words, "high": words >> 32, "dst_base": bound.dst_base, "pieces": part.count}
        yield walking_kernel(f"strided_fill_{8 * part.itemsize}", part.axes, push, (UNREAD, bound.windows[1]), limits)


def _repeated(bits: int, itemsize: int, width: int) -> int:
    """An element repeated until it fills ``width`` bytes: 0xAB in 4 is 0xABABABAB."""
    return sum(bits << 8 * itemsize * place for place in range(width // itemsize))


def pad_kernels(
    src: TensorDesc, dst: TensorDesc, starts: Sequence[int], bits: int, limits: Limits
) -> tuple[KernelSpec, ...]:
    """Dispatches that copy ``src`` into ``dst`` from index ``starts`` on, and write ``bits`` to all other elements.

    Both have strides and one element type, ``src`` has elements, and ``dst`` is injective.

    u8[4,5,3] at (1, 1, 0) of u8[6,7,3]: a row of the result has 21 elements, of which 3 to 17 come from the source.
    """
    if src.strides is None or dst.strides is None:
        raise AssertionError(f"padding {src} to {dst} is not strided")
    walked = zip(dst.sizes, src.strides, dst.strides, starts, src.sizes, strict=True)
    axes = tuple(
        Axis(size, along_src, along_dst, inside=range(start, start + count))
        for size, along_src, along_dst, start, count in walked
    )
    origin = src.offset - sum(start * stride for start, stride in zip(starts, src.strides, strict=True))
    itemsize = src.dtype.itemsize
    problem = widen(simplify(Problem(axes, origin, dst.offset, itemsize)), _MAX_PADDED)
    words = _repeated(bits, itemsize, problem.itemsize)
    value = {"low": words, "high": words >> 32}
    return tuple(plan_elements(problem, limits, "element_pad", value))
