"""The window view: DML_SLICE1's worked examples, and each of its rules broken once."""

import itertools

import pytest

from restride.errors import DescriptorError
from restride.layout import TensorDesc, views


def values_of(desc):
    """What the view reads from a buffer of 1, 2, 3, ..."""
    return [desc.offset_of(index) + 1 for index in itertools.product(*map(range, desc.sizes))]


@pytest.mark.parametrize(
    ("strides", "expected"), [((1, 1, 2, 2), [2, 4, 10, 12]), ((1, 1, -2, 2), [14, 16, 6, 8])], ids=["forth", "back"]
)
def test_the_worked_examples_of_slice1(strides, expected):
    desc = TensorDesc("f32", (1, 1, 4, 4))
    view = views.window(desc, (0, 0, 0, 1), (1, 1, 4, 3), strides)
    assert view.sizes == (1, 1, 2, 2)
    assert values_of(view) == expected
    assert views.window(desc, (0, 0, 0, 1), (1, 1, 4, 3), strides, (1, 1, 2, 2)) == view


def test_a_window_may_give_fewer_elements_than_it_holds():
    desc = TensorDesc("f32", (10,))
    assert values_of(views.window(desc, [1], [8], [-3])) == [9, 6, 3]
    assert values_of(views.window(desc, [1], [8], [-3], [2])) == [9, 6]
    assert values_of(views.window(desc, [1], [8], [100])) == [2]
    assert values_of(views.window(desc, [1], [8], [-100])) == [9]


def test_windows_have_up_to_8_axes_and_any_size():
    desc = TensorDesc("u8", (1 << 62,) * 8)
    view = views.window(desc, [1] * 8, [(1 << 62) - 1] * 8, [-(1 << 60)] * 8)
    assert view.sizes == (4,) * 8
    assert view.offset == desc.highest
    assert view.offset_of((3,) * 8) == desc.offset_of(((1 << 60) - 1,) * 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0,), (1, 1), (1, 1)), "offsets must have one value per axis: got (0,) for 2 axes, for f32[2,8]{1,0}"),
        (((0, 0), (1, 1, 1), (1, 1)), "sizes must have one value per axis: got (1, 1, 1) for 2 axes"),
        (((0, 0), (1, 1), ()), "strides must have one value per axis: got () for 2 axes"),
        (((0, 0), (1, 1), (1, 1), (1,)), "output_sizes must have one value per axis: got (1,) for 2 axes"),
        (((0, 4), (1, 5), (1, 1)), "window [4, 9) exceeds size 8 of axis 1, for f32[2,8]{1,0}"),
        (((2, 0), (1, 1), (1, 1)), "window [2, 3) exceeds size 2 of axis 0, for f32[2,8]{1,0}"),
        (((0, -1), (1, 1), (1, 1)), "offsets[1] = -1 must be 0 or more for axis 1, for f32[2,8]{1,0}"),
        (((0, 0), (1, 0), (1, 1)), "sizes[1] = 0 must be 1 or more, windows are not empty: axis 1, for f32[2,8]{1,0}"),
        (((0, 0), (-1, 1), (1, 1)), "sizes[0] = -1 must be 1 or more"),
        (((0, 0), (1, 1), (1, 0)), "strides[1] = 0 must not be 0 for axis 1, for f32[2,8]{1,0}"),
        (
            ((0, 1), (2, 6), (1, -2), (2, 4)),
            "output_sizes[1] = 4 is outside [1, 3] for the window of 6 by stride -2 on axis 1, for f32[2,8]{1,0}",
        ),
        (((0, 1), (2, 6), (1, -2), (0, 3)), "output_sizes[0] = 0 is outside [1, 2]"),
        (((0, 0), (1, 1.5), (1, 1)), "sizes[1] must be an integer, got 1.5 (float), for f32[2,8]{1,0}"),
        ((0, (1, 1), (1, 1)), "offsets must be a sequence of integers, got 0 (int), for f32[2,8]{1,0}"),
    ],
)
def test_each_rule_of_slice1_is_checked(arguments, message):
    with pytest.raises(DescriptorError) as caught:
        views.window(TensorDesc("f32", (2, 8)), *arguments)
    assert message in str(caught.value)


def test_windows_need_an_axis_and_an_element():
    with pytest.raises(DescriptorError, match=r"windows need 1 to 8 axes, got none, for f32\[\]"):
        views.window(TensorDesc("f32", ()), (), (), ())
    with pytest.raises(DescriptorError, match=r"window \[0, 1\) exceeds size 0 of axis 0, for f32\[0\]"):
        views.window(TensorDesc("f32", (0,)), (0,), (1,), (1,))
