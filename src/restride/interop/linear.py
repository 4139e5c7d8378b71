"""LinearMap: a resampling, or its transpose, as a value that the autograd of jax or torch passes around.

The transpose of the transpose is the resampling itself, so gradients of gradients need nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, SupportsIndex

from restride.arguments import RealNumber
from restride.dtypes import as_dtype
from restride.errors import ErrorContext, UnsupportedError
from restride.layout import TensorDesc
from restride.ops.resample import GRADIENT_TYPES, resample, resample_backward, resolve
from restride.request import ModeName, Request
from restride.request.resampling import RuleArguments
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor

_TYPES = {dtype.dtype.name: dtype for dtype in map(as_dtype, GRADIENT_TYPES)}
"""Element types that have gradients, by the names that numpy, torch and jax share."""


@dataclass(frozen=True)
class LinearMap:
    """``rs.resample`` with all arguments but the array fixed, or its transpose; hashable.

    Axes count from the end, so that axes may be added in front, as vmap does.

    Attributes:
        old: sizes of the source along ``axes``.
        new: sizes of the result along ``axes``.
        axes: negative numbers; -1 is the last.
        arguments: the other arguments, by name.
        device: where to compute; None: on ``rs.default_device()``.
        is_transposed: the map goes from the gradient of the result to that of the source.
    """

    old: tuple[int, ...]
    new: tuple[int, ...]
    axes: tuple[int, ...]
    arguments: tuple[tuple[str, Any], ...]
    device: Device | None
    is_transposed: bool = False

    @property
    def transposed(self) -> LinearMap:
        """The transposed map, which maps gradients back."""
        return replace(self, is_transposed=not self.is_transposed)

    def sizes_of(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """All sizes of the result for an input of these sizes."""
        result = list(sizes)
        for axis, size in zip(self.axes, self.old if self.is_transposed else self.new, strict=True):
            result[axis] = size
        return tuple(result)

    def __call__(self, x: object) -> Tensor:
        """The result for a host array, which is read without a copy if the device can do that."""
        tensor = asarray(x, device=self.device, copy=None)
        if self.is_transposed:
            return resample_backward(tensor, self.old, axes=self.axes, **dict(self.arguments))
        return resample(tensor, self.new, axes=self.axes, **dict(self.arguments))


def linear_map(
    x_sizes: Sequence[int],
    x_dtype: str,
    sizes: Iterable[SupportsIndex] | None,
    scales: Iterable[RealNumber] | None,
    axes: Iterable[SupportsIndex] | None,
    mode: ModeName | int | Enum | None,
    rules: RuleArguments,
    device: Device | None,
) -> LinearMap:
    """Check the arguments of ``rs.resample(x, sizes, scales, axes, mode, **rules)`` and return it as a map.

    x_sizes, x_dtype: sizes of x and its element type, by the common name, such as "float32".

    Raises:
        TypeError: a rule that ``rs.resample_backward`` does not accept.
        DescriptorError, UnsupportedError: ``rs.resample`` raises it, or the element type has no gradient.
    """
    for name in rules:
        if name not in RuleArguments.__annotations__:
            raise TypeError(
                f"a resample with a gradient takes no {name}; it takes {', '.join(RuleArguments.__annotations__)}"
            )
    if x_dtype not in _TYPES:
        raise UnsupportedError(
            f"x must be {', '.join(_TYPES)} to have a gradient, not {x_dtype}: convert it, or call rs.resample, which "
            f"has no gradient, for sizes {tuple(x_sizes)}"
        )
    src = TensorDesc(_TYPES[x_dtype], x_sizes)
    named: dict[str, Any] = {
        name: tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else value
        for name, value in {"scales": scales, "mode": mode, **rules}.items()
        if value is not None
    }
    with ErrorContext(src):
        resized = resolve(src, Request(sizes, axes=axes, **named))
    return LinearMap(
        resized.old,
        resized.new,
        tuple(axis - src.rank for axis in resized.axes),
        tuple(sorted(named.items())),
        device,
    )
