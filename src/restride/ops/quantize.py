"""Quantisation and normalisation under the names of ONNX and torchvision: thin functions over ``reorder``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import as_numpy, check_keywords, integer, require_word
from restride.dtypes import ELEMENT_TYPES, Array, DType, DTypeLike, as_dtype
from restride.errors import DescriptorError, ErrorContext, UnsupportedError, warn_caller
from restride.layout import TensorDesc
from restride.layout.argument import Layout, axis_order, laid_out
from restride.layout.tensor_desc import packed
from restride.ops.lookup import LookingUp, looking_up
from restride.ops.normalized import ORDERS, NormalizingLibrary, normalized_table
from restride.ops.perform import perform, source_beside
from restride.ops.reorder import Reorder, reorder_plan
from restride.ops.target import Out, Result, type_asked
from restride.request.arithmetic import Numbers, numbers, require_unit
from restride.runtime import is_kp_tensor
from restride.tensor.arrays import host_array
from restride.tensor.dlpack import CPU, device_type
from restride.tensor.tensor import Tensor


class Reordering(NamedTuple):
    """An operation computed by ``reorder``, and the result to ask of ``reorder``.

    names: for the name of an argument in reorder's errors, the operation's own name of it. remedy: the end of an error
    about the element type.
    """

    result: Result
    names: dict[str, str]
    remedy: str = ""

    def perform(self, x: object, out: Tensor | None) -> Tensor:
        """The result for ``x``."""
        with self.renamed():
            return perform(reorder_plan, x, out, *self.result)

    def operation(self, src: TensorDesc) -> Reorder:
        """The operation for a source."""
        with self.renamed():
            return Reorder(src, self.result)

    @contextmanager
    def renamed(self) -> Iterator[None]:
        """A block in which errors of reorder get the operation's argument names, and lose the descriptor of reorder."""
        try:
            yield
        except DescriptorError as error:
            inner, _, rule = str(error).partition(" ")
            if inner not in self.names:
                raise
            # Cut reorder's advice to use a side of floats: where it gives that advice, another integer type would not
            # help either.
            rule, of_floats, _ = rule.partition("; a side of floats")
            end = self.remedy if f"an integer of {self.result.dtype}" in rule and not of_floats else ""
            rule = rule.replace(f", for {error.desc}", "")  # the result's layout, which the caller may not have given
            raise DescriptorError(f"{self.names[inner]} {rule}{end}") from error


QUANTIZED_TYPES = tuple(
    row.name for row in ELEMENT_TYPES.values() if row.kind != "bool" and row.bits <= (8 if row.is_float else 16)
)
"""Types of a zero point that decide the type of the result, as in ONNX."""


@check_keywords
def quantize(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex | None = None,
    saturate: bool = True,
    *,
    layout: Layout = None,
    out: Tensor | None = None,
) -> Tensor:
    """``x / scale``, rounded, plus ``zero_point``, saturated: ONNX's QuantizeLinear.

    The quotient is rounded half to even before the zero point is added: 0.5, 1.5 and 2.5 with scale 1 and zero point 3
    become 3, 5 and 5. ``reorder`` adds first, as oneDNN does: 4, 4 and 6. The arithmetic is f32, also where ``scale``
    is f16 and ONNX would divide in f16. 8-bit floats are rounded once, after the zero point, which is 0 in ONNX.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        scale: one number; one for each index of ``axis``; with ``block_size`` an array of all axes of ``x``, one for
            each block; or any array that broadcasts against the sizes of ``x``.
        zero_point: the same, in values of the result's type.
        dtype: element type of the result; default: that of an array ``zero_point``, of ``out`` or of ``layout``, or u8.
        axis: the axis of ``x`` that scales lie along, also where ``layout`` permutes; negative ones count from the end.
            As in ONNX it has no effect if no scale lies along it, such as one number for all.
        block_size: neighbours along ``axis`` that share a scale; None or 0, as in ONNX: no blocks, arrays
            only broadcast.
        saturate: for 8-bit floats: what is too large becomes the largest finite value, rather than infinity or NaN.
            Integers always saturate.
        layout: of the result, as in ``reorder``.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: what ``reorder`` refuses of dst_scale and dst_zero_point; a wrong axis, or not one scale for
            each of its indices; the type of ``zero_point`` is no quantised one; or the result has neither integers nor
            8-bit floats.

    Examples:
        >>> x = np.array([-1.0, 0.0, 0.5, 300.0], np.float32)
        >>> rs.quantize(x, 0.5, 10).numpy().tolist()
        [8, 10, 11, 255]

    Source: ONNX operators, QuantizeLinear.
    """
    src = source_beside(x, out)
    with ErrorContext(src.desc):
        return quantizing(src.desc, scale, zero_point, dtype, axis, block_size, saturate, layout, out).perform(src, out)


