"""Progress: a bar that fits its terminal, lines elsewhere, and nothing where there is no stream."""

from __future__ import annotations

import io
import os
from contextlib import suppress

import pytest

from restride.ops import progress
from restride.ops.progress import Progress

BAR = "\r\x1b[K"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)


def shown_on_a_terminal(columns):
    """What two steps of four, and the end, write to a terminal of so many columns."""
    termios = pytest.importorskip("termios")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with open(ours, "rb", buffering=0) as screen:  # noqa: PTH123
        with open(theirs, "w", encoding="utf-8") as terminal:  # noqa: PTH123
            bar = Progress(4, terminal)
            bar.step("all good")
            bar.step("1 bad")
            bar.clear()
            bar.clear()
        shown = b""
        with suppress(OSError):  # a terminal whose other end is closed, once all is read
            while part := screen.read(1 << 16):
                shown += part
        return shown.decode()


def test_a_terminal_shows_a_bar_that_is_taken_off_again():
    nothing, first, second, *end = shown_on_a_terminal(100).split(BAR)
    assert (nothing, end) == ("", [""])
    assert first.startswith("[######..................] 1/4  all good  ")
    assert second.startswith("[############............] 2/4  1 bad  ")
    assert second.endswith(" left")


def test_the_last_step_is_shown_however_soon_it_comes(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW", 3600.0)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    bar = Progress(3, stream)
    bar._shown = bar._started
    for _ in range(3):
        bar.step("images")
    assert [line.split("  ")[0] for line in stream.getvalue().split(BAR)] == ["", f"[{'#' * 24}] 3/3"]


@pytest.mark.parametrize(("columns", "room"), [(1, 0), (20, 19), (0, 79)])
def test_a_bar_leaves_the_last_column_free(columns, room):
    lines = shown_on_a_terminal(columns).split(BAR)
    assert max(map(len, lines)) <= room
    assert len(lines[1]) == min(room, len("[######..................] 1/4  all good  0:00 left"))


def test_elsewhere_it_is_a_line_now_and_then():
    stream = io.StringIO()
    bar = Progress(2, stream)
    bar.step("all good")
    bar.clear()
    assert stream.getvalue() == "1/2  all good  0:00 left\n"


def test_without_a_stream_nothing_is_shown(capsys):
    bar = Progress(2, None)
    bar.step("all good")
    bar.clear()
    assert capsys.readouterr() == ("", "")
