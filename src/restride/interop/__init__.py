"""Support for other libraries' arrays and engines, each in a module that is imported on use."""

from importlib import import_module
from types import ModuleType

_MODULES = frozenset(("dask", "einops", "jax", "ome", "torch", "video", "xarray"))


def __getattr__(name: str) -> ModuleType:
    """``rs.interop.jax`` and the others, without an import statement."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
