"""The fields of a descriptor, computed from strides, from a blocking, or from an address."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from restride.desc.blocking import Blocking
from restride.desc.digits import Linear, affine
from restride.desc.padding import element_bits
from restride.desc.text import DescParts, format_parts
from restride.dtypes import DType
from restride.errors import DescriptorError


class Fields(NamedTuple):
    """What a ``TensorDesc`` is made of; ``DescFacts`` says what each is."""

    dtype: DType
    sizes: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int
    numel: int
    extent: int
    lowest: int
    highest: int
    blocking: Blocking | None
    key: tuple[object, ...]
    address: Linear | None
    order: tuple[int, ...] | None
    parts: DescParts | None


def strided(
    dtype: DType,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int = 0,
    order: tuple[int, ...] | None = None,
    parts: DescParts | None = None,
) -> Fields:
    """A layout of strides; ``order`` and ``parts`` as it was written, if not by them.

    Raises:
        DescriptorError: an element below the buffer's start.
    """
    numel, below, above = 1, 0, 0
    for size, stride in zip(sizes, strides, strict=True):
        numel *= size
        reach = (size - 1) * stride
        if reach < 0:
            below += reach
        else:
            above += reach
    lowest, highest = (offset + below, offset + above) if numel else (0, -1)
    if offset < 0 or lowest < 0:
        text = format_parts(DescParts(dtype.name, sizes, strides=strides, offset=offset))
        raise DescriptorError(
            f"the lowest element must be at 0 or above: offset {offset} puts it at {min(offset, lowest)} "
            f"in {text}; the smallest legal offset is {-below if numel else 0}"
        )
    key: tuple[object, ...] = (dtype.name, sizes)
    if numel:
        key += (tuple(s if size > 1 else 0 for s, size in zip(strides, sizes, strict=True)), offset)
    return Fields(dtype, sizes, strides, offset, numel, highest + 1, lowest, highest, None, key, None, order, parts)


def whole(dtype: DType, blocking: Blocking, parts: DescParts) -> Fields:
    """A layout of tiles, padding or blocks that covers its whole buffer."""
    coordinates = [affine(0, [(axis, size, 1)]) for axis, size in enumerate(parts.sizes)]
    fields = viewed(dtype, blocking, coordinates, parts)._replace(order=parts.minor_to_major)
    if fields.extent == fields.numel:
        return fields
    # Padding is part of what is compared: it is written. Where it has a value, so is where that lies.
    padded = parts.padded_sizes or parts.sizes
    value = element_bits(parts.padding_value, dtype) if padded != parts.sizes else 0
    places = blocking.address([affine(0, [(axis, size, 1)]) for axis, size in enumerate(padded)])
    return fields._replace(key=(*fields.key, fields.extent, *((value, padded, places) if value else ())))


def viewed(dtype: DType, blocking: Blocking, coordinates: list[Linear], parts: DescParts) -> Fields:
    """A layout by the coordinates that an index has in a blocking; strided, if no digit is left of its address."""
    sizes, numel = parts.sizes, prod(parts.sizes)
    address = blocking.address(coordinates) if numel else Linear()
    low, high = address.span if numel else (0, -1)
    offset = address.at((0,) * len(sizes)) if numel else 0
    strides = tuple(address.stride(axis) for axis in range(len(sizes))) if address.is_affine else None
    key: tuple[object, ...] = (dtype.name, sizes)
    if numel:
        key += (address,) if strides is None else (strides, offset)
    extent = blocking.extent
    high = min(high, extent - 1)
    return Fields(dtype, sizes, strides, offset, numel, extent, low, high, blocking, key, address, None, parts)
