"""Layouts in lines of oneDNN's verbose mode, MLIR and HLO: which are found, and what of them is refused by name."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import restride as rs
from restride.layout.lines import MAX_LINE, layout_for, layouts_in

REORDER = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
    "dst:f32:p:blocked:aBcd16b::f0,attr-scratchpad:user,,2x20x4x4,0.02"
)
CONVOLUTION = (
    "dnnl_verbose,exec,cpu,convolution,jit:avx2,forward_inference,src_f32::blocked:abcd:f0 wei_s8::blocked:Acdb8a:f0 "
    "bia_f32::blocked:a:f0 dst_u8::blocked:aBcd8b:f0,,alg:convolution_direct,"
    "mb2_ic3oc16_ih7oh4kh5sh2dh0ph2_iw9ow5kw3sw2dw0pw1,0.0200195"
)
GROUPED = (
    "onednn_verbose,primitive,exec,cpu,convolution,x,backward_weights,src_f32::blocked:abcd::f0 "
    "diff_wei_f32::blocked:abcde::f0 diff_bia_undef::undef::: diff_dst_f32::blocked:abcd::f0,,alg:convolution_direct,"
    "g2mb2_ic4oc6ih5oh5kh3sh1dh0ph1iw5ow5kw3sw1dw0pw1,1"
)
COPY = '%copy.1 = f32[3,5]{0,1:T(8,128)} copy(f32[3,5]{1,0} %p0), metadata={op_name="f32[9]{0}"}'
TUPLE = "ROOT %t = (f32[2]{0}, /*index=1*/s32[3]{0}) tuple(f32[2]{0} %a, s32[3]{0} %b)"

FOUND = {
    # oneDNN
    "src:f32:blocked:aBcd16b::f0 2x16x4x4": ["src f32[2,16,4,4]:aBcd16b"],
    "src:f32::blocked:aBcd16b::f0 2x16x4x4": ["src f32[2,16,4,4]:aBcd16b"],
    "src_f32::blocked:aBcd16b:f0 2x16x4x4": ["src f32[2,16,4,4]:aBcd16b"],
    "data:f8_e4m3:a:blocked:ab::f0 3x5": ["data f8e4m3fn[3,5]:ab"],
    "src:f32:p:blocked:aBcd16b::f0 2x20x4x4": ["src f32[2,20,4,4]:aBcd16b"],
    "src:f32::blocked:abcd:400x100x10x1:f0 2x2x2x4": ["src f32[2,2,2,4]{strides=(400,100,10,1)}"],
    "src:f32::blocked:a::f0 x5": ["src f32[5]:a"],
    REORDER: ["src f32[2,20,4,4]:abcd", "dst f32[2,20,4,4]:aBcd16b"],
    CONVOLUTION: ["src f32[2,3,7,9]:abcd", "wei s8[16,3,5,3]:Acdb8a", "bia f32[16]:a", "dst u8[2,16,4,5]:aBcd8b"],
    GROUPED: ["src f32[2,4,5,5]:abcd", "diff_wei f32[2,3,2,3,3]:abcde", "diff_dst f32[2,6,5,5]:abcd"],
    "src_f32::blocked:ab::f0 wei_f32::blocked:ba::f0 dst_f32::blocked:ab::f0,,,2x3:3x5,1": [
        "src f32[2,3]:ab",
        "wei f32[3,5]:ba",
        "dst f32[2,5]:ab",
    ],
    "src_f32::blocked:ab::f0 src_f32::blocked:ba::f0 dst_f32::blocked:ab::f0,,axis:1,2x3:2x4 2x7,0.1": [
        "src 1 f32[2,3]:ab",
        "src 2 f32[2,4]:ba",
        "dst f32[2,7]:ab",
    ],
    # MLIR
    "memref<3x5xf32, strided<[5,1]>>": ["memref f32[3,5]{strides=(5,1)}"],
    "memref<3x5xf32, strided<[5, 1], offset: 4>>": ["memref f32[3,5]{strides=(5,1),offset=4}"],
    "memref<3x5xf32, affine_map<(d0, d1) -> (d1, d0)>>": ["memref f32[3,5]{0,1}"],
    "memref<2x3x5xi8, affine_map<(d0, d1, d2) -> (d2, d0, d1)>>": ["memref s8[2,3,5]{1,0,2}"],
    "memref<3x5xf32>": ["memref f32[3,5]{1,0}"],
    "memref<f16>": ["memref f16[]"],
    "memref<3x5xf32, 1>": ["memref f32[3,5]{1,0:S(1)}"],
    "memref<3x5xui8, strided<[1, 3]>, 2 : i32>": ["memref u8[3,5]{strides=(1,3):S(2)}"],
    "memref<3xi1, #gpu.address_space<workgroup>>": ["memref pred[3]{0}"],
    "%0 = tensor.empty() : tensor<3x5xbf16>": ["tensor bf16[3,5]{1,0}"],
    "memref.copy %a, %b : memref<3x5xf32> to memref<3x5xf32, strided<[1, 3]>>": [
        "memref 1 f32[3,5]{1,0}",
        "memref 2 f32[3,5]{strides=(1,3)}",
    ],
    # HLO
    COPY: ["%copy.1 f32[3,5]{0,1:T(8,128)}", "%p0 f32[3,5]{1,0}"],
    "  ROOT copy.2 = bf16[3,5]{0,1} copy(p0)": ["copy.2 bf16[3,5]{0,1}"],
    TUPLE: ["%t 1 f32[2]{0}", "%t 2 s32[3]{0}", "%a f32[2]{0}", "%b s32[3]{0}"],
    "(f32[2,3]{1,0}, s32[])": ["element 1 f32[2,3]{1,0}", "element 2 s32[]"],
    "((f32[2]{0}, u8[3]), s32[])": ["element 1 f32[2]{0}", "element 2 u8[3]{0}", "element 3 s32[]"],
    # none of them
    "f32[2,3]{0,1}": [],
    "nChw16c": [],
    "NCHW->NHWC": [],
    "": [],
}


@pytest.mark.parametrize("line", FOUND)
def test_layouts_of_a_line(line: str) -> None:
    assert [f"{each.name} {each.desc}" for each in layouts_in(line)] == FOUND[line]


REFUSED = {
    "src:f32::blocked:abcd::f0": (rs.DescriptorError, "src of the line: its sizes are not in the line"),
    "src:f32::blocked:abcd::f0,,,mb2_oc16,0.1": (rs.DescriptorError, "do not follow from 'mb2_oc16'"),
    "src:f32::blocked:abcd::f0 2x3": (rs.DescriptorError, "tag 'abcd' has 4 axes"),
    "src:f32::blocked:*::f0 *x2": (rs.DescriptorError, "src of the line: sizes *x2 are known at run time alone"),
    "src:f32::blocked:*::f0 3x2": (rs.DescriptorError, "strides are known at run time alone"),
    "src:s4::blocked:ab::f0 2x2": (rs.UnsupportedError, "src of the line: elements of type 's4'"),
    "src:f32:0:blocked:ab::f0 2x2": (rs.UnsupportedError, "an offset of the first element (flag 0)"),
    "src:f32:po:blocked:ab::f0 2x2": (rs.UnsupportedError, "an offset of the padding (flag o)"),
    "src:f32:p:blocked:ab::f0 2x2": (rs.UnsupportedError, "padding (flag p) beyond the blocks of the tag ab"),
    "src:f32::blocked:aB2b:8x2:f0 2x4": (rs.UnsupportedError, "strides 8x2 of the blocked tag aB2b"),
    "wei:s8::blocked:ab::f16:s8m1 2x2": (rs.UnsupportedError, "wei of the line: extra data 'f16:s8m1'"),
    "wei:f32::wino:::f0 2x2": (rs.UnsupportedError, "the format kind 'wino' does not say where elements are"),
    "src:f32::blocked:any::f0 2x2": (rs.DescriptorError, "src of the line: 'any' leaves the layout open, write a tag"),
    "src:f32::any:any::f0 2x2": (rs.UnsupportedError, "the format kind 'any'"),
    "src:undef::undef::: 2x2": (rs.DescriptorError, "there is no layout in"),
    "onednn_verbose,info,oneDNN v3.1.0": (rs.DescriptorError, "there is no layout in"),
    "memref<?x5xf32>": (rs.DescriptorError, "the size of axis 0 is known at run time alone (?)"),
    "memref<3x?xf32>": (rs.DescriptorError, "memref of the line: the size of axis 1 is known at run time alone (?)"),
    "memref<3x5xf32, strided<[?, 1]>>": (rs.DescriptorError, "a stride is known at run time alone (?)"),
    "memref<3x5xf32, strided<[5, 1], offset: ?>>": (rs.DescriptorError, "the offset is known at run time alone (?)"),
    "memref<3x5xf32, strided<[5]>>": (rs.DescriptorError, "strides"),
    "memref<*xf32>": (rs.DescriptorError, "a type without a rank"),
    "memref<3x5xf32": (rs.DescriptorError, "expected '>' at the end of the memref"),
    "memref<3x5xf32, #map>": (rs.UnsupportedError, "the attribute '#map' may be a layout"),
    "memref<3x5xf32, #my.layout<4>>": (rs.UnsupportedError, "may be a layout"),
    "memref<3x5xf32, affine_map<(d0, d1) -> (d0 * 5 + d1)>>": (rs.UnsupportedError, "must permute 2 axes"),
    "memref<3x5xf32, affine_map<(d0, d1) -> (d0, d0)>>": (rs.UnsupportedError, "must permute 2 axes"),
    "memref<3x5xf32, affine_map<(d0) -> (d0)>>": (rs.UnsupportedError, "must permute 2 axes"),
    "memref<2xvector<4xf32>>": (rs.UnsupportedError, "elements of type vector<...>"),
    "memref<2xindex>": (rs.UnsupportedError, "elements of type 'index'"),
    "tensor<3xf32, #sparse>": (rs.UnsupportedError, "an encoding of a tensor is not supported"),
    "%d = f32[<=3]{0} copy(%p0)": (rs.DescriptorError, "%d of the line: sizes [<=3] are known at run time alone"),
    "%e = c64[3]{0} copy(%p0)": (rs.UnsupportedError, "%e of the line: elements of type 'c64'"),
    "%f = f32[3]{0:D(D)} copy(%p0)": (rs.UnsupportedError, "%f of the line: dimension level types D(..)"),
    "%g = f32[3]{0} copy(f32[3]{1} %p0)": (rs.DescriptorError, "%p0 of the line"),
    "src_f32::blocked:a::f0 wei_f32::blocked:a::f0 dst_f32::blocked:ab::f0,,,3:5,1": (rs.DescriptorError, "dst of"),
    "wei:f32::blocked:abcde::f0,,,g0ic4oc6kh3kw3ih5iw5": (rs.DescriptorError, "wei of the line"),
    "memref<1xf32>" * 65: (rs.DescriptorError, "at most 64 layouts, not 65"),
    "memref<3xf32>" + " " * MAX_LINE: (rs.DescriptorError, f"at most {MAX_LINE} characters"),
    "src:f32::blocked:a::f0 " + "9" * 200: (rs.DescriptorError, "sizes are not in the line"),
    "src:f32::blocked:a::f0 " + "9" * 155: (rs.DescriptorError, "src of the line"),
}


@pytest.mark.parametrize("line", REFUSED, ids=lambda line: line[:60])
def test_what_is_refused_is_named(line: str) -> None:
    kind, message = REFUSED[line]
    with pytest.raises(kind) as caught:
        layouts_in(line)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        ":blocked:" * 7000,
        "src:f32::blocked:a::f0 " + "x1" * 30000,
        "src:f32::blocked:a::f0 " + "a1" * 30000,
        "memref<" + "1x" * 30000,
        "memref<1xf32, #space" + "<" * 60000,
        "%a = (" + "/*" * 30000,
        "%a = (" + "f32[" * 15000,
        "%a = " + "f32[1]{0}" * 7000,
        "%" + "a" * 60000 + " = f32[1]",
    ],
    ids=lambda line: line[:20],
)
def test_hostile_lines_end_in_an_error_or_nothing(line: str) -> None:
    with suppress(rs.RestrideError):
        assert len(layouts_in(line)) <= 64


def test_a_reorder_takes_the_source_and_the_destination() -> None:
    assert str(layout_for("source", REORDER)) == "f32[2,20,4,4]:abcd"
    assert str(layout_for("destination", REORDER)) == "f32[2,20,4,4]:aBcd16b"
    assert str(layout_for("source", COPY)) == "f32[3,5]{1,0}"
    assert str(layout_for("destination", COPY)) == "f32[3,5]{0,1:T(8,128)}"
    assert layout_for("source", "nchw") is None
    assert layout_for("destination", "memref<3x5xf32>") == layout_for("source", "memref<3x5xf32>")
    with pytest.raises(rs.DescriptorError, match="2 of the layouts in the line are the source: give one of %t 1"):
        layout_for("source", TUPLE)


def test_oneDNN_pads_blocked_axes_as_the_line_says() -> None:
    """The offset of channel 19 in blocks of 16 is that of oneDNN's formula: block 1, place 3."""
    desc = layout_for("source", "src:f32:p:blocked:aBcd16b::f0 2x20x4x4")
    assert desc is not None
    assert desc.nbytes == 2 * 32 * 4 * 4 * 4
    assert desc.offset_of((1, 19, 2, 3)) == np.ravel_multi_index((1, 1, 2, 3, 3), (2, 2, 4, 4, 16))
