"""The families of image processors that are known, by the names of their classes."""

from __future__ import annotations

from dataclasses import replace

from restride.vision.families import pads, plain, qwen, tiles, torchvision_only
from restride.vision.family import Family

__all__ = ["FAMILIES", "REFUSED"]

FAMILIES: dict[str, Family] = {
    name: replace(family, names=(name,))
    for module in (plain, qwen, tiles, pads, torchvision_only)
    for family in module.FAMILIES
    for name in family.names
}
"""The families, by the name of their class without its ending "ImageProcessor"."""

REFUSED = {
    "Owlv2": "it blurs by SciPy's Gaussian and zooms by its splines, which are not Pillow's filters",
    "Nougat": "it crops margins by their gray, and its thumbnail has Pillow's reducing_gap",
    "Phi4Multimodal": "it resizes floats by torch's bicubic, whose bits depend on the machine",
    "ZoeDepth": "it resizes floats by torch with align_corners, whose bits depend on the machine",
    "SuperPoint": "it computes in gray floats",
    "SuperGlue": "it computes in gray floats",
    "LightGlue": "it computes in gray floats",
    "EfficientLoFTR": "it computes in gray floats",
}
"""Classes that restride does not support, each with the reason."""
