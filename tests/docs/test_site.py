"""The site: scripts are short and run anywhere, every public name is there, broken links are seen.

`make docs` runs the scripts and the notebooks; nothing here needs the dependency group `docs`.
"""

import ast
import os
import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

import build_docs
import pytest
from support.process import captured

import restride as rs

ROOT = Path(__file__).resolve().parents[2]

SCRIPTS = sorted((ROOT / "docs" / "gallery").glob("*/plot_*.py"))
PAGE = (ROOT / "docs" / "python_api.md").read_text("utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_a_title_and_at_most_25_lines(script):
    text = script.read_text("utf-8")
    title, underline, blank = ast.get_docstring(ast.parse(text)).splitlines()[:3]
    assert (underline, blank) == ("=" * len(title), "")
    code = text.splitlines()[ast.parse(text).body[0].end_lineno :]
    assert len([line for line in code if line.strip()]) <= 25


def test_there_are_at_least_20_scripts():
    assert len(SCRIPTS) >= 20


def test_every_public_name_is_on_the_page_of_docstrings():
    shown = set(re.findall(r"^\.\. auto\w+:: (\w+)$", PAGE, re.MULTILINE))
    public = {name for name in rs.__all__ if not isinstance(getattr(rs, name), ModuleType)}
    assert public - shown == set(), "docs/python_api.md needs a line `.. autofunction::` or `.. autoclass::` of each"
    assert shown - public == set(), "docs/python_api.md names what restride/__init__.py does not export"


def test_functions_of_other_modules_that_the_api_page_names_are_there_too():
    api = (ROOT / "docs" / "api.md").read_text("utf-8")
    operations = api[api.index("## Operations") : api.index("### Signatures")]
    named = set(re.findall(r"`rs\.(\w+\.[\w.]+)", operations)) - {"reference.", "Preprocess.preset"}
    shown = {
        name.removeprefix("restride.") for name in re.findall(r"^\.\. auto\w+:: (restride\.[\w.]+)", PAGE, re.MULTILINE)
    }
    assert named <= {re.sub(r"^interop\.(dask|ome|xarray)\.", r"\1.", name) for name in shown} | shown


def test_every_page_has_a_place_in_the_site():
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    groups = re.findall(r"^```\{toctree\}\n:caption: (.*)\n:hidden:\n\n([^`]*)```$", index, re.MULTILINE)
    assert [caption for caption, _ in groups] == ["Tutorials", "How-to", "Reference", "Explanation"]
    placed = [page for _, pages in groups for page in pages.split()]
    folders = (ROOT / "docs", ROOT / "docs" / "notebooks", ROOT / "docs" / "benchmarks")
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for folder in folders for path in folder.glob("*.md")
    }
    assert sorted(pages - {"index"}) == sorted(page for page in placed if not page.startswith("../"))


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_code_has_at_most_120_columns_which_fit_a_window_of_1280_pixels(page):
    blocks = re.findall(r"^```.*?^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert [line for block in blocks for line in block.splitlines() if len(line) > 120] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_needs_nothing_of_the_checkout(script):
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(script.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert imported <= {"restride", "numpy", "matplotlib", "skimage", "PIL", *sys.stdlib_module_names}
    assert "open(" not in script.read_text("utf-8")


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("name", ["layouts/plot_layout_tiles", "types/plot_type_rounding"])
def test_a_downloaded_script_writes_its_picture_into_the_current_folder(name, tmp_path):
    if "rounding" in name:
        pytest.importorskip("matplotlib")
    script = shutil.copy(ROOT / "docs" / "gallery" / f"{name}.py", tmp_path)
    work = tmp_path / "work"
    work.mkdir()
    done = captured([sys.executable, script], cwd=work, env=os.environ | {"MPLBACKEND": "Agg"})
    assert done.returncode == 0, done.stderr
    (picture,) = work.iterdir()
    assert picture.stem == name.partition("plot_")[2]
    assert picture.suffix in {".png", ".svg"}


def test_a_build_without_packages_says_what_to_install(monkeypatch, capsys):
    def distribution(name):
        if name in {"sphinx", "furo"}:
            raise PackageNotFoundError(name)

    monkeypatch.setattr(build_docs, "distribution", distribution)
    assert build_docs.main() == 1
    assert capsys.readouterr().err == "restride: the site needs furo, sphinx: pip install . --group docs\n"


def test_links_that_lead_nowhere_and_pictures_without_a_text_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="top"><a href="#top"></a><a href="b/c.html#here"></a><a href="https://example.org/x"></a>'
        '<a href="#bottom"></a><a href="b/c.html#there"></a><a href="b/d.html"></a><img src="b/e.png">'
        '<img src="a.html" alt="a.html"><img src="a.html" alt="words"><img src="a.html" alt="">'
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.html").write_text('<p id="here"><a href="../a.html"></a>')
    assert list(build_docs.faults(tmp_path)) == [
        "a.html: b/e.png needs a text, as ![what it shows](b/e.png)",
        "a.html: a.html needs a text, as ![what it shows](a.html)",
        "a.html: #bottom leads nowhere",
        "a.html: b/c.html#there leads nowhere",
        "a.html: b/d.html leads nowhere",
        "a.html: b/e.png leads nowhere",
    ]
