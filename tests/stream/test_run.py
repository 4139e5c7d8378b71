"""rs.stream: the bits of one call, whatever the chunks, devices and failures; memory within its bound; resumed work."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.stream_cases import Case, cases, interrupted

import restride as rs
from restride.cli import main
from restride.cli.process import Exit, exit_for
from restride.ops.progress import Progress
from restride.stream.reads import Grid, pieces, plan_reads
from restride.stream.run import as_bytes


class Chunked:
    """An array in memory that is stored in chunks, as one in a file is, and counts what is read of it."""

    def __init__(self, array, chunks=None):
        self.array, self.chunks = array, chunks
        self.shape, self.dtype = array.shape, array.dtype
        self.read = np.zeros(array.shape, np.int64)

    def __getitem__(self, key):
        self.read[key] += 1
        return self.array[key]

    def __setitem__(self, key, value):
        self.array[key] = value


class Failing(Chunked):
    """One whose element at ``place`` cannot be read or written."""

    def __init__(self, array, place, error):
        super().__init__(array)
        self.place, self.error = place, error

    def check(self, key):
        if all(part.start <= at < part.stop for part, at in zip(key, self.place, strict=True)):
            raise self.error

    def __getitem__(self, key):
        self.check(key)
        return self.array[key]

    def __setitem__(self, key, value):
        self.check(key)
        self.array[key] = value


@pytest.fixture(scope="module")
def two_devices():
    with rs.Device(runtime="vulkan") as first, rs.Device(runtime="vulkan") as second:
        yield [first, second]


@pytest.mark.filterwarnings("ignore:no axes are named")
@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_stream_is_one_call_on_one_device_and_on_two(two_devices, case: Case):
    whole = case.whole(two_devices[0])
    source = Chunked(case.source, case.source_chunks)
    for devices in (two_devices[:1], two_devices):
        result = np.zeros_like(whole)
        done = rs.stream(source, Chunked(result, case.chunks), case.chain, devices=devices)
        assert result.tobytes() == whole.tobytes()
        assert done.bytes_written == whole.nbytes
        assert done.chunks == len(Grid(whole.shape, case.chunks))


@pytest.mark.filterwarnings("ignore:no axes are named")
@pytest.mark.parametrize("case", cases(8, "memory"), ids=str)
def test_a_stream_in_little_memory_is_one_call(two_devices, case: Case):
    """Chunks of the destination that do not fit are computed in pieces."""
    whole = case.whole(two_devices[0])
    work = case.work
    one = tuple(range(min(size, 1)) for size in work.sizes)
    memory = whole.nbytes + 2 * work.nbytes(one) + 64
    result = np.zeros_like(whole)
    done = rs.stream(case.source, result, case.chain, chunks=[max(size, 1) for size in whole.shape], memory=memory)
    assert result.tobytes() == whole.tobytes()
    assert done.peak_bytes <= memory


HALF = rs.Chain().resample((12, 16), axes=(1, 2), mode="area")
VOLUME = np.random.default_rng(3).integers(0, 256, (6, 24, 32)).astype(np.uint8)


def half():
    return rs.resample(VOLUME, (12, 16), axes=(1, 2), mode="area").numpy()


def test_default_chunks_serve_a_destination_without_chunks(tmp_path: Path):
    result = np.lib.format.open_memmap(tmp_path / "half.npy", "w+", np.uint8, (6, 12, 16))
    source = np.lib.format.open_memmap(tmp_path / "volume.npy", "w+", np.uint8, VOLUME.shape)
    source[:] = VOLUME
    rs.stream(source, result, HALF, memory="16 KiB")
    del result
    assert np.array_equal(np.load(tmp_path / "half.npy"), half())


def test_a_copy_needs_no_chain():
    result = np.zeros_like(VOLUME)
    assert rs.stream(VOLUME, result, chunks=(4, 5, 6)).chunks == 2 * 5 * 6
    assert np.array_equal(result, VOLUME)


def test_scales_go_on_in_the_next_chunk():
    """Groups of 4 rows share a scale, and chunks of 5 rows begin inside of groups."""
    values = np.arange(12 * 6, dtype=np.float32).reshape(12, 6)
    scales = {"src_scale": np.float32([[1.0], [0.5], [3.0]]), "group_sizes": (4, 1)}
    result = np.empty((12, 6), np.float16)
    done = rs.stream(values, result, rs.Chain().reorder(dtype="f16", **scales), chunks=(5, 3), memory=600)
    assert done.plan.multiples == (1, 1), "each chunk is computed by itself"
    assert np.array_equal(result, (values * np.repeat([[1.0], [0.5], [3.0]], 4, axis=0)).astype(np.float16))


@pytest.mark.parametrize(("dtype", "stored"), [("bf16", np.uint16), ("f8e5m2", np.uint8), ("f8e4m3fn", np.uint8)])
def test_bits_of_a_type_that_a_file_does_not_know(dtype: str, stored: type):
    values = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
    bits = np.zeros((6, 4), stored)
    rs.stream(values, bits, rs.Chain().reorder("AB->BA", dtype))
    assert bits.tobytes() == rs.reorder(values, "AB->BA", dtype).numpy().tobytes()
    back = np.zeros((6, 4), np.float32)
    rs.stream(bits, back, rs.Chain().reorder(dtype="f32"), source_dtype=dtype)
    assert np.array_equal(back, rs.reorder(values, "AB->BA", dtype).numpy().astype(np.float32))


def test_a_source_may_have_either_byte_order():
    for dtype in (">i4", "<i4"):
        result = np.zeros((6, 12, 16), np.int32)
        rs.stream(VOLUME.astype(dtype), result, HALF)
        assert np.array_equal(result, rs.resample(VOLUME.astype(np.int32), (12, 16), axes=(1, 2), mode="area").numpy())
    bits = np.zeros(3, np.float32)
    rs.stream(np.array([0, 0x3F80, 0xC000], ">u2"), bits, rs.Chain().reorder(dtype="f32"), source_dtype="bf16")
    assert bits.tolist() == [0, 1, -2]


def test_a_lazy_array_is_a_source():
    lazy = rs.LazyArray(VOLUME, HALF)
    result = np.zeros((16, 12, 6), np.uint8)
    rs.stream(lazy, result, rs.Chain().reorder("ZYX->XYZ"), chunks=(5, 5, 5))
    assert np.array_equal(result, half().transpose(2, 1, 0))
    assert np.array_equal(lazy[2, ::-3, 4:], half()[2, ::-3, 4:])
    assert np.array_equal(np.asarray(lazy), half())
    assert np.array_equal(list(lazy), half())
    with pytest.raises(TypeError, match="iteration over a LazyArray without axes"):
        iter(rs.LazyArray(VOLUME, rs.Chain()[0, 0, 0]))


def test_a_stream_of_lazy_arrays_is_one_chain_within_the_memory():
    source = Watched(np.random.default_rng(2).integers(0, 256, (8, 64, 64)).astype(np.uint8))
    frames = rs.LazyArray(rs.LazyArray(source, rs.Chain()[::2]), rs.Chain().resample(scales=(0.5, 0.5), axes=(1, 2)))
    assert (frames.source, frames.shape) == (source, (4, 32, 32))
    result = np.zeros((32, 32, 4), np.uint8)
    done = rs.stream(frames, result, rs.Chain().reorder("ZYX->YXZ"), chunks=(32, 32, 1), memory=40_000)
    assert np.array_equal(result.transpose(2, 0, 1), rs.resample(source.array[::2], (32, 32), axes=(1, 2)).numpy())
    assert source.largest <= done.peak_bytes <= 40_000
    assert done.bytes_read == 4 * 64 * 64
    with pytest.raises(rs.DescriptorError, match="source_dtype 'bf16' is for stored bits"):
        rs.stream(rs.LazyArray(result.astype(np.uint16), rs.Chain()), result, source_dtype="bf16")


# Reading: each chunk of the source as few times as memory allows.


def test_neighbouring_chunks_share_their_reads():
    """Columns of a destination lie across rows of the source: together they read each row once."""
    source = Chunked(np.arange(64 * 64, dtype=np.float32).reshape(64, 64), (1, 64))
    result = Chunked(np.zeros((64, 64), np.float32), (4, 64))
    transposed = rs.Chain().reorder("AB->BA")
    work = transposed.of(source.shape, "f32")
    grid = Grid(work.sizes, result.chunks)
    enough = plan_reads(work, grid, source.chunks, 1 << 20)
    assert (enough.amplification, enough.multiples) == (1.0, (16, 1))
    chunk_bytes = work.nbytes(grid.window((0, 0), (1, 1)))
    assert plan_reads(work, grid, source.chunks, 2 * chunk_bytes).amplification == 8.0
    assert plan_reads(work, grid, source.chunks, chunk_bytes).amplification == 16.0
    assert "read 1.00 times" in str(rs.stream(source, result, transposed))
    assert (source.read == 1).all()
    assert np.array_equal(result.array, source.array.T)


def test_what_a_plan_counts_is_what_a_stream_reads():
    """Overlapping windows of cubic chunks, from a source without chunks: elements are counted."""
    source = Chunked(np.random.default_rng(1).normal(size=(40, 30)).astype(np.float32))
    chain = rs.Chain().resample((60, 45), mode="cubic")
    done = rs.stream(source, np.zeros((60, 45), np.float32), chain, chunks=(16, 16), memory=30_000)
    assert done.plan.reads == source.read.sum() == done.bytes_read // 4
    assert done.plan.amplification == pytest.approx(source.read.sum() / (40 * 30))
    assert done.plan.amplification > 1


def test_a_chunk_in_pieces_covers_it_once():
    work = rs.Chain().resample((8, 8), mode="area").of((800, 800), "f32")
    window = tuple(range(8) for _ in range(2))
    parts = list(pieces(work, window, work.nbytes(window) // 5))
    covered = np.zeros((8, 8), int)
    for part in parts:
        covered[tuple(slice(each.start, each.stop) for each in part)] += 1
    assert (covered == 1).all()
    assert len(parts) > 5
    with pytest.raises(rs.DescriptorError, match=r"memory of 1000 bytes is too little for the chunk \['0:8', '0:8'\]"):
        list(pieces(work, window, 1000))


# Threads: several read and write at a time where the library allows it, else one.


class Together(Chunked):
    """One whose first two readers, and first two writers, wait for each other."""

    def __init__(self, array, chunks=None):
        super().__init__(array, chunks)
        self.meeting, self.calls = threading.Barrier(2, timeout=20), itertools.count()

    def meet(self):
        if next(self.calls) < 2:
            self.meeting.wait()

    def __getitem__(self, key):
        self.meet()
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self.meet()
        super().__setitem__(key, value)


class Alone(Chunked):
    """One that fails where two threads use it at a time."""

    user = None

    def alone(self):
        assert self.user is None, "another thread uses it"
        self.user = threading.get_ident()
        time.sleep(0.002)
        self.user = None

    def __getitem__(self, key):
        self.alone()
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self.alone()
        super().__setitem__(key, value)

    def flush(self):
        self.alone()


def of_zarr(kind: type) -> type:
    """The class as a stream would see one of zarr."""
    return type(kind.__name__, (kind,), {"__module__": "zarr.core.array", "shards": None})


@pytest.mark.parametrize("chunks", [(1, 12, 16), (2, 12, 8)])
def test_threads_read_and_write_at_a_time_where_no_chunk_is_shared(tmp_path: Path, chunks):
    source, result = of_zarr(Together)(VOLUME), of_zarr(Together)(np.zeros((6, 12, 16), np.uint8), (1, 12, 8))
    done = rs.stream(source, result, HALF, chunks=chunks, memory=15000, journal=tmp_path / "journal")
    assert np.array_equal(result.array, half())
    assert done.peak_bytes <= 15000
    assert (done.bytes_read, done.bytes_written) == (VOLUME.nbytes, result.array.nbytes)
    assert len((tmp_path / "journal").read_bytes().splitlines()) == 1 + done.chunks


@pytest.mark.parametrize(
    ("source", "result", "chunks"),
    [(Alone, Alone, (1, 12, 8)), (of_zarr(Chunked), of_zarr(Alone), (1, 12, 7)), (of_zarr(Chunked), Alone, (1, 12, 8))],
    ids=["of an unknown library", "chunks that lie across those of the file", "only the source allows it"],
)
def test_one_thread_reads_and_writes_elsewhere(monkeypatch, tmp_path: Path, source, result, chunks):
    monkeypatch.setattr(sys.modules["restride.stream.journal"], "_EVERY", 0)
    read, written = source(VOLUME), result(np.zeros((6, 12, 16), np.uint8), (1, 12, 8))
    rs.stream(read, written, HALF, chunks=chunks, memory=15000, journal=tmp_path / "journal")
    assert np.array_equal(written.array, half())


def test_one_chunk_is_read_while_another_is_computed_and_a_third_is_written(monkeypatch):
    """Each waits for the other two."""
    meeting, calls = threading.Barrier(3, timeout=20), Counter()

    def meet(what: str, number: int) -> None:
        calls[what] += 1
        if calls[what] == number:
            meeting.wait()

    class Meeting(Chunked):
        def __getitem__(self, key):
            meet("read", 3)
            return self.array[key]

        def __setitem__(self, key, value):
            meet("write", 1)
            self.array[key] = value

    def run(self, *arguments):
        meet("run", 2)
        return compute(self, *arguments)

    compute = rs.WindowedChain.run
    monkeypatch.setattr(rs.WindowedChain, "run", run)
    result = Meeting(np.zeros((6, 12, 16), np.uint8))
    rs.stream(Meeting(VOLUME), result, HALF, chunks=(1, 12, 16), memory=15000)
    assert np.array_equal(result.array, half())
    assert not meeting.broken


def test_memory_is_bytes_or_a_text():
    assert [as_bytes("memory", value) for value in (7, "7", "2 KB", "1.5KiB", "1MiB")] == [7, 7, 2000, 1536, 1 << 20]
    for refused in ("much", "-1", "1 XB", 0, -3):
        with pytest.raises(rs.DescriptorError, match="memory must be"):
            as_bytes("memory", refused)


# Errors: typed, naming the chunk, and nothing half written.


def test_a_source_that_fails_names_the_chunk_and_the_rest_can_be_resumed(tmp_path: Path):
    journal = tmp_path / "journal"
    result = np.full((6, 12, 16), 255, np.uint8)
    broken = Failing(VOLUME, (3, 10, 20), OSError(5, "the disk is broken"))
    with pytest.raises(rs.StreamError, match=r"reading \[.*\] of the source failed for chunk \[3, 0, 1\],") as caught:
        rs.stream(broken, result, HALF, chunks=(1, 12, 8), journal=journal, memory=3000)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.chunk == (3, 0, 1)
    assert "OSError" in str(caught.value)
    assert (result[3, :, 8:] == 255).all()
    done = rs.stream(VOLUME, result, HALF, chunks=(1, 12, 8), journal=journal, memory=3000)
    assert 0 < done.skipped < done.chunks
    assert np.array_equal(result, half())
    again = rs.stream(Failing(VOLUME, (0, 0, 0), ValueError()), result, HALF, chunks=(1, 12, 8), journal=journal)
    assert (again.skipped, again.bytes_read) == (again.chunks, 0)


def test_a_disk_that_is_full_names_the_chunk(tmp_path: Path):
    journal = tmp_path / "journal"
    result = np.zeros((6, 12, 16), np.uint8)
    full = Failing(result, (4, 1, 1), OSError(28, "No space left on device"))
    with pytest.raises(
        rs.StreamError, match=r"writing failed for chunk \[4, 0, 0\], \[4:5, 0:12, 0:16\] of the result"
    ):
        rs.stream(VOLUME, full, HALF, chunks=(1, 12, 16), journal=journal)
    assert not result[4].any()
    assert rs.stream(VOLUME, result, HALF, chunks=(1, 12, 16), journal=journal).skipped > 0
    assert np.array_equal(result, half())


def test_a_mapped_file_that_the_disk_has_no_room_for_is_refused(tmp_path: Path, monkeypatch):
    """Writing to its mapping would kill the process."""
    failure, allocated = OSError(28, "No space left on device"), []

    def allocate(_file, offset, nbytes):
        allocated.append((offset, nbytes))
        raise failure

    monkeypatch.setattr(os, "posix_fallocate", allocate, raising=False)
    source = np.ones((600, 600), np.uint8)  # many blocks, of which a new file has the first at most
    result = np.lib.format.open_memmap(tmp_path / "copy.npy", "w+", np.uint8, source.shape)
    raw = np.memmap(tmp_path / "raw", np.uint8, "w+", shape=(source.nbytes,))
    with pytest.raises(OSError, match=r"No space left on device: '.*copy\.npy'"):
        rs.stream(source, result, journal=tmp_path / "journal")
    with pytest.raises(OSError, match=r"No space left on device: '.*raw'"):
        rs.stream(source, rs.LaidOut(raw, "u8[600,600]"))
    assert allocated == [(128, result.nbytes), (0, raw.nbytes)]
    assert not result.any()
    failure = OSError(95, "Operation not supported")
    rs.stream(source, result, journal=tmp_path / "journal")
    assert result.all()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system cannot allocate a file in advance")
def test_a_journal_that_is_refused_leaves_a_mapped_file_as_it_is(tmp_path: Path):
    result = np.lib.format.open_memmap(tmp_path / "half.npy", "w+", np.uint8, (600, 600))
    (tmp_path / "journal").write_text("something else\n")
    before = (tmp_path / "half.npy").stat().st_blocks
    with pytest.raises(rs.DescriptorError, match="is of other work, or no journal"):
        rs.stream(np.ones((600, 600), np.uint8), result, journal=tmp_path / "journal")
    assert (tmp_path / "half.npy").stat().st_blocks == before


def test_a_mapped_file_with_all_its_blocks_is_not_allocated_again(tmp_path: Path, monkeypatch):
    path = tmp_path / "half.npy"
    np.save(path, np.ones((6, 12, 16), np.uint8))
    if 512 * path.stat().st_blocks < path.stat().st_size:
        pytest.skip("this file system counts no blocks of a small file")
    monkeypatch.setattr(os, "posix_fallocate", lambda *_: pytest.fail("allocated again"), raising=False)
    result = np.load(path, mmap_mode="r+")
    rs.stream(VOLUME, result, HALF)
    assert np.array_equal(result, half())


def test_a_mapped_file_that_is_gone_is_written_and_another_at_its_path_is_left_alone(tmp_path: Path):
    for place, at_path in enumerate((None, b"other")):
        path = tmp_path / f"{place}.npy"
        result = np.lib.format.open_memmap(path, "w+", np.uint8, (6, 12, 16))
        path.unlink()
        if at_path is not None:
            path.write_bytes(at_path)
        rs.stream(VOLUME, result, HALF)
        assert np.array_equal(result, half())
        assert (path.read_bytes() if path.exists() else None) == at_path


class Short(Chunked):
    def __getitem__(self, key):
        return self.array[key][:-1]


class Retyped(Chunked):
    def __getitem__(self, key):
        return self.array[key].astype(np.uint16)


@pytest.mark.parametrize("source", [Short, Retyped])
def test_a_short_read_is_an_error(source):
    with pytest.raises(
        rs.StreamError, match=r"chunk \[0, 0, 0\].*DescriptorError: (a short|another) .* the source gave"
    ):
        rs.stream(source(VOLUME), np.zeros((6, 12, 16), np.uint8), HALF)


def test_a_device_that_fails_names_the_chunk():
    device = rs.Device(runtime="vulkan")

    class Closing(Chunked):
        def __getitem__(self, key):
            device.close()
            return self.array[key]

    source, result = Closing(VOLUME), np.full((6, 12, 16), 7, np.uint8)
    with pytest.raises(rs.StreamError, match=r"computing failed for chunk \[0, 0, 0\].*DeviceLost"):
        rs.stream(source, result, HALF, devices=[device])
    with pytest.raises(rs.DeviceLost, match="was closed"):
        rs.stream(source, result, HALF, devices=[device])
    assert (result == 7).all()
    failed = rs.StreamError("computing failed")
    failed.__cause__ = rs.DeviceLost("lost")
    assert exit_for(failed) == Exit.DEVICE_FAILED
    failed.__cause__ = OSError(5, "the disk is broken")
    assert exit_for(failed) == Exit.USAGE


# Beyond the device, and beyond 2^32 elements.


def test_a_pass_in_f32_along_one_axis_is_counted_for_the_device():
    """Rows of 751 bytes begin inside words, so the sums are f32 first, four times as large as the result."""
    source = np.random.default_rng(5).integers(0, 256, (13, 520, 501), np.uint8)
    chain, result = rs.Chain().resample((751,), axes=(2,)), np.empty((13, 520, 751), np.uint8)
    with rs.Device(runtime="vulkan", memory_limit=4 << 20) as device:
        rs.stream(source, result, chain, chunks=(13, 100, 751), devices=[device])
    assert np.array_equal(result, rs.resample(source, (751,), axes=(2,)).numpy())


def test_a_chunk_may_be_larger_than_the_device():
    source = np.random.default_rng(4).integers(0, 1 << 16, (16, 250, 260)).astype(np.uint16)
    turned, mean = rs.Chain().reorder("ABC->CBA", "f32"), rs.Chain().resample((1,), axes=(0,), mode="area")
    with rs.Device(runtime="vulkan", memory_limit=1 << 20) as device:
        for chunks in (None, (260, 250, 16)):
            result = np.zeros((260, 250, 16), np.float32)
            rs.stream(source, result, turned, chunks=chunks, devices=[device])
            assert np.array_equal(result, source.transpose(2, 1, 0))
        with pytest.raises(rs.DescriptorError, match=r"memory of \d+ bytes, with 1048576 on the device, is too little"):
            rs.stream(source.reshape(-1), np.zeros(1, np.uint16), mean, devices=[device])
        copied = np.zeros_like(source)
        rs.stream(source, copied, chunks=source.shape, devices=[device])
        assert np.array_equal(copied, source)


class Enormous:
    """More than 2^32 elements, each by its place; what is written is kept by its window."""

    dtype = np.dtype(np.uint8)

    def __init__(self, *shape: int):
        self.shape, self.windows = shape, {}

    def __getitem__(self, key):
        if not self.windows:
            raise OSError("nothing is written yet")
        return self.part(key)

    def __setitem__(self, key, value):
        self.windows[tuple((part.start, part.stop) for part in key)] = value

    @staticmethod
    def part(key):
        places = np.ix_(*(np.arange(part.start, part.stop) for part in key))
        return np.asarray(sum(place * (5 + 2 * axis) for axis, place in enumerate(places)) % 251, np.uint8)


@pytest.mark.parametrize(
    ("sizes", "chunk", "layout"), [((70_001, 70_003), (1000, 4000), "AB->BA"), (((5 << 30) + 7,), (1 << 22,), None)]
)
def test_sources_and_results_of_more_elements_than_32_bits_count(tmp_path: Path, sizes, chunk, layout):
    """The journal lists all chunks but the last ones and one in the middle."""
    source, result = Enormous(*sizes), Enormous(*sizes[::-1])
    chain = rs.Chain().reorder(layout)
    with pytest.raises(rs.StreamError, match="nothing is written yet"):
        rs.stream(source, result, chain, chunks=chunk, journal=tmp_path / "journal")
    count = len(Grid(result.shape, chunk))
    left = {count // 2, count - 2, count - 1}
    with (tmp_path / "journal").open("a") as file:
        file.writelines(f"{number}\n" for number in range(count) if number not in left)
    source.windows = {None: None}
    done = rs.stream(source, result, chain, chunks=chunk, journal=tmp_path / "journal")
    assert (done.chunks, done.skipped) == (count, count - 3)
    assert max(ends[-1][1] for ends in result.windows) == sizes[0]
    for ends, elements in result.windows.items():
        expected = Enormous.part(tuple(slice(*pair) for pair in ends[::-1]))
        assert np.array_equal(elements, expected.T)


REFUSED = {
    r"destination is uint8\[6, 12, 15\], and the result of the chain is u8\[6,12,16\]": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 15), np.uint8), HALF
    ),
    r"destination is float32\[6, 12, 16\], and the result": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.float32), HALF
    ),
    r"destination must have __setitem__, and tuple has none": lambda: rs.stream(VOLUME, (), HALF),
    r"source must have shape, and list has none$": lambda: rs.stream([1], np.zeros(1), HALF),
    r"source must have shape, and str has none: open the file first": lambda: rs.stream("x.npy", VOLUME, HALF),
    r"source must have __getitem__, and \w+Path has none: open": lambda: rs.stream(Path("x"), VOLUME, HALF),
    r"destination must have __setitem__, and str has none: open the file": lambda: rs.stream(VOLUME, "x.npy", HALF),
    r"source has elements of type uint8, which are not the bits of bf16": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16)), HALF, source_dtype="bf16"
    ),
    r"scales\[0\] must be finite, got nan": lambda: rs.stream(
        VOLUME, VOLUME.copy(), rs.Chain().resample(scales=(float("nan"),))
    ),
    r"chunks \(1, 2\) must be 1 or more for each of the 3 axes": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, chunks=(1, 2)
    ),
    r"chunks \(-1, 2, 2\) must be 1 or more for each of the 3 axes": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, chunks=(-1, 2, 2)
    ),
    r"destination is only read: open it for writing": lambda: rs.stream(
        VOLUME, np.broadcast_to(np.uint8(0), (6, 12, 16)), HALF
    ),
    r"a chain begins empty, as in rs.Chain\(\).resample\(\(2, 3\)\), got 'resample'": lambda: rs.Chain("resample"),
    r"raw must be 4 bytes, as uint8, for u8\[4\]\{0\}, got list": lambda: rs.LaidOut([0] * 4, "u8[4]{0}"),
    r"raw must be 4 bytes, as uint8, for u8\[4\]\{0\}, got uint8\[2, 2\]": lambda: rs.LaidOut(
        np.zeros((2, 2), np.uint8), "u8[4]{0}"
    ),
    r"devices must be a list of one or more, such as .*, got \[\]": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, devices=[]
    ),
    r"chain must be a restride.Chain, got str": lambda: rs.stream(VOLUME, VOLUME.copy(), "area"),
    r"layout 'NHWC' of a chain only permutes axes": lambda: rs.Chain().reorder("NHWC"),
    r"window is not accepted in a chain": lambda: rs.Chain().resample((3,), window=(slice(1),)),
    r"a chain takes integers, slices, ... and None as an index, got \[1\]": lambda: rs.Chain()[[1]],
    r"index 6 is outside axis 0 of size 6, for u8\[6,24,32\]": lambda: rs.Chain()[6].of(VOLUME.shape, "u8"),
    r"window\[2\] \[0, 17\) exceeds the 16 outputs of its axis": lambda: HALF.of(VOLUME.shape, "u8").source_window(
        (slice(0, 1), slice(0, 1), slice(0, 17))
    ),
    r"part is u8\[1,24,31\].*, and the window \[0:1, 0:12, 0:16\] reads u8\[1,24,32\]": lambda: HALF.of(
        VOLUME.shape, "u8"
    ).compute(VOLUME[:1, :, :31], (slice(0, 1), slice(0, 12), slice(0, 16))),
    r"chunks must be elements along each of the 3 axes of the result, such as \(4, 4, 4\), got 4": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, chunks=4
    ),
    r"chunks must be elements along each of the 3 axes .* got 'auto'; None lets restride choose": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, chunks="auto"
    ),
    r"memory must be an integer, got 16\.5": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, memory=16.5
    ),
    r"memory must be an integer, got inf": lambda: rs.stream(
        VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, memory=float("inf")
    ),
    r"memory of 10 bytes is too little": lambda: rs.stream(VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, memory=10),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_refused(message: str):
    with pytest.raises(rs.DescriptorError, match=message):
        REFUSED[message]()


def test_whole_floats_are_bytes():
    result = np.zeros((6, 12, 16), np.uint8)
    assert rs.stream(VOLUME, result, HALF, memory=16e6).peak_bytes <= 16_000_000
    np.testing.assert_array_equal(result, rs.resample(VOLUME, (12, 16), axes=(1, 2), mode="area").numpy())


def test_memory_that_leaves_thousands_of_tiny_chunks_is_a_warning():
    """Said before anything is read, with what is enough, which then says nothing."""

    class Never(Exception):
        pass

    class Unread:
        shape, dtype = (256, 256), np.dtype(np.uint8)

        def __getitem__(self, key):
            raise Never

    result = np.zeros((256, 256), np.uint8)
    with (
        pytest.warns(
            UserWarning, match=r"memory of 800 bytes leaves \d{4,} chunks of \[.*\] .* memory=\d+ leaves"
        ) as seen,
        pytest.raises(rs.StreamError),
    ):
        rs.stream(Unread(), result, rs.Chain(), memory=800)
    (enough,) = (int(re.search(r"memory=(\d+) leaves", str(each.message))[1]) for each in seen)
    with pytest.raises(rs.StreamError):
        rs.stream(Unread(), result, rs.Chain(), memory=enough)
    with pytest.raises(rs.StreamError):  # chunks of the caller's are the caller's
        rs.stream(Unread(), result, rs.Chain(), memory=800, chunks=(1, 16))


@pytest.mark.parametrize("chunks", [None, (256, 256, 256)])
def test_memory_that_leaves_tens_of_thousands_of_tiny_pieces_is_refused(tmp_path: Path, chunks):
    """Before anything is read, with what is enough: of default chunks, and of pieces of one that is chosen."""
    source, result = Failing(np.zeros((256,) * 3, np.uint8), (0, 0, 0), OSError()), np.zeros((256,) * 3, np.uint8)
    memory = (1 << 10) + (result.nbytes if chunks else 0)
    rule = rf"memory of {memory} bytes leaves (about )?\d{{5,}} .*memory=\d+ "
    with pytest.raises(rs.DescriptorError, match=rule) as refused:
        rs.stream(source, result, memory=memory, chunks=chunks, journal=tmp_path / "journal")
    assert not (tmp_path / "journal").exists()
    with pytest.raises(rs.StreamError, match=r"chunk \[0, 0, 0\]"):
        rs.stream(source, result, memory=re.search(r"memory=(\d+)", str(refused.value))[1], chunks=chunks)


@pytest.mark.parametrize("roi", [(-1, 2), (-3, 1)])
def test_too_little_memory_is_refused_before_anything_is_written(tmp_path: Path, roi):
    """The first chunks, or three quarters, lie outside the source, read nothing of it, and would fit."""
    result = np.full(64, 7, np.float32)
    chain = rs.Chain().resample((64,), axes=(0,), coordinates="tf_crop_and_resize", roi=roi)
    memory = chain.of((64,), "f32").nbytes((range(32, 33) if roi == (-1, 2) else range(60, 61),)) - 1
    with pytest.raises(rs.DescriptorError, match=rf"memory of {memory} bytes is too little for the chunk \['\d\d:"):
        rs.stream(np.ones(64, np.float32), result, chain, chunks=(1,), memory=memory, journal=tmp_path / "journal")
    assert (result == 7).all()
    assert not (tmp_path / "journal").exists()


def test_tiny_chunks_that_read_much_are_not_refused():
    """No memory makes them fast, and little is what a stream is for."""

    class Wide:
        shape, dtype = (12_000, 70_000), np.dtype(np.uint8)

        def __getitem__(self, key):
            raise OSError

    chain = rs.Chain().resample((1,), axes=(1,), mode="area")
    with (
        pytest.warns(UserWarning, match="leaves 12000 chunks of"),
        pytest.raises(rs.StreamError, match=r"chunk \[0, 0\]"),
    ):
        rs.stream(Wide(), np.zeros((12_000, 1), np.uint8), chain, memory=600_000)


def test_chunks_that_fit_in_pieces_are_not_looked_at_one_by_one(monkeypatch):
    """Thousands would take minutes before anything is read."""
    run, looked = sys.modules[rs.stream.__module__], []
    monkeypatch.setattr(run, "pieces", lambda *arguments: (looked.append(0), pieces(*arguments))[1])
    source, result = Failing(np.zeros((2048, 2048), np.uint16), (0, 0), OSError()), np.zeros((2048, 2048), np.uint16)
    with pytest.raises(rs.StreamError, match=r"chunk \[0, 0\], \[0:64, 0:64\]"):
        rs.stream(source, result, chunks=(128, 128), memory=64_000)
    assert len(looked) <= 4


def test_a_destination_that_shares_memory_with_the_source_is_refused(tmp_path: Path):
    x = np.arange(24, dtype=np.uint8).reshape(4, 6)
    stored = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (4, 6))
    again = np.load(tmp_path / "x.npy", mmap_mode="r+")
    aliased = [
        (x, x[:, ::-1]),
        (x, x),
        (stored, again),
        (stored[::-1], again),
        (stored, np.asarray(again)),
        (stored,) * 2,
    ]
    for source, destination in (*aliased, (rs.LazyArray(x, rs.Chain()), x), (Chunked(x),) * 2):
        with pytest.raises(rs.DescriptorError, match="destination shares elements with the source"):
            rs.stream(source, destination)
    rs.stream(x[:2], x[2:])
    assert np.array_equal(x[:2], x[2:])
    first, second = (np.memmap(tmp_path / "raw", np.uint8, "w+" if not at else "r+", 12 * at, (12,)) for at in range(2))
    rs.stream(first, second)
    rs.stream(again, np.load(tmp_path / "x.npy", mmap_mode="c"))


# The journal.


def test_a_journal_is_of_one_work(tmp_path: Path):
    journal = tmp_path / "journal"
    rs.stream(VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, journal=journal)
    other = rs.Chain().resample((12, 16), axes=(1, 2), mode="linear")
    with pytest.raises(rs.DescriptorError, match=r"is of other work, or no journal.*mode='linear'"):
        rs.stream(VOLUME, np.zeros((6, 12, 16), np.uint8), other, journal=journal)
    photo = tmp_path / "photo"
    photo.write_bytes(b"\x89PNG\n\x00")
    with pytest.raises(rs.DescriptorError, match="is of other work, or no journal"):
        rs.stream(VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, journal=photo)
    assert photo.read_bytes() == b"\x89PNG\n\x00"


def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path):
    journal = tmp_path / "journal"
    result = np.zeros((6, 12, 16), np.uint8)
    rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 48
    for cut in (b"".join(lines)[:-1], b"".join(lines[:3]) + b"4", lines[0][:20], b""):
        journal.write_bytes(cut)
        done = rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal)
        assert done.skipped == max(cut.count(b"\n") - 1, 0)
        assert sorted(map(int, journal.read_bytes().split(b"\n")[1:-1])) == list(range(48))


def test_a_journal_is_of_one_stream_at_a_time(tmp_path: Path):
    journal, result = tmp_path / "journal", np.zeros((6, 12, 16), np.uint8)

    class Meanwhile(Chunked):
        def __getitem__(self, key):
            with pytest.raises(rs.DescriptorError, match=rf"journal '{re.escape(str(journal))}' is in use by another"):
                rs.stream(VOLUME, result, HALF, journal=journal)
            return super().__getitem__(key)

    rs.stream(Meanwhile(VOLUME), result, HALF, journal=journal)
    assert rs.stream(VOLUME, result, HALF, journal=journal).skipped == 1


@pytest.mark.parametrize("line", ["abc", "-1", "48", "", "1 2", "9" * 5000])
def test_a_line_that_is_no_chunk_is_refused(tmp_path: Path, line: str):
    journal = tmp_path / "journal"
    result = np.zeros((6, 12, 16), np.uint8)
    rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal)
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join([*lines[:3], line, "4", ""]))
    with pytest.raises(rs.DescriptorError, match=r"line 4 of journal '.*' must be a number of the 48 chunks, from 0"):
        rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal)


def test_a_flush_that_fails_does_not_hide_the_error_of_the_chunk(tmp_path: Path):
    class Full(Failing):
        def flush(self):
            raise RuntimeError("the file is closed")

    full = Full(np.zeros((6, 12, 16), np.uint8), (4, 1, 1), OSError(28, "No space left on device"))
    with pytest.raises(rs.StreamError, match="No space left"):
        rs.stream(VOLUME, full, HALF, chunks=(1, 12, 16), journal=tmp_path / "journal")


def test_progress_counts_the_chunks_that_are_left(tmp_path: Path, monkeypatch):
    journal = tmp_path / "journal"
    result = np.zeros((6, 12, 16), np.uint8)
    rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal)
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-8]))
    totals = []

    class Counted(Progress):
        def __init__(self, total, stream, title):
            totals.append(total)
            super().__init__(total, stream, title)

    monkeypatch.setattr(sys.modules[rs.stream.__module__], "Progress", Counted)
    rs.stream(VOLUME, result, HALF, chunks=(1, 12, 2), journal=journal, progress=True)
    assert totals == [8]


def without(monkeypatch, module: str, *users: str) -> None:
    """As if ``module`` were not installed."""
    for user in users:
        monkeypatch.delitem(sys.modules, user, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.parametrize(("name", "module"), [("dask", "dask"), ("ome", "zarr")])
def test_a_library_that_is_missing_is_named(monkeypatch, name: str, module: str):
    without(monkeypatch, module, f"restride.interop.{name}")
    with pytest.raises(ImportError, match=rf"needs {module}: pip install 'restride\[{name}\]'"):
        getattr(rs, name)


def test_the_command_names_a_library_that_is_missing(monkeypatch, capsys, tmp_path: Path):
    (tmp_path / "in.tif").write_bytes(b"II*\0")
    words = ["pyramid", str(tmp_path / "in.tif"), str(tmp_path / "out.zarr")]
    without(monkeypatch, "zarr", "restride.interop.ome")
    assert main(words) == 2
    assert capsys.readouterr().err == "restride: OME-Zarr needs zarr: pip install 'restride[ome]'\n"
    monkeypatch.setitem(sys.modules, "restride.interop.ome", ModuleType("ome"))
    without(monkeypatch, "tifffile")
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("in.tif: TIFF needs tifffile: pip install 'restride[ome]'\n")


RESUMED = """
import json, sys, time
import numpy as np
import restride as rs
from support.stream_cases import interrupted

