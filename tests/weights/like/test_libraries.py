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
    "torch": ("torch 2.13.0, torch.nn.functional.interpolate on a CPU", 504, "85a934cd85634c7f64712b1795230cb6"),
    "onnx": ("ONNX 1.23.2, Resize-19", 216, "fd2f12319b7833816c696a71f2296a8b"),
    "onednn": ("oneDNN 3.13, resampling", 144, "47c1ec7e9d9c54e2c536ea8ba23caf27"),
    "directml": ("DirectML 1.15, DML_OPERATOR_RESAMPLE3", 144, "6e6d39879354faba3598969f507395d6"),
    "tensorflow": ("TensorFlow 2, tf.image.resize", 288, "a1ae1d6433716a9a9677ebd316cb7df6"),
    "pillow": ("Pillow 13.0.0, Image.resize", 432, "cd6bb052759eaf43c81d58cc59f2c96d"),
    "opencv": ("OpenCV 5.0.0, cv2.resize", 504, "cdad6ad197e489794cb02b1657347474"),
    "scikit-image": ("scikit-image 0.26.0, skimage.transform.resize", 144, "774b439a8de83bba71abb66c68512ef8"),
}
"""For each library the version that judged it, the number of its random requests, and the hash of all their rows."""

TYPES = ("u8", "s16", "u16", "s32", "f32", "f64")

TWO_AXES = ((0, 1), (1, 0), (2, 0))

AXES = dict.fromkeys(LIBRARIES, TWO_AXES) | dict.fromkeys(("torch", "scikit-image"), (*TWO_AXES, (1,), (2, 0, 1)))
"""The axes that are resized, in turn: in any order, also with another one between."""


def drawn(like: str) -> Iterator[Resizing]:
    """Requests of every mode and type: halves, whole factors, and any sizes before and after, along the axes in turn.

    The last of the other axes, of 1 to 4 elements, may be channels.
    """
    rng = np.random.default_rng(sum(like.encode()))
    factors = (2, 2, 2), (3, 4, 2) if like == "opencv" else (1, 3, 2)
    for name, mode in LIBRARIES[like].modes.items():
        for dtype in TYPES:
            for turn in range(12):
                axes = AXES[like][turn // 2 % len(AXES[like])]
                new = tuple(rng.integers(1, 33, len(axes)).tolist())
                old = rng.integers(1, 65, len(axes)).tolist()
                if turn < 4:
                    old = [size * factor for size, factor in zip(new, factors[turn % 2], strict=False)]
                antialias = turn % 2 == 1 if mode.antialiased is not None else None
                scales = None
                if like in ("torch", "opencv") and turn % 3 == 2:
                    scales, new = rng.uniform(0.2, 3, len(axes)).round(2).tolist(), None
                    old = [size + 5 for size in old]
                aligned = "align_corners" if like == "torch" and "linear" in name and turn % 4 == 3 else None
                sizes = rng.integers(1, 5, max(3, len(axes))).tolist()
                for axis, size in zip(axes, old, strict=True):
                    sizes[axis] = size
                request = Request(new, scales, axes, name, aligned, antialias=antialias, like=like)
                yield resizing(tuple(sizes), request, dtype)


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
