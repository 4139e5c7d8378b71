"""The journal of a stream: of one work and one stream at a time, whole lines, and nothing hidden."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.chunked import HALF, VOLUME, Chunked, Failing

import restride as rs


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
