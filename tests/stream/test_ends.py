"""Ends of a stream: mapped files with and without room, byte orders, and what is no source or destination."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.chunked import HALF, VOLUME, half

import restride as rs


def test_default_chunks_serve_a_destination_without_chunks(tmp_path: Path):
    result = np.lib.format.open_memmap(tmp_path / "half.npy", "w+", np.uint8, (6, 12, 16))
    source = np.lib.format.open_memmap(tmp_path / "volume.npy", "w+", np.uint8, VOLUME.shape)
    source[:] = VOLUME
    rs.stream(source, result, HALF, memory="16 KiB")
    del result
    assert np.array_equal(np.load(tmp_path / "half.npy"), half())


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
