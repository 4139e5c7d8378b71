"""Progress of many steps: a bar that is redrawn on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

_BAR = 24
"""Characters of the bar."""

_REDRAW = 0.1
"""Seconds between two drawings on a terminal."""

_LINE_EVERY = 15.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """``step`` after each of ``total`` steps; ``clear`` before something else is printed; ``close`` at the end."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._started = time.monotonic()
        self._shown = self._started if not self._is_terminal else 0.0
        self._done = 0
        self._is_drawn = False

    def step(self, text: str) -> None:
        """One more is done; ``text`` says how it stands."""
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= (_REDRAW if self._is_terminal else _LINE_EVERY):
            self._shown = now
            self._show(text, now - self._started)

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False

    close = clear

    def _show(self, text: str, elapsed: float) -> None:
        left = elapsed / self._done * (self._total - self._done)
        counted = f"{self._done}/{self._total}  {text}  {_clock(left)} left"
        if not self._is_terminal:
            print(counted, file=self._stream, flush=True)
            return
        filled = _BAR * self._done // self._total
        line = f"[{'#' * filled}{'.' * (_BAR - filled)}] {counted}"
        self._stream.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        self._stream.flush()
        self._is_drawn = True


def _clock(seconds: float) -> str:
    """``75`` as ``1:15``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
