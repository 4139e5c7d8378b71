"""Dask: the bits of one call on threads and on a cluster of two processes, whatever dies; one task for a chunk."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import pytest
from support.judges import judge
from support.stream_cases import Case, cases, interrupted, windows

import restride as rs
from restride.stream.files import by_name

dask = judge("dask")
da = judge("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PHOTO = np.random.default_rng(5).integers(0, 256, (96, 80, 3)).astype(np.uint8)
AREA = rs.Chain().resample((40, 33), axes=(0, 1), mode="area").reorder("YXC->CYX", "f16")


def whole():
    return rs.reorder(rs.resample(PHOTO, (40, 33), axes=(0, 1), mode="area"), "YXC->CYX", "f16").numpy()


def chunks_of(case: Case) -> tuple[int, ...]:
    return tuple(max(chunk, 1) for chunk in case.chunks)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_threads_give_one_call(case: Case):
    expected = case.whole()
    source = da.from_array(case.source, chunks=case.source_chunks)
    for x in (source, case.source):
        lazy = rs.dask.apply(x, case.chain, chunks=chunks_of(case))
        assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
        result = lazy.compute(scheduler="threads")
        assert result.tobytes() == expected.tobytes()


def test_blocks_may_have_either_byte_order():
    x = da.from_array(PHOTO.astype(">u2"), chunks=(30, 30, 3))
    assert np.array_equal(rs.dask.reorder(x, "YXC->CYX").compute(), PHOTO.transpose(2, 0, 1))


def test_the_operations_have_functions():
    x = da.from_array(PHOTO, chunks=(30, 30, 3))
    assert np.array_equal(rs.dask.reorder(x, "YXC->CYX").compute(), PHOTO.transpose(2, 0, 1))
    assert np.array_equal(rs.dask.crop(x, np.s_[10:50, ::-2, 0]).compute(), PHOTO[10:50, ::-2, 0])
    resampled = rs.dask.resample(x, (40, 33), axes=(0, 1), like="pillow", mode="lanczos", chunks=(7, 9, 3))
    expected = rs.resample(PHOTO, (40, 33), axes=(0, 1), like="pillow", mode="lanczos").numpy()
    assert np.array_equal(resampled.compute(), expected)
    assert resampled.chunks == ((7, 7, 7, 7, 7, 5), (9, 9, 9, 6), (3,))


def test_a_pyramid_is_made_from_levels_or_from_the_source():
    x = da.from_array(PHOTO, chunks=(30, 30, 3))
    levels = rs.dask.pyramid(x, 4, axes=(0, 1))
    assert levels[0] is x
    assert [level.shape for level in levels] == [(96, 80, 3), (48, 40, 3), (24, 20, 3), (12, 10, 3)]
    before = PHOTO
    for level in levels[1:]:
        before = rs.resample(before, level.shape[:2], axes=(0, 1), mode="area_weighted").numpy()
        assert np.array_equal(level.compute(), before)
    first, *_, last = rs.dask.pyramid(PHOTO, 4, axes=(0, 1), from_source=True)
    assert np.array_equal(first.compute(), PHOTO)
    assert np.array_equal(last.compute(), rs.resample(PHOTO, (12, 10), axes=(0, 1), mode="area_weighted").numpy())
    assert not np.array_equal(last.compute(), before)
    ramp = np.tile(np.arange(64, dtype=np.uint16), (64, 1))
    for arguments in ({"mode": "nearest"}, {"like": "onnx"}):  # elements taken from level to level would drift
        each = rs.dask.pyramid(ramp, 5, **arguments)
        for level, taken in enumerate(each[1:], 1):
            middle = 2**level * np.arange(64 >> level) + (2**level - 1) / 2
            assert abs(taken.compute()[0] - middle).max() == 0.5
    for refused, message in (
        ({"levels": 9}, r"level 7 has no elements: levels must be at most 7, for u8\[96,80,3\]"),
        ({"levels": 0}, "levels must be 1 or more, got 0"),
        ({"levels": "2"}, "levels must be an integer, got '2'"),
        ({"axes": (0, 5)}, r"axis 5 of axes \(0, 5\) is outside"),
        ({"axes": 1}, "axes must be"),
        ({"x": "photo.npy"}, r"source must have shape, and str has none: open .* mmap_mode='r'\)"),
    ):
        with pytest.raises(rs.DescriptorError, match=message):
            rs.dask.pyramid(**{"x": PHOTO, "levels": 2, "axes": (0, 1), **refused})


def test_a_pyramid_has_the_mode_of_the_library_that_it_is_like():
    level = rs.dask.pyramid(PHOTO, 2, axes=(0, 1), like="pillow")[1].compute()
    assert np.array_equal(level, rs.resample(PHOTO, level.shape[:2], axes=(0, 1), like="pillow").numpy())


def test_levels_of_a_pyramid_have_the_sizes_of_scales():
    for factor in (0.29, Fraction(29, 100)):
        level = rs.dask.pyramid(np.zeros((100, 100), np.uint8), 2, factor=factor)[1]
        assert level.shape == rs.resample(np.zeros((100, 100), np.uint8), scales=(factor, factor)).sizes
    for refused in (1, 1.5, 0, -0.5, float("nan"), "half"):
        with pytest.raises(rs.DescriptorError, match="factor must be"):
            rs.dask.pyramid(PHOTO, 2, axes=(0, 1), factor=refused)


def test_a_chain_is_a_chain():
    with pytest.raises(rs.DescriptorError, match=r"chain must be a restride.Chain, got str"):
        rs.dask.apply(PHOTO, "abc")


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_device_of_a_plugin_replaces_the_default_one(is_taken):
    from restride.interop.dask import _Pool

    pool = _Pool()
    task = pool.one()
    default = task.__enter__()
    if not is_taken:
        task.__exit__(None, None, None)
    with rs.Device() as own:
        pool.add(own)
        if is_taken:
            task.__exit__(None, None, None)
        for _ in range(2):
            with pool.one() as device:
                assert device is own
                assert pool._free.empty()
        pool.remove(own)
    with pool.one() as device:
        assert device is default


class Huge:
    """100 GB that nobody reads."""

    shape, dtype, chunks = (316_000, 316_000), np.dtype(np.uint8), (4096, 4096)

    def __getitem__(self, key):
        raise AssertionError(f"read {key}")


def test_a_graph_has_one_task_for_each_chunk():
    tracemalloc.start()
    lazy = rs.dask.resample(Huge(), scales=(0.5, 0.5), axes=(0, 1), mode="area", chunks=(2873, 2873))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20, "5 kB for each chunk"
    tracemalloc.stop()
    assert lazy.npartitions == 55 * 55
    assert len(dict(lazy.dask)) <= lazy.npartitions + 10
    assert len(pickle.dumps(dict(lazy.dask))) < 4 << 20
    x = da.zeros((316_000, 316_000), chunks=4096, dtype="u1")
    of_dask = rs.dask.resample(x, scales=(0.5, 0.5), axes=(0, 1), mode="area", chunks=(2873, 2873))
    assert len(dict(of_dask.dask)) <= of_dask.npartitions + len(dict(x.dask)) + 10


def test_default_chunks_are_those_of_the_source_where_a_task_fits():
    lazy = rs.dask.resample(da.zeros((900, 1000), chunks=(100, 200), dtype="u1"), (450, 500))
    assert lazy.chunksize == (100, 200)
    small = rs.dask.apply(Huge(), rs.Chain().resample(scales=(0.5, 0.5), axes=(0, 1), mode="area"), memory="64MiB")
    work = rs.Chain().resample(scales=(0.5, 0.5), axes=(0, 1), mode="area").of(Huge.shape, "u8")
    assert work.nbytes(tuple(range(size) for size in small.chunksize)) <= 16 << 20


def test_unknown_chunks_are_refused():
    x = da.from_array(np.arange(9.0), chunks=3)
    for chunks in ((4,), 0, 2.5, "3 parts"):
        with pytest.raises(
            rs.DescriptorError, match=r"chunks must be as dask has them, such as 4, .*'auto', for sizes"
        ):
            rs.dask.apply(da.zeros((8, 8), chunks=4), rs.Chain(), chunks=chunks)
    assert rs.dask.apply(da.zeros((8, 8), chunks=8), rs.Chain(), chunks=4).chunks == ((4, 4), (4, 4))
    assert rs.dask.apply(da.zeros((8, 8), chunks=4), rs.Chain(), chunks="auto").chunks == ((8,), (8,))
    with pytest.warns(UserWarning, match=r"memory of 100 bytes leaves \d{4} chunks of"):
        rs.dask.apply(da.zeros((128, 128), chunks=128, dtype="u1"), rs.Chain(), memory="100")
    with pytest.raises(rs.DescriptorError, match="chunks of x must have known sizes"):
        rs.dask.reorder(x[x > 3], dtype="f32")


OTHER_BLOCKS = {"shorter": lambda block: block[:2], "longer": lambda block: np.r_[block, block], "f4": np.float32}


@pytest.mark.parametrize("change", OTHER_BLOCKS)
def test_blocks_that_differ_from_their_metadata_are_refused(change: str):
    x = da.from_array(np.arange(64, dtype=np.uint8).reshape(8, 8), chunks=(4, 4))
    other = x.map_blocks(OTHER_BLOCKS[change], dtype="u1", meta=np.empty((0, 0), "u1"))
    with pytest.raises(rs.DescriptorError, match=r"block at \[0:4, 0:4\].* metadata say uint8\[4, 4\]"):
        rs.dask.reorder(other, dtype="f32", chunks=(8, 8)).compute(scheduler="sync")


def test_what_is_persisted_is_no_view_of_the_source():
    photo = PHOTO.copy()
    kept = rs.dask.apply(photo, rs.Chain()).persist()
    photo[:] = 0
    assert np.array_equal(kept.compute(), PHOTO)


def test_changes_in_memory_of_a_mapping_are_read(tmp_path):
    np.save(tmp_path / "photo.npy", PHOTO)
    mapped = np.load(tmp_path / "photo.npy", mmap_mode="c")
    mapped[:] = 7
    assert (rs.dask.crop(mapped, np.s_[:5]).compute() == 7).all()


def test_a_file_that_was_rewritten_has_another_name(tmp_path):
    names = set()
    for number in range(2):
        np.save(tmp_path / "photo.npy", PHOTO + np.uint8(number))
        os.utime(tmp_path / "photo.npy", ns=(0, number))
        for _ in range(2):
            names.add(rs.dask.crop(np.load(tmp_path / "photo.npy", mmap_mode="r"), 0).name)
    assert len(names) == 2


def test_a_dataset_is_opened_by_its_absolute_name(tmp_path, monkeypatch):
    class Dataset:
        shape, dtype, chunks, name, file = PHOTO.shape, PHOTO.dtype, None, "/image", SimpleNamespace(filename="x.h5")

    monkeypatch.setitem(sys.modules, "h5py", SimpleNamespace(Dataset=Dataset))
    monkeypatch.chdir(tmp_path)
    assert by_name(Dataset()).filename == str(tmp_path / "x.h5")


def test_a_lazy_array_is_one_chain():
    half = rs.LazyArray(da.from_array(PHOTO, chunks=(30, 30, 3)), rs.Chain(AREA.operations[:1]))
    of_half = rs.dask.apply(half, rs.Chain(AREA.operations[1:]), chunks=(3, 10, 11))
    assert of_half.name == rs.dask.apply(half.source, AREA, chunks=(3, 10, 11)).name
    assert np.array_equal(of_half.compute(), whole())


def test_files_are_read_inside_the_tasks(tmp_path):
    """Nothing of the source is in the graph."""
    h5py, zarr = judge("h5py"), judge("zarr")
    np.save(tmp_path / "photo.npy", PHOTO)
    with h5py.File(tmp_path / "photo.h5", "w") as file:
        file.create_dataset("image", data=PHOTO, chunks=(20, 20, 3))
    with h5py.File(tmp_path / "photo.h5", "r") as file:
        stored = zarr.create_array(tmp_path / "photo.zarr", shape=PHOTO.shape, chunks=(20, 20, 3), dtype="uint8")
        stored[:] = PHOTO
        for source in (np.load(tmp_path / "photo.npy", mmap_mode="r"), file["image"], stored):
            lazy = rs.dask.apply(source, AREA, chunks=(3, 10, 11))
            assert len(dict(lazy.dask)) == lazy.npartitions + 2
            assert len(pickle.dumps(dict(lazy.dask))) < PHOTO.nbytes / 2
            again = pickle.loads(pickle.dumps(dict(lazy.dask)))
            assert np.array_equal(lazy.compute(), whole())
            assert np.array_equal(da.Array(again, lazy.name, lazy.chunks, lazy.dtype).compute(), whole())


def test_processes_give_one_call(tmp_path):
    """They are started by spawn, open their own devices and files, and may store the result."""
    zarr = judge("zarr")
    np.save(tmp_path / "photo.npy", PHOTO)
    spawned = ProcessPoolExecutor(2, get_context("spawn"))
    with spawned, dask.config.set(scheduler="processes", pool=spawned):
        for x in (da.from_array(PHOTO, chunks=(50, 50, 3)), np.load(tmp_path / "photo.npy", mmap_mode="r")):
            assert np.array_equal(rs.dask.apply(x, AREA, chunks=(3, 20, 33)).compute(), whole())
        rs.dask.apply(PHOTO, AREA, chunks=(3, 20, 33)).to_zarr(str(tmp_path / "out.zarr"))
    assert np.array_equal(zarr.open_array(tmp_path / "out.zarr")[:], whole())


@pytest.fixture(scope="module")
def client():
    distributed = judge("distributed")
    settings = {
        "distributed.worker.multiprocessing-method": "spawn",
        # A cluster closes a worker for good that is absent this long after a death, although it may have come back and
        # died again meanwhile.
        "distributed.deploy.lost-worker-timeout": "1 hour",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_plugin(rs.dask.DevicePlugin([None, 0]))
        yield client


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_cluster_of_two_processes_gives_one_call(case: Case):
    expected = case.whole()
    source = da.from_array(case.source, chunks=case.source_chunks)
    lazy = rs.dask.apply(source, case.chain, chunks=chunks_of(case))
    if expected.dtype.name == "float8_e5m2":
        with pytest.raises(rs.UnsupportedError, match="cannot send"):
            lazy.compute()
        return
    assert lazy.compute().tobytes() == expected.tobytes()


@pytest.mark.usefixtures("client")
def test_a_cluster_refuses_what_it_would_lose():
    lazy = rs.dask.reorder(da.from_array(PHOTO, chunks=30), dtype="f8e5m2")
    with pytest.raises(rs.UnsupportedError, match=r"cannot send elements of type f8e5m2 from worker tcp://"):
        lazy.compute()
    assert lazy.compute(scheduler="threads").tobytes() == rs.reorder(PHOTO, dtype="f8e5m2").numpy().tobytes()


def opened() -> int:
    from restride.interop import dask as rs_dask

    return len(rs_dask._pool._devices)


def test_each_worker_opens_one_device(client):
    assert list(client.run(opened).values()) == [1, 1]
    rs.dask.apply(PHOTO, AREA, chunks=(1, 5, 5)).compute()
    assert list(client.run(opened).values()) == [1, 1]


@pytest.mark.usefixtures("client")
def test_results_are_kept_and_stored(tmp_path):
    zarr = judge("zarr")
    lazy = rs.dask.apply(da.from_array(PHOTO, chunks=(30, 30, 3)), AREA, chunks=(3, 10, 11))
    assert np.array_equal(lazy.persist().compute(), whole())
    lazy.to_zarr(str(tmp_path / "out.zarr"))
    assert np.array_equal(zarr.open_array(tmp_path / "out.zarr")[:], whole())


class Slow:
    """A source that takes 2 s to read by all four threads, so that a worker dies among the reads."""

    def __init__(self, case: Case):
        self.array, self.shape, self.dtype, self.chunks = case.source, case.sizes, case.source.dtype, case.source_chunks
        count = len(list(windows(case.work.sizes, case.chunks)))
        self.delay = 2 / -(-count // 4)

    def __getitem__(self, key):
        time.sleep(self.delay)
        return self.array[key]


@pytest.mark.parametrize("case", interrupted("dead worker"), ids=str)
def test_a_worker_that_is_killed_changes_no_bit(client, case: Case):
    expected = case.whole()
    if expected.dtype.name == "float8_e5m2":
        expected, case = expected.astype(np.float16), replace(case, chain=case.chain.reorder(dtype="f16"))
    workers = client.run(os.getpid)
    future = client.compute(rs.dask.apply(Slow(case), case.chain, chunks=chunks_of(case)))
    time.sleep(0.7)
    os.kill(next(iter(workers.values())), signal.SIGKILL)
    assert future.result(timeout=120).tobytes() == expected.tobytes()
    wait_for_others(client, set(workers.values()))
    assert list(client.run(opened).values()) == [1, 1]


def wait_for_others(client, before: set[int]) -> None:
    """Until one of the two processes is a new one; the scheduler may not know yet that the old one is dead."""
    for _ in range(600):
        now = client.run(os.getpid, on_error="ignore")
        if len(now) == 2 and set(now.values()) != before:
            return
        time.sleep(0.1)
    raise AssertionError("no worker took the place of the one that was killed")
