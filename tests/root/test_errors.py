"""An argument error names the descriptor it is about, once: the innermost that is known."""

import pickle

import pytest

import restride as rs
from restride.errors import DescriptorError, DeviceLost, ErrorContext, UnsupportedError

OUTER, INNER = rs.TensorDesc("f32", (2, 8)), rs.TensorDesc("u8", (3,))


@pytest.mark.parametrize("kind", [DescriptorError, UnsupportedError])
def test_the_context_ends_the_message_with_its_descriptor(kind):
    with pytest.raises(kind) as caught, ErrorContext(OUTER):
        raise kind("axis 3 is outside [0, 2)")
    assert str(caught.value) == "axis 3 is outside [0, 2), for f32[2,8]{1,0}"
    assert caught.value.desc == "f32[2,8]{1,0}"


def test_the_innermost_context_wins():
    with pytest.raises(DescriptorError) as caught, ErrorContext(OUTER), ErrorContext(INNER):
        raise DescriptorError("size -1 must be 0 or more")
    assert str(caught.value) == "size -1 must be 0 or more, for u8[3]{0}"


def test_a_message_that_has_the_descriptor_is_left_alone():
    with pytest.raises(DescriptorError) as caught, ErrorContext(OUTER):
        raise DescriptorError(f"out {OUTER} overlaps x")
    assert str(caught.value) == "out f32[2,8]{1,0} overlaps x"


def test_other_errors_pass_unchanged():
    with pytest.raises(DeviceLost, match=r"^closed$"), ErrorContext(OUTER):
        raise DeviceLost("closed")
    with pytest.raises(ZeroDivisionError), ErrorContext(OUTER):
        _ = 1 // 0


def test_the_descriptor_is_written_only_for_an_error():
    class Unwritable:
        def __str__(self) -> str:
            raise AssertionError("nobody asked")

    with ErrorContext(Unwritable()):
        pass


def test_an_error_survives_pickling():
    error = DescriptorError("sizes (2,) hold 2 elements")
    error.add_descriptor(INNER)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.desc) == (DescriptorError, str(error), "u8[3]{0}")


@pytest.mark.parametrize(
    "call",
    [
        lambda image: rs.resample(image, (4, 4), axes=(0, 1), dtype="f33"),
        lambda image: rs.crop_resize(image, [(0, 0, 4, 4)], (2, 2), axes=(0, 1), dtype="f33"),
        lambda image: rs.reorder(image, dtype="f33"),
    ],
    ids=["resample", "crop_resize", "reorder"],
)
def test_an_unknown_element_type_names_one_descriptor(call):
    with pytest.raises(DescriptorError) as caught:
        call(rs.empty("u8[8,9,3]"))
    assert str(caught.value).count(", for ") == 1
    assert caught.value.desc in str(caught.value)
