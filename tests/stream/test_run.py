"""rs.stream: the bits of one call, whatever the chunks, devices and failures; memory within its bound; resumed work."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.chunked import HALF, VOLUME, Chunked, Failing, Watched, half
from support.stream_cases import Case, cases, interrupted

import restride as rs
from restride.cli import main
from restride.command.process import Exit, exit_for
from restride.progress import Progress
from restride.stream.reads import ChunkGrid
from restride.stream.run import as_bytes


@pytest.fixture(scope="module")
def two_devices():
    with rs.Device(runtime="vulkan") as first, rs.Device(runtime="vulkan") as second:
        yield [first, second]


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_stream_is_one_call_on_one_device_and_on_two(two_devices, case: Case):
    whole = case.whole(two_devices[0])
    source = Chunked(case.source, case.source_chunks)
    for devices in (two_devices[:1], two_devices):
        result = np.zeros_like(whole)
        done = rs.stream(source, Chunked(result, case.chunks), case.chain, devices=devices)
        assert result.tobytes() == whole.tobytes()
        assert done.bytes_written == whole.nbytes
        assert done.chunks == len(ChunkGrid(whole.shape, case.chunks))


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


REFUSED_STREAMS = {
    r"destination is uint8\[6, 12, 15\], but the result of the chain is u8\[6,12,16\]": {
        "destination": np.zeros((6, 12, 15), np.uint8)
    },
    r"destination is float32\[6, 12, 16\], but the result": {"destination": np.zeros((6, 12, 16), np.float32)},
    r"destination must have __setitem__, and tuple has none": {"destination": ()},
    r"source must have shape, and list has none$": {"source": [1]},
    r"source must have shape, and str has none: open the file first": {"source": "x.npy"},
    r"source must have __getitem__, and \w+Path has none: open": {"source": Path("x")},
    r"destination must .* and str has none: make .* np.lib.format.open_memmap\(path, 'w\+', dtype, sizes\) does$": {
        "destination": "x.npy"
    },
    r"source has elements of type uint8, which are not the bits of bf16": {"source_dtype": "bf16"},
    r"scales\[0\] must be finite, got nan": {"chain": rs.Chain().resample(scales=(float("nan"),))},
    r"chain must be a restride.Chain, got str": {"chain": "area"},
    r"chunks \(1, 2\) must be 1 or more for each of the 3 axes": {"chunks": (1, 2)},
    r"chunks \(-1, 2, 2\) must be 1 or more for each of the 3 axes": {"chunks": (-1, 2, 2)},
    r"chunks must be elements along each of the 3 axes of the result, such as \(4, 4, 4\), got 4": {"chunks": 4},
    r"chunks must be elements .* got 'auto'; None lets restride choose": {"chunks": "auto"},
    r"destination is read-only: open it for writing": {"destination": np.broadcast_to(np.uint8(0), (6, 12, 16))},
    r"devices must be a list of one or more devices, such as .*, got \[\]": {"devices": []},
    r"memory must be an integer, got 16\.5": {"memory": 16.5},
    r"memory must be an integer, got inf": {"memory": float("inf")},
    r"memory of 10 bytes is too little": {"memory": 10},
}
"""What ``rs.stream`` says of each argument in place of a right one."""
REFUSED = {
    r"a chain begins empty, as in rs.Chain\(\).resample\(\(2, 3\)\), got 'resample'": lambda: rs.Chain("resample"),
    r"raw must be 4 bytes, as uint8, for u8\[4\]\{0\}, got list": lambda: rs.LaidOut([0] * 4, "u8[4]{0}"),
    r"raw must be 4 bytes, as uint8, for u8\[4\]\{0\}, got uint8\[2, 2\]": lambda: rs.LaidOut(
        np.zeros((2, 2), np.uint8), "u8[4]{0}"
    ),
    r"layout 'NHWC' of a chain must only permute axes": lambda: rs.Chain().reorder("NHWC"),
    r"window is not accepted in a chain": lambda: rs.Chain().resample((3,), window=(slice(1),)),
    r"a chain takes integers, slices, ... and None as an index, got \[1\]": lambda: rs.Chain()[[1]],
    r"index 6 is out of range for axis 0 of size 6, for u8\[6,24,32\]": lambda: rs.Chain()[6].of(VOLUME.shape, "u8"),
    r"window\[2\] \[0, 17\) exceeds the 16 outputs of its axis": lambda: HALF.of(VOLUME.shape, "u8").source_window(
        (slice(0, 1), slice(0, 1), slice(0, 17))
    ),
    r"part is u8\[1,24,31\].*, and the window \[0:1, 0:12, 0:16\] reads u8\[1,24,32\]": lambda: HALF.of(
        VOLUME.shape, "u8"
    ).compute(VOLUME[:1, :, :31], (slice(0, 1), slice(0, 12), slice(0, 16))),
}


@pytest.mark.parametrize("message", REFUSED_STREAMS)
def test_a_stream_of_a_wrong_argument_is_refused(message: str):
    right = {"source": VOLUME, "destination": np.zeros((6, 12, 16), np.uint8), "chain": HALF}
    with pytest.raises(rs.DescriptorError, match=message):
        rs.stream(**right | REFUSED_STREAMS[message])


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_chain_index_or_window_is_refused(message: str):
    with pytest.raises(rs.DescriptorError, match=message):
        REFUSED[message]()


def test_whole_floats_are_bytes():
    result = np.zeros((6, 12, 16), np.uint8)
    assert rs.stream(VOLUME, result, HALF, memory=16e6).peak_bytes <= 16_000_000
    np.testing.assert_array_equal(result, rs.resample(VOLUME, (12, 16), axes=(1, 2), mode="area").numpy())


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


def test_the_command_names_a_library_that_is_missing(monkeypatch, capsys, tmp_path: Path):
    (tmp_path / "in.tif").write_bytes(b"II*\0")
    words = ["pyramid", str(tmp_path / "in.tif"), str(tmp_path / "out.zarr")]
    without(monkeypatch, "zarr", "restride.interop.ome")
    assert main(words) == 2
    assert capsys.readouterr().err == "restride: OME-Zarr needs zarr: pip install '.[ome]' in a checkout\n"
    monkeypatch.setitem(sys.modules, "restride.interop.ome", SimpleNamespace(pyramid=None))
    without(monkeypatch, "tifffile")
    assert main(words) == 2
    assert capsys.readouterr().err.endswith("in.tif: TIFF needs tifffile: pip install '.[ome]' in a checkout\n")


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
