"""Sources in chunks that count, refuse or watch reads, and the halving that tests stream."""

from __future__ import annotations

import time

import numpy as np

import restride as rs


class Chunked:
    """An array in memory with chunks, as arrays in files have, which counts the elements that are read."""

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
    """A chunked array whose element at ``place`` cannot be read or written."""

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


HALF = rs.Chain().resample((12, 16), axes=(1, 2), mode="area")
VOLUME = np.random.default_rng(3).integers(0, 256, (6, 24, 32)).astype(np.uint8)


def half():
    return rs.resample(VOLUME, (12, 16), axes=(1, 2), mode="area").numpy()


class Watched(Chunked):
    """A chunked array that is read slowly, and keeps the largest number of bytes of a read."""

    largest = 0

    def __getitem__(self, key):
        time.sleep(0.002)
        self.largest = max(self.largest, self.array[key].nbytes)
        return self.array[key]
