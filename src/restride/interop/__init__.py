"""Support for other libraries' arrays and engines, each in a module that is imported on use."""

from importlib import import_module
from types import ModuleType

from restride.errors import did_you_mean

_MODULES = frozenset(("dask", "einops", "jax", "ome", "torch", "video", "xarray"))


def __dir__() -> list[str]:
    return sorted(_MODULES)


def __getattr__(name: str) -> ModuleType:
    """``rs.interop.jax`` and the others, without an import statement."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, _MODULES)}", name=name)
