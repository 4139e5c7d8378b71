"""The validation layer's settings, environment and log, without a device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest

from restride.errors import DeviceNotFound
from restride.runtime.loader import VALIDATION_LAYER
from restride_conformance.record import ValidationProfile
from restride_conformance.run.validation import PROFILES, Layer, split

FIRST = (
    "VUID-VkBufferCreateInfo-size-00912(ERROR / SPEC): msgNum: 2085897310 - Validation Error: [ VUID-VkBufferCreate"
    "Info-size-00912 ] Object 0: handle = 0x5b, type = VK_OBJECT_TYPE_DEVICE; | size (= 0) is not greater than 0\n"
    "    Objects: 1\n        [0] 0x5b, type: 3, name: NULL\n"
)
SECOND = (
    "SYNC-HAZARD-WRITE_AFTER_WRITE(ERROR / SPEC): msgNum: 5 - Validation Error: [ SYNC-HAZARD ] a\nb\n    Objects: 0\n"
)
SETUP = (
    "UNASSIGNED-GPU-Assisted Validation Setup Error(WARN / SPEC): msgNum: 4 - Validation Warning: [ UNASSIGNED-GPU-"
    "Assisted Validation Setup Error ] forced on\n    Objects: 0\n"
)
SETTINGS = (
    "Validation Warning: [ VALIDATION-SETTINGS ] | MessageID = 0x7f1922d7\nvkCreateInstance(): Information with the "
    'layer settings provided:\n- Application is using deprecated "enables" (VK_LAYER_ENABLES) layer settings.\n'
)
ADJUSTED = (
    "Validation Warning: [ WARNING-Setting-Limit-Adjusted ] | MessageID = 0x86fe6721\nvkCreateDevice(): Warning that "
    "validation is adjusting settings:\n\tForcing shaderInt64 to VK_TRUE\n"
)
RESET = (
    "UNASSIGNED-BestPractices-vkCreateCommandPool-command-buffer-reset(WARN / PERF): msgNum: -2 - Validation "
    "Performance Warning: [ UNASSIGNED-BestPractices-vkCreateCommandPool-command-buffer-reset ] no\n    Objects: 1\n"
)
SMALL = RESET.replace("vkCreateCommandPool-command-buffer-reset", "vkAllocateMemory-small-allocation")
LATER = "Validation Error: [ VUID-x ] | MessageID = 0x1\nvkQueueSubmit(): no.\n\nObjects: 0\n"


def lines(*messages):
    return ["\n".join(line for line in message.splitlines() if line) for message in messages]


@pytest.fixture
def layer():
    with Layer("core") as made:
        yield made


def log_of(layer):
    return Path(layer._folder.name, "messages.txt")


def test_the_profiles_are_those_of_a_target():
    assert tuple(PROFILES) == get_args(ValidationProfile)


def test_a_log_is_split_into_its_messages():
    assert split(FIRST + SECOND + LATER + FIRST) == lines(FIRST, SECOND, LATER, FIRST)
    assert split("") == split("\n\n") == []
    assert split("no known beginning\n" + FIRST) == ["no known beginning", *lines(FIRST)]


def test_what_the_layer_says_of_itself_is_left_out_and_nothing_else():
    assert split(SETUP + FIRST + SETUP) == lines(FIRST)
    assert split(RESET + FIRST + SMALL) == lines(FIRST, SMALL), "one practice is answered in docs/vulkan_review.md"
    assert split(SETTINGS + LATER + ADJUSTED) == lines(LATER)


def test_messages_are_given_once(layer):
    log = log_of(layer)
    log.write_text(FIRST)
    assert layer.messages() == lines(FIRST)
    assert layer.messages() == []
    with log.open("a") as appended:
        appended.write(SECOND + FIRST)
    assert layer.messages() == lines(SECOND, FIRST)


def test_a_log_that_begins_afresh_is_read_from_its_beginning(layer):
    log_of(layer).write_text(FIRST + SECOND)
    layer.messages()
    log_of(layer).write_text(SECOND)
    assert layer.messages() == lines(SECOND)


def test_an_endless_log_is_not_read_to_its_end(layer):
    log_of(layer).write_text(FIRST * 10_000)
    *found, rest = layer.messages()
    assert 0 < len(found) < 10_000
    assert rest.endswith("bytes of further messages")
    assert layer.messages() == []


@pytest.mark.parametrize("profile", PROFILES)
def test_the_environment_turns_the_layer_on(profile):
    with Layer(profile) as layer:
        variables = layer.environment({"HOME": "/home/x", "VK_LOADER_LAYERS_DISABLE": "~all~"})
        settings = Path(variables["VK_LAYER_SETTINGS_PATH"], "vk_layer_settings.txt").read_text()
    assert variables["VK_INSTANCE_LAYERS"] == VALIDATION_LAYER
    assert variables["HOME"] == "/home/x"
    assert "VK_LOADER_LAYERS_DISABLE" not in variables
    assert ("RESTRIDE_SEPARATE_BUFFERS" in variables) == (profile == "gpu")
    assert f"khronos_validation.log_filename = {log_of(layer)}\n" in settings
    for profiles, said in {
        ("sync", "practices"): ("SYNCHRONIZATION_VALIDATION_EXT", "khronos_validation.validate_sync = true\n"),
        ("practices",): ("BEST_PRACTICES_EXT", "khronos_validation.validate_best_practices = true\n"),
        ("gpu",): ("GPU_ASSISTED_EXT", "khronos_validation.gpuav_enable = true\n"),
    }.items():
        assert {text in settings for text in said} == {profile in profiles}
    assert not Path(variables["VK_LAYER_SETTINGS_PATH"]).exists()


def test_the_layers_that_the_user_enables_stay_on_below_the_layer(layer):
    for enabled in ("MINE:OTHER", f"MINE:{VALIDATION_LAYER}:OTHER"):
        variables = layer.environment({"VK_INSTANCE_LAYERS": enabled.replace(":", os.pathsep)})
        assert variables["VK_INSTANCE_LAYERS"].split(os.pathsep) == [VALIDATION_LAYER, "MINE", "OTHER"]


def test_a_layer_that_a_variable_hides_is_not_called_uninstalled(layer, monkeypatch):
    monkeypatch.setenv("VK_LAYER_PATH", "/mine")
    with pytest.raises(DeviceNotFound, match=r"is not in VK_LAYER_PATH \('/mine'\), and the loader looks nowhere else"):
        layer.require_running()


def test_a_process_without_the_layer_is_told_from_a_clean_one(layer):
    assert layer.messages() == []
    with pytest.raises(DeviceNotFound, match="apt install vulkan-validationlayers"):
        layer.require_running()
    log_of(layer).touch()
    layer.require_running()
