"""An argument error names the descriptor it is about, once: the innermost that is known."""

import inspect
import pickle
import re

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride import words
from restride.command.parser import SUMMARIES
from restride.errors import (
    DescriptorError,
    DeviceLost,
    ErrorContext,
    Message,
    UnsupportedError,
    command_text,
    prefixed,
)

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


def test_an_error_in_a_list_is_one_error_with_its_place():
    with pytest.raises(DescriptorError, match=r"^x\[1\]: array is None") as caught:
        rs.crop_resize([np.zeros((4, 4), np.uint8), None], [(0, 0, 2, 2)] * 2, (2, 2))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_errors_of_others_get_a_note_with_the_place():
    with pytest.raises(ZeroDivisionError) as caught, prefixed("images[2]"):
        _ = 1 // 0
    assert caught.value.__notes__ == ["in images[2]"]


def test_devices_that_are_opened_on_one_gpu_are_told_apart(vulkan_device):
    x = rs.asarray(np.zeros((2, 3), np.uint8), device=vulkan_device)
    with rs.Device() as one, rs.Device() as other:
        assert len({repr(vulkan_device), repr(one), repr(other)}) == 3
        assert repr(x.to(one)) != repr(x.to(other))
        with pytest.raises(DescriptorError, match=re.escape(repr(other))):
            rs.reorder(x, out=rs.empty("u8[2,3]", other))


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "uint8", "int64", "bool", "float8_e4m3fn"])
def test_element_types_of_torch_are_those_of_their_name(name):
    dtype = getattr(judge("torch"), name)
    assert rs.empty("u8[2]").dtype == "u8" != dtype
    assert rs.TensorDesc(dtype, (2,)).dtype == name
    assert rs.reorder(np.zeros(3, np.uint8), dtype=dtype).dtype == dtype
    assert rs.Chain().reorder(dtype=dtype).of((3,), "u8").dtype == name


def test_an_element_type_of_torch_that_is_not_here_is_refused():
    with pytest.raises(DescriptorError, match=r"unknown element type torch\.complex64; known"):
        rs.empty(rs.TensorDesc(judge("torch").complex64, (2,)))


def test_a_suggestion_ends_the_message_behind_its_descriptor():
    with pytest.raises(DescriptorError) as caught:
        rs.resample(np.zeros(3, np.float32), (2,), mode="linaer")
    assert str(caught.value).endswith(", for f32[3]{0}. Did you mean 'linear'?")


def test_no_word_of_another_library_is_one_of_ours():
    """Else a function that lacks it would be said to have it."""
    listed = {name for function in vars(rs).values() if callable(function) for name in _arguments(function)}
    here = {ours.partition("=")[0] for each in words.ARGUMENTS.values() for ours in each}
    assert here <= listed | {"roi"}
    for name in words.FUNCTIONS:
        assert not hasattr(rs, name), name
    for name in words.METHODS:
        assert name not in dir(rs.Tensor), name
    assert words.COMMANDS.keys().isdisjoint(SUMMARIES)
    assert {here.split()[0] for here in words.COMMANDS.values()} <= SUMMARIES.keys()
    for here in (*words.FUNCTIONS.values(), *words.METHODS.values()):
        for owner, name in re.findall(r"\b(rs|x)\.(\w+)", here):
            assert hasattr({"rs": rs, "x": rs.Tensor}[owner], name), here


@pytest.mark.parametrize(
    ("names", "ours"),
    [
        ("output_shape dsize", "sizes=(rows, columns)"),
        ("scale scale_factor zoom", "scales"),
        ("resample method order interpolation", "mode"),
        ("dim axis", "axes"),
        ("fill_value", "fill"),
        ("image_mean", "mean"),
    ],
)
def test_an_argument_of_another_library_is_said_in_our_word(names, ours):
    for name in names.split():
        known = {"sizes", "scales", "mode", "axes", "fill", "mean"}
        assert words.argument_here(name, known) == f"; it is {ours} here"


def test_a_word_of_another_library_gets_no_name_that_only_looks_alike():
    assert words.argument_here("imag", {"image", "sizes"}) == ". Did you mean 'image'?"
    assert words.argument_here("image_mean", {"image", "sizes"}) == ""


def _arguments(function):
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return ()


def test_a_message_keeps_the_text_of_a_command():
    message = Message.of("no axes are named: say ", "axes=(0, 1)", "--axes 0 1")
    for error in (rs.DescriptorError(message), pickle.loads(pickle.dumps(rs.DescriptorError(message)))):
        with pytest.raises(rs.DescriptorError) as raised, prefixed("images[2]"), ErrorContext("f32[2,3]{1,0}"):
            raise error
        assert str(raised.value) == "images[2]: no axes are named: say axes=(0, 1), for f32[2,3]{1,0}"
        assert command_text(raised.value) == "images[2]: no axes are named: say --axes 0 1, for f32[2,3]{1,0}"
    assert command_text(UserWarning(message)) == "no axes are named: say --axes 0 1"
    assert command_text(ValueError("plain")) == command_text("plain") == "plain"
