"""Inputs: results by attributes that hide no method of a dictionary; moved and converted as BatchFeature does."""

import copy
import pickle

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.vision import Inputs

SIGLIP2 = {"image_processor_type": "Siglip2ImageProcessor"}
IMAGE = np.random.default_rng(3).integers(0, 256, (40, 50, 3), np.uint8)


@pytest.mark.usefixtures("vulkan_device")
def test_results_are_attributes_and_keys():
    inputs = rs.vision.processor(SIGLIP2)(IMAGE)
    assert list(inputs) == ["pixel_values", "pixel_attention_mask", "spatial_shapes"]
    assert inputs.pixel_values is inputs["pixel_values"]
    assert {"pixel_values", "spatial_shapes", "items"} <= set(dir(inputs))
    assert dict(**inputs) == inputs
    with pytest.raises(
        AttributeError, match=r"no result 'pixel_value', results are 'pixel_values', .*mean 'pixel_values'\?"
    ):
        _ = inputs.pixel_value
    assert not hasattr(inputs, "labels")
    with pytest.raises(AttributeError, match=r"read only: inputs\['pixel_values'\] = ... changes a result"):
        inputs.pixel_values = 0


def test_methods_of_a_dictionary_keep_their_names():
    names = [name for name in dir(dict) if not name.startswith("__")] + ["to"]
    inputs = Inputs({name: place for place, name in enumerate(names)})
    for place, name in enumerate(names):
        assert callable(getattr(inputs, name))
        assert inputs[name] == place
    assert len(list(inputs.items())) == len(names)


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, Inputs.copy, *range(pickle.HIGHEST_PROTOCOL + 1)])
def test_results_are_copied_and_pickled(made):
    inputs = Inputs(pixel_values=IMAGE, grids=[[1, 2]])
    again = pickle.loads(pickle.dumps(inputs, made)) if isinstance(made, int) else made(inputs)
    assert type(again) is Inputs
    assert np.array_equal(again.pixel_values, IMAGE)
    again["grids"] = 5
    assert inputs.grids == [[1, 2]]


CALLS = [
    ("cpu",),
    (0.5,),
    (None,),
    ("meta",),
    ("meta", "f16"),
    ("bf16",),
    ({"dtype": "f16"},),
    ({"device": "meta"},),
    ({"device": "meta", "dtype": "bf16", "non_blocking": True},),
    ("cpu", {"non_blocking": True}),
    (),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_to_is_that_of_transformers(call):
    torch = judge("torch")
    from support.vision_judge import transformers

    types = {"f16": torch.float16, "bf16": torch.bfloat16}
    keywords = {}
    if call and isinstance(call[-1], dict):
        *call, keywords = call
    keywords = {name: types.get(value, value) for name, value in keywords.items()}
    call = [types.get(value, value) for value in call]

    def values():
        return {
            "pixel_values": torch.ones(2, 3),
            "grid": torch.tensor([[1, 2]]),
            "mask": torch.tensor([True]),
            "parts": [torch.zeros(2), (torch.tensor(3), "text", 4)],
        }

    def described(value):
        if isinstance(value, list | tuple):
            return type(value), [described(member) for member in value]
        return (value.dtype, value.device.type, value.shape) if isinstance(value, torch.Tensor) else value

    def moved(inputs):
        try:
            assert inputs.to(*call, **keywords) is inputs
        except (ValueError, TypeError, RuntimeError) as error:
            return next(kind for kind in (ValueError, TypeError, RuntimeError) if isinstance(error, kind))
        return {key: described(value) for key, value in inputs.items()}

    assert moved(Inputs(values())) == moved(transformers.BatchFeature(values()))


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("kind", ["np", "restride"])
def test_arrays_are_not_moved(kind):
    judge("torch")
    inputs = rs.vision.processor(SIGLIP2)(IMAGE, kind)
    with pytest.raises(rs.UnsupportedError, match=r"'pixel_values' is of type \w+: call the processor"):
        inputs.to("cpu")


@pytest.mark.usefixtures("vulkan_device")
def test_results_of_torch_are_converted_in_place():
    torch = judge("torch")
    inputs = rs.vision.processor(SIGLIP2)(IMAGE, "pt")
    before = inputs.pixel_values
    assert inputs.to(torch.float16) is inputs
    assert torch.equal(inputs.pixel_values, before.to(torch.float16))
    assert inputs.spatial_shapes.dtype == torch.int64
