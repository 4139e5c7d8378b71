"""torch: ``rs.resample`` of a ``torch.Tensor`` with its exact gradient: autograd, ``torch.func`` and forward mode."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, SupportsIndex, Unpack

from restride.arguments import RealNumber, list_arguments
from restride.errors import DescriptorError, UnsupportedError, needed_package
from restride.interop.linear import LinearMap, linear_map
from restride.request import ModeName
from restride.request.resampling import RuleArguments
from restride.tensor.device import Device

with needed_package("restride.interop.torch", "torch", "torch"):
    import torch


@list_arguments(RuleArguments, {})
def resample(
    x: torch.Tensor,
    sizes: Iterable[SupportsIndex] | None = None,
    scales: Iterable[RealNumber] | None = None,
    axes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    *,
    device: Device | None = None,
    **rules: Unpack[RuleArguments],
) -> torch.Tensor:
    """``rs.resample`` of a torch tensor on the CPU, bit for bit, with a gradient for torch.

    The gradient is ``rs.resample_backward``, the exact transpose, which has a gradient too, and so on. The transforms
    of ``torch.func``, including ``vmap``, and forward mode work too; ``torch.compile`` compiles the code around the
    call. If the device can, it reads the elements without a copy; the result is copied once.

    Args:
        x: float32, float16 or bfloat16, of any strides, on the CPU.
        sizes: this and the following arguments as in ``rs.resample``.
        scales: as in ``rs.resample``.
        axes: as in ``rs.resample``.
        mode: as in ``rs.resample``; every mode is linear in ``x``.
        device: where to compute; default: ``rs.default_device()``.
        rules: those of ``rs.resample`` that ``rs.resample_backward`` takes too.

    Returns:
        A new contiguous tensor on the CPU, of the type of ``x``.

    Raises:
        DescriptorError: ``x`` is no torch tensor, or ``rs.resample`` raises the error.
        UnsupportedError: ``x`` has another element type, is not strided or not on the CPU, or ``rs.resample`` raises
            the error.
        TypeError: an argument that ``rs.resample_backward`` does not accept.

    Example:
        >>> import torch
        >>> from restride.interop.torch import resample
        >>> x = torch.tensor([0.0, 8.0], requires_grad=True)
        >>> y = resample(x, (4,))
        >>> y.tolist()
        [0.0, 2.0, 6.0, 8.0]
        >>> y.sum().backward()
        >>> x.grad.tolist()
        [2.0, 2.0]
    """
    if not isinstance(x, torch.Tensor):
        raise DescriptorError(f"x must be a torch.Tensor, got {type(x).__name__}: rs.resample takes arrays")
    if x.device.type != "cpu" or x.layout != torch.strided:
        raise UnsupportedError(
            f"x must be a strided tensor on the CPU, and is {x.layout} on {x.device}: pass "
            f"{'x.cpu()' if x.layout == torch.strided else 'x.to_dense()'}, for sizes {tuple(x.shape)}"
        )
    if torch.compiler.is_compiling():
        # torch cannot compile the rest. Disabling it at import would import torch's compiler, which takes seconds.
        return torch.compiler.disable(resample)(x, sizes, scales, axes, mode, device=device, **rules)
    dtype = str(x.dtype).removeprefix("torch.")
    result: torch.Tensor = _Apply.apply(x, linear_map(x.shape, dtype, sizes, scales, axes, mode, rules, device))
    return result


class _Apply(torch.autograd.Function):  # type: ignore[misc] # torch may be missing, so mypy does not read it
    """A LinearMap applied to a tensor: its derivative is the map itself, its gradient the transposed map."""

    @staticmethod
    def forward(x: torch.Tensor, operator: LinearMap) -> torch.Tensor:
        # A view such as z.conj().imag negates elements only when they are read; DLPack would pass them on as stored.
        return torch.from_dlpack(operator(x.detach().resolve_neg()))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, LinearMap], output: torch.Tensor) -> None:  # noqa: ARG004
        ctx.operator = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return _Apply.apply(grad, ctx.operator.transposed), None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _operator: None) -> torch.Tensor:
        return _Apply.apply(tangent, ctx.operator)

    @staticmethod
    def vmap(_: object, in_dims: tuple[int, None], x: torch.Tensor, operator: LinearMap) -> tuple[torch.Tensor, int]:
        return _Apply.apply(x.movedim(in_dims[0], 0), operator), 0
