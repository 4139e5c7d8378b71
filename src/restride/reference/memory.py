"""Logical arrays to raw bytes and back, with padding values and zeros where the layout has them.

A whole layout is written by pad, reshape and transpose, a view by numpy's indexing. This code reads only the fields
that define a descriptor and computes no address: numpy moves element numbers into memory order, following the
specifications' definitions of layouts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from restride.arguments import require_unmasked
from restride.dtypes import Array
from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc, as_desc
from restride.reference.arguments import as_array, described
from restride.reference.conversion import round_once

# oneDNN's format tags: ``nChw16c`` has the order 0,1,2,3 and one block, 16 of axis 1.

_WORDS = {"abcdefghijkl": "a", "x": "x", "ncdhw": "nc", "goidhw": "oi", "tnc": "tn", "ldnc": "ldnc", "ldigo": "ldo"}
"""For each kind of tensor, its letters in logical order and the letters that all its tags have.

``ohwi`` has the letters o, i, h, w in logical order."""

_MISSPELT = {
    "OhwI24o": "Ohwi24o",
    "gOhwI24o": "gOhwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}
"""Tags whose name in dnnl_types.h does not match their order: the name, and the tag that it means."""


def read_tag(tag: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The axes of a tag's outer dimensions, slowest first, and its blocks (axis, size), outermost first.

    ``OIhw8i16o2i`` is ``(0, 1, 2, 3)`` and ``((1, 8), (0, 16), (1, 2))``; ``acb`` is ``(0, 2, 1)`` and no blocks.

    Raises:
        DescriptorError: not a tag, letters of no known order, or capital letters are not exactly those with blocks.

    Source: oneDNN, ``dnnl_format_tag_t``.
    """
    match = re.fullmatch(r"([A-Za-z]+)((?:[1-9][0-9]*[a-z])*)", _MISSPELT.get(tag, tag))
    if match is None:
        raise DescriptorError(f"tag {tag!r} must be letters, then blocks such as '16c'")
    outer, blocks = match[1].lower(), re.findall(r"([0-9]+)([a-z])", match[2])
    logical = next((word for word, needed in _WORDS.items() if set(needed) <= set(outer) <= set(word)), "")
    letters = [letter for letter in logical if letter in outer]
    if len(letters) != len(outer) or ("a" in letters and not logical.startswith("".join(letters))):
        raise DescriptorError(f"tag {tag!r} must name the axes of one tensor, each once, such as 'nchw' or 'acdb'")
    if {letter.lower() for letter in match[1] if letter.isupper()} != {letter for _, letter in blocks}:
        raise DescriptorError(f"tag {tag!r} must have a capital letter for each axis with blocks and for no other")
    return (
        tuple(letters.index(letter) for letter in outer),
        tuple((letters.index(letter), int(size)) for size, letter in blocks),
    )


# The contents of a buffer, element by element.

ZERO = -1
"""The number that a memory line has for padding inside tiles and blocks, whose bits are zero."""
PADDING_VALUE = -2
"""The number of padding between ``sizes`` and ``padded_sizes``, which has the descriptor's ``padding_value``."""
_COMBINE = -1
_MAX_BYTES = 1 << 62


def is_whole(desc: TensorDesc) -> bool:
    """True if ``desc`` defines its whole buffer: by an order of the axes, tiles, padded sizes or a tag."""
    return desc.inner is None and (desc.tag is not None or desc.is_written_by_order)