case = interrupted("killed")[int(sys.argv[1])]
chain, folder = case.chain, sys.argv[2]
result = np.load(folder + "/result.npy", mmap_mode="r+")

class Slow:
    shape, dtype, chunks = result.shape, result.dtype, case.chunks
    def __getitem__(self, key):
        raise NotImplementedError
    def __setitem__(self, key, value):
        result[key] = value
        print("written", flush=True)
        time.sleep(float(sys.argv[3]))

done = rs.stream(case.source, Slow(), chain, chunks=case.chunks, journal=folder + "/journal")
print(json.dumps([done.chunks, done.skipped]))
"""


@pytest.mark.filterwarnings("ignore:no axes are named")
@pytest.mark.parametrize("number", range(len(interrupted("killed"))))
def test_a_stream_that_was_killed_goes_on(tmp_path: Path, number: int):
    case = interrupted("killed")[number]
    whole = case.whole()
    bits = whole if whole.dtype.type.__module__ == "numpy" else whole.view(f"u{whole.itemsize}")
    np.save(tmp_path / "result.npy", np.zeros_like(bits))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", RESUMED, str(number), str(tmp_path)]
    with subprocess.Popen([*command, "0.6"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        for _ in range(3):
            if "written" not in process.stdout.readline():
                break  # it had fewer chunks
            with pytest.raises(rs.DescriptorError, match="is in use by another stream"):
                rs.stream(VOLUME, np.zeros_like(VOLUME), journal=tmp_path / "journal")
        process.send_signal(signal.SIGKILL)
    second = subprocess.run([*command, "0"], capture_output=True, text=True, env=environment, check=True)
    chunks, skipped = json.loads(second.stdout.splitlines()[-1])
    if chunks > 3:
        assert skipped >= 1
    assert second.stdout.count("written") == chunks - skipped
    assert np.load(tmp_path / "result.npy").tobytes() == whole.tobytes()


class Watched(Chunked):
    """One that is read slowly, and says how many bytes a reader asked for at most."""

    largest = 0

    def __getitem__(self, key):
        time.sleep(0.002)
        self.largest = max(self.largest, self.array[key].nbytes)
        return self.array[key]


def test_memory_is_never_taken_beyond_the_bound():
    source = Watched(np.ones((64, 64, 64), np.float32))
    chain = rs.Chain().resample((32, 32), axes=(1, 2))
    work = chain.of(source.shape, "f32")
    one = work.nbytes((range(1), range(32), range(32)))
    for memory in (one, 3 * one, 10 * one):
        done = rs.stream(source, np.zeros((64, 32, 32), np.float32), chain, chunks=(1, 32, 32), memory=memory)
        assert done.peak_bytes <= memory


def test_an_interrupt_and_progress(capsys):
    """What a thread of the stream raises ends it in the thread that called, whatever it is."""
    with pytest.raises(KeyboardInterrupt):
        rs.stream(Failing(VOLUME, (2, 2, 2), KeyboardInterrupt()), np.zeros((6, 12, 16), np.uint8), HALF, progress=True)
    rs.stream(VOLUME, np.zeros((6, 12, 16), np.uint8), HALF, progress=True)
    assert capsys.readouterr().out == ""
