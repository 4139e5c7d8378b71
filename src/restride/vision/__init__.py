"""Image processors of vision and vision-language models, from their configurations, with the bits of Pillow."""

from __future__ import annotations

from restride.vision.image_processor import ImagePlan, Processor, processor
from restride.vision.inputs import Inputs

__all__ = ["ImagePlan", "Inputs", "Processor", "processor"]
