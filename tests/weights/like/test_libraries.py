"""Rows of libraries: random ones have the hashes that were stored when the libraries' own results judged them.

The reference takes these rows, and the words for modes, as they are, so no case tells them from wrong ones;
tests/judges compares the results with each library. After a change that the library judged right, ``python
tests/weights/like/test_libraries.py`` prints the hashes to store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest

from restride.request import LIBRARIES, Request
from restride.weights import LibraryRows, Resizing, resizing

STORED = {
    "torch": ("torch 2.13.0, torch.nn.functional.interpolate on a CPU", 504, "c16e230814ca207b940728b07d5a4e92"),
    "onnx": ("ONNX 1.23.2, Resize-19", 216, "c2aaa3bd0d7163f2ac8a84ef944d8b09"),
    "onednn": ("oneDNN 3.13, resampling", 144, "c750647ea048786745d078b6dea7c7ef"),
    "directml": ("DirectML 1.15, DML_OPERATOR_RESAMPLE3", 144, "3ccb4a5a03309f8dbf674f765d7d6e30"),
    "tensorflow": ("TensorFlow 2, tf.image.resize", 288, "4e38d527c1e56fe8074f7110ece7646e"),
    "pillow": ("Pillow 13.0.0, Image.resize", 432, "87f60d019557b914b70b70842550f6bd"),
    "opencv": ("OpenCV 5.0.0, cv2.resize", 504, "1276df8ca96b250a0f31e9509494a241"),
    "scikit-image": ("scikit-image 0.26.0, skimage.transform.resize", 144, "1b265be01d900f5af8d900cb0ed6a614"),
}
"""For each library the version that judged it, the number of its random requests, and the hash of all their rows."""

TYPES = ("u8", "s16", "u16", "s32", "f32", "f64")


def drawn(like: str) -> Iterator[Resizing]:
    """Requests of every mode and type: halves, whole factors, and any sizes before and after, of 1 to 4 channels."""
    rng = np.random.default_rng(sum(like.encode()))
    for name, mode in LIBRARIES[like].modes.items():
        for dtype in TYPES:
            for turn in range(12):
                new = tuple(rng.integers(1, 33, 2).tolist())
                factors = ((2, 2), (3, 4)) if like == "opencv" else ((2, 2), (1, 3))
                old = rng.integers(1, 65, 2).tolist()
                if turn < 4:
                    old = [size * factor for size, factor in zip(new, factors[turn % 2], strict=True)]
                channels = int(rng.integers(1, 5))
                antialias = turn % 2 == 1 if mode.antialiased is not None else None
                scales = None
                if like in ("torch", "opencv") and turn % 3 == 2:
                    scales, new = rng.uniform(0.2, 3, 2).round(2).tolist(), None
                    old = [size + 5 for size in old]
                aligned = "align_corners" if like == "torch" and "linear" in name and turn % 4 == 3 else None
                request = Request(new, scales, (0, 1), name, aligned, antialias=antialias, like=like)
                yield resizing((*old, channels), request, dtype)


def described(found: LibraryRows) -> Iterator[bytes]:
    """The rows as numbers, and what is done with their sums."""
    for rows in found.rows:
        first, weights = rows.first_and_weights()
        yield first.astype("<i8").tobytes()
        yield weights.astype("<f8").tobytes()
        yield repr((rows.shifts, rows.is_identity, rows.moves, rows.in_order, rows.repeats_edges)).encode()
    yield repr((found.order, found.scale, found.rounding)).encode()


def hashed(like: str) -> tuple[int, str]:
    """The number of requests, and the hash of their rows, types and order."""
    digest, count = hashlib.sha256(), 0
    for resized in drawn(like):
        count += 1
        for part in described(resized.library):
            digest.update(part)
        digest.update(repr((resized.new, resized.rounds, resized.clips)).encode())
    return count, digest.hexdigest()[:32]


@pytest.mark.parametrize("like", LIBRARIES)
def test_rows_are_those_that_were_judged(like: str) -> None:
    assert (LIBRARIES[like].library, *hashed(like)) == STORED[like]


if __name__ == "__main__":
    for each in LIBRARIES:
        print(f"    {each!r}: ({LIBRARIES[each].library!r}, {', '.join(map(repr, hashed(each)))}),")
