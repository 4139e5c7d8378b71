"""A layout in words: the worked example, parts that add up, and the element that is asked for."""

import re

import pytest
from support.xla_figures import FIGURE_1, layouts

from restride.cli import main
from restride.drawing.explain import explain
from restride.layout import TensorDesc


def test_the_worked_example():
    assert explain(TensorDesc.parse(FIGURE_1)).splitlines() == [
        "f32[3,5]{1,0:T(2,2)}",
        "  a is the index along axis 0, of size 3",
        "  b is the index along axis 1, of size 5",
        "  offset = 12*(a div 2)+4*(b div 2)+2*(a mod 2)+(b mod 2)",
        "  where",
        "    (a div 2)  0 to 1:  which group of 2 along a",
        "    (b div 2)  0 to 2:  which group of 2 along b",
        "    (a mod 2)  0 to 1:  the place inside a group of 2 along a",
        "    (b mod 2)  0 to 1:  the place inside a group of 2 along b",
        "  the last element, index 2,4, lies at",
        "    12 *  1  =  12  for (a div 2)",
        "     4 *  2  =   8  for (b div 2)",
        "     2 *  0  =   0  for (a mod 2)",
        "     1 *  0  =   0  for (b mod 2)",
        "  offset 20, byte 80",
        "  15 elements of 4 bytes in 96 bytes, 36 of them padding",
    ]


@pytest.mark.parametrize("text", ["f32[]", "f32[2,3]{strides=(-3,1),offset=3}", "f32[0,2]", *layouts(60, seed=3)])
def test_the_parts_of_an_explanation_add_up(text):
    desc = TensorDesc.parse(text)
    explained = explain(desc)
    parts = [int(part) for part in re.findall(r" = +(-?\d+)  (?:for|in any case)", explained)]
    found = re.search(r"  offset (\d+), byte (\d+)", explained)
    if not desc.numel:
        assert (parts, found) == ([], None)
        return
    last = desc.offset_of([size - 1 for size in desc.sizes])
    assert (sum(parts), int(found[1]), int(found[2])) == (last, last, last * desc.dtype.itemsize)
    assert f"  offset = {desc.address}\n" in explained


def test_explain_works_out_the_element_that_is_asked_for(capsys):
    assert main(["show", "bf16[33,200]{1,0:T(8,128)(2,1)}", "--at", "5,130"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "the element of index 5,130 lies at" in lines
    assert "offset 1541, byte 3082" in lines  # 1024 * 1 + 256 * 2 + 2 * 2 + 1
    assert main(["show", "f32[3,5]", "--at", "3,0"]) == 2
    assert "index 3 is outside [0, 3) of axis 0, for f32[3,5]{1,0}" in capsys.readouterr().err
    assert main(["show", "f32[3,5]", "--at", "x"]) == 2
    assert "--at takes an index such as 2,3, not 'x'" in capsys.readouterr().err


def test_elements_of_some_bits_begin_at_a_bit():
    desc = TensorDesc.parse("s8[3,5]{1,0:E(4)}")
    assert "  offset 1, byte 0, bit 4\n" in explain(desc, (0, 1))
    assert "  offset 2, byte 1\n  15 elements of 4 bits in 8 bytes, no padding" in explain(desc, (0, 2))
    assert "  offset 3, byte 12\n" in explain(TensorDesc.parse("pred[4]{0:E(32)}"))
