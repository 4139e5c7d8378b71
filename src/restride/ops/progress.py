"""Progress of many steps: a bar that is redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import time
from typing import TextIO

_BAR = 24
"""Characters of the bar."""

_REDRAW = 0.1
"""Seconds between two drawings on a terminal."""

_LINE_EVERY = 15.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """``step`` after each of ``total`` steps; ``clear`` before something else is printed, and at the end.

    Args:
        total: how many steps there will be; None: nobody knows.
        stream: where it is shown; None, what ``sys.stderr`` is where it was closed: nowhere.
    """

    def __init__(self, total: int | None, stream: TextIO | None) -> None:
        self._total = total
        self._stream = stream
        self._is_terminal = stream is not None and stream.isatty()
        self._started = time.monotonic()
        self._shown = self._started if not self._is_terminal else 0.0
        self._done = 0
        self._is_drawn = False

    def step(self, text: str) -> None:
        """One more is done; ``text`` says how it stands."""
        self._done += 1
        now = time.monotonic()
        is_last = self._is_terminal and self._done == self._total
        due = self._shown + (_REDRAW if self._is_terminal else _LINE_EVERY)
        if self._stream is not None and (is_last or now >= due):
            self._shown = now
            self._show(text, now - self._started, self._stream)

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._stream is not None and self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False

    def _show(self, text: str, elapsed: float, stream: TextIO) -> None:
        if self._total is None:
            counted = line = f"{self._done}  {text}  {_clock(elapsed)}"
        else:
            left = elapsed / self._done * (self._total - self._done)
            counted = f"{self._done}/{self._total}  {text}  {_clock(left)} left"
            filled = _BAR * self._done // self._total
            line = f"[{'#' * filled}{'.' * (_BAR - filled)}] {counted}"
        if not self._is_terminal:
            print(counted, file=stream, flush=True)
            return
        stream.write(f"\r\x1b[K{line[: _columns(stream) - 1]}")
        stream.flush()
        self._is_drawn = True


def _columns(terminal: TextIO) -> int:
    """The width of a terminal; 80 where it does not know."""
    try:
        return os.get_terminal_size(terminal.fileno()).columns or 80
    except OSError:
        return 80


def _clock(seconds: float) -> str:
    """``75`` as ``1:15``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
