"""docs/layouts.md: it prints what the command prints, and its pictures are what the commands draw today."""

import re
import shlex
from pathlib import Path

import pytest
from support.xla_figures import FIGURE_1, FIGURE_2, run

from restride.cli import main
from restride.layout import TensorDesc

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs" / "layouts.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    restride (show .* -o docs/images/(\S+))$", DOCUMENT, re.MULTILINE)


def test_the_document_prints_what_the_command_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = re.findall(r"^    \$ restride show '(\S+)' --explain\n((?:(?:    .*)?\n)+?)(?=\S)", DOCUMENT, re.MULTILINE)
    assert found
    for text, output in found:
        assert run(capsys, text, "--explain")[1].rstrip() == re.sub("^    ", "", output, flags=re.MULTILINE).rstrip()


def test_the_layouts_of_the_document_are_layouts():
    texts = re.findall(r"^\| `(\S+)` \|", DOCUMENT, re.MULTILINE)
    assert len(texts) == 12
    for text in texts:
        assert str(TensorDesc.parse(text)).startswith(text.removesuffix("}"))


def test_the_document_has_a_command_for_every_picture():
    pictures = {path.name for path in (ROOT / "docs" / "images").glob("layout-*.svg")}
    assert {name for _, name in COMMANDS} == pictures
    assert set(re.findall(r"\]\(images/(layout-\S+)\)", DOCUMENT)) == pictures
    assert {FIGURE_1, FIGURE_2} <= {word for command, _ in COMMANDS for word in shlex.split(command)}


@pytest.mark.parametrize(("command", "name"), COMMANDS, ids=[name for _, name in COMMANDS])
def test_the_pictures_are_what_the_commands_draw_today(command, name, tmp_path, capsys):
    """When this fails and the new picture is right: run the command that docs/layouts.md gives, in the repository."""
    *arguments, path = shlex.split(command)
    assert main([*arguments, str(tmp_path / name)]) == 0
    capsys.readouterr()
    assert (tmp_path / name).read_bytes() == (ROOT / path).read_bytes()
