"""Raw bytes with a layout as a source and a destination, block by block."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import restride as rs

LAYOUTS = [
    "f32[40,20,3,3]:OIhw16i16o",
    "f32[40,20,3,3]:OIhw4i16o4i",
    "f32[2,20,5,7]:nChw16c",
    "f32[40,20,3,3]",
    "f32[40,20,3,3]{0,3,2,1}",
    "f32[300,200]{1,0:T(8,128)(2,1)}",
    "f32[300,200]{0,1:T(8,128)}",
    "f32[30,20]{1,0:pad(32,24)=1}",
    "f32[7]",
    "f32[0,3]",
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_raw_bytes_get_a_layout_block_by_block(monkeypatch, text: str):
    monkeypatch.setattr(sys.modules["restride.stream.laid_out"], "_CHUNK", 1)
    desc = rs.TensorDesc.parse(text)
    weights = np.random.default_rng(1).normal(size=desc.sizes).astype(np.float32)
    expected = rs.reorder(weights, desc).buffer()[: desc.nbytes]
    laid_out = rs.LaidOut(np.zeros(desc.nbytes, np.uint8), desc)
    done = rs.stream(weights, laid_out)
    assert laid_out.raw.tobytes() == expected.tobytes()
    assert done.chunks > 1 or "pad" in text or "[0" in text


def test_a_layout_is_written_in_whole_blocks():
    desc = rs.TensorDesc.parse(LAYOUTS[0])
    with pytest.raises(rs.DescriptorError, match=rf"raw must be {desc.nbytes} bytes"):
        rs.LaidOut(np.zeros(desc.nbytes - 1, np.uint8), desc)
    laid_out = rs.LaidOut(np.zeros(desc.nbytes, np.uint8), desc)
    weights = np.zeros(desc.sizes, np.float32)
    with pytest.raises(rs.StreamError, match="chunks must be whole blocks of 16 along axis 0"):
        rs.stream(weights, laid_out, chunks=(10, 20, 3, 3))
    with pytest.raises(TypeError, match="only written"):
        laid_out[0]


def test_weights_of_a_safetensors_file_get_a_layout(tmp_path):
    """As docs/scale.md opens them: the header's length, the header, and the bytes."""
    weights = np.random.default_rng(2).integers(0, 1 << 16, (300, 200)).astype(np.uint16)
    entries = {"bias": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}
    entries["linear"] = {"dtype": "BF16", "shape": [300, 200], "data_offsets": [12, 12 + weights.nbytes]}
    header = json.dumps(entries).encode()
    (tmp_path / "weights.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + bytes(12) + weights.tobytes()
    )
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    names = {}
    exec(re.search(r"```python\n(import json\n.*?)```", page, re.DOTALL)[1], names)
    desc = rs.TensorDesc.parse("bf16[300,200]{1,0:T(8,128)(2,1)}")
    laid_out = rs.LaidOut(np.zeros(desc.nbytes, np.uint8), desc)
    linear = names["tensor_of"](tmp_path / "weights.safetensors", "linear")
    rs.stream(linear, laid_out, source_dtype="bf16", memory="1 MB")
    expected = rs.reorder(rs.asarray(weights.view(desc.dtype.dtype)), desc)
    assert laid_out.raw.tobytes() == expected.buffer()[: desc.nbytes].tobytes()
