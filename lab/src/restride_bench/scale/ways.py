"""The ways in which restride and other libraries do a job on files. ``main`` does one job, in a process of its own.

A way takes a ``Job``, imports its library, opens the source, and returns the function to time. Every pyramid is a set
of Zarr arrays: level 0, a copy of the source, and ``SMALLER`` levels, each half as long along y and x as the last.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

import restride as rs
from restride_measure.offer import Absent

SMALLER = 3
"""Number of levels of a pyramid besides the copy of its source."""

_WARM = 256
"""Maximum size along y and x of the part with which kernels are compiled before the clock starts."""

_CHECKED = 64
"""Maximum size along y and x of the part of the last level that is compared with the mean of the source."""


@dataclass(frozen=True)
class Job:
    """The work of one process: ``way`` of ``WAYS``, from ``source`` to ``destination``, which does not exist yet.

    lines: lines of the source to read; 0: all. memory: limit for restride's stream.
    """

    way: str
    source: str
    destination: str
    lines: int = 0
    memory: str = "512MiB"


Work: TypeAlias = Callable[[], object]


def halved(volume: Any) -> tuple[rs.Chain, tuple[int, ...]]:
    """A chain that takes the mean of 2 x 2 elements along the last two of three axes, and the sizes of its result."""
    sizes = tuple(size // 2 for size in volume.shape[1:])
    return rs.Chain().resample(sizes, axes=(1, 2), mode="area"), (volume.shape[0], *sizes)


def _restride(job: Job) -> Work:
    source = _zarr(job.source)
    return lambda: rs.ome.pyramid(source, job.destination, SMALLER + 1, axes="cyx", chunks=source.chunks)


def _ngff_zarr(job: Job) -> Work:
    import ngff_zarr

    image = ngff_zarr.to_ngff_image(_dask(job.source), dims=("c", "y", "x"))
    factors = [2**level for level in range(1, SMALLER + 1)]

    def work() -> None:
        levels = ngff_zarr.to_multiscales(image, factors, method=ngff_zarr.Methods.ITKWASM_BIN_SHRINK)
        ngff_zarr.to_ngff_zarr(job.destination, levels, version="0.5")

    return work


def _ome_zarr(job: Job) -> Work:
    import zarr
    from ome_zarr.scale import Methods
    from ome_zarr.writer import write_image

    image = _dask(job.source)
    factors = [{"c": 1, "y": 2**level, "x": 2**level} for level in range(1, SMALLER + 1)]

    def work() -> None:
        group = zarr.open_group(job.destination, mode="w", zarr_format=3)
        write_image(image, group, axes="cyx", scale_factors=factors, method=Methods.LOCAL_MEAN)

    return work


def _dask_coarsen(job: Job) -> Work:
    import dask.array as da

    image = _dask(job.source)

    def work() -> None:
        image.to_zarr(f"{job.destination}/0")
        for level in range(1, SMALLER + 1):
            before = da.from_zarr(f"{job.destination}/{level - 1}")
            da.coarsen(np.mean, before, {1: 2, 2: 2}).astype(before.dtype).to_zarr(f"{job.destination}/{level}")

    return work


def _xarray_multiscale(job: Job) -> Work:
    import dask.array as da
    from xarray_multiscale import multiscale, windowed_mean

    image = _dask(job.source)

    def work() -> None:
        levels = [level.data for level in multiscale(image, windowed_mean, (1, 2, 2))[: SMALLER + 1]]
        arrays = [
            _new(f"{job.destination}/{number}", level.shape, level.chunksize) for number, level in enumerate(levels)
        ]
        da.store(levels, arrays)

    return work


def _tensorstore(job: Job) -> Work:
    import tensorstore

    source = _zarr(job.source)

    def opened(path: str) -> Any:
        return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}).result()

    def work() -> None:
        before = opened(job.source)
        for level in range(SMALLER + 1):
            smaller = tensorstore.downsample(before, [1, 2, 2], "mean") if level else before
            path = f"{job.destination}/{level}"
            _new(path, smaller.shape, source.chunks)
            before = opened(path)
            before.write(smaller).result()

    return work


def _pyvips(job: Job) -> Work:
    import pyvips

    source = _zarr(job.source)

    def work() -> None:
        count, *sides = source.shape
        levels = [
            _new(f"{job.destination}/{level}", (count, *(side >> level for side in sides)), source.chunks)
            for level in range(SMALLER + 1)
        ]
        for number in range(count):
            plane = source[number]
            for level in levels:
                level[number] = plane
                if level is not levels[-1]:
                    plane = pyvips.Image.new_from_array(plane).shrink(2, 2).numpy()

    return work


def _stream_to_zarr(job: Job) -> Work:
    source = _zarr(job.source)
    chain, sizes = halved(source)
    _warm(source)
    return lambda: rs.stream(source, _new(job.destination, sizes, source.chunks), chain)


def _dask_to_zarr(job: Job) -> Work:
    source = _zarr(job.source)
    chain, sizes = halved(source)
    apply = rs.dask.apply  # imports dask
    _warm(source)

    def work() -> None:
        result = _new(job.destination, sizes, source.chunks, write_empty_chunks=True)  # as docs/scale.md says
        apply(source, chain, chunks=source.chunks).store(result, lock=False)

    return work


_CORES = 2


def _workers(job: Job, count: int) -> Work:
    """Start Dask workers on two cores, one worker with both or two with one each, and return the Dask work."""
    if not hasattr(os, "sched_setaffinity"):
        raise Absent("this system does not let a process choose its cores")
    cores = sorted(os.sched_getaffinity(0))[:_CORES]
    if len(cores) < _CORES:
        raise Absent(f"two cores are needed, and this process may use {len(cores)}")
    with rs.Device() as device:
        if device.info.kind != "cpu":
            raise Absent(f"only drivers that compute on the host are compared, and {device.info.name} does not")
    from distributed import Client, LocalCluster

    os.environ["LP_NUM_THREADS"] = str(_CORES // count)  # for llvmpipe
    options = {"threads_per_worker": _CORES // count, "memory_limit": None, "dashboard_address": ":0"}
    client = Client(LocalCluster(n_workers=count, **options))
    for number, worker in enumerate(client.scheduler_info()["workers"]):
        client.run(_keep_to, cores[number::count], workers=[worker])
    client.register_plugin(rs.dask.DevicePlugin())
    return _dask_to_zarr(job)


def _keep_to(cores: list[int]) -> None:
    """Pin all threads of this process, and those that they start, to some cores."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), cores)


