"""rs.stream between files: zarr with shards and other chunks, HDF5, .npy; reads counted where a store counts them."""

from __future__ import annotations

import numpy as np
import pytest
from support.judges import judge

import restride as rs

VOLUME = (np.random.default_rng(7).normal(size=(20, 24, 36)) * 9).astype(np.float32)
MOVED = rs.Chain().reorder("TYX->YXT", dtype="bf16")


def moved():
    return rs.reorder(VOLUME, "TYX->YXT", dtype="bf16").numpy().view(np.uint16)


class Counting:
    """A zarr array whose reads of chunks are counted."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.chunks = array, array.shape, array.dtype, array.chunks
        self.reads = np.zeros([-(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)], int)

    def __getitem__(self, key):
        touched = tuple(
            slice(part.start // chunk, -(-part.stop // chunk)) for part, chunk in zip(key, self.chunks, strict=True)
        )
        self.reads[touched] += 1
        return self.array[key]


@pytest.mark.parametrize("shards", [None, (12, 18, 20)])
@pytest.mark.parametrize("memory", ["16MiB", "200 KB", "60 KB"])
def test_zarr_moves_axes_types_and_chunks_in_one_pass(tmp_path, memory, shards):
    zarr = judge("zarr", "3")
    source = zarr.create_array(tmp_path / "in.zarr", shape=VOLUME.shape, chunks=(1, 24, 36), dtype="float32")
    source[:] = VOLUME
    result = zarr.create_array(
        tmp_path / "out.zarr", shape=(24, 36, 20), chunks=(6, 6, 20), shards=shards, dtype="uint16"
    )
    counted = Counting(source)
    done = rs.stream(counted, result, MOVED, memory=memory, journal=tmp_path / "journal")
    assert np.array_equal(result[:], moved())
    assert done.plan.grid.chunks == (shards or (6, 6, 20))
    assert done.plan.reads == counted.reads.sum()
    assert done.plan.amplification == counted.reads.sum() / 20
    if memory == "16MiB":
        assert (counted.reads == 1).all()
    again = rs.stream(counted, result, MOVED, memory=memory, journal=tmp_path / "journal")
    assert (again.skipped, again.bytes_read) == (again.chunks, 0)


def test_more_memory_never_reads_more():
    """A transposition of many small chunks: from one source chunk for each of the result, down to every one once."""
    work = MOVED.of((256, 512, 512), "f32")
    from restride.stream.reads import ChunkGrid, plan_reads

    grid = ChunkGrid(work.sizes, (64, 64, 256))
    plans = [plan_reads(work, grid, (1, 512, 512), memory << 20) for memory in (16, 64, 256, 1024, 4096)]
    reads = [plan.amplification for plan in plans]
    assert reads == sorted(reads, reverse=True)
    assert (reads[0], reads[-1]) == (64, 1)
    assert all(plan.nbytes <= memory << 20 for plan, memory in zip(plans, (16, 64, 256, 1024, 4096), strict=True))


@pytest.mark.parametrize("chunks", [None, (5, 4, 18), (8, 24, 36), (7, 5, 36)])
@pytest.mark.parametrize("fill", [0.0, 7.0, float("nan")])
def test_zarr_stores_the_chunks_that_are_not_empty(tmp_path, chunks, fill):
    """As zarr alone does, whether threads write single chunks, parts of one, several, or across them."""
    zarr = judge("zarr", "3")
    volume = np.full_like(VOLUME, fill)
    volume[5:11, 3:7, 20:] = VOLUME[5:11, 3:7, 20:]
    volume[19, 23, 35] = -0.0
    stored = []
    for name in ("alone", "streamed"):
        kinds = {"shape": VOLUME.shape, "chunks": (5, 8, 18), "dtype": "float32", "fill_value": fill}
        array = zarr.create_array(tmp_path / name, **kinds)
        if name == "alone":
            array[:] = volume
        else:
            rs.stream(volume, array, chunks=chunks, memory="100 KB")
        assert array[:].tobytes() == volume.tobytes()
        chunk_files = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        stored.append(sorted(path.relative_to(tmp_path / name) for path in chunk_files))
    assert stored[0] == stored[1]
    assert 1 < len(stored[0]) < array.nchunks


def test_zarr_does_not_look_again_whether_a_chunk_is_empty(tmp_path, monkeypatch):
    """It does so in its one thread, and slowly: a third of the time of a copy."""
    zarr = judge("zarr", "3.1")
    from zarr.core.buffer import NDBuffer

    looked: list[object] = []
    monkeypatch.setattr(NDBuffer, "all_equal", lambda *_: looked.append(0))
    result = zarr.create_array(tmp_path / "out", shape=VOLUME.shape, chunks=(6, 7, 36), dtype="float32")
    rs.stream(VOLUME, result)
    assert np.array_equal(result[:], VOLUME)
    assert not looked


@pytest.mark.parametrize("shards", [None, (10, 16, 36)])
def test_a_copy_to_equal_chunks_decodes_none(tmp_path, monkeypatch, shards):
    """Bytes are moved as they are stored."""
    zarr = judge("zarr", "3.1")
    from zarr.codecs import BytesCodec

    kinds = {"shape": VOLUME.shape, "chunks": (5, 8, 18), "shards": shards, "dtype": "float32"}
    source, result = (zarr.create_array(tmp_path / name, **kinds) for name in ("in", "out"))
    source[:] = VOLUME
    result[:] = 7
    expected = source[:]

    async def refuse(*_: object) -> None:
        raise AssertionError("it was decoded or encoded")

    with monkeypatch.context() as patched:
        patched.setattr(BytesCodec, "_decode_single", refuse)
        patched.setattr(BytesCodec, "_encode_single", refuse)
        done = rs.stream(source, result, journal=tmp_path / "journal", memory="1MB")
        again = rs.stream(source, result, journal=tmp_path / "journal", memory="1MB")
    assert np.array_equal(result[:], expected)
    assert (done.bytes_read, done.bytes_written) == (VOLUME.nbytes, VOLUME.nbytes)
    assert (again.skipped, again.bytes_written) == (again.chunks, 0)
    files = [
        sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*") if path.is_file())
        for name in ("in", "out")
    ]
    assert files[0] == files[1]


@pytest.mark.parametrize(
    "other",
    [
        {"chunks": (5, 8, 9)},
        {"compressors": None},
        {"fill_value": 1},
        {"shards": (10, 8, 18)},
        {"zarr_format": 2},
        {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    ],
    ids=str,
)
def test_a_copy_to_other_chunks_has_the_elements(tmp_path, other):
    """The last is one of equal chunks, which have other names."""
    zarr = judge("zarr", "3.1")
    kinds = {"shape": VOLUME.shape, "chunks": (5, 8, 18), "dtype": "float32"}
    source = zarr.create_array(tmp_path / "in", **kinds)
    source[:10] = VOLUME[:10]
    result = zarr.create_array(tmp_path / "out", **{**kinds, **other})
    rs.stream(source, result)
    assert np.array_equal(zarr.open_array(tmp_path / "out", mode="r")[:], source[:])
    rs.stream(source, result, chunks=(5, 16, 18))
    assert np.array_equal(result[:], source[:])


@pytest.mark.parametrize("shards", [None, (4,)])
def test_a_chunk_that_is_not_stored_is_written_as_the_destination_wants(tmp_path, shards):
    """Its elements are the source's fill value, bit for bit, and are stored where empty chunks are to be."""
    zarr = judge("zarr", "3.1")
    kinds = {"shape": (8,), "chunks": (2,) if shards else (4,), "shards": shards, "dtype": "float32"}
    source = zarr.create_array(tmp_path / "in", **kinds, fill_value=-0.0)
    source[0] = -1  # of two shards, the first then has one of its two chunks
    for name, fill in (("plain", 0.0), ("stored", -0.0)):
        config = {"write_empty_chunks": True}
        result = zarr.create_array(tmp_path / name, **kinds, fill_value=fill, config=config)
        rs.stream(source, result)
        assert np.signbit(result[:]).all()
        assert shards or result.nchunks_initialized == 2


