"""Locks that let other threads run at random moments: just before they are taken, while held, and when released."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

_YIELDS = 1 / 4
"""The probability that a lock lets other threads run, each time that it may."""

_MAX_YIELD = 2e-4
_SWITCH_INTERVAL = 1e-5


class ShakenLock:
    """A lock that randomly lets other threads run before it is acquired, while it is held and after it is released."""

    rng = random.Random(0)

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    @classmethod
    def shake(cls) -> None:
        """Sleep for a moment with probability ``_YIELDS``, which releases the GIL."""
        if cls.rng.random() < _YIELDS:
            time.sleep(cls.rng.random() * _MAX_YIELD)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """See ``threading.Lock``."""
        self.shake()
        taken: bool = self._lock.acquire(blocking, timeout)
        if taken:
            self.shake()
        return taken

    def release(self) -> None:
        """See ``threading.Lock``."""
        self._lock.release()
        self.shake()

    def _is_owned(self) -> bool:
        """See ``threading.RLock``."""
        return bool(self._lock._is_owned())  # noqa: SLF001 - delegates to the same method

    def locked(self) -> bool:
        """See ``threading.Lock``."""
        return bool(self._lock.locked())

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def shake_locks(seed: int) -> None:
    """Make every lock that a module of restride creates a ``ShakenLock``, and Python change threads often.

    Raises:
        RuntimeError: restride is imported already, so the locks that it has made would stay as they are.
    """
    if "restride" in sys.modules:
        raise RuntimeError("shake locks before restride is imported")
    ShakenLock.rng.seed(seed)
    for name in ("Lock", "RLock"):
        setattr(threading, name, _shaken(getattr(threading, name)))
    sys.setswitchinterval(_SWITCH_INTERVAL)


def _shaken(make: Callable[[], Any]) -> Callable[[], Any]:
    def make_lock() -> Any:
        caller = sys._getframe(1).f_globals["__name__"]  # noqa: SLF001 - the one seam of all modules' locks
        return ShakenLock(make()) if caller.partition(".")[0] == "restride" else make()

    return make_lock
