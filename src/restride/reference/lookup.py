"""The reference for ``lookup``: numpy's own indexing of a table, one row after the other."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from restride.dtypes import Array
from restride.errors import DescriptorError
from restride.reference.arguments import as_array, described
from restride.request import resized_axes


def lookup(x: Any, table: Any, *, axis: SupportsIndex | None = None) -> Array:
    """``table[x]``, or ``table[i, x]`` at index i of an axis; the arguments are those of ``rs.lookup``.

    Args:
        x: array of u8 or s8. The entry of -128 is the first one.
        table: [256], or [sizes[axis], 256].
        axis: the axis whose index selects the row of the table; None: there is one row.

    Returns:
        A new array of the sizes of ``x`` and the element type of ``table``.

    Raises:
        DescriptorError: the element type of ``x``, the sizes of the table or the axis do not fit.

    Source: numpy, indexing by arrays of integers.

    Examples:
        >>> rs.reference.lookup(np.array([[0, 255]], np.uint8), np.arange(256) * 2).tolist()
        [[0, 510]]
    """
    array, entries = as_array(x), as_array(table)
    if array.dtype not in (np.uint8, np.int8):
        raise DescriptorError(f"lookup needs elements of u8 or s8, not {described(array)}")
    places = () if axis is None else resized_axes((axis,), {}, array.ndim)
    if entries.shape != (*(array.shape[place] for place in places), 256):
        sizes = [*(array.shape[place] for place in places), 256]
        raise DescriptorError(f"table {described(entries)} must have sizes {sizes}, for {described(array)}")
    number = array.astype(np.int64) - int(np.iinfo(array.dtype).min)
    if not places:
        return np.array(entries[number])
    by_row = np.moveaxis(number, places[0], 0)
    right = np.empty(by_row.shape, entries.dtype)
    for row, numbers in enumerate(by_row):
        right[row] = entries[row][numbers]
    return np.moveaxis(right, 0, places[0])
