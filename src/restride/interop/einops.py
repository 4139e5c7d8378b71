"""einops on tensors: its functions create views, and copy at most once.

>>> import einops
>>> einops.repeat(rs.asarray(np.zeros((4, 6), np.uint8)), "h w -> h w c", c=3).desc
TensorDesc.parse('u8[4,6,3]{strides=(6,1,0)}')

``import restride`` imports this module if einops is installed. ``rs.rearrange`` does not need einops, and sets the
result's type and layout in the same dispatch. There are no reductions: restride sums only when it resamples.

einops' layers are classes of torch, flax and others, and take their arrays; ``Rearrange`` here takes tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from restride.dtypes import Array
from restride.errors import UnsupportedError, needed_package
from restride.ops.pieces import concatenated, reshaped, tiled
from restride.tensor.arrays import asarray
from restride.tensor.tensor import Tensor

with needed_package("restride.interop.einops", "einops", "einops"):
    from einops._backends import AbstractBackend
    from einops.layers import RearrangeMixin


class RestrideBackend(AbstractBackend):  # type: ignore[misc] # einops may be missing, so mypy does not read it
    """The tensor operations that einops calls. einops finds this class as a subclass of ``AbstractBackend``."""

    framework_name = "restride"

    def is_appropriate_type(self, tensor: object) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Array) -> Tensor:
        return asarray(x)

    def to_numpy(self, x: Tensor) -> Array:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return asarray(np.arange(start, stop))

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return reshaped(x, shape)

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(*axes)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x[(slice(None),) * new_position + (None,)]

    def add_axes(self, x: Tensor, n_axes: int, pos2len: Mapping[int, int]) -> Tensor:
        """Add axes by stride 0, so that repeating copies nothing."""
        key = tuple(None if axis in pos2len else slice(None) for axis in range(n_axes))
        old = iter(x.sizes)
        return x[key].broadcast_to(tuple(pos2len[axis] if axis in pos2len else next(old) for axis in range(n_axes)))

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        return tiled(x, repeats)

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        return concatenated(tensors, axis)

    def stack_on_zeroth_dimension(self, tensors: Sequence[Tensor]) -> Tensor:
        return concatenated(tensors, 0, is_new=True)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.is_float

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        raise UnsupportedError(f"restride has no {operation} over axes {tuple(axes)}: reduce x.numpy(), for {x.desc}")


class Rearrange(RearrangeMixin):  # type: ignore[misc] # as above
    """The layer ``Rearrange`` of einops for tensors: a pattern and its lengths as a function, which can be pickled.

    >>> from restride.interop.einops import Rearrange
    >>> Rearrange("b (h p) w c -> b h w (p c)", p=2)(rs.empty("u8[1,4,6,3]")).sizes
    (1, 2, 6, 6)
    """

    def __call__(self, x: Tensor) -> Tensor:
        """``einops.rearrange`` of ``x``."""
        result: Tensor = self._apply_recipe(x)
        return result