def test_a_copy_that_fails_names_the_chunk(tmp_path):
    zarr = judge("zarr", "3.1")
    kinds = {"shape": VOLUME.shape, "chunks": (5, 24, 36), "dtype": "float32"}
    source, result = (zarr.create_array(tmp_path / name, **kinds) for name in ("in", "out"))
    source[:] = VOLUME
    in_the_way = tmp_path / "out" / "c" / "2"
    in_the_way.parent.mkdir()
    in_the_way.touch()
    with pytest.raises(rs.StreamError, match=r"copying failed for .*\[10:15, 0:24, 0:36\]") as failed:
        rs.stream(source, result, journal=tmp_path / "journal")
    assert failed.value.chunk == (2, 0, 0)
    in_the_way.unlink()
    rs.stream(source, result, journal=tmp_path / "journal")
    assert np.array_equal(result[:], VOLUME)


@pytest.mark.parametrize("memory", ["16MiB", "100 KB"])
def test_tensorstore_is_read_and_written_by_its_chunks(tmp_path, memory):
    tensorstore = judge("tensorstore")

    def create(name, shape, dtype, chunks):
        return tensorstore.open(
            {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / name)}},
            create=True,
            dtype=dtype,
            shape=shape,
            chunk_layout=tensorstore.ChunkLayout(chunk_shape=chunks),
        ).result()

    source = create("in", VOLUME.shape, tensorstore.float32, (1, 24, 36))
    source[...] = VOLUME
    result = create("out", (24, 36, 20), tensorstore.uint16, (6, 6, 20))
    done = rs.stream(source, result, MOVED, memory=memory, journal=tmp_path / "journal")
    assert np.array_equal(np.asarray(result), moved())
    assert done.plan.grid.chunks == (6, 6, 20)
    assert done.plan.needed == 20
    again = rs.stream(source, result, MOVED, memory=memory, journal=tmp_path / "journal")
    assert (again.skipped, again.bytes_read) == (again.chunks, 0)
    again = create("uneven", (24, 36, 20), tensorstore.uint16, (6, 6, 20))
    rs.stream(source, again, MOVED, memory=memory, chunks=(5, 7, 9))
    assert np.array_equal(np.asarray(again), moved())


