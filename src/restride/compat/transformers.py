"""Change a transformers processor in place, so that ``restride.vision`` computes its images, or undo that."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from restride.arguments import require_word
from restride.errors import DescriptorError, UnsupportedError, shown, warn_caller
from restride.tensor.device import Device
from restride.tensor.tensor import as_device

if TYPE_CHECKING:
    from transformers.image_processing_utils import BaseImageProcessor, BatchFeature

    from restride.vision import Processor

__all__ = ["accelerate", "restore"]

TESTED = ("5.24.0",)
"""Versions of transformers whose results were compared with those of ``restride.vision``."""

_OWN_INSTEAD = {
    "DeepseekVLImageProcessorPil": ("resample",),
    "JanusImageProcessorPil": ("resample",),
    "MllamaImageProcessor": ("do_pad", "do_resize"),
    "MllamaImageProcessorPil": ("do_pad", "do_resize"),
    "PixtralImageProcessor": ("patch_size",),
    "PixtralImageProcessorPil": ("patch_size",),
}
"""Keywords of a call that a class replaces by its own attribute if they are 0, false or null, as in ``resample or
self.resample``."""

_STACKED = ("ConditionalDetr", "DeformableDetr", "Detr", "Fuyu", "GroundingDino", "RTDetr", "Yolos")
"""Classes whose torchvision backend makes one tensor of pixels, and one of masks, where the PIL backend makes lists."""

_BACK = "are not done by rs.vision: rs.compat.transformers.restore(processor) brings them back"

_P = TypeVar("_P")


def __dir__() -> list[str]:
    return __all__


def accelerate(processor: _P, *, bits: Literal["pil"] | None = None, device: Device | None = None) -> _P:
    """Let ``restride.vision`` compute the images of a processor of transformers, until ``restore``.

    The object stays, with its attributes, its methods and the name of its class; only ``preprocess``, which a call of
    the processor calls, is replaced. Attributes that are changed later and keywords of one call, such as
    ``do_resize=False``, keep their meaning. Results are a ``BatchFeature`` with the same keys, sizes, types and bits,
    without ``return_tensors`` the same lists too. Text, audio and videos are untouched.
    Images named by a path or a URL are loaded by the processor's own ``fetch_images``.

    Args:
        processor: an image processor of transformers, or a processor that has one as ``image_processor``.
        bits: "pil" accepts a processor of the torchvision backend, whose results are then those of the PIL backend,
            with other bits; for classes without a PIL backend, docs/vision.md says what the results are.
        device: where to compute; default: ``rs.default_device()``. Copies that ``copy`` or ``pickle`` makes forget it.

    Returns:
        ``processor``, changed in place. With ``return_tensors="pt"`` pixels are tensors over the device's memory if the
        device is a CPU, else copies; ``return_tensors="restride"`` leaves them on the device.

    Raises:
        DescriptorError: no such processor or device, or a configuration that ``rs.vision.processor`` refuses.
        UnsupportedError: a class that ``rs.vision`` does not know, a class derived from one of transformers, or a
            processor of the torchvision backend without ``bits``. A call raises it for annotations and segmentation
            maps, and for ``device="cuda"``.

    Warns:
        UserWarning: a version of transformers that was not compared: 5.24.0 was.

    Example:
        >>> from transformers import CLIPImageProcessorPil  # doctest: +SKIP
        >>> clip = rs.compat.transformers.accelerate(CLIPImageProcessorPil())  # doctest: +SKIP
        >>> clip(np.zeros((480, 640, 3), np.uint8), return_tensors="pt")["pixel_values"].shape  # doctest: +SKIP
        torch.Size([1, 3, 224, 224])
    """
    require_word("bits", bits, (None, "pil"))
    if device is not None:
        as_device(device)
    images = _image_part(processor)
    name, module = type(images).__name__, type(images).__module__
    if not module.startswith("transformers."):
        raise UnsupportedError(f"{name} of {module} is no class of transformers, which rs.vision follows")
    if images.backend != "pil" and bits is None:
        raise UnsupportedError(
            f"{name} has transformers' {images.backend} backend, which resizes to other bits than Pillow: pass "
            f'bits="pil" to have Pillow\'s, or load it with backend="pil"'
        )
    _require_tested()
    _processor_of(images, {})
    kind = _class_of(images)
    members = {member: getattr(kind, member) for member in ("__module__", "__qualname__", "__doc__")}
    members |= {"kind": kind, "preprocess": _preprocess_of(kind, device)}
    images.__class__ = type(name, (_Accelerated, kind), members)
    return processor


def restore(processor: _P) -> _P:
    """Undo ``accelerate``: transformers computes the images of ``processor`` again. Others do not change.

    Raises:
        DescriptorError: it is no processor of images.
    """
    images = _image_part(processor)
    images.__class__ = _class_of(images)
    return processor


class _Accelerated:
    """First base of the classes that ``accelerate`` makes; the second one is the class of transformers."""

    kind: ClassVar[type[BaseImageProcessor]]
    """The class of transformers."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the class of transformers, which can be imported, and accelerate the copy."""
        return _copy, (_class_of(self), self.__dict__)


def _class_of(images: BaseImageProcessor) -> type[BaseImageProcessor]:
    """The class of transformers that an image processor has, or had before ``accelerate``."""
    return type(images).kind if isinstance(images, _Accelerated) else type(images)


def _copy(kind: Any, attributes: dict[str, object]) -> BaseImageProcessor:
    """Create the accelerated image processor with these attributes again."""
    images = kind.__new__(kind)
    images.__dict__.update(attributes)
    return accelerate(images, bits="pil")


