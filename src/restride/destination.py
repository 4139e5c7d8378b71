"""Where an operation reads and where it writes: the source beside a given destination, and destinations proven fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from restride import views
from restride.arithmetic import Arithmetic, arithmetic
from restride.arrays import asarray
from restride.desc import TensorDesc
from restride.dtypes import DType, as_dtype
from restride.errors import DescriptorError
from restride.injective import may_overlap, require_injective, written_by
from restride.layout import Layout, axis_order, is_permutation, laid_out
from restride.tensor import Tensor, new_destination, require_like


def source_beside(x: Any, out: Tensor | None) -> Tensor:
    """``x`` on the device that ``out`` lies on."""
    if out is None:
        return asarray(x)
    if not isinstance(out, Tensor):
        raise DescriptorError(f"out must be a restride.Tensor, got {type(out).__name__}")
    if isinstance(x, Tensor) and x.device is not out.device:
        raise DescriptorError(
            f"out must lie on the device of x, but out {out.desc} is on {out.device!r} and x {x.desc} on {x.device!r}, "
            f"opened separately; x.numpy() copies"
        )
    return asarray(x, device=out.device)


def destination(
    like: TensorDesc,
    layout: Layout,
    src: Tensor,
    out: Tensor | None,
    default: TensorDesc | None = None,
    dtype: DType | None = None,
    in_place: bool = False,
) -> tuple[Tensor, Tensor]:
    """Where a result with the axes of ``like`` goes, of element type ``dtype`` or its own, proven fit to be written.

    Two tensors over the same memory: the result as the caller gets it, and the same elements with the axes in the order
    of ``like``, which differ when the layout is a permutation "A->B". ``default`` is the layout where none is asked
    for; None: packed, row-major. ``in_place``: ``out`` may be the source itself.
    """
    order = axis_order(like, layout)
    permuted = views.permute(like, order) if is_permutation(layout) else like
    desc = laid_out(permuted, default if layout is None else layout, dtype)
    if out is None:
        dst = new_destination(desc, "layout", permuted, src.device, dtype)
    else:
        dst = out
        require_like(out.desc, "out", permuted, dtype)
        if layout is not None and not is_permutation(layout) and out.desc != desc:
            raise DescriptorError(f"out is {out.desc}, but layout {layout!r} asks for {desc}; give one of the two")
        require_injective(out.desc, "out")
        # Disjoint elements may share a word: whoever reads it finds its own bytes unchanged, whatever the others are.
        is_itself = in_place and out.desc == src.desc and order == tuple(range(like.rank))
        if out.memory is src.memory and not is_itself and may_overlap(src.desc, written_by(out.desc)):
            raise DescriptorError(f"out {out.desc} must lie apart from the source {src.desc} in the buffer they share")
    if not is_permutation(layout):
        return dst, dst
    inverse = tuple(order.index(axis) for axis in range(like.rank))
    return dst, Tensor(dst.memory, views.permute(dst.desc, inverse), dst.device)


def element_type(src: TensorDesc, layout: Layout, dtype: Any, out: Tensor | None) -> DType:
    """The element type of a result: ``dtype``, or that of ``out``, of ``layout`` where it says one, or of ``src``."""
    if dtype is not None:
        try:
            return as_dtype(dtype)
        except DescriptorError as error:
            raise DescriptorError(f"dtype: {error}, for {src}") from error
    return out.dtype if out is not None else laid_out(src, layout).dtype


def arithmetic_of_result(src: TensorDesc, dst: TensorDesc, layout: Layout, arguments: dict[str, Any]) -> Arithmetic:
    """``restride.arithmetic.arithmetic`` with both scalings in the axes of ``src``, also where ``layout`` is "A->B"."""
    order = axis_order(src, layout)
    done = arithmetic(src, dst, order, **arguments)
    if done.dst is None:
        return done
    return replace(done, dst=done.dst.permuted([order.index(axis) for axis in range(len(order))]))
