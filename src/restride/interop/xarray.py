"""xarray: ``rs.resample`` of a DataArray or Dataset by names of dimensions, with the coordinates along them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar, Unpack

import numpy as np
import numpy.typing as npt
import xarray as xr

from restride.arguments import RealNumber, flag, list_arguments, require_listed
from restride.dtypes import Array, DTypeLike, as_dtype
from restride.errors import DescriptorError, UnsupportedError, prefixed, shown, warn_caller
from restride.layout.argument import is_permutation
from restride.ops.resample import DEFAULT_ARGUMENTS, ResampleArguments, is_narrowed, split_arguments
from restride.ops.resample import resample as resample_array
from restride.request import ModeName
from restride.request.arithmetic import Numbers
from restride.stream.axes import coordinate_values
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor
from restride.weights import resizing
from restride.weights.centres import centres, line_of_centres

_Centres = tuple[Array, int]
"""The positions of outputs along the source, as numerators and their common denominator."""

_Labelled = TypeVar("_Labelled", xr.DataArray, xr.Dataset)

_FINER = {"s": "ms", "ms": "us", "us": "ns"}
"""For each unit of times that xarray has, the next finer one."""

_MEAN_TYPES = ("f32", "f16")
"""Element types of which ``skipna`` leaves out NaN."""

_REFUSED = ("axes", "window", "source_sizes", "sum_scale", "out")
"""Arguments of ``rs.resample`` that names of dimensions replace, or for which coordinates could not follow."""


@list_arguments(ResampleArguments, DEFAULT_ARGUMENTS)
def resample(
    data: _Labelled,
    sizes: Mapping[Hashable, int] | None = None,
    scales: Mapping[Hashable, RealNumber] | None = None,
    *,
    mode: ModeName | int | Enum | None = None,
    skipna: bool = False,
    **arguments: Unpack[ResampleArguments],
) -> _Labelled:
    """Resize ``data`` along named dimensions: elements by ``rs.resample``, numeric coordinates by the same rule.

    Dimensions, name, attributes and everything along other dimensions are kept; encodings of resampled variables are
    not. A 1-D coordinate of numbers or times is interpolated linearly at the centres of the new pixels, and
    extrapolated linearly beyond its ends. The centre of output o follows ``coordinates`` (for half_pixel
    ``(o + 1/2) / f - 1/2``). Where an axis shrinks, the centre of "area" and "area_weighted" is the weighted mean of
    the indices that they average. The centre of "nearest" is at most half an element from the element that it takes,
    and exactly there for a whole factor. Floats keep their type. Integers become f64; but if one is 2^53 or more, they
    are rounded and keep their type, if it holds them. Times keep their zone; their unit becomes finer, down to ns, if
    it cannot express the new times exactly. Numbers of pandas' types become numpy's, with NaN for NA. Other coordinates
    along these dimensions are dropped, and a UserWarning names them: coordinates with several dimensions, of words, of
    a MultiIndex, and of a single element that moves.

    Args:
        data: of numpy arrays, which give numpy arrays; of tensors, which give tensors; or of dask arrays, lazily by
            ``rs.dask.resample``. Each variable of a Dataset is resized along those of the dimensions that it has.
        sizes: output size by dimension.
        scales: output elements for each source element, by dimension; instead of ``sizes``.
        mode: as in ``rs.resample``.
        skipna: leave out elements that are NaN, in modes "area" and "area_weighted" of f32 and f16, and of f64 with
            ``dtype`` f32. An output with weights w is ``sum(w * v * x) / sum(w * v)``, where v is 0 for NaN, else 1; it
            is NaN if no number is left. At whole factors this is ``coarsen(...).mean()``. Both sums and the quotient
            are f32, so the error of an output of k elements along n axes is at most ``(6n + 2k + 2) * 2^-24`` times the
            mean magnitude of the elements that are left, before it is rounded to f16 once. The bound is for products
            and sums that are normal numbers of f32 or 0: those below 2^-126 may become 0. A tensor is read by the host.
        arguments: the other arguments of ``rs.resample``, such as ``like`` and ``dtype``; ``roi`` and offsets in the
            order of ``sizes`` or ``scales``. Not axes, window, source_sizes, sum_scale, out, or a ``layout`` that
            permutes; with ``skipna`` no ``like``, ``layout``, scales, zero points, post-ops or rounding.

    Raises:
        DescriptorError: there is no such dimension, both or neither of sizes and scales are passed, ``skipna`` with
            other modes, types or arguments, or ``rs.resample`` raises it; the message names the variable of a Dataset.
        UnsupportedError: the data is not numpy's, a tensor or dask's, ``like`` reads the variables' types at different
            positions, or ``rs.resample`` raises it: elements of 64 bits are not interpolated.

    Example:
        >>> import xarray as xr
        >>> image = xr.DataArray(np.ones((2, 4), np.float32), dims=("y", "x"), coords={"x": [10, 20, 30, 40]})
        >>> rs.xarray.resample(image, {"x": 2}, mode="area").x.values.tolist()
        [15.0, 35.0]
    """
    if not isinstance(data, xr.DataArray | xr.Dataset):
        raise DescriptorError(
            f"data must be a DataArray or a Dataset, got {type(data).__name__}; rs.resample takes arrays"
        )
    dims = {f"dimensions go into a dict: sizes={{{dim!r}: ...}}": {dim} for dim in data.sizes if isinstance(dim, str)}
    dims[f"it is a dict here: sizes={{{next(iter(data.sizes), 'y')!r}: ...}}"] = {"size"}
    require_listed(resample, {name: value for name, value in arguments.items() if name not in _REFUSED}, dims)
    if (sizes is None) == (scales is None):
        raise DescriptorError(f"resample needs sizes or scales, and not both: {sizes!r} and {scales!r}")
    argument, asked = ("sizes", sizes) if sizes is not None else ("scales", scales)
    if not isinstance(asked, Mapping):
        raise DescriptorError(f"{argument} must map dimensions to numbers, e.g. {{'y': 2}}, got {asked!r}")
    for dim in asked:
        if dim not in data.sizes:
            raise DescriptorError(f"{argument} names dimension {dim!r}, and the data have {dict(data.sizes)}")
    named: dict[str, Any] = {"mode": mode, **arguments}
    for refused in _REFUSED:
        if (value := named.pop(refused, None)) is not None:
            raise DescriptorError(f"{refused} is not accepted where dimensions are named, got {value!r}")
    if named.get("layout") is not None and is_permutation(named["layout"]):
        raise DescriptorError(f"layout {named['layout']!r} permutes dimensions, which stay: transpose the result")
    resize: Callable[..., object] = _resampled
    if flag("skipna", skipna):
        _require_mean(named)
        resize = _mean_of_numbers
    if isinstance(data, xr.DataArray):
        elements = _elements(resize, data.variable, argument, asked, named)
        coords = _coords(data, _centres(data, [data.variable], argument, asked, named))
        resized_array = xr.DataArray(elements, coords, data.dims, attrs=data.attrs)
        resized_array.name = data.name  # given None, xarray would take the name of a dask array
        return resized_array
    variables: dict[Hashable, xr.Variable] = {name: each.variable for name, each in data.data_vars.items()}
    resized: dict[Hashable, xr.Variable] = {
        name: variable for name, variable in variables.items() if set(asked) & set(variable.dims)
    }
    for name, variable in resized.items():
        with prefixed(f"variable {name!r}"):
            elements = _elements(resize, variable, argument, asked, named)
        variables[name] = xr.Variable(variable.dims, elements, variable.attrs)
    coords = _coords(data, _centres(data, [*resized.values()], argument, asked, named))
    return xr.Dataset(variables, coords, data.attrs)


def _elements(
    resize: Callable[..., object],
    variable: xr.Variable,
    argument: str,
    asked: Mapping[Hashable, RealNumber],
    named: Mapping[str, object],
) -> object:
    """The elements, resized along the dimensions of ``asked`` that the variable has; an array of the same kind."""
    dims = [dim for dim in asked if dim in variable.dims]
    along = {argument: tuple(asked[dim] for dim in dims), "axes": tuple(map(variable.dims.index, dims)), **named}
    x = variable.data
    if not isinstance(x, Tensor | np.ndarray) and not _is_dask(x):
        raise UnsupportedError(
            f"data must be numpy, dask or restride.Tensor, got {type(x).__module__}.{type(x).__name__}"
        )
    return resize(x, **along)


def _is_dask(x: object) -> bool:
    return type(x).__module__.startswith("dask.")


def _resampled(x: Any, **along: Any) -> Any:
    """An array of the kind of ``x``: a tensor, numpy's or dask's."""
    if _is_dask(x):
        from restride.interop import dask

        return dask.resample(x, **along)
    if isinstance(x, Tensor):
        return resample_array(x, **along)
    if (layout := along.get("layout")) is not None:
        raise DescriptorError(f"layout {layout!r} has no effect, because the result is an array of numpy")
    return resample_array(x, **along).numpy()


def _require_mean(named: Mapping[str, object]) -> None:
    """Require the arguments of a mean of elements, for ``skipna``."""
    if named["mode"] not in ("area", "area_weighted"):
        raise DescriptorError(f"skipna goes with the modes 'area' and 'area_weighted', not {named['mode']!r}")
    for name in ("like", "layout", *Numbers._fields):
        if named.get(name) is not None:
            raise DescriptorError(f"skipna goes without {name}, got {shown(named[name])}")


def _mean_of_numbers(x: Any, *, dtype: DTypeLike | None = None, **along: object) -> Any:
    """As ``_resampled``, but of the elements that are not NaN: their sums, divided by the sums of their weights."""
    if isinstance(x, Tensor):
        return asarray(_mean_of_numbers(x.numpy(), dtype=dtype, **along), device=x.device)
    source = as_dtype(x.dtype)
    element = source if dtype is None else as_dtype(dtype)
    if source.name not in _MEAN_TYPES and not is_narrowed(source, element):
        raise DescriptorError(
            f"skipna takes {' and '.join(_MEAN_TYPES)}, and f64 with dtype='f32', not elements of type {source}"
        )
    if element.name not in _MEAN_TYPES:
        raise DescriptorError(f"skipna makes {' and '.join(_MEAN_TYPES)}, and dtype is {element}")
    missing = np.isnan(x)
    sums = _resampled(np.where(missing, x.dtype.type(0), x), dtype="f32", **along)
    weights = _resampled((~missing).astype(np.float32), **along)
    return (sums / np.where(weights > 0, weights, np.float32(np.nan))).astype(element.dtype)


def _centres(
    data: xr.DataArray | xr.Dataset,
    resized: Sequence[xr.Variable],
    argument: str,
    asked: Mapping[Hashable, RealNumber],
    named: Mapping[str, object],
) -> dict[Hashable, _Centres]:
    """For each dimension that changes, the positions of outputs along it, by the rules for the types of ``resized``.

    Raises:
        UnsupportedError: positions differ between types. Torch's bicubic, for example, copies u8 if a size stays.
    """
    request, _, _ = split_arguments({argument: tuple(asked.values()), **named})
    sizes = [data.sizes[dim] for dim in asked]
    dtypes = {as_dtype(each.dtype).name for each in resized} or {"f32"}
    filters, *others = {resizing(sizes, request, dtype).filters for dtype in dtypes}
    if others:
        raise UnsupportedError(
            f"variables of the types {', '.join(sorted(dtypes))} are read at different positions, and share their "
            f"coordinates: resample them one by one"
        )
    return {
        dim: centres(each)
        for dim, each in zip(asked, filters, strict=True)
        if each.source_size != each.size or not line_of_centres(each).is_identity
    }


def _coords(data: xr.DataArray | xr.Dataset, changed: Mapping[Hashable, _Centres]) -> xr.Coordinates:
    import pandas as pd  # comes with xarray; imported here so that a missing xarray is reported first

    resampled, dropped = {}, []
    along = {name: each.variable for name, each in data.coords.items() if set(changed) & set(each.dims)}
    for name, coord in along.items():
        is_level = isinstance(data.xindexes.get(name), xr.indexes.PandasMultiIndex)
        values = None if is_level else coordinate_values(coord)
        if values is None or not _has_spacing(coord.size, changed[coord.dims[0]]):
            dropped.append(name)
            continue
        moved: Any = _interpolated(values, changed[coord.dims[0]])
        if isinstance(coord.dtype, pd.DatetimeTZDtype):
            moved = pd.DatetimeIndex(moved, tz="UTC").tz_convert(coord.dtype.tz)
        resampled[name] = xr.Variable(coord.dims, moved, coord.attrs)
    if dropped:
        warn_caller(
            f"coordinates {', '.join(map(repr, dropped))} cannot be resampled along {', '.join(map(repr, changed))} "
            f"and are dropped: they are not 1-D and numeric with two elements or more"
        )
    return data.coords.to_dataset().drop_vars(along).assign_coords(resampled).coords


def _has_spacing(before: int, places: _Centres) -> bool:
    """False if there is a single element and an output is beside it: one element has no distance to a neighbour."""
    return before > 1 or not places[0].any()


def _interpolated(values: Array, places: _Centres) -> Array:
    """``values`` interpolated at ``places`` between two neighbours, or extrapolated along the last two.

    Position 7/3 of 0, 10, 20, 40: first = 2, part = 1, of 3: 20 + (40 - 20) * 1/3.
    """
    numerators, one = places
    first = np.clip(numerators // one, 0, max(len(values) - 2, 0)).astype(np.int64)
    second = np.minimum(first + 1, len(values) - 1)
    part = numerators - first * one
    numbers, is_float = values, values.dtype.kind == "f"
    if values.dtype.kind in "iu":
        is_float = max(-int(values.min(initial=0)), int(values.max(initial=0))) < 1 << 53
        if not is_float:
            numbers, part = values.astype(object), part.astype(object)  # sums of 64 bits could overflow
    elif not is_float:
        numbers = _in_finer_unit(values, first, second, part, one)
    if is_float:
        numbers = numbers.astype(np.result_type(values, np.float64))
    low, high = numbers[first], numbers[second]
    if is_float:
        between = low + (high - low) * (part / one).astype(np.float64)
    else:  # integers, because the distance of two days is 2^47 ns; NaT stays NaT
        whole = (high - low) // one
        rest = ((high - low) - whole * one) * part
        between = low + whole * part + (rest + one // 2) // one
    exact: Array = np.select([part == 0, part == one], [low, high], between)
    if values.dtype.kind == "f":
        return exact.astype(values.dtype)
    if exact.dtype != object:
        return exact
    bounds = np.iinfo(values.dtype)
    fits = bounds.min <= exact.min(initial=0) and exact.max(initial=0) <= bounds.max
    return exact.astype(values.dtype if fits else np.float64)


def _in_finer_unit(
    times: Array,
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    part: Array,
    one: int,
) -> Array:
    """``times`` in the coarsest unit from their own to ns that expresses the times at ``part`` / ``one`` exactly.

    If no unit does, the result is in ns. A unit is not made finer if some time would exceed 62 bits. Steps of 1 s at
    1/4 become 250 ms.
    """
    while (unit := np.datetime_data(times.dtype)[0]) in _FINER:
        counts = np.where(np.isnat(times), 0, times.astype(np.int64))
        steps = np.where(np.isnat(times[first]) | np.isnat(times[second]), 0, counts[second] - counts[first])
        if not (steps % one * part % one).any() or np.abs(counts).max(initial=0) >= (1 << 62) // 1000:
            break
        times = times.astype(f"{times.dtype.kind}8[{_FINER[unit]}]")
    return times