def _one_call(job: Job) -> Work:
    volume = np.load(job.source)
    _warm(volume)
    return lambda: rs.resample(volume, halved(volume)[1][1:], axes=(1, 2), mode="area").numpy()


def _stream_in_memory(job: Job) -> Work:
    volume = np.load(job.source)
    chain, sizes = halved(volume)
    _warm(volume)
    return lambda: rs.stream(volume, np.empty(sizes, volume.dtype), chain)


def _warm(volume: Any) -> None:
    """Compile the kernels with a small part, so that the clock covers only work that grows with the volume."""
    part = np.asarray(volume[:1, :_WARM, :_WARM])
    rs.resample(part, halved(part)[1][1:], axes=(1, 2), mode="area").numpy()


def _stream_to_file(job: Job) -> Work:
    whole = np.lib.format.open_memmap(job.source, "r")
    volume = whole[: job.lines // whole.shape[1]]
    chain, sizes = halved(volume)
    _warm(volume)

    def work() -> None:
        result = np.lib.format.open_memmap(job.destination, "w+", volume.dtype, sizes)
        rs.stream(volume, result, chain, memory=job.memory)

    return work


PYRAMIDS: dict[str, Callable[[Job], Work]] = {
    "restride": _restride,
    "ngff-zarr": _ngff_zarr,
    "ome-zarr": _ome_zarr,
    "dask-coarsen": _dask_coarsen,
    "xarray-multiscale": _xarray_multiscale,
    "pyvips": _pyvips,
    "tensorstore": _tensorstore,
}
"""The ways that write pyramids, whose last level is checked."""

WAYS = PYRAMIDS | {
    "stream to zarr": _stream_to_zarr,
    "dask to zarr": _dask_to_zarr,
    "one worker": partial(_workers, count=1),
    "two workers": partial(_workers, count=2),
    "one call": _one_call,
    "stream in memory": _stream_in_memory,
    "stream to file": _stream_to_file,
}


def _zarr(path: str) -> Any:
    import zarr

    return zarr.open_array(path, mode="r")


def _dask(path: str) -> Any:
    import dask.array as da

    return da.from_zarr(path)


def _new(path: str, sizes: tuple[int, ...], chunks: tuple[int, ...], **config: Any) -> Any:
    import zarr

    fitting = tuple(min(chunk, size) for chunk, size in zip(chunks, sizes, strict=True))
    return zarr.create_array(path, shape=sizes, chunks=fitting, dtype="uint8", config=config or None)


def wrong(job: Job) -> str:
    """A message about how the last level of a pyramid differs from the mean of the source; empty if it is right.

    A difference of 1 per level is allowed, because every level is rounded or truncated to integers.
    """
    source, group = _zarr(job.source), Path(job.destination)
    attributes = json.loads((group / "zarr.json").read_text())["attributes"] if (group / "zarr.json").exists() else {}
    multiscales = attributes.get("ome", attributes).get("multiscales")
    last = _zarr(str(group / (multiscales[0]["datasets"][-1]["path"] if multiscales else str(SMALLER))))
    factor = 1 << SMALLER
    expected = (source.shape[0], *(size // factor for size in source.shape[1:]))
    if last.shape != expected:
        return f"its last level has sizes {list(last.shape)}, not {list(expected)}"
    rows, columns = (min(_CHECKED, size) for size in expected[1:])
    part = source[-1, : rows * factor, : columns * factor].reshape(rows, factor, columns, factor)
    difference = float(np.abs(last[-1, :rows, :columns] - part.mean((1, 3))).max())
    return "" if difference <= SMALLER else f"its last level differs by {difference:g}, and {SMALLER} is allowed"


def resident(key: str) -> int:
    """Resident bytes of this process: "VmRSS" now, "VmHWM" at most so far; 0 if the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith(key))


def main(text: str) -> None:
    """Do the job described by the JSON ``text``, and print its cost as JSON, in the last line.

    seconds: of the work. before, peak: bytes of memory at the start and at most. wrong: see ``wrong``. If the way is
    not available here, the JSON has only ``absent``, the reason.
    """
    job = Job(**json.loads(text))
    try:
        if job.way in PYRAMIDS:
            _rehearse(job)
        work = WAYS[job.way](job)
    except (Absent, ImportError, OSError) as error:  # a library, or one that it loads, is missing
        print(json.dumps({"absent": " ".join(str(error).split())}), flush=True)
        return
    before, start = resident("VmRSS"), time.perf_counter()
    work()
    seconds, peak = time.perf_counter() - start, resident("VmHWM")
    difference = wrong(job) if job.way in PYRAMIDS else ""
    print(json.dumps({"seconds": seconds, "before": before, "peak": peak, "wrong": difference}), flush=True)


def _rehearse(job: Job) -> None:
    """Write a small pyramid first, so that kernels and WebAssembly are compiled, as in a process that writes many."""
    with TemporaryDirectory(prefix="restride-scale-") as name:
        source = f"{name}/source"
        _new(source, (1, 512, 512), (1, 256, 256))[:] = 1
        WAYS[job.way](Job(job.way, source, f"{name}/destination"))()


def astronaut(path: Path, count: int, side: int, chunk: int) -> None:
    """Write a volume u8[count,side,side] to Zarr that tiles a photograph, as in a user's public benchmark of ngff-zarr.

    That benchmark uses 30 x 15360 x 15360 with chunks of 2048; scikit-image ships the photograph.
    """
    from skimage import data

    photo = data.astronaut()
    tiles = math.ceil(side / photo.shape[0])
    array = _new(str(path), (count, side, side), (1, chunk, chunk))
    for number in range(count):
        array[number] = np.tile(photo[..., number % 3], (tiles, tiles))[:side, :side]


def noise(path: Path, count: int, side: int) -> None:
    """Write a volume u16[count,side,side] of different frames to a .npy file."""
    frame = np.random.default_rng(0).integers(0, 4096, (side, side)).astype(np.uint16)
    volume = np.lib.format.open_memmap(path, "w+", np.uint16, (count, side, side))
    for number in range(count):
        volume[number] = np.roll(frame, number)
    volume.flush()
