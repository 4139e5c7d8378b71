"""Plans of the operations, for hot loops: made of descriptors, before there is a tensor."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.ops.cache import remembered
from restride.ops.plan import Plan, Planner
from restride.ops.reorder import reorder, reorder_plan
from restride.ops.resample import backward_plan, resample, resample_backward, resample_plan
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
    return _planned(reorder, reorder_plan, src, dst, device, arguments, named)


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
    return _planned(resample, resample_plan, src, dst, device, arguments, named)


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
    return _planned(resample_backward, backward_plan, grad, dst, device, arguments, named)


def _planned(
    operation: Callable[..., Any],
    planner: Planner,
    src: TensorDesc | str,
    dst: TensorDesc | str | None,
    device: Device | None,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Plan:
    call = signature(operation).bind(src, *arguments, **named)
    call.apply_defaults()
    (_, first), *others = call.arguments.items()
    its_arguments: dict[str, Any] = dict(others)
    if its_arguments.pop("out") is not None:
        raise DescriptorError(f"a plan has no out, for {first}: dst is the layout of it")
    out = None if dst is None else Given(as_desc(dst), is_shared=False)
    its_arguments |= {"src": as_desc(src), "out": out, "limits": as_device(device).limits}
    return remembered(planner, its_arguments)
