"""The structures of CUDA's driver as cuda.h lays them out."""

from __future__ import annotations

import ctypes

from restride.runtime import cuda_driver


def test_structures_have_the_layout_of_cuda_h():
    wish, buffer = cuda_driver._HandleDesc, cuda_driver._BufferDesc
    assert (ctypes.sizeof(wish), wish.handle.offset, wish.size.offset, wish.flags.offset) == (104, 8, 24, 32)
    assert (ctypes.sizeof(buffer), buffer.size.offset, buffer.flags.offset) == (88, 8, 16)
