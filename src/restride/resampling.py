"""The operations that change sizes: resample, its transpose resample_backward, and the source that a window needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex

from restride.dtypes import as_dtype
from restride.integers import counts
from restride.interpolation import part_read
from restride.layout import Layout
from restride.planned import perform
from restride.profiles import chosen
from restride.resample_plans import backward_plan, resample_plan
from restride.sampling import outside_value, resizing
from restride.tensor import Tensor


def resample(
    x: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | int | None = None,
    *,
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    extrapolation_value: float = 0.0,
    roi: Iterable[Any] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
    input_offsets: Iterable[Any] | None = None,
    output_offsets: Iterable[Any] | None = None,
    recompute_scale_factor: bool | None = None,
    like: str | None = None,
    window: Iterable[slice | None] | None = None,
    source_sizes: Iterable[SupportsIndex] | None = None,
    layout: Layout = None,
    dtype: Any = None,
    src_scale: Any = None,
    src_zero_point: Any = None,
    dst_scale: Any = None,
    dst_zero_point: Any = None,
    sum_scale: Any = None,
    post_ops: Iterable[tuple[Any, ...]] | None = None,
    rounding: str = "nearest_even",
    saturate: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """``x`` resized along ``axes``, to ``sizes`` or by ``scales``. docs/resample.md draws every rule.

    An output element is a weighted sum of the source's elements, in f32, nested with the last axis first, so that a
    window is bit for bit what the whole is there. The sum goes through the arithmetic of ``reorder``, and is rounded
    once. "nearest" moves elements, bit for bit where neither type nor scale changes.

    Args:
        x: a Tensor, or what ``rs.asarray`` takes. Of 64 bits or pred: mode "nearest" alone.
        sizes: output size of each of ``axes``.
        scales: output elements for each element of the source; without ``sizes`` these are ``trunc(size * scale)``.
        axes: which axes; negative ones count from the end; default: the last ones, as many as ``sizes`` or ``scales``.
        mode: "nearest"; "linear", of two neighbours an axis, the default; "cubic", of four (Keys); "area", the mean of
            all source elements that the output element covers a part of. With ``like`` a mode of that library, by its
            name or by the library's own constant.
        coordinates: where an output index reads: "half_pixel", the default, "half_pixel_symmetric",
            "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn" or "tf_crop_and_resize". They
            follow ``scales``.
        nearest: rounding, of mode "nearest" alone: "half_up", the default, "round_prefer_floor", "round_prefer_ceil",
            "floor", "ceil".
        cubic_a: the slope at 1, of mode "cubic" alone: -0.75, the default, in ONNX and torch, -0.5 in Pillow and
            antialiased in torch.
        antialias: widen the filters of "linear" and "cubic" where an axis shrinks, to all that the output covers.
        exclude_outside: taps outside the source count for nothing, and the rest for more; else the edge counts.
        extrapolation_value: for reads beyond the first and last element, of "tf_crop_and_resize" alone.
        roi: of "tf_crop_and_resize": first edges of all axes, then last ones; 0 and 1 are first and last element.
        keep_aspect_ratio_policy: "stretch"; "not_larger" or "not_smaller" than ``sizes``, with one scale for all axes.
        input_offsets: DirectML's, one an axis, in place of ``coordinates``: output o reads at
            ``(o - output_offset) / scale - input_offset``. Default: 1/2.
        output_offsets: see ``input_offsets``. Default: -1/2.
        recompute_scale_factor: coordinates follow sizes also where ``scales`` are given, as oneDNN's factors have it.
        like: "torch", "onnx", "onednn", "directml", "tensorflow", "pillow", "opencv" or "scikit-image": modes, defaults
            and arithmetic are that library's, bit for bit where docs/profiles.md says so. Its integers are rounded and
            clamped as it does it, whatever ``rounding`` and ``saturate`` say; then they become what is asked for.
        window: the part of the output to make, a slice for each of ``axes``.
        source_sizes: ``x`` is only the part of a source of these sizes, all axes, that ``source_window`` says.
        layout: of the result, as in ``reorder``; default: "any", the memory order, tiles or blocks of ``x``.
        dtype: element type of the result; default: that of ``out``, of ``layout`` where it says one, or of ``x``.
        src_scale: this and what follows as in ``reorder``, of the interpolated elements, against whose sizes it
            broadcasts.
        src_zero_point: as in ``reorder``.
        dst_scale: as in ``reorder``.
        dst_zero_point: as in ``reorder``.
        sum_scale: as in ``reorder``.
        post_ops: as in ``reorder``.
        rounding: as in ``reorder``.
        saturate: as in ``reorder``; f16 and f8e5m2 resampled to themselves, without scales, keep infinities.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: arguments do not fit each other or ``x``, one has no effect, or ``out`` does not fit.
        UnsupportedError: an unknown name, or an element type that cannot be interpolated.

    Source: oneDNN specification, Resampling; ONNX operators, Resize; DirectML, DML_RESAMPLE2_OPERATOR_DESC.
    """
    return perform(
        resample_plan,
        x,
        out,
        sizes=sizes,
        scales=scales,
        axes=axes,
        mode=mode,
        coordinates=coordinates,
        nearest=nearest,
        cubic_a=cubic_a,
        antialias=antialias,
        exclude_outside=exclude_outside,
        extrapolation_value=extrapolation_value,
        roi=roi,
        keep_aspect_ratio_policy=keep_aspect_ratio_policy,
        input_offsets=input_offsets,
        output_offsets=output_offsets,
        recompute_scale_factor=recompute_scale_factor,
        like=like,
        window=window,
        source_sizes=source_sizes,
        layout=layout,
        dtype=dtype,
        src_scale=src_scale,
        src_zero_point=src_zero_point,
        dst_scale=dst_scale,
        dst_zero_point=dst_zero_point,
        sum_scale=sum_scale,
        post_ops=post_ops,
        rounding=rounding,
        saturate=saturate,
    )


def resample_backward(
    grad: Any,
    input_sizes: Iterable[SupportsIndex],
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | None = None,
    *,
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    roi: Iterable[Any] | None = None,
    input_offsets: Iterable[Any] | None = None,
    output_offsets: Iterable[Any] | None = None,
    recompute_scale_factor: bool | None = None,
    like: str | None = None,
    layout: Layout = None,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The gradient of ``resample``'s source from that of its result: the exact transpose of its matrix.

    A gather: every source element sums what read it, in one order, in f32, so every run gives the same bits.

    Args:
        grad: gradient of the result, f32, f16 or bf16; its sizes along ``axes`` are the result's.
        input_sizes: sizes of the source along ``axes``.
        scales: those that ``resample`` was given, if it was, for they enter the coordinates.
        axes: which axes; default: the last ones, as many as ``input_sizes``.
        mode: this and what follows as in ``resample``, also where they are not given; what was extrapolated has no
            gradient.
        coordinates: as in ``resample``.
        nearest: as in ``resample``.
        cubic_a: as in ``resample``.
        antialias: as in ``resample``.
        exclude_outside: as in ``resample``.
        roi: as in ``resample``.
        input_offsets: as in ``resample``.
        output_offsets: as in ``resample``.
        recompute_scale_factor: as in ``resample``.
        like: the library whose rows of weights are transposed, as in ``resample`` of floats.
        layout: of the result; default: "any", the memory order, tiles or blocks of ``grad``.
        dtype: element type of the result; default: that of ``out``, of ``layout``, or of ``grad``.
        out: where to write instead, as in ``reorder``.

    Raises:
        DescriptorError: arguments do not fit each other or ``grad``.
        UnsupportedError: an unknown name, or another element type.

    Source: oneDNN specification, Resampling, backward propagation.
    """
    return perform(
        backward_plan,
        grad,
        out,
        input_sizes=input_sizes,
        scales=scales,
        axes=axes,
        mode=mode,
        coordinates=coordinates,
        nearest=nearest,
        cubic_a=cubic_a,
        antialias=antialias,
        exclude_outside=exclude_outside,
        roi=roi,
        input_offsets=input_offsets,
        output_offsets=output_offsets,
        recompute_scale_factor=recompute_scale_factor,
        like=like,
        layout=layout,
        dtype=dtype,
    )