def memory_line(desc: TensorDesc) -> Array:
    """The contents of a whole layout's buffer, in order: one int64 for each element.

    0 and above: a logical element, numbered in row-major order. ``ZERO``, ``PADDING_VALUE``: padding.

    ``f32[3,5]{1,0:T(2,2)}``: 3x5 is padded to 4x6, reshaped to (2,2),(3,2), transposed to 2,3,2,2. Its first tile
    holds elements (0,0) (0,1) (1,0) (1,1), numbers 0 1 5 6; the line is ``0 1 5 6 2 3 7 8 4 -1 9 -1 10 11 -1 ...``.
    Element (2,3), number 13, is at 17, which is ``linear_index((1,1,0,1), (2,3,2,2))``.

    Raises:
        DescriptorError: ``desc`` is a view or has strides, so bytes between its elements do not belong to it.

    Source: XLA, "Tiled layout" (pad-reshape-transpose) and "Shapes and layout"; oneDNN, "Understanding memory formats".
    """
    numbers = np.arange(prod(desc.sizes), dtype=np.int64).reshape(desc.sizes)
    if desc.tag is not None:
        return _blocked(numbers, desc.tag).reshape(-1)
    order = desc.minor_to_major
    if order is None or not is_whole(desc):
        raise DescriptorError(f"a memory line needs a descriptor of a whole buffer, not {desc}")
    if desc.padded_sizes is not None:
        numbers = _padded(numbers, desc.padded_sizes, PADDING_VALUE)
    line = numbers.transpose(order[::-1])
    for tile in desc.tiles:
        line = _tiled(line, tile)
    line = line.reshape(-1)
    missing = -line.size % desc.tail_padding_alignment_in_elements
    return np.append(line, np.full(missing, ZERO, line.dtype)) if missing else line


def element_positions(desc: TensorDesc) -> Array:
    """The position of each logical element, counted in elements of the buffer: int64 of shape ``sizes``.

    ``f32[3,5]{1,0:T(2,2)}``: 17 at (2,3). Its view ``[2, ::-2]``, ``f32[3]{at=(2,4-2a),in=[3,5]{1,0:T(2,2)}}``, has
    positions 20, 16, 12.

    Raises:
        DescriptorError: strides lead before the buffer or past 2^62 bytes.
    """
    if desc.inner is not None:
        return _look_up(desc, element_positions(desc.inner))
    if not is_whole(desc):
        return _strided(desc)
    line = memory_line(desc)
    (positions,) = np.nonzero(line >= 0)
    by_element = np.empty_like(positions)
    by_element[line[positions]] = positions
    return by_element.reshape(desc.sizes)


def extent(desc: TensorDesc) -> int:
    """The number of buffer elements that ``desc`` needs; a view needs all of the layout it looks at."""
    if desc.inner is not None:
        return extent(desc.inner)
    if is_whole(desc):
        return memory_line(desc).size
    positions = _strided(desc)
    return int(positions.max()) + 1 if positions.size else 0


def _padded(array: Array, sizes: Sequence[int], value: int) -> Array:
    """``array`` at the corner 0,0,... of a larger array of ``sizes`` that holds ``value`` elsewhere."""
    larger = np.full(sizes, value, array.dtype)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger


