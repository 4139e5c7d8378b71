"""Many frames are several dispatches, cut where a binding ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

import restride as rs
from restride.kernel import Limits
from restride.plan.yuv import FORMATS, colors, yuv_kernels


def test_many_frames_are_several_dispatches():
    src, dst = rs.TensorDesc("u8", (10, 6, 8)), rs.TensorDesc("u8", (10, 4, 8, 3))
    form, factors = FORMATS["nv12"], colors("bt601", full_range=False)
    limits = Limits(max_buffer_range=512)
    parts = list(yuv_kernels(src, dst, form, factors, limits))
    assert sum(kernel.pushed("pieces") for kernel in parts) == 10 * 2 * 2
    assert len(parts) > 1
    assert all(binding.nbytes <= 512 for kernel in parts for binding in kernel.bindings)
    begins = [kernel.bindings[1].offset + kernel.pushed("dst_base") for kernel in parts]
    assert begins == [96 * sum(each.pushed("pieces") // 4 for each in parts[:place]) for place in range(len(parts))]
    said = "a frame of 48 bytes, 96 as RGB, needs a binding of up to 112 bytes .*, and a binding covers at most 111"
    with pytest.raises(rs.UnsupportedError, match=said):
        list(yuv_kernels(src, dst, form, factors, replace(limits, max_buffer_range=111)))
    single = rs.TensorDesc("u8", (6, 8)), rs.TensorDesc("u8", (4, 8, 3))
    assert len(list(yuv_kernels(*single, form, factors, replace(limits, max_buffer_range=96)))) == 1
    with pytest.raises(rs.UnsupportedError, match=r"up to 96 bytes .*, and a binding covers at most 95"):
        list(yuv_kernels(*single, form, factors, replace(limits, max_buffer_range=95)))
