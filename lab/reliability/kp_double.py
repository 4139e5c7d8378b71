"""A stand-in for the package kp that fails on purpose: call number N raises, or returns without having run.

kp is compiled, ignores nearly every VkResult and takes its functions from the loader itself, so that a fault inside it
cannot be injected (it would be a crash that no Python code can prevent). The boundary is tested instead: whichever call
of kp raises, restride raises a typed error and releases what it holds.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from restride.runtime.kompute.device import load_kp

RAISED = {"RuntimeError": RuntimeError, "MemoryError": MemoryError}
DID_NOT_RUN = "did not run"

_HELD = ("Manager", "Tensor", "Algorithm", "Sequence")


class KpDouble:
    """A replacement for the module kp; ``arm``, ``calls`` and ``fired`` are as in ``VulkanDouble``."""

    def __init__(self) -> None:
        self._kp = load_kp()
        self._position, self._fault = 0, ""
        self.calls: list[str] = []
        self.fired = ""
        self.is_lost = False
        self._objects: WeakSet[_Object] = WeakSet()

    def __enter__(self) -> Self:
        sys.modules["kp"] = self  # type: ignore[assignment] # a stand-in for the module
        load_kp.cache_clear()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.modules["kp"] = self._kp
        load_kp.cache_clear()

    def arm(self, position: int = 0, fault: str = "") -> None:
        """Restart the count of calls at 1; call number ``position`` fails with ``fault``."""
        self._position, self._fault, self.fired = position, fault, ""
        self.calls.clear()

    def disarm(self) -> None:
        """Make every call work again."""
        self._position = 0

    def leaked(self) -> dict[str, int]:
        """The number of kp objects that Python still holds, by kind."""
        kinds = [type(member.wrapped).__name__ for member in self._objects]
        return {kind: kinds.count(kind) for kind in _HELD if kind in kinds}

    def __getattr__(self, name: str) -> Any:
        return self.wrap(name, getattr(self._kp, name))

    def wrap(self, name: str, value: Any) -> Any:
        """Wrap ``value``, an attribute or result of kp, so that its calls go through this double."""
        module = getattr(type(value), "__module__", "")
        if callable(value) and not (isinstance(value, type) and not name.startswith(("Op", "Manager"))):
            return _Call(self, name, value)
        if module == "kp" or module.startswith("kp."):
            if type(value).__name__ not in _HELD:
                return value
            member = _Object(self, value)
            self._objects.add(member)
            return member
        return value

    def call(self, name: str, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Call kp, or fail if this call is armed."""
        self.calls.append(name)
        if self._position == len(self.calls) and self._fault in faults_of(name):
            self.fired = self._fault
            if self._fault == DID_NOT_RUN:
                return None
            raise RAISED[self._fault](f"vk::{name}: injected")
        return self.wrap(name, function(*(_unwrapped(argument) for argument in arguments)))


def faults_of(name: str) -> tuple[str, ...]:
    """The faults that a call can be armed with; destroying cannot fail."""
    if name == "destroy":
        return ()
    return (*RAISED, DID_NOT_RUN) if name == "eval" else tuple(RAISED)


class _Call:
    def __init__(self, double: KpDouble, name: str, function: Any) -> None:
        self._double, self._name, self._function = double, name, function

    def __call__(self, *arguments: Any) -> Any:
        return self._double.call(self._name, self._function, arguments)


class _Object:
    def __init__(self, double: KpDouble, wrapped: Any) -> None:
        self._double, self.wrapped = double, wrapped

    def __getattr__(self, name: str) -> Any:
        return self._double.wrap(name, getattr(self.wrapped, name))


def _unwrapped(value: Any) -> Any:
    if isinstance(value, _Object):
        return value.wrapped
    return [_unwrapped(member) for member in value] if isinstance(value, list) else value