def quantizing(
    desc: TensorDesc,
    scale: object,
    zero_point: object = None,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex | None = None,
    saturate: bool = True,
    layout: Layout = None,
    out: Tensor | None = None,
) -> Reordering:
    """``quantize`` for a source with the element type and sizes of ``desc``, as arguments of ``reorder``."""
    require_word("saturate", saturate, (True, False))
    asked = _quantized_type(zero_point) if dtype is None else dtype
    is_default = asked is None and out is None
    result = _type_of_result(asked, out, layout, desc, "u8")
    _require_quantized("the result of quantize, by dtype, layout or out,", result)
    scales, zero_points, group_sizes = _entries(scale, zero_point, axis, block_size, desc)
    numbers = Numbers(
        dst_scale=scales,
        dst_zero_point=zero_points,
        group_sizes=group_sizes,
        saturate=not result.is_float or saturate,
        rounds_first=not result.is_float,
    )
    return Reordering(
        Result(layout, result, in_axes_of_result(numbers, axis_order(desc, layout))),
        {"dst_scale": "scale", "dst_zero_point": "zero_point", "group_sizes": "block_size"},
        "; the result is u8 unless dtype says otherwise" if is_default and result == "u8" else "",
    )


@check_keywords
def dequantize(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex | None = None,
    *,
    layout: Layout = None,
    out: Tensor | None = None,
) -> Tensor:
    """``(x - zero_point) * scale``: ONNX's DequantizeLinear, in f32.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        scale: as in ``quantize``.
        zero_point: as in ``quantize``, in values of the type of ``x``.
        dtype: element type of the result; default: that of ``out`` or of ``layout``, or f32.
        axis: as in ``quantize``.
        block_size: as in ``quantize``.
        layout: of the result, as in ``reorder``.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: what ``reorder`` refuses of src_scale and src_zero_point; a wrong axis, or not one scale for
            each of its indices; ``x`` has neither integers nor 8-bit floats; or the result has no floats.

    Examples:
        >>> rs.dequantize(np.array([8, 10, 11], np.uint8), 0.5, 10).numpy().tolist()
        [-1.0, 0.0, 0.5]

    Source: ONNX operators, DequantizeLinear.
    """
    src = source_beside(x, out)
    with ErrorContext(src.desc):
        return dequantizing(src.desc, scale, zero_point, dtype, axis, block_size, layout, out).perform(src, out)


def dequantizing(
    desc: TensorDesc,
    scale: object,
    zero_point: object = None,
    dtype: DTypeLike | None = None,
    axis: SupportsIndex = 1,
    block_size: SupportsIndex | None = None,
    layout: Layout = None,
    out: Tensor | None = None,
) -> Reordering:
    """``dequantize`` for a source with the element type and sizes of ``desc``, as arguments of ``reorder``."""
    result = _type_of_result(dtype, out, layout, desc, "f32")
    _require_quantized("the source of dequantize", desc.dtype)
    _require_float("dequantize", result)
    scales, zero_points, group_sizes = _entries(scale, zero_point, axis, block_size, desc)
    numbers = Numbers(scales, zero_points, group_sizes=group_sizes)
    names = {"src_scale": "scale", "src_zero_point": "zero_point", "group_sizes": "block_size"}
    return Reordering(Result(layout, result, numbers), names)


