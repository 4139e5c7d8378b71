"""Patterns: what is wrong with one is said with its text, and regrouping needs no device."""

from __future__ import annotations

import pytest
from support.einops_patterns import IMAGES
from support.tensors import Costs

import restride as rs
from restride.layout import views
from restride.layout.pattern import Pattern

MESSAGES = [
    (
        "b h w c",
        {},
        r"pattern must be a text with one '->', such as 'h w c -> c h w', got 'b h w c', for s16\[2,4,6,3\]",
    ),
    ("b h w -> b w h", {}, r"pattern 'b h w -> b w h' has 3 axes, not the 4 of \(2, 4, 6, 3\)"),
    ("a b c d ... e -> a b c d ... e", {}, r"has 6 axes, not the 4"),
    ("b h w c -> b h w", {}, r"has c before '->' only: an axis cannot vanish; index it, or reduce \.numpy\(\), first"),
    ("b h w c -> b h w c n", {"n": 2}, r"has n behind '->' only; einops\.repeat adds axes"),
    ("b b w c -> b w c", {}, r"has b more than once on one side"),
    ("b (h p) w c -> b h w p c", {}, r"the lengths of h, p do not follow from size 4 of axis 1: .* needs all but one"),
    ("b (h p) w c -> b h w p c", {"p": 3}, r"size 4 of axis 1 is not made of h=\?, p=3, in the pattern"),
    ("b (h p) w c -> b h w p c", {"p": 2, "h": 4}, r"size 4 of axis 1 is not made of h=4, p=2"),
    ("b (h p) w c -> b h w p c", {"p": 0}, r"p=0 is the length of an axis, which must be 1 or more"),
    ("b (h p) w c -> b h w p c", {"p": 2.0}, r"p must be an integer, got 2\.0"),
    ("b h w c -> b c h w", {"p": 2}, r"p=2 is the length of no axis of the pattern"),
    ("b h w c -> b c h w", {"h": 5}, r"size 4 of axis 1 is not made of h=5"),
    ("b 5 w c -> b c w 5", {}, r"size 4 of axis 1 is not made of 5=5"),
    ("b h 1 c -> b c h", {}, r"size 6 of axis 2 is not made of 1"),
    ("b (h w c -> b h w c", {}, r"has a parenthesis that is not closed"),
    ("b h) w c -> b h w c", {}, r"has a parenthesis '\)' too many"),
    ("b ((h w) c) -> b h w c", {}, r"has a parenthesis '\(' too many"),
    ("b h w, c -> b h w c", {}, r"has ',', which is no name of an axis, number, parenthesis or '\.\.\.'"),
    ("b h w _c -> b h w _c", {}, r"has '_c', which is no name"),
    ("b (...) -> b ...", {}, r"has '\.\.\.' in parentheses before '->'"),
    ("b h w c -> ... b h w c", {}, r"has \.\.\. behind '->' only"),
    (None, {}, "pattern must be a text with one '->'"),
]


@pytest.mark.parametrize(("pattern", "lengths", "message"), MESSAGES, ids=[str(row[0]) for row in MESSAGES])
def test_what_is_wrong_with_a_pattern(pattern, lengths, message, device):
    tensor = rs.asarray(IMAGES, device=device)
    costs = Costs(device)
    with pytest.raises(rs.DescriptorError, match=message) as raised:
        rs.rearrange(tensor, pattern, **lengths)
    assert "s16[2,4,6,3]{3,2,1,0}" in str(raised.value)
    assert costs().dispatches == 0


def test_regrouping_needs_no_device():
    desc = rs.TensorDesc("u8", (4, 6))
    view, sizes = views.regrouped(desc, [[4], [3, 2]], [[(1, 1), (0, 0)], [(1, 0)]])
    assert (sizes, view.sizes, view.strides) == ((8, 3), (2, 4, 3), (1, 6, 2))
    assert Pattern.parse("h (w 2) -> (2 h) w").split((4, 6), {}) == ([[4], [3, 2]], [[(1, 1), (0, 0)], [(1, 0)]])