def test_hdf5_is_read_and_written(tmp_path):
    h5py = judge("h5py")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("volume", data=VOLUME, chunks=(5, 24, 7))
    with h5py.File(tmp_path / "in.h5", "r") as source, h5py.File(tmp_path / "out.h5", "w") as target:
        result = target.create_dataset("moved", (24, 36, 20), np.uint16, chunks=(8, 9, 20))
        done = rs.stream(source["volume"], result, MOVED, journal=tmp_path / "journal")
        assert done.plan.grid.chunks == (8, 9, 20)
        assert np.array_equal(result[:], moved())


def test_a_stored_array_that_was_opened_twice_is_refused(tmp_path, monkeypatch):
    """In place, chunks would be read after they were written."""
    zarr, h5py = judge("zarr", "3"), judge("h5py")
    group = zarr.open_group(tmp_path / "image.zarr", mode="w")
    first = group.create_array("0", data=VOLUME)
    other = group.create_array("1", data=VOLUME)
    memory = zarr.create_array({}, data=VOLUME)
    monkeypatch.chdir(tmp_path)
    with h5py.File("in.h5", "w") as file:
        file["a"], file["b"] = VOLUME, VOLUME
        for source, destination in (
            (first, zarr.open_array(tmp_path / "image.zarr" / "0")),
            (zarr.open_array("image.zarr/0"), first),
            (memory, zarr.open_array(memory.store)),
            (rs.LazyArray(first, rs.Chain()), zarr.open_array("image.zarr/0")),
            (file["a"], file["/a"]),
        ):
            with pytest.raises(rs.DescriptorError, match="destination shares elements with the source"):
                rs.stream(source, destination, rs.Chain()[::-1])
        for source, destination in ((first, other), (first, memory), (file["a"], file["b"]), (first, file["b"])):
            rs.stream(source, destination, rs.Chain()[::-1])
            assert np.array_equal(destination[:], VOLUME[::-1])


def test_a_destination_that_is_only_read_is_refused_before_anything_is_read(tmp_path):
    zarr, h5py, tensorstore = judge("zarr", "3"), judge("h5py"), judge("tensorstore")
    zarr.create_array(tmp_path / "a.zarr", data=VOLUME)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = VOLUME
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(tmp_path / "a.zarr")}}
    with h5py.File(tmp_path / "a.h5", "r") as file:
        stored = tensorstore.open(spec, read=True, write=False).result()
        for destination in (zarr.open_array(tmp_path / "a.zarr", mode="r"), file["a"], stored):
            with pytest.raises(rs.DescriptorError, match="destination is read-only: open it for writing, by mode"):
                rs.stream(VOLUME, destination, journal=tmp_path / "journal")
    assert not (tmp_path / "journal").exists()


def test_a_dask_array_is_no_destination():
    da = judge("dask.array")
    with pytest.raises(rs.DescriptorError, match=r"not a dask array, which rs\.dask\.apply makes"):
        rs.stream(VOLUME, da.zeros(VOLUME.shape, dtype="f4"))


def test_zarr_to_npy_in_little_memory(tmp_path):
    zarr = judge("zarr", "3")
    source = zarr.create_array(tmp_path / "in.zarr", shape=VOLUME.shape, chunks=(7, 7, 7), dtype="float32")
    source[:] = VOLUME
    result = np.lib.format.open_memmap(tmp_path / "half.npy", "w+", np.float32, (10, 12, 18))
    chain = rs.Chain().resample((10, 12, 18), mode="cubic", antialias=True)
    done = rs.stream(source, result, chain, memory="100 KB")
    assert done.peak_bytes <= 100_000
    assert np.array_equal(result, rs.resample(VOLUME, (10, 12, 18), mode="cubic", antialias=True).numpy())


def test_a_group_is_refused_with_the_arrays_in_it(tmp_path):
    group = judge("zarr", "3").open_group(tmp_path / "image.zarr", mode="w")
    for name in ("0", "1", "labels/cells/0"):
        group.create_array(name, data=VOLUME)
    said = r"must have \w+, and Group has none: take an array of it, such as group\['0'\]; it has 0, 1, labels/cells/0$"
    with pytest.raises(rs.DescriptorError, match=f"source {said}"):
        rs.stream(group, np.zeros_like(VOLUME))
    with pytest.raises(rs.DescriptorError, match=f"destination {said}"):
        rs.stream(VOLUME, group)
    with judge("h5py").File(tmp_path / "scans.h5", "w") as file:
        with pytest.raises(rs.DescriptorError, match=r"must have shape, and File has none$"):
            rs.stream(file, np.zeros_like(VOLUME))
        for place in range(12):
            file[f"scans/{place:02}"] = VOLUME
        with pytest.raises(rs.DescriptorError, match=r"file\['scans/00'\]; it has scans/00, .*, scans/08 and 3 more"):
            rs.stream(file, np.zeros_like(VOLUME))
    with pytest.raises(rs.DescriptorError, match=r"must have shape, and File has none$"):
        rs.stream(file, np.zeros_like(VOLUME))  # closed
