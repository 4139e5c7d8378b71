"""show: what it takes, where it colours, and what it refuses."""

import io
import re
import sys
from html import escape

import numpy as np
import pytest
from support.judges import judge
from support.xla_figures import FIGURE_1

from restride.drawing.picture import show, takes_colour
from restride.errors import DescriptorError, UnsupportedError


def test_numbers_beyond_64_bits_and_memories_are_still_drawn():
    text = show("f32[2,3]{strides=(1000000000000000000000000,1)}", "f32[2,3]").text(100)
    assert "1000000000000000000000002" in text
    assert "contiguous runs: 2, the longest of 3 elements" in text
    text = show("f32[1000000,1000000]", "f32[1000000,1000000]{0,1}").text()
    assert "999999999999" in text
    assert text.endswith(f"kernels: not planned, a buffer has more than {16 << 30} bytes")


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [
        ("f32[3,2]", DescriptorError, "must have the sizes of f32[2,3]"),
        ("f16[2,3]", DescriptorError, "must have the element type of f32[2,3]"),
        ("f32[2,3]{strides=(0,1)}", DescriptorError, "must not overlap itself"),
    ],
)
def test_two_layouts_must_fit(to, error, message):
    with pytest.raises(error, match=re.escape(message)):
        show("f32[2,3]", to)


def test_colour_is_for_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert takes_colour(Terminal())
    assert not takes_colour(io.StringIO())
    assert not takes_colour(None)
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert "\x1b[38;5;16;48;5;153m" in repr(show(FIGURE_1))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in str(show(FIGURE_1))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not takes_colour(Terminal())


def test_pillow_is_asked_for_by_png_only(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    show(FIGURE_1).save(tmp_path / "x.svg")
    with pytest.raises(UnsupportedError, match=r"pip install '\.\[images\]'"):
        show(FIGURE_1).save(tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


def test_a_move_of_axes_is_headed_by_what_was_typed():
    """Of "HWC->CHW" the first layout is drawn with its axes permuted, so the heading has the one that was typed."""
    drawing = show("u8[2,3,4]", "HWC->CHW")
    heading = "u8[2,3,4]{2,1,0} to HWC->CHW"
    assert drawing.text().splitlines()[:3] == [heading, "", "u8[4,2,3]{0,2,1}"]
    assert f">{escape(heading)}</text>" in drawing.svg()
    assert show("u8[2,3,4]", "NHW").text().startswith("u8[2,3,4]{2,1,0}\n")


def test_a_tensor_is_shown_by_its_descriptor(vulkan_device):
    import restride as rs

    x = rs.asarray(np.zeros((2, 3), np.float32), device=vulkan_device)
    assert show(x.permute(1, 0)).text() == show(x.permute(1, 0).desc).text()
    for value in (3, None, [1, 2]):
        with pytest.raises(DescriptorError, match=r"must be a TensorDesc or its text, such as .*, or an array, got"):
            show(value)


def test_an_array_of_numpy_is_shown_by_its_strides():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view, text in (
        (array, "f32[4,6]{1,0}"),
        (array.T, "f32[6,4]{strides=(1,6)}"),
        (array[::-1, 1:], "f32[4,5]{strides=(-6,1),offset=19}"),
        (np.broadcast_to(array[1], (2, 6)), "f32[2,6]{strides=(0,1),offset=6}"),
        (array[:0], "f32[0,6]{1,0}"),
        (array[1, 2], "f32[]"),
    ):
        assert [str(desc) for desc in show(view).layouts] == [text]
    assert str(show(array, "{0,1}")) == str(show("f32[4,6]", "f32[4,6]{0,1}"))
    with pytest.raises(UnsupportedError, match=r"with strides of \(9,\) bytes"):
        show(np.zeros(3, [("a", "f8"), ("b", "i1")])["a"])
    with pytest.raises(DescriptorError, match="unknown element type 'complex128'"):
        show(np.zeros(3, complex))


def test_a_tensor_of_torch_is_shown_by_its_strides():
    torch = judge("torch")
    for tensor, text in (
        (torch.zeros(2, 3), "f32[2,3]{1,0}"),
        (torch.zeros(4, 6, dtype=torch.bfloat16)[1:, ::2], "bf16[3,3]{strides=(6,2),offset=6}"),
        (torch.zeros(1, 3, 2, 2).to(memory_format=torch.channels_last), "f32[1,3,2,2]{strides=(12,1,6,3)}"),
        (torch.zeros(3, 4, dtype=torch.bool, device="meta").t(), "pred[4,3]{strides=(1,4)}"),
        (torch.zeros(3).expand(2, 3), "f32[2,3]{strides=(0,1)}"),
    ):
        assert [str(desc) for desc in show(tensor).layouts] == [text]
    with pytest.raises(UnsupportedError, match=r"a tensor of layout torch\.sparse_coo has no strides"):
        show(torch.zeros(2, 2).to_sparse())


def test_the_second_layout_of_blocks_chooses_the_axes_of_both():
    text = show("f32[1,8,2,2]", "nChw4c").text()
    assert text.count("rows: c, columns: w") == 1
    assert text.count("rows: b, columns: d") == 1
    assert show("f32[2]", "{0:S(1)}").text()


def test_lines_of_other_programs_are_read():
    column_major = "memref<2x3xf32, affine_map<(d0, d1) -> (d1, d0)>>"
    assert str(show("memref<2x3xf32, strided<[5, 1]>>")) == str(show("f32[2,3]{strides=(5,1)}"))
    line = "%c = f32[2,3]{0,1} copy(f32[2,3]{1,0} %a)"
    assert str(show(line, line)) == str(show("f32[2,3]", column_major)) == str(show("f32[2,3]", "f32[2,3]{0,1}"))
    with pytest.raises(DescriptorError, match="0 of the layouts in the line are the source: give one of element 1 f32"):
        show("(f32[2,3]{1,0}, s32[])")


def test_the_second_layout_may_be_a_tag_or_a_name():
    assert str(show("f32[2,16,4,4]", "nChw16c")) == str(show("f32[2,16,4,4]", "f32[2,16,4,4]:nChw16c"))
    assert "f32[1,2,3,4]{1,3,2,0}" in str(show("f32[1,2,3,4]", "NHWC"))