def source_window(
    source_sizes: Iterable[SupportsIndex],
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[Any] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: str | int | None = None,
    *,
    window: Iterable[slice | None],
    coordinates: str | None = None,
    nearest: str | None = None,
    cubic_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    extrapolation_value: float = 0.0,
    roi: Iterable[Any] | None = None,
    keep_aspect_ratio_policy: str = "stretch",
    input_offsets: Iterable[Any] | None = None,
    output_offsets: Iterable[Any] | None = None,
    recompute_scale_factor: bool | None = None,
    like: str | None = None,
    source_dtype: Any = "f32",
) -> tuple[slice, ...]:
    """The part of a source that ``window`` of its resampling reads, a slice for each axis of the source.

    ``rs.resample(x[part], ..., window=window, source_sizes=x.sizes)``, with ``part`` what this says, is bit for bit
    ``rs.resample(x, ...)[window]``: an image that does not fit the device is resampled piece by piece.

    Its arguments are those of ``resample`` that say how many outputs there are and what they read, ``sizes`` to
    ``window``. What becomes of the result, from ``layout`` and ``dtype`` to ``out``, reads nothing and is no argument.

    Args:
        source_sizes: of the source, all axes.
        sizes: this and what follows as in ``resample``.
        scales: as in ``resample``.
        axes: as in ``resample``.
        mode: as in ``resample``.
        window: as in ``resample``.
        coordinates: as in ``resample``.
        nearest: as in ``resample``.
        cubic_a: as in ``resample``.
        antialias: as in ``resample``.
        exclude_outside: as in ``resample``.
        extrapolation_value: as in ``resample``; it changes nothing here.
        roi: as in ``resample``.
        keep_aspect_ratio_policy: as in ``resample``.
        input_offsets: as in ``resample``.
        output_offsets: as in ``resample``.
        recompute_scale_factor: as in ``resample``.
        like: as in ``resample``.
        source_dtype: element type of the source, at which a library may look.

    Raises:
        DescriptorError, UnsupportedError: as ``resample`` does.
    """
    its_sizes = counts("source_sizes", source_sizes)
    where = f"source_sizes {its_sizes}".__str__
    given = {
        "mode": mode,
        "coordinates": coordinates,
        "nearest": nearest,
        "cubic_a": cubic_a,
        "antialias": antialias,
        "exclude_outside": exclude_outside,
        "roi": roi,
        "keep_aspect_ratio_policy": keep_aspect_ratio_policy,
        "input_offsets": input_offsets,
        "output_offsets": output_offsets,
        "recompute_scale_factor": recompute_scale_factor,
    }
    choice, rules = chosen(like, given, as_dtype(source_dtype).name, where)
    resized = resizing(its_sizes, sizes, scales, axes, window, choice, where, rules)
    outside_value(extrapolation_value, choice, where)
    return part_read(resized)
