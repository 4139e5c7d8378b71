"""A request: one scale where the aspect is kept, and refusals that name the argument."""

from __future__ import annotations

import pytest
from support.positions import one_axis

from restride.errors import DescriptorError
from restride.request import Request
from restride.weights import resizing


def test_aspect_ratios_are_kept_by_one_scale():
    for policy, sizes in (("not_larger", (7, 14)), ("not_smaller", (10, 20))):
        found = resizing((20, 40), Request((7, 20), keep_aspect_ratio_policy=policy))
        assert found.sizes == sizes


def test_refusals_name_the_argument():
    with pytest.raises(DescriptorError, match=r"scales\[0\] must be a number, got True"):
        one_axis(5, scale=True)
