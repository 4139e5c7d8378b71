"""A command in a folder of its own, for the tests of commands."""

import shlex

import pytest

from restride.cli import main


@pytest.fixture
def restride(tmp_path, monkeypatch, capsys):
    """A command in ``tmp_path``: its exit code, stdout, and the lines of stderr without that of how long it took."""
    monkeypatch.chdir(tmp_path)

    def run(words, *others):
        code = main([*shlex.split(words), *map(str, others)])
        printed = capsys.readouterr()
        return code, printed.out, [line for line in printed.err.splitlines() if " ms on " not in line]

    return run
