"""Build the site into build/docs, and check its local links and the words for its pictures. Fetches nothing."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent


def missing_packages() -> list[str]:
    """The packages of the dependency group ``docs`` that are not installed, by name."""
    names = []
    for requirement in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]["docs"]:
        name = re.split(r"[^\w.-]", requirement)[0]
        try:
            distribution(name)
        except PackageNotFoundError:
            names.append(name)
    return names


class Page(HTMLParser):
    """The anchors of a page, the targets of its links and images, and the images that nothing describes."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.unnamed: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in {"href", "src"} and value:
                self.links.append(value)
        picture = dict(attrs)
        if tag == "img" and picture.get("alt") in {None, picture.get("src")}:  # Sphinx has its path for want of words
            self.unnamed.append(picture.get("src") or "")


def faults(site: Path) -> Iterator[str]:
    """Yield a line for each local link in a folder of pages that leads nowhere, and each picture without a text."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    for path, page in sorted(pages.items()):
        yield from (
            f"{path.relative_to(site)}: {picture} needs a text, as ![what it shows]({picture})"
            for picture in page.unnamed
        )
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (parts.fragment and target in pages and unquote(parts.fragment) not in anchors):
                yield f"{path.relative_to(site)}: {link} leads nowhere"


def main() -> int:
    """Build and check the site; the exit code is 0 if there was no warning and no broken link."""
    if missing := missing_packages():
        print(f"restride: the site needs {', '.join(missing)}: pip install . --group docs", file=sys.stderr)
        return 1
    from sphinx.cmd.build import main as build

    import restride as rs

    try:
        rs.Device().close()
    except rs.DeviceError as error:
        print(f"restride: the gallery and the notebooks need a device: {error}", file=sys.stderr)
        return 1
    site = ROOT / "build" / "docs"
    if failed := build(["-q", "-E", "-W", "--keep-going", "-c", str(ROOT / "docs"), str(ROOT), str(site)]):
        return int(failed)
    found = list(faults(site))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    print(f"restride: {site / 'index.html'}, {sum(1 for _ in site.rglob('*.html'))} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
