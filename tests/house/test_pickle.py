"""Pickles: values that say what to do travel between processes; devices and what lies on them do not, and say why."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import restride as rs
from restride.request import Request

PHOTO = np.random.default_rng(2).integers(0, 256, (8, 12, 3)).astype(np.uint8)
SCALES = np.array([1.0, 2.0, 4.0])

PLANS = {
    "reorder": lambda: rs.plan_reorder("u8[8,12,3]", None, "HWC->CHW", dtype="f32", src_scale=SCALES),
    "into a layout": lambda: rs.plan_reorder("u8[8,12,3]", "u8[8,12,3]{0,1,2}"),
    "resample": lambda: rs.plan_resample("u8[8,12,3]", None, (4, 6), axes=(0, 1), like="pillow", mode="lanczos"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_made_again(name: str):
    plan = PLANS[name]()
    again = pickle.loads(pickle.dumps(plan))
    assert (again.src, again.dst, repr(again)) == (plan.src, plan.dst, repr(plan))
    assert again(PHOTO).numpy().tobytes() == plan(PHOTO).numpy().tobytes()


def test_recipes_chains_and_requests_are_values():
    recipe = rs.Preprocess((4, 6), mean=0.5, std=0.25)
    assert pickle.loads(pickle.dumps(recipe))(PHOTO).numpy().tobytes() == recipe(PHOTO).numpy().tobytes()
    chain = rs.Chain()[2:].resample((4, 6), axes=(0, 1)).quantize(SCALES, axis=2)
    assert str(pickle.loads(pickle.dumps(chain))) == str(chain)
    work = chain.of(PHOTO.shape, "u8")
    assert pickle.loads(pickle.dumps(work)).text == work.text
    assert chain.of((9, 12, 3), "u8").text != work.text
    other = rs.Chain()[2:].resample((4, 6), axes=(0, 1)).quantize(2 * SCALES, axis=2)
    assert other.of(PHOTO.shape, "u8").text != work.text
    for value in (Request((3,), axes=(0,)), rs.TensorDesc.from_tag("nChw16c", (1, 20, 4, 4))):
        assert pickle.loads(pickle.dumps(value)) == value


def test_what_lies_on_a_device_does_not_pickle(vulkan_device: rs.Device):
    tensor = rs.asarray(PHOTO, device=vulkan_device)
    with pytest.raises(TypeError, match=r"lies on a device and is not pickled; .numpy\(\) copies"):
        pickle.dumps(tensor)
    with pytest.raises(TypeError, match="is neither copied nor pickled; open one where it is needed"):
        pickle.dumps(vulkan_device)
    scaled = rs.plan_reorder(
        "u8[8,12,3]", None, dtype="f32", src_scale=rs.asarray(np.float32(2.0), device=vulkan_device)
    )
    with pytest.raises(TypeError, match="lies on a device"):
        pickle.dumps(scaled)
    with pytest.raises(TypeError, match="is neither copied nor pickled"):
        pickle.dumps(rs.Preprocess((4, 6), device=vulkan_device))
