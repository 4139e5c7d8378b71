"""jax: ``rs.resample`` of a ``jax.Array`` with its exact gradient, under jit, grad and vmap."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import SupportsIndex, Unpack

import numpy as np

from restride.arguments import RealNumber, list_arguments
from restride.dtypes import Array
from restride.errors import DescriptorError, needed_package
from restride.interop.linear import LinearMap, linear_map
from restride.request import ModeName
from restride.request.resampling import RuleArguments
from restride.tensor.device import Device

with needed_package("restride.interop.jax", "jax", "jax"):
    import jax


@list_arguments(RuleArguments, {})
def resample(
    x: jax.Array | Array,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    device: Device | None = None,
    **rules: Unpack[RuleArguments],
) -> jax.Array:
    """``rs.resample`` of a jax array, bit for bit, with a gradient for jax.

    The gradient is ``rs.resample_backward``, the exact transpose, which has a gradient too, and so on. It works under
    ``jit``, ``grad``, ``vjp`` and ``vmap``, which computes all of its axis in one call. Forward mode (``jvp``,
    ``jacfwd``, ``hessian``) does not work, because jax has none for a ``custom_vjp``; ``jacrev`` works.

    jax calls back to the host (``jax.pure_callback``), and copies arrays of a GPU to it and back. If jax has a single
    thread, on one core, it hangs in every callback with 100 KB or more: start Python with ``NPROC=2`` there.

    Args:
        x: float32, float16 or bfloat16; a numpy array becomes a jax array.
        sizes: this and the following arguments as in ``rs.resample``; under ``jit``, all but ``x`` are static.
        scales: as in ``rs.resample``.
        axes: as in ``rs.resample``.
        mode: as in ``rs.resample``; every mode is linear in ``x``.
        device: where to compute; default: ``rs.default_device()``.
        rules: those of ``rs.resample`` that ``rs.resample_backward`` takes too.

    Raises:
        DescriptorError: ``x`` is no array, or ``rs.resample`` raises it.
        UnsupportedError: ``x`` has another element type, or ``rs.resample`` raises it.
        TypeError: an argument that ``rs.resample_backward`` does not accept.

    Example:
        >>> import jax
        >>> from restride.interop.jax import resample
        >>> jax.jit(lambda x: resample(x, (4,)))(np.array([0, 8], np.float32)).tolist()
        [0.0, 2.0, 6.0, 8.0]
        >>> jax.grad(lambda x: resample(x, (4,)).sum())(np.array([0, 8], np.float32)).tolist()
        [2.0, 2.0]
    """
    if not isinstance(x, jax.Array | np.ndarray):
        raise DescriptorError(f"x must be a jax.Array or a numpy array, got {type(x).__name__}")
    result: jax.Array = _apply(linear_map(x.shape, str(x.dtype), sizes, scales, axes, mode, rules, device), x)
    return result


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _apply(operator: LinearMap, x: jax.Array) -> jax.Array:
    """Apply a LinearMap to an array; its gradient is the transposed map."""
    result = jax.ShapeDtypeStruct(operator.sizes_of(x.shape), x.dtype)
    # vmap adds a leading axis, which a LinearMap allows.
    return jax.pure_callback(operator, result, x, vmap_method="broadcast_all")


def _forward(operator: LinearMap, x: jax.Array) -> tuple[jax.Array, None]:
    return _apply(operator, x), None


def _backward(operator: LinearMap, _: None, grad: jax.Array) -> tuple[jax.Array]:
    return (_apply(operator.transposed, grad),)


_apply.defvjp(_forward, _backward)
