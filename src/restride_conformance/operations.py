"""What the operation of a case is: the numpy answer, and the call on a device. A new operation adds one entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from restride import reference
from restride.arithmetic import arithmetic
from restride.errors import DescriptorError
from restride.layout import TensorDesc, views
from restride.layout.argument import Layout, laid_out
from restride.layout.overlap import may_overlap, written_by
from restride.tensor.tensor import Tensor
from restride_conformance import cropping, resampling, video
from restride_conformance.case import Case
from restride_conformance.parameters import ARITHMETIC
from restride_conformance.scale_values import arguments, computed_type, is_arithmetic, order
from restride_conformance.spelling import Sizes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Answer:
    """What the elements of a destination may be: ``lowest`` to ``highest``, both inclusive.

    Where both have the same bits, or the operation is exact, those bits must come; but where they are NaN and it is not
    exact, any NaN will do. ``flushed``: what comes on a device that takes denormals of f32 for zeros; None: no matter.
    """

    lowest: Array
    highest: Array
    flushed: Array | None = None


@dataclass(frozen=True)
class Operation:
    """One operation of the catalogue.

    sizes: the sizes of the answer, without its elements; raises DescriptorError where the operation does no such thing.
    answer: the right elements, from those of the source, viewed already, and the old ones of the destination.
    call: run it on the device: ``(case, source tensor, destination tensor)``; gives the destination, a new one where
        None is given. Sources are viewed already.
    tolerance: where it is not exact: what the limits are, and where they come from, in a line.
    """

    is_exact: Callable[[Case], bool]
    sizes: Callable[[Case], Sizes]
    answer: Callable[[Case, Array, Array | None], Answer]
    call: Callable[[Case, Tensor, Tensor | None], Tensor]
    tolerance: Callable[[Case], str] = lambda _case: ""


def require_valid(case: Case) -> None:
    """Check that a case asks for what its operation does, from its sizes alone: no element is computed.

    Raises:
        DescriptorError: a window, axis or permutation does not fit, the destination has other sizes, what ``out`` says
            does not go with it, or a scale, a zero point or a sum cannot be.
    """
    _require_sizes(case, OPERATIONS[case.op].sizes(case))
    if case.op in ("reorder", "resample", "crop_resize"):
        _require_arithmetic(case)
    out = case["out"]
    if case.op == "reorder" and case["permute"] is not None and out not in (None, "same", "default"):
        raise DescriptorError(f"permute gives the layout too, so out={out} must be same or default: {case}")
    if out == "same" and not is_in_place(case) and may_overlap(case.src, written_by(case.dst)):
        raise DescriptorError(f"with out=same the destination must lie apart from the source: {case}")
    if makes_destination(case):
        laid_out(TensorDesc(case.dst.dtype, case.dst.sizes), _layout(case), case.dst.dtype)


def _require_arithmetic(case: Case) -> None:
    if case.get("sum_scale") is not None and makes_destination(case):
        raise DescriptorError(f"sum_scale reads a destination that is given, so out={case['out']} must not be: {case}")
    sizes = case.viewed if case.op == "reorder" else case.dst.sizes
    source = TensorDesc(computed_type(case), sizes, (0,) * len(sizes))
    arithmetic(source, case.dst, order(case), **arguments(case), rounds_first=case.get("rounds_first") == "yes")


def makes_destination(case: Case) -> bool:
    """Whether the operation is to make its destination, rather than write to one that is given."""
    return case["out"] not in (None, "same")


def is_in_place(case: Case) -> bool:
    """Whether a reorder writes to where it reads."""
    alone = case["out"] == "same" and case.view is None and case.src == case.dst
    return alone and case.op == "reorder" and case["permute"] is None


def keeps_padding(case: Case) -> bool:
    """Whether padding of the destination must stay: where its elements are read too."""
    return is_in_place(case) or case.get("sum_scale") not in (None, 0.0)


def answer(case: Case, source: Array, old: Array | None = None) -> Answer:
    """The right destination, elementwise, of a source that is not viewed yet and the old destination where it is read.

    Raises:
        DescriptorError: the case asks for something the operation does not do, or for another destination size.
    """
    viewed = source if case.view is None else case.view.of_array(source)
    right = OPERATIONS[case.op].answer(case, viewed, old)
    _require_sizes(case, right.lowest.shape)
    return right


def origins(case: Case, places: Array) -> Array:
    """Of each element of the destination, the place that it comes from, where ``places`` are those of the source."""
    if case.op == "yuv_to_rgb":
        return video.of_places(case, places)
    if case.op == "crop_resize":
        moving = cropping.of_places(case)
    elif case.op.startswith("resample"):
        moving = resampling.of_places(case)
    else:
        left_out = {parameter.name for parameter in ARITHMETIC}
        moving = replace(case, parameters=tuple(each for each in case.parameters if each[0] not in left_out))
    src, dst = (TensorDesc("s64", desc.sizes, (0,) * desc.rank) for desc in (case.src, case.dst))
    return answer(replace(moving, src=src, dst=dst), places.astype(np.int64)).lowest


def _require_sizes(case: Case, sizes: Sizes) -> None:
    if sizes != case.dst.sizes:
        raise DescriptorError(f"{case.op} gives sizes {list(sizes)}, but the destination is {case.dst}: {case}")


def _exactly(array: Array) -> Answer:
    return Answer(array, array)


def _layout(case: Case) -> Layout:
    """What is asked for where the operation makes its destination."""
    if case["out"] in ("new", "default"):
        return case.dst if case["out"] == "new" else None
    return case.word("out")


def _windows(case: Case) -> tuple[Sizes, Sizes, Sizes]:
    return case.integers("offsets"), case.integers("sizes"), case.integers("strides")


def _slice_sizes(case: Case) -> Sizes:
    # Zero strides, because a view may have more elements than a packed tensor.
    source = TensorDesc(case.src.dtype, case.viewed, (0,) * len(case.viewed))
    return views.window(source, *_windows(case), case.dst.sizes).sizes


def _slice_answer(case: Case, source: Array, _old: Array | None) -> Answer:
    return _exactly(reference.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes))


def _call_slice(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    made = rs.strided_slice(source, *_windows(case), output_sizes=case.dst.sizes, out=out)
    return rs.reorder(made, _layout(case)) if out is None else made  # without out, a slice is a view


def _permutation(case: Case) -> str | None:
    return None if case["permute"] is None else case.word("permute")


def _reorder_sizes(case: Case) -> Sizes:
    return tuple(case.viewed[axis] for axis in order(case))


def _reorder_answer(case: Case, source: Array, old: Array | None) -> Answer:
    return _converted(case, source, _permutation(case), old)


def _converted(case: Case, source: Array, permutation: str | None, old: Array | None) -> Answer:
    """Elements as the arithmetic of a case and its destination's type have them."""

    def computed(flush: bool) -> Array:
        return reference.reorder(
            source,
            permutation,
            case.dst.dtype,
            **arguments(case),
            out=old,
            rounds_first=case.get("rounds_first") == "yes",
            flush=flush,
        )

    right = computed(flush=False)
    if not is_arithmetic(case):
        return _exactly(right)
    flushed = computed(flush=True)
    with np.errstate(invalid="ignore"):  # bf16 and the 8-bit floats say so where NaN is compared
        is_lower = flushed < right
    return Answer(np.where(is_lower, flushed, right), np.where(is_lower, right, flushed), flushed)


