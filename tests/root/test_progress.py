"""Progress: a bar that fits its terminal, lines elsewhere, and nothing where there is no stream."""

from __future__ import annotations

import io
import os
import re
from contextlib import suppress
from importlib.util import find_spec

import pytest
from support.judges import judge

from restride import progress
from restride.progress import Progress

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW", 0.0)
    monkeypatch.setattr(progress, "_LINE_EVERY", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def shown_on_a_terminal(columns, monkeypatch, texts=("all good", "1 [bad]"), total=4, fails=False):
    """The lines that the steps, and the end, write to a terminal of so many columns, and the bytes themselves."""
    if progress.find_spec is find_spec:  # else a test is about a terminal without rich
        judge("rich")
    termios = pytest.importorskip("termios")
    monkeypatch.setenv("COLUMNS", str(columns))
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    with open(ours, "rb", buffering=0) as screen:  # noqa: PTH123
        terminal = open(theirs, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        with terminal, suppress(KeyError), Progress(total, terminal) as bar:
            bar.begin("9 GB")
            for text in texts:
                bar.step(text)
            if fails:
                raise KeyError
            bar.clear()
        shown = b""
        with suppress(OSError):  # a terminal whose other end is closed, once all is read
            while part := screen.read(1 << 16):
                shown += part
    lines = [line.strip() for line in re.split(r"[\r\n]+", CONTROL.sub("", shown.decode()))]
    return [line for line in lines if line], shown


@pytest.mark.parametrize("fails", [False, True])
def test_a_terminal_shows_a_bar_that_is_taken_off_again(monkeypatch, fails):
    lines, shown = shown_on_a_terminal(100, monkeypatch, fails=fails)
    assert "0/4 9 GB" in lines[0]
    assert any(re.search(r"1/4 all good", line) for line in lines)
    assert any(re.search(r"2/4 1 \[bad\]", line) for line in lines)  # brackets are no markup of rich
    assert b"\x1b[2K" in shown[shown.rindex(b"bad") :]  # the line is erased after the last drawing


def test_the_last_step_is_shown_however_soon_it_comes(monkeypatch):
    monkeypatch.setattr(progress, "_REDRAW", 3600.0)
    lines, _ = shown_on_a_terminal(100, monkeypatch, texts=["images"] * 3, total=3)
    assert any("3/3 images" in line for line in lines)


@pytest.mark.parametrize("columns", [20, 41])
def test_a_bar_fits_its_terminal(columns, monkeypatch):
    lines, _ = shown_on_a_terminal(columns, monkeypatch, texts=["a long state " * 9])
    assert max(map(len, lines)) <= columns


def test_a_terminal_without_rich_gets_lines(monkeypatch):
    monkeypatch.setattr(progress, "find_spec", lambda _: None)
    lines, _ = shown_on_a_terminal(100, monkeypatch)
    assert lines[0] == "9 GB"
    assert lines[1].startswith("1/4  all good  ")


def test_elsewhere_it_is_a_line_now_and_then():
    stream = io.StringIO()
    bar = Progress(2, stream)
    bar.step("all good")
    bar.clear()
    assert stream.getvalue() == "1/2  all good  0:00 left\n"


def test_without_a_stream_nothing_is_shown(capsys):
    bar = Progress(2, None)
    bar.begin("9 GB")
    bar.step("all good")
    bar.clear()
    assert capsys.readouterr() == ("", "")
