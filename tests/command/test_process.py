"""What a command prints of names that others chose: control characters are escaped, on stderr and on stdout."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge
from support.process import captured

import restride
from restride.cli import main, process
from restride.errors import printable

HOSTILE = "\x1b[2J\x9b\x7f\u202e\u2066\u2028\rrestride: all went well"
NO_TEXT = os.fsdecode(b"\xff\x1b[2J")
"""The name of a file whose bytes are no text in UTF-8."""
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="on Windows names have no control characters")


def chunk(kind: bytes, content: bytes = b"") -> bytes:
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")


def a_png_chunk(folder: Path) -> list[str]:
    header = chunk(b"IHDR", bytes((0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0)))
    pixels = chunk(b"IDAT", zlib.compress(bytes(2)))
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"\x1b[2J") + chunk(b"IEND"))
    return ["resize", "a.png", "out.png", "--sizes", "1", "1"]


def a_dataset(folder: Path) -> list[str]:
    with judge("h5py").File(folder / "a.h5", "w") as file:
        file[f"1{HOSTILE}"] = file["2\n"] = np.zeros((8, 8), np.uint8)
    return ["pyramid", "a.h5", "out.zarr"]


def a_missing_dataset(folder: Path) -> list[str]:
    return [*a_dataset(folder)[:1], f"a.h5/{HOSTILE}\n", "out.zarr"]


def an_array_of_zarr(folder: Path) -> list[str]:
    group = judge("zarr", "3").open_group(folder / "a.zarr", mode="w")
    for name in ("1\x1b[2J\n", "2\u202e"):
        group.create_array(name, shape=(8, 8), dtype="u1")
    return ["pyramid", "a.zarr", "out.zarr"]


def dimension_names(folder: Path) -> list[str]:
    names = [f"y{HOSTILE}", "x\n"]
    judge("zarr", "3").create_array(folder / "a.zarr", shape=(8, 8), dtype="u1", dimension_names=names)
    return ["pyramid", "a.zarr", "out.zarr"]


def a_file_of_ome(folder: Path) -> list[str]:
    tifffile, _ = judge("tifffile"), judge("zarr", "3")
    tifffile.imwrite(folder / "a.ome.tif", np.zeros((2, 8, 8), np.uint8), metadata={"axes": "ZYX"})
    text = tifffile.tiffcomment(folder / "a.ome.tif")
    name = "gone&#x9b;&#x85;&#x202e;.tif"  # XML has no ESC
    uuid = f'<TiffData IFD="1" FirstZ="1"><UUID FileName="{name}">urn:uuid:{0:032x}</UUID></TiffData></Pixels>'
    text = re.sub("<TiffData IFD.*?/>", '<TiffData IFD="0" PlaneCount="1"/>', text).replace("</Pixels>", uuid)
    tifffile.tiffcomment(folder / "a.ome.tif", text.encode())
    return ["pyramid", "a.ome.tif", "out.zarr"]


def a_file_in_a_folder(folder: Path) -> list[str]:
    (folder / "photos").mkdir()
    for name in (f"1{HOSTILE}\n.png", f"2{NO_TEXT}.png"):
        (folder / "photos" / name).write_bytes(b"no image")
    return ["resize", "photos", "small", "--sizes", "1", "1", "--skip-bad"]


def a_file_that_is_read(folder: Path) -> list[str]:
    name = f"{HOSTILE}\n{NO_TEXT}.npy"
    np.save(folder / name, np.zeros((4, 4), np.uint8))
    return ["slice", name, f"out{NO_TEXT}\n.npy", "[:2]"]


def a_batch(folder: Path) -> list[str]:
    name = f"{HOSTILE}\n{NO_TEXT}.npy"
    np.save(folder / name, np.zeros((4, 4, 3), np.uint8))
    return ["preprocess", name, "-o", f"out{NO_TEXT}\n.npy", "--sizes", "2", "2", "--letterbox", "center"]


def a_picture(folder: Path) -> list[str]:
    name = f"{HOSTILE}\n{NO_TEXT}.npy"
    np.save(folder / name, np.zeros((4, 4), np.uint8))
    return ["view", name]


def a_pyramid(folder: Path) -> list[str]:
    judge("zarr", "3")
    np.save(folder / "a.npy", np.zeros((4, 4), np.uint8))
    return ["pyramid", "a.npy", f"{HOSTILE}\n{NO_TEXT}.zarr", "--levels", "1"]


def a_configuration(folder: Path) -> list[str]:
    keys = {"image_processor_type": "CLIPImageProcessor", f"do_{HOSTILE}\n": True, "size": {f"{HOSTILE}\n": 3}}
    (folder / "config.json").write_text(json.dumps(keys))
    (folder / "a.png").touch()
    return ["vision", "config.json", "a.png", "--plan"]


def a_configuration_of_a_class(folder: Path) -> list[str]:
    (folder / "config.json").write_text(json.dumps({"image_processor_type": f"CLIP{HOSTILE}\n"}))
    (folder / "a.png").touch()
    return ["vision", "config.json", "a.png", "--plan"]


def a_case_file(folder: Path) -> list[str]:
    (folder / "cases.txt").write_text(f"slice {HOSTILE}\n")
    return ["test", "cases.txt"]


def a_report(folder: Path) -> list[str]:
    (folder / "report.json").write_text(json.dumps({"format": "restride-record", "version": f"{HOSTILE}\n"}))
    return ["report", "show", "report.json"]


def words(_: Path) -> list[str]:
    return ["resize", f"--{HOSTILE}\n".replace(" ", ""), "a", "b"]


def a_layout(_: Path) -> list[str]:
    return ["show", f"f32[2,3]{{{HOSTILE}\n}}"]


SOURCES = (
    a_png_chunk,
    a_dataset,
    a_missing_dataset,
    an_array_of_zarr,
    dimension_names,
    a_file_of_ome,
    a_file_in_a_folder,
    a_file_that_is_read,
    a_batch,
    a_picture,
    a_pyramid,
    a_configuration,
    a_configuration_of_a_class,
    a_case_file,
    a_report,
    words,
    a_layout,
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.filterwarnings("ignore")
def test_no_name_reaches_the_terminal_as_it_is(source: Callable[[Path], list[str]], tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code = main(source(tmp_path))
    said = capfd.readouterr()
    assert code in (process.Exit.OK, process.Exit.USAGE)
    assert not FORBIDDEN.search(said.out + said.err)
    assert not [line for line in (said.out + said.err).splitlines() if line.startswith("restride: all went well")]
    assert "Traceback" not in said.err
    assert "\\x1b" in said.out + said.err or "\\x9b" in said.err


def test_a_name_that_stdout_cannot_encode_is_escaped(tmp_path):
    np.save(tmp_path / "é\udcff.npy", np.zeros((4, 4), np.uint8))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    command = [sys.executable, "-m", "restride", "slice", "é\udcff.npy", "ü\udcff.npy", "[:2]"]
    done = captured(command, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\xfc\\udcff.npy: u8[2,4]" in done.stdout


def test_the_lines_of_a_compiler_stay_lines(capsys):
    process.tell("glslang: 1\n  2\x1b", has_lines=True)
    process.tell("name\n\x1b")
    assert capsys.readouterr().err == "restride: glslang: 1\n  2\\x1b\nrestride: name\\n\\x1b\n"


def test_what_is_printable_stays_as_it_is():
    text = "naïve 写真 🙂 \\ ' \" a\u0301"
    assert printable(text) == text


def test_an_interrupt_that_an_import_wraps_is_an_interrupt(monkeypatch, capsys):
    class Field:
        def __set_name__(self, _owner: type, _name: str) -> None:
            raise KeyboardInterrupt("SIGHUP")

    def modules() -> list[object]:
        return [type("Imported", (), {"field": Field()})]  # a RuntimeError before Python 3.12

    monkeypatch.setattr("restride.cli.command_modules", modules)
    assert main(["show", "f32[2]"]) == process.Exit.INTERRUPTED
    assert capsys.readouterr().err == "restride: interrupted\n"


UNESCAPED = {
    "command/parser.py": "the overview, which is ours",
    "cli/completion.py": "a script",
    "cli/demo.py": "the parts of a line, of our own words",
    "command/findings.py": "JSON for the command that started the process",
    "command/process.py": "the one place",
    "cli/show.py": "a picture in colours",
    "cli/view.py": "a picture in colours",
    "progress.py": "a bar, whose text is escaped there",
}
"""Modules that print otherwise than by ``say`` and ``tell``, and what."""


def test_commands_print_by_one_function():
    source = Path(restride.__file__).parent
    printing = set()
    for package in ("restride", "restride_conformance", "restride_measure"):
        for path in (source.parent / package).rglob("*.py"):
            calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
            if any(isinstance(call.func, ast.Name) and call.func.id == "print" for call in calls):
                printing.add(path.relative_to(source.parent).as_posix().removeprefix("restride/"))
    assert printing == set(UNESCAPED)
