"""Compare the pipelines of docs/preprocess.md with those they replace, and stream 1080p frames: times and memory.

    python lab/tools/pipelines.py [--write docs/preprocess.md]

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
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import restride as rs
from restride.command.stopwatch import Timer, rounds
from restride_bench.scale.ways import resident
from restride_like_check.images import photograph

PAGE = Path(__file__).resolve().parents[2] / "docs" / "preprocess.md"
PHOTOGRAPHS = ("coffee.png", "retina.jpg")

SECONDS = 2.0
"""Seconds to measure one example on one photograph, both sides together."""

_MAX_ROUNDS = 100_000

FRAMES = 300
SETTLED = 20
"""Frames of a stream after which it should allocate no more memory."""

_HEADING = "## How long it takes"
_SECTION = f"""\
{_HEADING}

`python lab/tools/pipelines.py --write docs/preprocess.md` writes this section in less than a minute. Times are medians
of calls after the first, from a numpy array to a numpy array, both sides in turn; the difference is the largest of any
element. The ratio is restride's time divided by the time before: below 1 restride is faster. Measured on
{{device}}, with {{cores}} cores for either side.

<!-- times: python lab/tools/pipelines.py --write docs/preprocess.md -->

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
    """A section of the page: its title, the function it replaces, and the replacement."""

    title: str
    before: Images
    after: Images


class Measured(NamedTuple):
    """Seconds per call of each side, and the largest difference between their results."""

    before: float
    after: float
    difference: float


class Flow(NamedTuple):
    """The figures of a stream of frames, from frame ``SETTLED`` on.

    seconds, slow: time of a frame, the mean and the 95th percentile. in_use, most: bytes of memory on the device at
    that frame, and the maximum after it. grown: bytes by which the process grew after it.
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
    """The Python blocks of the sections that define ``before``, by their titles."""
    blocks_of = {title: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for title, text in sections(page).items()}
    return {title: blocks for title, blocks in blocks_of.items() if any("def before(" in block for block in blocks)}


def examples(page: str) -> Iterator[Example]:
    """Yield the sections of ``shown`` with their functions."""
    for title, blocks in shown(page).items():
        names: dict[str, Any] = {}
        for block in blocks:
            exec(compile(block, f"{PAGE.name}, {title}", "exec"), names)
        yield Example(title, names["before"], names["after"])


def measure(example: Example, photo: Array, seconds: float = SECONDS) -> Measured:
    """Measure both sides in turn, after a call of each that is not counted."""
    expected, result = example.before(photo), example.after(photo)
    difference = float(np.abs(result.astype(np.float64) - expected).max())
    sides = {"before": example.before, "after": example.after}
    timers = {name: Timer(partial(side, photo)) for name, side in sides.items()}
    times = rounds(timers, _MAX_ROUNDS, seconds=seconds)
    return Measured(statistics.median(times["before"]), statistics.median(times["after"]), difference)


def flow(recipe: rs.Preprocess[Any], frame: Array, device: rs.Device, frames: int = FRAMES) -> Flow:
    """Stream the same frame repeatedly, and read each result as an array."""
    in_use, process = [], []
    ends = []
    for result in recipe.stream(frame for _ in range(frames)):
        (result[0] if isinstance(result, tuple) else result).numpy()
        ends.append(time.perf_counter())
        in_use.append(device.counters().bytes_in_use)
        process.append(resident("VmRSS"))
        del result  # otherwise it would stay alive next to the following results
    each = np.diff(ends[SETTLED:])
    slow = float(np.quantile(each, 0.95))
    most = max(in_use[SETTLED:])
    return Flow(float(each.mean()), slow, in_use[SETTLED], most, max(process[SETTLED:]) - process[SETTLED])


def streams(device: rs.Device) -> dict[str, Flow]:
    """Measure the two streams of the page: frames of a camera, and a photograph for a detector."""
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
    """The text of the page's section about times."""
    lines = [
        "| example | photograph | before | restride | ratio | difference |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for example in examples(page):
        for name in PHOTOGRAPHS:
            photo = photograph(name).copy()  # a copy, because torch wants a writable array
            before, after, difference = measure(example, photo)
            size = " x ".join(map(str, photo.shape[:2]))
            lines.append(
                f"| {example.title} | {name}, {size} | {1000 * before:.1f} ms | {1000 * after:.1f} ms "
                f"| {after / before:.2f} | {difference:.1e} |"
            )
    lines.append(_OF_STREAMS.rstrip("\n"))
    with rs.Device() as device:
        for title, stream in streams(device).items():
            bytes_of = " | ".join(f"{count / 1e6:.1f} MB" for count in (stream.in_use, stream.most, stream.grown))
            lines.append(f"| {title} | {1 / stream.seconds:.0f} | {1000 * stream.slow:.0f} ms | {bytes_of} |")
        named = f"{device.info.name}, {device.info.driver} {device.info.driver_version}"
    return _SECTION.format(device=named, cores=os.cpu_count()) + "\n".join(lines) + "\n\n<!-- end of times -->\n"


def main() -> None:
    """Measure, print the section, and write it if requested."""
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