def _call_reorder(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs
    from restride.ops.reorder import reorder_with

    permutation = _permutation(case)
    layout = _layout(case) if out is None and permutation is None else permutation
    dtype = case.dst.dtype if out is None else None
    if case["rounds_first"] == "yes":
        return reorder_with(source, layout, dtype, out, **arguments(case), rounds_first=True)
    return rs.reorder(source, layout, dtype, **arguments(case), out=out)


def _converted_tolerance(_case: Case) -> str:
    return "the answers of f32 with and without its denormals, and what lies between them; any NaN for a NaN"


def _call_resample(case: Case, source: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    given = {**resampling.called_with(case), **arguments(case)}
    return rs.resample(source, **given, **_asked_for(case, out))


def _call_resample_backward(case: Case, grad: Tensor, out: Tensor | None) -> Tensor:
    import restride as rs

    return rs.resample_backward(grad, **resampling.called_with(case), **_asked_for(case, out))


def _asked_for(case: Case, out: Tensor | None) -> dict[str, Any]:
    """The destination, or the layout and the element type of one to be made."""
    return {"out": out} if out is not None else {"layout": _layout(case), "dtype": case.dst.dtype}


def _resample_answer(case: Case, source: Array, old: Array | None) -> Answer:
    is_crop = case.op == "crop_resize"
    if not is_crop:
        resampling.resized(case)  # whatever asks for something else is refused in the library's words
    if resampling.moves(case):
        moved = cropping.moved(case, source) if is_crop else resampling.moved(case, source)
        return _converted(case, moved, None, old)
    return Answer(*(cropping.limits(case, source) if is_crop else resampling.limits(case, source, old)))


def _resample_tolerance(case: Case) -> str:
    if resampling.moves(case):
        return _converted_tolerance(case)
    return cropping.tolerance(case) if case.op == "crop_resize" else resampling.tolerance(case)


OPERATIONS: dict[str, Operation] = {
    "slice": Operation(lambda _case: True, _slice_sizes, _slice_answer, _call_slice),
    "reorder": Operation(
        lambda case: not is_arithmetic(case), _reorder_sizes, _reorder_answer, _call_reorder, _converted_tolerance
    ),
    "resample": Operation(
        lambda case: resampling.moves(case) and not is_arithmetic(case),
        resampling.resampled_sizes,
        _resample_answer,
        _call_resample,
        _resample_tolerance,
    ),
    "resample_backward": Operation(
        lambda _case: False,
        resampling.source_sizes,
        _resample_answer,
        _call_resample_backward,
        resampling.tolerance,
    ),
    "yuv_to_rgb": Operation(
        lambda _case: True,
        video.rgb_sizes,
        lambda case, source, _old: _exactly(video.rgb(case, source)),
        lambda case, source, out: video.call(case, source, out, _layout(case) if out is None else None),
    ),
    "crop_resize": Operation(
        lambda case: resampling.moves(case) and not is_arithmetic(case),
        cropping.cropped_sizes,
        _resample_answer,
        lambda case, source, out: cropping.call(case, source, _asked_for(case, out)),
        _resample_tolerance,
    ),
}
"""Every operation by the name that begins its cases."""
