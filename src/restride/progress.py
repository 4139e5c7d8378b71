"""Progress of many steps: rich's bar on a terminal where rich is installed, a line now and then elsewhere."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self, TextIO

from restride.errors import printable

if TYPE_CHECKING:
    import rich.progress

_REDRAW = 0.1
"""Seconds between two drawings of the bar."""

_LINE_EVERY = 15.0
"""Seconds between two lines."""


class Progress:
    """Shown progress, until the end of a ``with`` block: call ``step`` after each of ``total`` steps.

    Call ``clear`` before printing anything else.

    Args:
        total: how many steps there will be; None: unknown.
        stream: where it is shown; None: nowhere. ``sys.stderr`` is None if Python was started with it closed.
        title: text in front of each line.
    """

    def __init__(self, total: int | None, stream: TextIO | None, title: str = "") -> None:
        self._total = total
        self._title = title
        self._stream = stream
        self._bar = _bar(total, stream) if stream is not None and stream.isatty() and find_spec("rich") else None
        self._started = time.monotonic()
        self._shown = self._started if self._bar is None else 0.0
        self._steps = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def begin(self, text: str) -> None:
        """Show at once what the steps are, because the first of them may take long; optional."""
        if self._bar is not None:
            self._draw(text)
        else:
            self._print(f"{self._title}{text}")

    def step(self, text: str) -> None:
        """Count one step; ``text`` is the state after it."""
        self._steps += 1
        now = time.monotonic()
        if self._bar is not None:
            if self._steps == self._total or now >= self._shown + _REDRAW:
                self._shown = now
                self._draw(text)
        elif self._stream is not None and now >= self._shown + _LINE_EVERY:
            self._shown = now
            elapsed = now - self._started
            if self._total is None:
                line = f"{self._steps}  {self._title}{text}  {_clock(elapsed)}"
            else:
                left = elapsed / self._steps * (self._total - self._steps)
                line = f"{self._steps}/{self._total}  {self._title}{text}  {_clock(left)} left"
            self._print(line)

    def _print(self, line: str) -> None:
        """Print a line. A stream that fails to take it, such as a file on a full disk, gets no more lines."""
        try:
            if self._stream is not None:
                print(printable(line), file=self._stream, flush=True)
        except OSError:
            self._stream = None

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._bar is not None:
            self._bar.stop()

    def _draw(self, text: str) -> None:
        if self._bar is not None:
            shown = printable(f"{self._title}{text}")
            self._bar.update(self._bar.task_ids[0], completed=self._steps, description=shown)
            self._bar.start()
            self._bar.refresh()


def _bar(total: int | None, terminal: TextIO) -> rich.progress.Progress:
    """A bar for one task, which is drawn only on ``refresh`` and disappears on ``stop``."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(24),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(),
        console=Console(file=terminal),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("", total=total)
    return bar


def _clock(seconds: float) -> str:
    """Seconds as minutes and seconds: ``75`` is ``1:15``."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
