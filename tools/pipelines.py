"""Run what docs/preprocess.md shows beside what it replaces, and streams of 1080p frames: differences, times, memory.

    python tools/pipelines.py [--write docs/preprocess.md]

The sections with a ``before`` and an ``after`` are taken from the page itself. Both run in turn on photographs that
scikit-image ships; a time is the median of the rounds, of calls after the first, with the result read back. Takes less
than a minute.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import restride as rs
from restride_like_check.images import photograph

PAGE = Path(__file__).resolve().parent.parent / "docs" / "preprocess.md"
PHOTOGRAPHS = ("coffee.png", "retina.jpg")

SECONDS = 2.0
"""Of one example on one photograph, both sides together."""

FRAMES = 300
SETTLED = 20
"""Frames of a stream after which memory should be all that it needs."""

_HEADING = "## How long it takes"
_SECTION = f"""\
{_HEADING}

`python tools/pipelines.py --write docs/preprocess.md` writes this section in less than a minute. Times are medians of
calls after the first, from a numpy array to a numpy array, both sides in turn; the difference is the largest of any
element. The ratio is restride's time divided by the time before: below 1 restride is faster. Measured on
{{device}}, with {{cores}} cores for either side.

"""

_OF_STREAMS = f"""
A stream of {FRAMES} frames, measured from frame {SETTLED} on; each result is read back before the next is taken.
Bytes are those in use on the device.

| stream | frames in a second | 95 of 100 within | bytes at frame {SETTLED} | the most later | growth of the process |
| --- | --- | --- | --- | --- | --- |
"""

Array = npt.NDArray[Any]
Images = Callable[[Array], Array]


class Example(NamedTuple):
    """A section of the page: what was done, and what does it now."""

    title: str
    before: Images
    after: Images


class Measured(NamedTuple):
    """Seconds of a call of each side, and the largest difference of their results."""

    before: float
    after: float
    difference: float


class Flow(NamedTuple):
    """A stream of frames, once it is settled.

    seconds, slow: of a frame, on average, and what 95 of 100 stay below. in_use, most: bytes of memories on the device,
    at first and the most from then on. grown: bytes that the process grew by from then on.
    """

    seconds: float
    slow: float
    in_use: int
    most: int
    grown: int


def sections(page: str) -> dict[str, str]:
    """The page's sections by their titles."""
    return {text.split("\n", 1)[0]: text for text in page.split("\n## ")[1:]}


def shown(page: str) -> dict[str, list[str]]:
    """The blocks of the sections that have two sides, by their titles."""
    found = {title: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for title, text in sections(page).items()}
    return {title: blocks for title, blocks in found.items() if any("def before(" in block for block in blocks)}


def examples(page: str) -> Iterator[Example]:
    """What ``shown`` shows, as functions."""
    for title, blocks in shown(page).items():
        made: dict[str, Any] = {}
        for block in blocks:
            exec(compile(block, f"{PAGE.name}, {title}", "exec"), made)
        yield Example(title, made["before"], made["after"])


def measure(example: Example, photo: Array, seconds: float = SECONDS) -> Measured:
    """Both sides in turn, after a call of each that is not counted."""
    expected, result = example.before(photo), example.after(photo)
    difference = float(np.abs(result.astype(np.float64) - expected).max())
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 3:
        for side, taken in zip((example.before, example.after), times, strict=True):
            start = time.perf_counter()
            side(photo)
            taken.append(time.perf_counter() - start)
    return Measured(statistics.median(times[0]), statistics.median(times[1]), difference)


def flow(recipe: rs.Preprocess[Any], frame: Array, device: rs.Device, frames: int = FRAMES) -> Flow:
    """One frame again and again, each result read as an array."""
    in_use, resident = [], []
    taken = []
    for made in recipe.stream(frame for _ in range(frames)):
        (made[0] if isinstance(made, tuple) else made).numpy()
        taken.append(time.perf_counter())
        in_use.append(device.counters().bytes_in_use)
        resident.append(resident_bytes())
        del made  # or it would be alive beside the next ones
    each = np.diff(taken[SETTLED:])
    slow = float(np.quantile(each, 0.95))
    most = max(in_use[SETTLED:])
    return Flow(float(each.mean()), slow, in_use[SETTLED], most, max(resident[SETTLED:]) - resident[SETTLED])


def resident_bytes() -> int:
    """Memory of this process, on Linux; elsewhere 0."""
    status = Path("/proc/self/status")
    found = re.search(r"^VmRSS:\s+(\d+) kB", status.read_text(), re.MULTILINE) if status.exists() else None
    return 1024 * int(found[1]) if found else 0


def streams(device: rs.Device) -> dict[str, Flow]:
    """The two streams of the page: frames of a camera, and of a photograph for a detector."""
    photo = photograph(PHOTOGRAPHS[0])
    rgb = rs.resample(photo, (1080, 1920), axes=(0, 1)).numpy()
    chroma = np.full((540, 1920), 128, np.uint8)
    nv12 = np.concatenate([rgb[..., 1], chroma])
    camera = rs.Preprocess((360, 640), input="nv12", matrix="bt709", mean=0, std=1, device=device)
    return {
        "NV12, 1080 x 1920, to f32 of 3 x 360 x 640": flow(camera, nv12, device),
        'RGB, 1080 x 1920, by the preset "yolo"': flow(rs.Preprocess.preset("yolo", device=device), rgb, device),
    }


def tables(page: str) -> str:
    """The section of the page."""
    lines = [
        "| example | photograph | before | restride | ratio | difference |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for example in examples(page):
        for name in PHOTOGRAPHS:
            photo = photograph(name).copy()  # torch wants to be able to write
            before, after, difference = measure(example, photo)
            size = " x ".join(map(str, photo.shape[:2]))
            lines.append(
                f"| {example.title} | {name}, {size} | {1000 * before:.1f} ms | {1000 * after:.1f} ms "
                f"| {after / before:.2f} | {difference:.1e} |"
            )
    lines.append(_OF_STREAMS.rstrip("\n"))
    with rs.Device() as device:
        for title, made in streams(device).items():
            bytes_of = " | ".join(f"{count / 1e6:.1f} MB" for count in (made.in_use, made.most, made.grown))
            lines.append(f"| {title} | {1 / made.seconds:.0f} | {1000 * made.slow:.0f} ms | {bytes_of} |")
        named = f"{device.info.name}, {device.info.driver} {device.info.driver_version}"
    return _SECTION.format(device=named, cores=os.cpu_count()) + "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write the section if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page whose last section is brought up to date")
    path = parser.parse_args().write
    page = PAGE.read_text(encoding="utf-8")
    section = tables(page)
    print(section)
    if path is not None:
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole[: whole.index(_HEADING)] + section, encoding="utf-8")


if __name__ == "__main__":
    main()