def _tiled(array: Array, tile: Sequence[int]) -> Array:
    """``array``, in physical order, cut into tiles along its last axes: axes that count tiles, then axes inside one.

    4x6 with tile 2,3 becomes 2,2,2,3. If a tile has more axes than the array, the array gets leading axes of size 1. An
    axis with -1 is first joined with the next: 2,7,8,11,10 with tile -1,-1,2,-1,3 is 112,110 with tile 2,3.
    """
    array = array.reshape((1,) * (len(tile) - array.ndim) + array.shape)
    untiled = array.ndim - len(tile)
    sizes = list(array.shape[:untiled])
    joined = 1
    for size, step in zip(array.shape[untiled:], tile, strict=True):
        joined *= size
        if step != _COMBINE:
            sizes.append(joined)
            joined = 1
    steps = [step for step in tile if step != _COMBINE]
    counts = [-(-size // step) for size, step in zip(sizes[untiled:], steps, strict=True)]
    covered = [count * step for count, step in zip(counts, steps, strict=True)]
    padded = _padded(array.reshape(sizes), sizes[:untiled] + covered, ZERO)
    split = padded.reshape(sizes[:untiled] + [part for pair in zip(counts, steps, strict=True) for part in pair])
    outer, inner = range(untiled, split.ndim, 2), range(untiled + 1, split.ndim, 2)
    return split.transpose(*range(untiled), *outer, *inner)


def _blocked(array: Array, tag: str) -> Array:
    """``array`` in the memory order of a oneDNN tag: the outer axes, then the blocks in the order of the tag.

    ``OIhw8i16o2i``: axis o is padded to a multiple of 16 and becomes o/16, 16; axis i becomes i/16, 8, 2, with its last
    block fastest. The order is o/16, i/16, h, w, 8 of i, 16 of o, 2 of i.
    """
    order, blocks = read_tag(tag)
    own = [[size for axis, size in blocks if axis == a] for a in range(array.ndim)]
    counts = [-(-size // prod(steps)) for size, steps in zip(array.shape, own, strict=True)]
    covered = [count * prod(steps) for count, steps in zip(counts, own, strict=True)]
    padded = _padded(array, covered, ZERO)
    split = padded.reshape([part for count, steps in zip(counts, own, strict=True) for part in (count, *steps)])
    # The axes of `split`, as pairs of the array's axis and the level inside it, 0 being the outer part.
    parts = [(axis, level) for axis, steps in enumerate(own) for level in range(len(steps) + 1)]
    digits = [(axis, 0) for axis in order]
    for position, (axis, _) in enumerate(blocks):
        digits.append((axis, 1 + sum(earlier == axis for earlier, _ in blocks[:position])))
    return split.transpose([parts.index(part) for part in digits])


def _look_up(view: TensorDesc, positions: Array) -> Array:
    """The entries of ``positions``, those of the inner layout, at the view's coordinates.

    ``at=(2,4-2a)``: ``starts`` 2,4 and ``steps`` ((0,-2),), so index 1 is coordinate (2,2).
    """
    indices = np.indices(view.sizes)
    coordinates = [
        sum((step[axis] * index for step, index in zip(view.steps, indices, strict=True)), np.full(view.sizes, start))
        for axis, start in enumerate(view.starts)
    ]
    looked_up: Array = positions[tuple(coordinates)]
    # The sum broadcasts for a view of a scalar, which has no coordinates: every index refers to the one element.
    return np.zeros(view.sizes, np.int64) + looked_up


def _strided(desc: TensorDesc) -> Array:
    """``offset + sum of index_k * strides_k``; f32[2,3]{strides=(1,2)}: element (1,2) at 1 * 1 + 2 * 2 = 5."""
    sizes, strides = desc.sizes, desc.strides
    if strides is None:
        raise DescriptorError(f"the reference knows no such layout: {desc}")
    if 0 not in sizes:
        # Python integers are used here, so that the int64 arithmetic below cannot wrap.
        reach = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
        first = desc.offset + sum(step for step in reach if step < 0)
        last = desc.offset + sum(step for step in reach if step > 0)
        if first < 0 or last * desc.dtype.itemsize >= _MAX_BYTES:
            raise DescriptorError(f"elements [{first}, {last}] of {desc} must lie in [0, 2^62) bytes")
    positions = np.zeros(sizes, np.int64)
    if positions.size:
        positions += desc.offset
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            along = [1] * len(sizes)
            along[axis] = size
            # An axis of one element never moves, whatever its stride.
            positions += (np.arange(size, dtype=np.int64) * (stride if size > 1 else 0)).reshape(along)
    return positions


# Positions of bytes, and whole buffers.


def element_bytes(desc: TensorDesc) -> Array:
    """Byte positions of all elements: int64 of shape ``(*sizes, itemsize)``.

    ``f32[2,3]{strides=(1,2)}``: element (1, 2) is at 5 and starts at byte 20; ``f32[3,5]{1,0:T(2,2)}``: element (2, 3)
    is at 17 and starts at byte 68.

    Raises:
        DescriptorError: strides lead before the buffer or past 2^62 bytes.
    """
    itemsize = desc.dtype.itemsize
    starts: Array = element_positions(desc)[..., None] * itemsize
    return starts + np.arange(itemsize)


def to_buffer(array: Any, desc: TensorDesc | str, buffer: Array | None = None) -> Array:
    """Scatter a logical array into raw bytes, as an operation that writes to ``desc`` does.

    Args:
        array: array of ``desc.sizes`` and ``desc.dtype``.
        desc: the layout, or its text. A whole layout is written with its padding, ``padding_value`` and zeros; of a
            view or strided layout only the elements are. If several share a position (zero strides), one is kept.
        buffer: 1-D uint8 to write into, at least ``desc.nbytes``; other bytes are kept. Default: zeros, just large
            enough.

    Returns:
        ``buffer``, or the new one.

    Raises:
        DescriptorError: the array or the buffer does not fit ``desc``.
        UnsupportedError: the host has no room for the buffer.

    Example:
        >>> rs.reference.to_buffer(np.uint8([[0, 1, 2], [3, 4, 5]]), "u8[2,3]{0,1}").tolist()
        [0, 3, 1, 4, 2, 5]
    """
    elements, desc = as_array(array), as_desc(desc)
    if elements.shape != tuple(desc.sizes) or desc.dtype != elements.dtype:
        raise DescriptorError(f"array {described(elements)} must have the sizes and element type of {desc}")
    # reshape(-1) comes first, because a view as bytes needs contiguous elements, and rank 0 has no axis to split.
    raw = np.ascontiguousarray(elements).reshape(-1).view(np.uint8)
    needed = extent(desc) * desc.dtype.itemsize
    if buffer is None:
        try:
            buffer = np.zeros(needed, np.uint8)
        except (MemoryError, ValueError) as error:
            raise UnsupportedError(f"the host has no room for the {needed} bytes of {desc}: {error}") from error
    _require_buffer(buffer, needed, desc)
    if is_whole(desc):
        buffer[:needed] = _image(raw, desc)
    else:
        buffer[element_bytes(desc).reshape(-1)] = raw
    return buffer


def from_buffer(buffer: Array, desc: TensorDesc | str) -> Array:
    """Gather a logical array of ``desc.sizes`` from raw bytes (1-D uint8, at least ``desc.nbytes``); a new array.

    Example:
        >>> rs.reference.from_buffer(np.uint8([0, 3, 1, 4, 2, 5]), "u8[2,3]{0,1}").tolist()
        [[0, 1, 2], [3, 4, 5]]
    """
    desc = as_desc(desc)
    _require_buffer(buffer, extent(desc) * desc.dtype.itemsize, desc)
    raw: Array = buffer[element_bytes(desc).reshape(-1)].view(np.dtype(desc.dtype))
    return raw.reshape(tuple(desc.sizes))


def _image(raw: Array, desc: TensorDesc) -> Array:
    """All bytes of a whole layout whose elements, in row-major order, are ``raw``."""
    dtype = np.dtype(desc.dtype)
    if desc.dtype.is_float:
        padding = round_once(np.array([desc.padding_value], np.float64), dtype)
    else:
        padding = np.array([desc.padding_value], dtype)  # not through float64, which cannot hold u64 past 2^53
    # Negative numbers of the memory line index from the end: -1 is zero, -2 the padding value.
    last_two = np.concatenate((padding.view(np.uint8), np.zeros(dtype.itemsize, np.uint8)))
    known = np.concatenate((raw, last_two)).reshape(-1, dtype.itemsize)
    return known[memory_line(desc)].reshape(-1)


def _require_buffer(buffer: Array, needed: int, desc: TensorDesc) -> None:
    require_unmasked("buffer", buffer)
    if buffer.dtype != np.uint8 or buffer.ndim != 1:
        raise DescriptorError(f"buffer must be 1-D uint8, not {buffer.dtype} of sizes {list(buffer.shape)}, for {desc}")
    if buffer.size < needed:
        raise DescriptorError(f"buffer of {buffer.size} bytes is smaller than the {needed} bytes of {desc}")
