"""Draw the pictures of docs/scale.md that are not measured: seams of chunks, and how often chunks of a source are read.

    python lab/tools/scale_pictures.py [FOLDER]

FOLDER is docs/images by default. Needs scikit-image, whose photograph is resized, and matplotlib.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import restride as rs
from restride.stream.reads import ChunkGrid, ReadPlan, plan_reads
from restride_bench.charts import chart_file, require_matplotlib

FACE = np.s_[84:124, 222:262]
"""The part of the photograph to enlarge, 40 x 40 pixels."""

CHUNK, FACTOR = 10, 8
"""Pixels of a chunk of the source along each axis, and the factor of the enlargement."""

SOURCE, SOURCE_CHUNKS, CHUNKS = (768, 1024), (64, 512), (96, 192)
"""Sizes of an f32 matrix to transpose, of its chunks, and of the chunks of the result."""


def enlarged(photo: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """A photograph enlarged in one call, each chunk on its own, and by ``rs.stream`` in as many chunks."""
    rows, columns, channels = photo.shape
    chain = rs.Chain().resample((rows * FACTOR, columns * FACTOR), axes=(0, 1), mode="cubic")
    whole = rs.resample(photo, (rows * FACTOR, columns * FACTOR), axes=(0, 1), mode="cubic").numpy()
    alone, streamed = np.empty_like(whole), np.empty_like(whole)
    for row, column in itertools.product(range(0, rows, CHUNK), range(0, columns, CHUNK)):
        block = photo[row : row + CHUNK, column : column + CHUNK]
        sizes = [size * FACTOR for size in block.shape[:2]]
        target = np.s_[row * FACTOR : row * FACTOR + sizes[0], column * FACTOR : column * FACTOR + sizes[1]]
        alone[target] = rs.resample(block, sizes, axes=(0, 1), mode="cubic").numpy()
    rs.stream(photo, streamed, chain, chunks=(CHUNK * FACTOR, CHUNK * FACTOR, channels))
    return whole, alone, streamed


def draw_seams(photo: npt.NDArray[Any]) -> Any:
    """Draw both ways side by side, and below each its difference from one call."""
    whole, alone, streamed = enlarged(photo)
    figure = require_matplotlib().figure.Figure(figsize=(8, 8.4), layout="constrained")
    sides = figure.subplots(2, 2)
    for (above, below), image, name in zip(
        sides.T,
        (alone, streamed),
        ("each chunk on its own, as by map_blocks", "rs.stream in the same chunks"),
        strict=True,
    ):
        difference = np.abs(image.astype(np.int16) - whole.astype(np.int16)).max(axis=-1)
        above.imshow(image)
        above.set_title(name, fontsize="medium")
        below.imshow(difference, cmap="inferno", vmin=0, vmax=48)
        share = np.count_nonzero(difference) / difference.size
        below.set_title(
            f"{share:.0%} of the pixels differ from one call, at most by {difference.max()}", fontsize="medium"
        )
    for axes in sides.flat:
        axes.set_axis_off()
    return figure


def plan(memory: int) -> tuple[Any, ReadPlan]:
    """A transposition, and the plan by which a stream with ``memory`` bytes per group of chunks reads its source."""
    work = rs.Chain().reorder("YX->XY").of(SOURCE, "f32")
    return work, plan_reads(work, ChunkGrid(work.sizes, CHUNKS), SOURCE_CHUNKS, memory)


def reads(memory: int) -> npt.NDArray[np.int64]:
    """How often each chunk of the source is read."""
    work, groups = plan(memory)
    times = np.zeros([size // chunk for size, chunk in zip(SOURCE, SOURCE_CHUNKS, strict=True)], np.int64)
    for group in groups.groups():
        window = zip(work.windows(group.window)[0], SOURCE_CHUNKS, strict=True)
        times[tuple(slice(part.start // chunk, -(-part.stop // chunk)) for part, chunk in window)] += 1
    return times


def draw_reads() -> Any:
    """Draw the chunks of the source with the number of times each is read, for three sizes of groups."""
    figure = require_matplotlib().figure.Figure(figsize=(9, 3.6), layout="constrained")
    for axes, memory in zip(figure.subplots(1, 3), (300_000, 2_000_000, 4_000_000), strict=True):
        times, (_, groups) = reads(memory), plan(memory)
        axes.imshow(times, cmap="Blues", vmin=0, vmax=12, aspect="auto")
        for (row, column), count in np.ndenumerate(times):
            axes.text(column, row, str(count), ha="center", va="center", color="white" if count > 7 else "black")
        shape, megabytes = " x ".join(map(str, groups.multiples)), groups.nbytes / 1e6
        title = f"groups of {shape} chunks, {megabytes:.1f} MB:\nread {groups.amplification:.1f} times on average"
        axes.set_title(title, fontsize="medium")
        axes.set(
            xticks=range(times.shape[1]), yticks=range(times.shape[0]), xlabel="chunk along x", ylabel="chunk along y"
        )
    return figure


def main(folder: Path) -> None:
    """Write both pictures to ``folder``."""
    from skimage import data

    for name, figure in (("scale-seams.png", draw_seams(data.astronaut()[FACE])), ("scale-reads.svg", draw_reads())):
        (folder / name).write_bytes(chart_file(figure, Path(name).suffix))
        print(f"wrote {folder / name}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs" / "images")
