"""The figures of a part: printed, written, read again by `make reliability`, and its table."""

import pytest
import run
from figures import Figure, conclude, table

FIGURES = (Figure("errors", "0", "0", met=True), Figure("slowest", "1 s", "2 s", met=False))


def test_the_figures_of_a_part_are_stored_and_are_a_table(tmp_path, capsys):
    with pytest.raises(SystemExit, match="1"):
        conclude(FIGURES, tmp_path / "leaks.json")
    assert capsys.readouterr().out == "errors: 0 (goal 0)\nMISSED: slowest: 2 s (goal 1 s)\n"
    outcomes = run.measured("leaks", tmp_path, 1)
    assert outcomes == tuple(figure.outcome for figure in FIGURES)
    assert table(outcomes).splitlines()[2:] == ["| errors | 0 | 0 |  |", "| slowest | 1 s | 2 s | **missed** |"]
