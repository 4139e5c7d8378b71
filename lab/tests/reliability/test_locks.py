"""Locks that yield: of every module of restride, those that it has when it is imported too."""

from __future__ import annotations

import locks
import pytest
from worker import Worker


def test_every_lock_of_the_library_is_shaken() -> None:
    """Those of its modules are made when they are imported; another package's stay as they are."""
    before = """
import builtins, locks; locks.shake_locks(1)
from restride.runtime import instance
from restride.tensor import device
import threading
made = [instance._lock, device._default_lock, device._counting, threading.Lock()]
builtins.kinds = lambda: [type(each).__name__ for each in made]
"""
    with Worker(before) as worker:
        assert worker.call(20, "builtins.kinds") == [*["ShakenLock"] * 3, "lock"]


def test_locks_are_shaken_before_the_library_has_any() -> None:
    """Afterwards those of its modules would be left out, without a word."""
    with pytest.raises(RuntimeError, match="before restride is imported"):
        locks.shake_locks(1)
