"""Inputs: the results of an image processor by their keys, which are also attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from restride.errors import DescriptorError, UnsupportedError, did_you_mean, needed_package, shown


class Inputs(dict[str, Any]):
    """The results of an image processor: a dictionary whose keys are also attributes, ``inputs.pixel_values``.

    Methods of a dictionary keep their names: a result called "items" is ``inputs["items"]``. Attributes are read only:
    ``inputs[key] = value`` changes a result.

    Example:
        >>> inputs = rs.vision.processor({"image_processor_type": "ViTImageProcessor"})(np.zeros((9, 9, 3), np.uint8))
        >>> inputs.pixel_values.shape, list(inputs)
        ((1, 3, 224, 224), ['pixel_values'])
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """The result of this key, for names that a dictionary lacks.

        Raises:
            AttributeError: there is no such result.
        """
        try:
            return self[name]
        except KeyError:
            keys = ", ".join(map(repr, self)) or "none"
            raise AttributeError(f"there is no result {name!r}, results are {keys}{did_you_mean(name, self)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attributes are read only: inputs[{name!r}] = ... changes a result")

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self]

    def copy(self) -> Inputs:
        """A copy, over the same arrays."""
        return Inputs(self)

    def to(self, *args: object, **kwargs: object) -> Inputs:
        """Move results of ``return_tensors="pt"`` to a device, and convert those of floats, as BatchFeature's ``to``.

        Grids, masks and sizes, of integers and bool, keep their type.

        Args:
            args: those of ``torch.Tensor.to``: a device, a type, or a device and a type.
            kwargs: its keywords, such as ``device``, ``dtype`` and ``non_blocking``.

        Returns:
            These results themselves, which are changed.

        Raises:
            DescriptorError: the first argument is neither a device nor a type.
            UnsupportedError: a result is an array, which torch does not move, or torch is not installed.

        Source: transformers, BatchFeature.to.
        """
        with needed_package("Inputs.to", "torch", "torch"):
            import torch

        if others := [key for key, value in self.items() if not isinstance(value, torch.Tensor | list | tuple)]:
            raise UnsupportedError(
                f"to() moves tensors of torch, and {others[0]!r} is of type {type(self[others[0]]).__name__}: call the "
                'processor with return_tensors="pt"'
            )
        device = kwargs.get("device")
        if device is None and args and not isinstance(args[0], torch.dtype):
            device = args[0]
            if not isinstance(device, str | int | torch.device):
                raise DescriptorError(f"to() takes a device or a type of torch first, got {shown(device)}")

        def moved(value: object) -> object:
            if isinstance(value, list | tuple):
                return type(value)(map(moved, value))
            if not isinstance(value, torch.Tensor):
                return value
            if value.is_floating_point():
                return value.to(*args, **kwargs)
            return value if device is None else value.to(device, non_blocking=kwargs.get("non_blocking", False))

        self.update({key: moved(value) for key, value in self.items()})
        return self
