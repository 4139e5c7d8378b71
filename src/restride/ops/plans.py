"""Plans of the operations, for hot loops: made of descriptors, before there is a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from restride.layout import TensorDesc
from restride.ops.plan import Plan, Unplaced
from restride.ops.reorder import reorder
from restride.ops.resample import resample, resample_backward
from restride.ops.target import Given
from restride.tensor.device import Device
from restride.tensor.tensor import as_desc, as_device


def plan_reorder(
    src: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    *arguments: Any,
    device: Device | None = None,
    **named: Any,
) -> Plan:
    """What ``rs.reorder(x, *arguments, **named)`` does to an ``x`` laid out as ``src``, as a plan.

    Args:
        src: layout of the source; may be its text.
        dst: layout of the result, as that of an ``out``; default: what ``reorder`` makes.
        arguments: of ``reorder``, from ``layout`` on.
        device: whose limits the plan respects; default: ``rs.default_device()``.
        named: of ``reorder``, but ``out``.

    Raises:
        DescriptorError, UnsupportedError: as ``reorder`` does.
    """
    return _planned(reorder, src, dst, device, arguments, named)


def plan_resample(
    src: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    *arguments: Any,
    device: Device | None = None,
    **named: Any,
) -> Plan:
    """What ``rs.resample(x, *arguments, **named)`` does to an ``x`` laid out as ``src``, as a plan.

    ``plan = rs.plan_resample("u8[1080,1920,3]", None, (224, 224), axes=(0, 1))`` and ``plan(image)``, image by image.
    The rest as in ``plan_reorder``; ``arguments`` are those of ``resample`` from ``sizes`` on.
    """
    return _planned(resample, src, dst, device, arguments, named)


def plan_resample_backward(
    grad: TensorDesc | str,
    dst: TensorDesc | str | None = None,
    *arguments: Any,
    device: Device | None = None,
    **named: Any,
) -> Plan:
    """What ``rs.resample_backward(grad, *arguments, **named)`` does to a ``grad`` laid out so, as a plan.

    The rest as in ``plan_reorder``; ``arguments`` are those of ``resample_backward`` from ``input_sizes`` on.
    """
    return _planned(resample_backward, grad, dst, device, arguments, named)


def _planned(
    operation: Callable[..., Any],
    src: TensorDesc | str,
    dst: TensorDesc | str | None,
    device: Device | None,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Plan:
    out = None if dst is None else Given(as_desc(dst), is_shared=False)
    plan: Plan = operation(Unplaced(as_desc(src), out, as_device(device).limits), *arguments, **named)
    return plan
