"""Manipulation and indexing functions of the array API: views where strides allow, otherwise one dispatch a part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import MAX_RANK, as_numpy, counts, flag, integer, integers
from restride.dtypes import DType, Number
from restride.errors import DescriptorError, shown
from restride.ops.pieces import concatenated, repeated, reshaped, rolled, tiled
from restride.ops.take import padded, taken, taken_along
from restride.ops.target import require_room
from restride.tensor.tensor import Tensor, require_tensor, require_tensors
from restride.weights.rows import IndexArray
from restride.xp.data_types import of_kind, result_type

Axes = SupportsIndex | Iterable[SupportsIndex]


class AxisError(DescriptorError, IndexError):
    """An axis that a tensor does not have; also an IndexError, as the array API requires and numpy does."""


def reshape(x: Tensor, /, shape: Iterable[SupportsIndex], *, copy: bool | None = None) -> Tensor:
    """``x`` with other sizes; one of them may be -1, and is then inferred.

    copy: True: always copy; None: copy if the layout needs it; False: never.

    Raises:
        DescriptorError: the number of elements differs, or ``copy`` is False and a copy is needed.
    """
    sizes = integers("shape", shape)
    copy = None if copy is None else flag("copy", copy)
    if copy is False:
        return require_tensor(x).reshape(sizes)
    result = reshaped(require_tensor(x), sizes)
    return result.copy() if copy and result.memory is x.memory else result


def permute_dims(x: Tensor, /, axes: Iterable[SupportsIndex]) -> Tensor:
    """A view with the axes in another order."""
    return require_tensor(x).permute(integers("axes", axes))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """A view with the last two axes exchanged."""
    return require_tensor(x).mT


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """A view with the axes ``source`` moved to the positions ``destination``; the others keep their order."""
    sources, places = _axes("source", source, x), _axes("destination", destination, x)
    if len(sources) != len(places):
        raise DescriptorError(f"source {sources} and destination {places} must have as many axes, for {x.desc}")
    moved = dict(zip(places, sources, strict=True))
    others = iter(axis for axis in range(x.ndim) if axis not in sources)
    return x.permute([moved[place] if place in moved else next(others) for place in range(x.ndim)])


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """A view with ``axis`` reversed: one axis or several; None: all."""
    axes = range(require_tensor(x).ndim) if axis is None else _axes("axis", axis, x)
    return x[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(x.ndim))]


def expand_dims(x: Tensor, /, *, axis: SupportsIndex = 0) -> Tensor:
    """A view with a new axis of size 1 at position ``axis``."""
    place = _axis("axis", axis, require_tensor(x).ndim + 1, x)
    return x[(slice(None),) * place + (None,)]


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """A view without the axes ``axis``, which must have size 1."""
    axes = _axes("axis", axis, x)
    for k in axes:
        if x.sizes[k] != 1:
            raise DescriptorError(f"axis {k} of size {x.sizes[k]} cannot be squeezed, only one of size 1, for {x.desc}")
    return x[tuple(0 if k in axes else slice(None) for k in range(x.ndim))]


def broadcast_to(x: Tensor, /, shape: Iterable[SupportsIndex]) -> Tensor:
    """A view with sizes ``shape``: axes of size 1 are repeated, and leading axes added."""
    return require_tensor(x).broadcast_to(counts("shape", shape))


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of the arrays, all with the sizes that they broadcast to.

    Raises:
        DescriptorError: the sizes do not broadcast.
    """
    require_tensors(arrays, "arrays")
    try:
        sizes = np.broadcast_shapes(*(x.sizes for x in arrays))
    except ValueError:
        raise DescriptorError(f"sizes {', '.join(str(x.sizes) for x in arrays)} do not broadcast") from None
    return [x.broadcast_to(sizes) for x in arrays]


def concat(arrays: Sequence[Tensor], /, *, axis: SupportsIndex | None = 0) -> Tensor:
    """Join tensors along an axis, one dispatch each; their types are promoted. axis None: each is flattened first."""
    pieces = _pieces("concat", arrays)
    if axis is None:
        pieces, axis = [reshaped(x, (-1,)) for x in pieces], 0
    return concatenated(pieces, _axis("axis", axis, pieces[0].ndim, pieces[0]), _promoted(pieces), "arrays")


