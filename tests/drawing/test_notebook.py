"""A tensor in a notebook: layout, picture, and the first and last elements."""

from __future__ import annotations

import numpy as np
import pytest
from support.tensors import Costs

import restride as rs


@pytest.mark.parametrize(
    ("desc", "shows"),
    [
        ("f32[]", "<pre>1.0</pre>"),
        ("s32[3]", "<pre>[1 1 1]</pre>"),
        ("f32[0,3]", "<pre>[]</pre>"),
        ("u8[3,5,20,30]", "<pre>[0, 0]\n[[1 1 1 ... 1 1 1]"),
        ("bf16[64,64]{1,0:T(8,128)}", "<pre>[[1 1 1 ... 1 1 1]"),
        ("u8[1200,800,3]", '<img alt="800 x 1200 pixels, every 3" src="data:image/png;base64,'),
        ("u8[20,30]", '<img alt="30 x 20 pixels, every 1"'),
        ("u8[20,30,1]", '<img alt="30 x 20 pixels, every 1"'),
    ],
)
def test_a_notebook_shows_layout_picture_and_elements(desc, shows, device):
    pytest.importorskip("PIL")
    desc = rs.TensorDesc.parse(desc)
    tensor = rs.reorder(rs.asarray(np.ones(desc.sizes, desc.dtype.dtype), device=device), layout=desc)
    costs = Costs(device)
    page = tensor._repr_html_()
    assert str(desc) in page
    assert shows in page
    assert page.count("<svg") == page.count("</svg>") == 1
    assert len(page) < 50_000
    assert costs().downloaded <= 400 * 400 * 4
    assert costs().dispatches <= 4


@pytest.mark.parametrize(
    ("desc", "said"),
    [
        ("u8[3,5]", "15 bytes of elements</code>"),
        (
            "u8[3,5]{strides=(8,1)}",
            "15 bytes of elements, 21 from the start of the buffer, with padding and gaps</code>",
        ),
        (
            "f32[2,3]{1,0:T(8,128)}",
            "24 bytes of elements, 4096 from the start of the buffer, with padding and gaps</code>",
        ),
        ("u8[3,5]{strides=(0,1)}", "15 bytes of elements, 5 in the buffer, where repeated ones lie once</code>"),
    ],
)
def test_a_notebook_says_bytes_without_and_with_padding(desc, said, device):
    assert said in rs.empty(desc, device)._repr_html_()


def test_a_notebook_shows_both_ends(device):
    array = np.arange(90, dtype=np.int32).reshape(9, 10)
    page = rs.asarray(array, device=device)._repr_html_()
    with np.printoptions(edgeitems=3, threshold=0):
        assert f"<pre>{array}</pre>" in page


def test_a_notebook_shows_a_tensor_of_a_closed_device():
    with rs.Device(runtime="vulkan") as device:
        tensor = rs.asarray(np.ones(3), device=device)
    page = tensor._repr_html_()
    assert "was closed" in page
    assert "f64[3]{0}" in page
    assert "<svg" in page