def _image_part(processor: object) -> BaseImageProcessor:
    """The image processor of ``processor``, or ``processor`` itself if it is one.

    Raises:
        DescriptorError: ``processor`` is no image processor and has none.
    """
    images = getattr(processor, "image_processor", processor)
    if not hasattr(images, "preprocess") or not hasattr(images, "backend"):
        raise DescriptorError(
            f"processor must be an image processor of transformers {TESTED[0]}, or have one as image_processor, got "
            f"{shown(processor)}"
        )
    return images


def _require_tested() -> None:
    import transformers

    if transformers.__version__ not in TESTED:
        warn_caller(
            f"transformers {transformers.__version__} was not compared with rs.vision, {', '.join(TESTED)} was: "
            "compare some results before you rely on their bits"
        )


def _preprocess_of(kind: type[BaseImageProcessor], device: Device | None) -> Callable[..., Any]:
    """``preprocess`` of the accelerated class of ``kind``, with the signature that frameworks read."""
    from transformers.image_processing_utils import BatchFeature

    @wraps(kind.preprocess)
    def preprocess(
        self: BaseImageProcessor, images: object, *others: object, return_tensors: object = None, **keywords: object
    ) -> BatchFeature:
        asked: Any = getattr(return_tensors, "value", return_tensors) or None  # a TensorType, or its word
        if any(each is not None for each in others):
            raise UnsupportedError(f"annotations and segmentation maps {_BACK}")
        if str(keywords.get("device") or "cpu") != "cpu":
            raise UnsupportedError(f"device={keywords['device']!r}: results are tensors on the CPU; move them")
        fetched = _fetched(images, self.fetch_images)
        results: Mapping[str, object] = _processor_of(self, keywords)(fetched, asked, device=device)
        if asked is None and self.backend != "pil":
            stem = kind.__name__.removesuffix("ImageProcessor")
            results = {key: _tensors(value, stem) for key, value in results.items()}
        return BatchFeature(results)

    return preprocess


def _tensors(value: object, stem: str) -> object:
    """A result without ``return_tensors``, with torch tensors where the torchvision backend of the class has them."""
    import numpy as np

    from restride.vision.image_processor import as_kind

    if isinstance(value, np.ndarray):
        return as_kind(value, "pt")
    if not isinstance(value, list) or not value or isinstance(value[0], int | float):
        return value
    tensors = [_tensors(each, stem) for each in value]
    is_stacked = stem in _STACKED or (stem == "VideoMAE" and isinstance(value[0], np.ndarray))
    if is_stacked and len({tuple(getattr(each, "shape", ())) for each in tensors} - {()}) == 1:
        import torch

        return torch.stack(tensors)
    return tensors


def _fetched(images: object, fetch: Callable[[str], object]) -> Any:
    """The images of a call, in the same lists; transformers loads those that are named by a path or a URL.

    Raises:
        DescriptorError: one cannot be loaded; the message names its number.
    """
    place = count()

    def load(image: object) -> object:
        number = next(place)
        if not isinstance(image, str):
            return image
        try:
            return fetch(image)
        except Exception as error:
            why: object = error
            if os.path.isdir(image):  # noqa: PTH112 - Path raises where base64 is too long for a name
                why = "it is a folder"
            elif not image.startswith(("http://", "https://", "data:")) and not os.path.isfile(image):  # noqa: PTH113
                why = "there is no such file, and it is neither an address nor base64 of an image"
            raise DescriptorError(f"images[{number}]: transformers cannot load {shown(image)}: {why}") from error

    if not isinstance(images, list | tuple):
        return load(images)
    return [[load(image) for image in each] if isinstance(each, list | tuple) else load(each) for each in images]


def _processor_of(images: BaseImageProcessor, keywords: dict[str, object]) -> Processor:
    """The processor of rs.vision for the attributes of an image processor now, and the keywords of a call."""
    attributes = {key: getattr(images, key, None) for key in images.valid_kwargs.__annotations__}
    unknown = [key for key, value in keywords.items() if key not in attributes and value is not None]
    if unknown:
        raise UnsupportedError(f"keywords such as {unknown[0]}= {_BACK}")
    from restride.vision.config import read_config  # imported on use, as rs.vision is

    name = _class_of(images).__name__
    instead = _OWN_INSTEAD.get(name, ())
    keywords = {key: value for key, value in keywords.items() if value or key not in instead}
    config = {"image_processor_type": name, **attributes, **keywords, **_square_colour(images, name, keywords)}
    try:
        return _processor_for(json.dumps(read_config(config), default=_plain))
    except TypeError as error:
        raise DescriptorError(f"attributes and keywords must be values that JSON has: {error}") from error


def _square_colour(images: BaseImageProcessor, name: str, keywords: Mapping[str, object]) -> dict[str, object]:
    """``{"square_color": ...}`` for classes whose colour around images follows an attribute, not a call.

    The processor's ``background_color``, or its own ``image_mean`` where a call gives another one. Else empty.
    """
    stem = name.removesuffix("Pil").removesuffix("ImageProcessor")
    if stem in ("DeepseekVL", "Janus"):
        return {"square_color": images.background_color}
    if stem == "LlavaOnevision" and "image_mean" in keywords and isinstance(images.image_mean, Iterable):
        from restride.vision.families.plain import mean_colour
        from restride.vision.options import as_mean

        means = [*images.image_mean]
        return {"square_color": mean_colour(as_mean("image_mean", means), len(means))}
    return {}


@lru_cache(maxsize=32)
def _processor_for(config: str) -> Processor:
    from restride.vision import processor  # imported on use, as rs.vision is

    return processor(json.loads(config))


def _plain(value: object) -> object:
    """A value that JSON lacks in a form that it has: one of numpy or torch, or a size; others become a refused text."""
    from transformers.image_utils import SizeDict

    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping | SizeDict) else repr(value)
