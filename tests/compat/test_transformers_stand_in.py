"""rs.compat.transformers where transformers is not installed: a class that stands in for one of its own."""

import sys
from types import ModuleType

import numpy as np
import pytest

import restride as rs
from restride.compat.transformers import TESTED, accelerate, restore

pytestmark = pytest.mark.usefixtures("vulkan_device")

IMAGE = np.random.default_rng(0).integers(0, 256, (50, 60, 3), np.uint8)


class CLIPImageProcessorPil:
    """The members of transformers' class that are read."""

    backend = "pil"
    valid_kwargs = type("Keywords", (), {"__annotations__": {"size": dict, "crop_size": dict, "do_resize": bool}})
    size, crop_size, do_resize = {"shortest_edge": 40}, {"height": 32, "width": 32}, True

    def __call__(self, images, **keywords):
        return self.preprocess(images, **keywords)

    def preprocess(self, *_, **__):
        raise AssertionError("transformers computes the images")

    def fetch_images(self, images):
        return images


CLIPImageProcessorPil.__module__ = "transformers.models.clip"
TORCHVISION = type(
    "CLIPImageProcessor", (CLIPImageProcessorPil,), {"backend": "torchvision", "__module__": "transformers.x"}
)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    members = {
        "transformers": {"__version__": TESTED[0]},
        "transformers.image_processing_utils": {"BatchFeature": dict},
        "transformers.image_utils": {"SizeDict": dict},
    }
    for name, values in members.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)


def results(config, **arguments):
    return rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "crop_size": 32, **config})(
        IMAGE, **arguments
    )["pixel_values"]


def test_images_are_computed_as_the_attributes_and_the_keywords_of_a_call_say():
    processor = accelerate(CLIPImageProcessorPil())
    assert (processor(IMAGE)["pixel_values"] == results({"size": 40})).all()
    changed = processor(IMAGE, size={"shortest_edge": 33})["pixel_values"]
    assert (changed == results({"size": 33})).all()
    processor.do_resize = False
    assert (processor(IMAGE)["pixel_values"] == results({"do_resize": False})).all()
    with pytest.raises(AssertionError, match="transformers computes"):
        restore(processor)(IMAGE)


def test_a_processor_of_torchvision_is_accelerated_only_if_its_bits_may_change():
    processor = TORCHVISION()
    with pytest.raises(rs.UnsupportedError, match="has transformers' torchvision backend, which resizes to other bits"):
        accelerate(processor)
    assert type(processor) is TORCHVISION
    found = accelerate(processor, bits="pil")(IMAGE, return_tensors="np")["pixel_values"]
    assert np.array_equal(found, results({"size": 40}))
