"""Signals that end a program, turned into what Ctrl-C raises: whoever cleans up after one does after all."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, once; who ignores them, as nohup does, goes on ignoring them."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = threading.current_thread() is threading.main_thread()  # elsewhere Python refuses
    changed = [number for number in numbers if ours and signal.getsignal(number) is signal.SIG_DFL]

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        # A terminal that closes sends one after the other: the second would find reports half written.
        for each in changed:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number).name)

    for number in changed:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
