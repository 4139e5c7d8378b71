"""The axes that a picture draws as rows and columns: usual ones, and those that a caller names."""

import re

import pytest

from restride.drawing.picture import show
from restride.drawing.plane import plane_of, usual_plane
from restride.errors import DescriptorError
from restride.layout import TensorDesc


@pytest.mark.parametrize(
    ("text", "plane"),
    [
        ("f32[]", ()),
        ("f32[4]{0:T(2)}", (0,)),
        ("f32[2,3,4]{0,1,2}", (1, 2)),
        ("f32[2,3,4,5]:nhwc", (2, 3)),
        ("f32[32,32,3,3]:OIhw16i16o", (0, 1)),
        ("f32[2,32,32,3,3]:gOIhw8i16o2i", (1, 2)),
        ("f32[2,16,4,4]:nChw16c", (1, 3)),
        ("f32[2,16,4,4]:acdB16b", (1, 3)),
        ("f32[8,6,4]:Abc4a", (0, 2)),
        ("f32[2,3,4]{0,1,2:T(2,2)}", (0, 1)),
        ("f32[2,3,4]{2,1,0:pad(2,3,5)=0}", (1, 2)),
        ("f32[4,2,16]{at=(b,c,0,a),in=[2,16,4,4]:nChw16c}", (0, 2)),
    ],
)
def test_the_usual_plane_shows_blocks_and_tiles(text, plane):
    assert usual_plane(TensorDesc.parse(text)) == plane


@pytest.mark.parametrize("plane", [(2, 3), [-2, -1], "hw", "h,w", " h , w ", "2,3", "23"])
def test_other_axes_are_chosen_by_number_or_letter(plane):
    assert plane_of(TensorDesc.parse("f32[2,16,4,5]:nChw16c"), plane) == (2, 3)


def test_axes_have_letters_by_position_without_a_tag():
    assert plane_of(TensorDesc.parse("f32[2,3,4]"), "ca") == (2, 0)
    text = show("f32[2,3,4]", plane="ca").text()
    assert "rows: c, columns: a" in text
    assert "[:, 0, :]" in text


@pytest.mark.parametrize("plane", ["hx", "h", "hh", "hwc", "", (0, 0), (0, 4), (0,), (0, -5)])
def test_what_is_no_plane_is_refused(plane):
    with pytest.raises(DescriptorError, match=re.escape("axes are 0 or 'n', 1 or 'c', 2 or 'h', 3 or 'w'")):
        show("f32[2,16,4,5]:nChw16c", plane=plane)