def stack(arrays: Sequence[Tensor], /, *, axis: SupportsIndex = 0) -> Tensor:
    """Stack tensors of equal sizes along a new axis, one dispatch each; their types are promoted."""
    pieces = _pieces("stack", arrays)
    place = _axis("axis", axis, pieces[0].ndim + 1, pieces[0])
    return concatenated(pieces, place, _promoted(pieces), "arrays", is_new=True)


def unstack(x: Tensor, /, *, axis: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """Views of ``x`` at each index of an axis, without that axis."""
    place = _axis("axis", axis, require_tensor(x).ndim, x)
    return tuple(x[(slice(None),) * place + (k,)] for k in range(x.sizes[place]))


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Shift elements along axes, cyclically; each shifted axis is copied in two parts. axis None: as if flat."""
    shifts = integers("shift", shift, or_one=True)
    if axis is None:
        if len(shifts) != 1:
            raise DescriptorError(
                f"shift {shifts} must be one number where no axis is named, for {require_tensor(x).desc}"
            )
        return roll(reshaped(require_tensor(x), (-1,)), shifts, axis=0).reshape(x.sizes)
    axes = _axes("axis", axis, x, may_repeat=True)
    if len(shifts) not in {1, len(axes)}:
        raise DescriptorError(f"shift {shifts} must be one number, or one for each axis of {axes}, for {x.desc}")
    total = [0] * x.ndim
    for k, count in zip(axes, shifts * len(axes) if len(shifts) == 1 else shifts, strict=True):
        total[k] += count
    return rolled(x, total)


def repeat(x: Tensor, repeats: npt.ArrayLike, /, *, axis: SupportsIndex | None = None) -> Tensor:
    """Repeat each element of an axis, in one dispatch.

    repeats: one number, or one for each element. axis None: as if flat.

    Raises:
        DescriptorError: ``repeats`` are not integers of 0 or more, or not as many as the axis has elements.
        OutOfDeviceMemory: the device has no room for the result.
    """
    if axis is None:
        x, axis = reshaped(require_tensor(x), (-1,)), 0
    place = _axis("axis", axis, require_tensor(x).ndim, x)
    each = _indices("repeats", repeats)
    size = x.sizes[place]
    if each.size != 1 and each.shape != (size,):
        raise DescriptorError(
            f"repeats must be one number, or one for each of the {size} elements of axis {place}, got sizes "
            f"{each.shape}, for {x.desc}"
        )
    if each.min(initial=0) < 0:
        raise DescriptorError(f"repeats must be 0 or more, got {shown(repeats)}, for {x.desc}")
    if each.size == 1 and x.ndim < MAX_RANK:
        return repeated(x, place, each.item())
    each = np.broadcast_to(each.reshape(-1), size)
    require_room((*x.sizes[:place], sum(each.tolist()), *x.sizes[place + 1 :]), x.dtype, x.device.limits)
    return taken(x, {place: np.repeat(np.arange(size), each)})


def tile(x: Tensor, repetitions: Iterable[SupportsIndex], /) -> Tensor:
    """Repeat ``x`` as a whole along each axis, as ``np.tile``, in one dispatch.

    If sizes and repetitions other than 1 are more than 8 together, it takes a few dispatches.
    """
    times = counts("repetitions", repetitions)
    missing = max(len(times) - require_tensor(x).ndim, 0)
    wide = x[(None,) * missing] if missing else x
    return tiled(wide, (1,) * (wide.ndim - len(times)) + times)


def pad(x: Tensor, pad_width: npt.ArrayLike, mode: str = "constant", *, constant_values: Number = 0) -> Tensor:
    """Add elements before and after each axis, as ``np.pad``, in one dispatch.

    Args:
        x: a tensor.
        pad_width: a number, (before, after), or one such pair for each axis.
        mode: "constant", "edge", "reflect" (does not repeat the first and last element) or "wrap".
        constant_values: the value of mode "constant": one number.
    """
    return padded(require_tensor(x), pad_width, mode, constant_values)


def take(x: Tensor, indices: npt.ArrayLike, /, *, axis: SupportsIndex | None = None) -> Tensor:
    """Elements of an axis at a list of indices, in one dispatch; indices in a tensor are read back first.

    Raises:
        DescriptorError: an index is outside the axis, or ``axis`` is left out and ``x`` does not have exactly one.
    """
    if axis is None and require_tensor(x).ndim != 1:
        raise DescriptorError(f"axis must be named unless x has exactly one, for {x.desc}")
    place = _axis("axis", 0 if axis is None else axis, require_tensor(x).ndim, x)
    index = _indices("indices", indices)
    if index.ndim != 1:
        raise DescriptorError(f"indices must have one axis, got sizes {index.shape}, for {x.desc}")
    return taken(x, {place: index})


def take_along_axis(x: Tensor, indices: npt.ArrayLike, /, *, axis: SupportsIndex = -1) -> Tensor:
    """Elements of an axis at indices that may differ for each element, in one dispatch; see ``np.take_along_axis``.

    indices: has as many axes as ``x``, and except along ``axis`` their sizes broadcast. A tensor is read back first.

    Raises:
        DescriptorError: an index is outside the axis, or the sizes do not broadcast.
    """
    place = _axis("axis", axis, require_tensor(x).ndim, x)
    index = _indices("indices", indices)
    sizes, of_index = ((*each[:place], 1, *each[place + 1 :]) for each in (x.sizes, index.shape))
    try:
        others = np.broadcast_shapes(sizes, of_index)
    except ValueError:
        others = ()
    if len(index.shape) != x.ndim or len(others) != x.ndim:
        raise DescriptorError(
            f"indices must have sizes that broadcast with those of x, except along axis {place}, got {index.shape}, "
            f"for {x.desc}"
        )
    wide = x.broadcast_to((*others[:place], x.sizes[place], *others[place + 1 :]))
    return taken_along(wide, np.broadcast_to(index, (*others[:place], index.shape[place], *others[place + 1 :])), place)


def _pieces(function: str, arrays: Iterable[Tensor]) -> list[Tensor]:
    pieces = require_tensors(arrays, "arrays")
    if not pieces:
        raise DescriptorError(f"{function} needs one tensor or more, got none")
    return pieces


def _promoted(pieces: Sequence[Tensor]) -> DType:
    first = pieces[0].dtype
    return first if all(x.dtype is first for x in pieces) else result_type(*pieces)


def _axis(argument: str, value: object, count: int, x: Tensor) -> int:
    axis = integer(argument, value)
    if not -count <= axis < count:
        raise AxisError(f"{argument} {axis} is outside [{-count}, {count}), for {x.desc}")
    return axis % count


def _axes(argument: str, axes: Axes, x: Tensor, *, may_repeat: bool = False) -> tuple[int, ...]:
    """One axis or several, as numbers from 0 on."""
    count = require_tensor(x).ndim
    each = tuple(_axis(argument, axis, count, x) for axis in integers(argument, axes, or_one=True))
    if len({*each}) < len(each) and not may_repeat:
        raise DescriptorError(f"{argument} {each} names an axis twice, for {x.desc}")
    return each


def _indices(argument: str, values: object) -> IndexArray:
    """Integers as a numpy array of int64."""
    if isinstance(values, Tensor) and values.dtype not in of_kind("integral"):
        raise DescriptorError(f"{argument} must be integers, got {values.desc}")
    array = as_numpy(argument, values)
    if array.dtype.kind not in "iu" and array.size:
        raise DescriptorError(f"{argument} must be integers, got {array.dtype}")
    if array.dtype.kind == "u" and array.max(initial=0) >= 1 << 63:  # as s64 such a number would count from the end
        raise DescriptorError(f"{argument} must be below 2^63, got {array.max()}")
    return array.astype(np.int64)
