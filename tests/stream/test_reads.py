"""Reads of a stream: shared by neighbours, counted before, in pieces, and refused where they are too many."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.chunked import Chunked, Failing

import restride as rs
from restride.stream.reads import ChunkGrid, pieces, plan_reads


def test_neighbouring_chunks_share_their_reads():
    """Columns of a destination lie across rows of the source: together they read each row once."""
    source = Chunked(np.arange(64 * 64, dtype=np.float32).reshape(64, 64), (1, 64))
    result = Chunked(np.zeros((64, 64), np.float32), (4, 64))
    transposed = rs.Chain().reorder("AB->BA")
    work = transposed.of(source.shape, "f32")
    grid = ChunkGrid(work.sizes, result.chunks)
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
    parts = list(pieces(work, window, work.nbytes(window) // 5, work.nbytes(window)))
    covered = np.zeros((8, 8), int)
    for part in parts:
        covered[tuple(slice(each.start, each.stop) for each in part)] += 1
    assert (covered == 1).all()
    assert len(parts) > 5
    with pytest.raises(rs.DescriptorError, match=r"memory of 1000 bytes is too little for the chunk .* memory=1234 or"):
        list(pieces(work, window, 1000, 1234))


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
    count = len(ChunkGrid(result.shape, chunk))
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
