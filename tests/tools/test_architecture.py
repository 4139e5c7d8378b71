"""The picture of the rooms is what the code and the walk of a call give today."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import architecture

ROOT = Path(__file__).resolve().parents[2]


def test_the_picture_is_what_the_code_gives() -> None:
    """Its file is what the tool draws of the layers, the walk and the rooms' own sentences."""
    stored = architecture.PICTURE.read_text("utf-8")
    assert stored == architecture.picture(), "run tools/architecture.py"


def test_every_room_and_every_step_is_in_the_picture_once() -> None:
    """Each room of the package has a box, and each step of the call a number in the boxes and one in the list."""
    texts = [each.text for each in ET.fromstring(architecture.picture()).iter() if each.tag.endswith("text")]
    rooms = [room for layer in architecture.layers() for room in layer]
    steps = architecture.passed()
    package = ROOT / "src" / "restride"
    assert {path.parent.name for path in package.glob("*/__init__.py")} <= set(rooms)
    assert steps[0] == "ops"
    assert steps[-1] == "runtime"
    assert [texts.count(room) for room in rooms] == [1 + (room in steps) for room in rooms]
    assert [texts.count(str(number)) for number in range(1, len(steps) + 1)] == [2] * len(steps)


def test_the_picture_has_colours_for_light_and_dark_pages() -> None:
    """Every class that has a fill on a light page has another one on a dark page."""
    light, dark = architecture.picture().partition("</style>")[0].split("@media (prefers-color-scheme: dark)")
    for name in ("paper", "room", "passed", "badge", "number"):
        assert f".{name} {{" in light, name
        assert f".{name} {{" in dark, name
