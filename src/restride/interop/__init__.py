"""Support for other libraries' arrays and engines, each in a module that is imported on use."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """``rs.interop.jax`` and ``rs.interop.torch``, without an import statement."""
    if name in ("jax", "torch"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