@check_keywords
def normalize(
    x: Any,
    mean: Any,
    std: Any,
    *,
    axis: SupportsIndex = -1,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    like: NormalizingLibrary | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """``(x - mean) / std`` for each channel, integers first scaled to a largest value of 1: torchvision's Normalize.

    ``rs.normalize(image, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), layout="NHWC->NCHW")`` converts
    interleaved u8 to planar f32. Floats take torchvision's two steps, a subtraction and a division in f32, bit for bit.
    Integers are also divided by their type's largest value, as by ``ToTensor``, all in one: ``x / (255 * std) + (-mean
    / std)`` in f32, both constants rounded to f32. For u8 that is within ``2^-22 / std`` of the exact value, as
    torchvision's three steps are, but not bit for bit the same. For u8 ``like`` gives the bits of a library's steps.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes.
        mean: one number, or one for each channel, as if the integers of ``x`` were in [0, 1], signed ones in [-1, 1].
        std: the same; not 0.
        axis: the channels of ``x``, also where ``layout`` permutes. The default is the last axis, where decoders of
            images put them; torchvision's order, C,H,W, has them at -3. Another one than the default is an error if
            neither ``mean`` nor ``std`` has a number for each channel.
        layout: of the result, as in ``reorder``.
        dtype: element type of the result, a float; default: that of ``out`` or of ``layout``, or f32.
        like: the library whose order of operations gives the f32 of u8, bit for bit, by a table of 256 entries for each
            channel (``lookup``): "transformers", the image processors of its PIL backend, which round after 1 / 255,
            the subtraction and the division; "torchvision", those of its torchvision backend, which scale mean and std
            instead. None: the formula above. Another ``dtype`` is cast from that f32 as numpy casts. An ``x`` of f32
            gives the same bits with either library, and without ``like``.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: what ``reorder`` refuses; ``std`` is 0 or not finite, or ``mean`` not finite; a wrong axis, or
            not one value for each of its indices; ``x`` has integers, and a mean or std is outside [-1, 1], such as one
            for 0 to 255; or ``dtype`` is no float. There is a warning if floats of an array on the host are far above
            mean and std, such as 0 to 255 with ImageNet's.
        UnsupportedError: ``like`` for elements other than u8 and f32.

    Examples:
        >>> photo = np.full((1, 2, 2, 3), 255, np.uint8)
        >>> planes = rs.normalize(photo, mean=(0.5, 0.5, 0.5), std=(0.5, 0.25, 0.125), layout="NHWC->NCHW")
        >>> planes.sizes, planes.numpy()[0, :, 0, 0].tolist()
        ((1, 3, 2, 2), [1.0, 2.0, 4.0])

    Source: torchvision, transforms: Normalize and ToTensor.
    """
    src = source_beside(x, out)
    with ErrorContext(src.desc):
        asked = normalizing(src.desc, mean, std, axis=axis, layout=layout, dtype=dtype, like=like, out=out)
        warn_of_unit(x, mean, std)
        return asked.perform(src, out)


def normalizing(
    desc: TensorDesc,
    mean: object,
    std: object,
    *,
    axis: SupportsIndex = -1,
    layout: Layout = None,
    dtype: DTypeLike | None = None,
    like: NormalizingLibrary | None = None,
    out: Tensor | None = None,
) -> Reordering | LookingUp:
    """``normalize`` for a source with the element type and sizes of ``desc``, as a reorder or a look-up."""
    result = _type_of_result(dtype, out, layout, desc, "f32")
    _require_float("normalize", result)
    require_word("like", like, (None, *ORDERS))
    _require_use_of_axis(axis, mean, std, desc)
    if like is not None and desc.dtype not in ("u8", "f32"):
        raise UnsupportedError(f"normalize like {like!r} is for elements of u8 and f32, got {desc.dtype}")
    if like is not None and desc.dtype == "u8":
        normalizing_scales(mean, std, desc.dtype, numbers)  # checks them
        place = _axis(axis, desc)
        table = normalized_table(_rows("mean", mean, place, desc), _rows("std", std, place, desc), like)
        rows, along = (table[0], None) if len(table) == 1 else (table, place)
        return looking_up(desc, rows, along, layout, result)
    scales = normalizing_scales(mean, std, desc.dtype, lambda name, value: _on_axis(name, value, axis, None, desc))
    names = {"src_zero_point": "mean", "dst_scale": "std"}
    if not desc.dtype.is_float:
        names = {"dst_scale": f"{desc.dtype.format.range[1]} * std", "dst_zero_point": "-mean / std"}
    return Reordering(Result(layout, result, in_axes_of_result(scales, axis_order(desc, layout))), names)


def _rows(argument: str, value: object, axis: int, desc: TensorDesc) -> npt.NDArray[np.float64]:
    """``value`` as an array with a row for each number: one number, or one for each index of an axis."""
    array = _on_axis(argument, value, axis, None, desc).astype(np.float64)
    sizes = [desc.sizes[axis] if place == axis else 1 for place in range(desc.rank)]
    if array.size != 1 and list(array.shape) != sizes:
        raise DescriptorError(
            f"{argument} must be one number or {sizes[axis]}, one for each index of axis {axis}, got sizes "
            f"{list(array.shape)}"
        )
    return array.reshape(-1, 1)


def normalizing_scales(mean: object, std: object, dtype: DType, read: Callable[[str, object], Array]) -> Numbers:
    """Arguments of ``reorder`` that compute ``(v - mean) / std`` for elements of ``dtype``.

    Floats take a subtraction and a division. Integers, which are also divided by their largest value, 255 for u8, take
    one division by ``255 * std`` and one addition of ``-mean / std``.

    Args:
        mean: as in ``normalize``.
        std: as in ``normalize``.
        dtype: element type of the source.
        read: returns the numbers of an argument from its name and value.

    Raises:
        DescriptorError: a number is not finite, a ``std`` is 0, or for integers one is outside [-1, 1].
    """
    means, stds = (read(argument, value).astype(np.float64) for argument, value in (("mean", mean), ("std", std)))
    if not np.isfinite(means).all():
        raise DescriptorError(f"mean must be finite, got {mean!r}")
    if not (np.isfinite(stds) & (stds != 0)).all():
        raise DescriptorError(f"std must be finite and not 0, got {std!r}")
    require_unit("mean", means, dtype)
    require_unit("std", stds, dtype)
    if dtype.is_float:
        return Numbers(src_zero_point=means, dst_scale=stds)
    # The offset cannot be src_zero_point = 255 * mean, because the zero point of an integer type must be one of its
    # integers.
    _, largest = dtype.format.range
    return Numbers(dst_scale=largest * stds, dst_zero_point=-means / stds)


_FAR = 16
"""An average of floats this many ``std`` above ``mean`` indicates that they are in another unit."""

_MAX_PER_AXIS = 16
"""About this many elements along each axis are examined, so that it takes less than 0.1 ms for any size."""


def warn_of_unit(x: object, mean: Any, std: Any) -> None:
    """Warn if floats are far above the unit of ``mean`` and ``std``, such as 0 to 255 with a mean for 0 to 1.

    Integers need no such check: they are divided by their largest value. Reads a few elements of ``x``, which has been
    accepted as an image before, if it is on the host. For ImageNet, white is 2.6 ``std`` above ``mean``.
    """
    if isinstance(x, Tensor) or is_kp_tensor(x) or (hasattr(x, "__dlpack__") and device_type(x) != CPU):
        return
    array = host_array(x)
    if array.dtype.kind != "f" or not array.size or isinstance(mean, Tensor) or isinstance(std, Tensor):
        return
    some = array[tuple(slice(None, None, max(size // _MAX_PER_AXIS, 1)) for size in array.shape)]
    highest = np.max(0 if mean is None else mean) + _FAR * np.max(np.abs(1 if std is None else std))
    if some.mean(dtype=np.float64) > highest:
        warn_caller(
            "floats are far above mean and std, as those of 0 to 255 are above mean and std for 0 to 1: divide the "
            "elements by 255, or give mean and std in their unit"
        )


def in_axes_of_result(scales: Numbers, order: Sequence[int]) -> Numbers:
    """``scales`` in the axes of a source, those of the destination permuted by ``order``, as of a layout "A->B"."""

    def permuted(array: Array | None) -> Array | None:
        if array is None or not array.ndim or array.ndim > len(order):
            return array
        return array.reshape((1,) * (len(order) - array.ndim) + array.shape).transpose(order)

    return scales._replace(dst_scale=permuted(scales.dst_scale), dst_zero_point=permuted(scales.dst_zero_point))


def _require_quantized(what: str, dtype: DType) -> None:
    if dtype == "pred" or (dtype.is_float and dtype.itemsize > 1):
        raise DescriptorError(f"{what} must be of integers or 8-bit floats, got {dtype}")


def _require_float(function: str, dtype: DType) -> None:
    if not dtype.is_float:
        raise DescriptorError(f"the result of {function} must be of floats, got {dtype} by dtype, layout or out")


def _quantized_type(zero_point: object) -> DType | None:
    """The element type of ``zero_point``; None for a Python number or a list, which has none."""
    if not hasattr(zero_point, "dtype"):
        return None
    dtype = as_dtype(zero_point.dtype if isinstance(zero_point, Tensor) else as_numpy("zero_point", zero_point).dtype)
    if dtype.name not in QUANTIZED_TYPES:
        raise DescriptorError(
            f"zero_point of {dtype} does not say the type of the result, which is one of "
            f"{', '.join(QUANTIZED_TYPES)} in ONNX: give dtype"
        )
    return dtype


def _type_of_result(
    dtype: DTypeLike | None, out: Tensor | None, layout: Layout, desc: TensorDesc, default: DTypeLike
) -> DType:
    """The element type of the result: ``dtype``, or that of ``out``, of a ``layout`` that names one, or ``default``."""
    place = Out(out.desc, is_shared=False) if isinstance(out, Tensor) else None
    asked = type_asked(desc, dtype, place)
    if asked is None and layout is not None:
        asked = laid_out(packed(as_dtype(default), desc.sizes), layout).dtype
    return asked or as_dtype(default)


def _entries(
    scale: object, zero_point: object, axis: SupportsIndex, block_size: SupportsIndex | None, desc: TensorDesc
) -> tuple[Array, Array, Sequence[int] | None]:
    """Scales and zero points in the axes of ``x``, and how many neighbours along each axis share one, if any do."""
    size = 0 if block_size is None else integer("block_size", block_size)
    if size < 0:
        raise DescriptorError(f"block_size must be 0 or more, got {size}")
    if integer("axis", axis) != 1:  # the default, which an x of one axis does not have
        _axis(axis, desc)
    scales = _on_axis("scale", scale, axis, size, desc)
    zero_points = _on_axis("zero_point", 0 if zero_point is None else zero_point, axis, size, desc)
    if not size:
        return scales, zero_points, None
    if not scales.ndim and not zero_points.ndim:
        raise DescriptorError(f"block_size {size} has no effect with one number for all of x: scale has no blocks")
    place = _axis(axis, desc)
    return scales, zero_points, [size if other == place else 1 for other in range(desc.rank)]


def _on_axis(
    argument: str, value: object, axis: SupportsIndex, block_size: SupportsIndex | None, desc: TensorDesc
) -> Array:
    """``value`` for the axes of ``x``: three scales of axis 1 of four axes have sizes 1,3,1,1.

    A single number, an array that already broadcasts, and scales of blocks, which have all axes, stay as they are.
    """
    array = numbers(argument, value)
    if block_size and array.ndim not in (0, desc.rank):
        raise DescriptorError(f"{argument} of blocks must have all {desc.rank} axes, got sizes {list(array.shape)}")
    if array.ndim != 1 or block_size:
        return array
    if array.size == 1:
        return array.reshape(())
    place = _axis(axis, desc)
    if array.size != desc.sizes[place]:
        raise DescriptorError(
            f"{argument} must be one number or {desc.sizes[place]}, one for each index of axis {place}, "
            f"got {array.size}"
        )
    return array.reshape(tuple(-1 if other == place else 1 for other in range(desc.rank)))


def _require_use_of_axis(axis: SupportsIndex, mean: object, std: object, desc: TensorDesc) -> None:
    """Require that ``axis`` is the default, or ``mean`` or ``std`` a sequence, which may have a single number."""
    if integer("axis", axis) == -1:
        return
    size = desc.sizes[_axis(axis, desc)]
    if numbers("mean", mean).ndim != 1 and numbers("std", std).ndim != 1:
        raise DescriptorError(
            f"axis {axis} has no effect, because neither mean nor std is a sequence of {size} numbers, one for each "
            f"index of that axis: leave axis out"
        )


def _axis(axis: SupportsIndex, desc: TensorDesc) -> int:
    place = integer("axis", axis)
    if not -desc.rank <= place < desc.rank:
        default = "; 1 is the default of quantize and dequantize" if place == 1 else ""
        raise DescriptorError(f"axis {place} is outside [-{desc.rank}, {desc.rank}) of {desc}{default}")
    return place % desc.rank
