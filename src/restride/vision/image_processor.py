"""Processor: an image processor of transformers from its configuration, called on images."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np

from restride.arguments import check_keywords, counts, require_word
from restride.arguments.pillow import is_file
from restride.dtypes import Array, DType, DTypeLike, as_dtype
from restride.errors import (
    FEWER_IMAGES,
    DescriptorError,
    ErrorContext,
    UnsupportedError,
    advised,
    did_you_mean,
    prefixed,
    shown,
    warn_caller,
)
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor, as_device
from restride.vision import work
from restride.vision.config import family_of, read_config
from restride.vision.execution import Computed, execute
from restride.vision.family import Family
from restride.vision.images import Image, ImageLike, read_images
from restride.vision.inputs import Inputs
from restride.vision.options import COMMON, Options, read_options
from restride.vision.picture import Picture, Resized, SourceImage, kept_dtype
from restride.vision.recipe import Key, OutputValue, Pixels, Put, Shot, UnequalImages, starts_of

ReturnedTensors = Literal["np", "restride", "pt"]

_KINDS = ("np", "restride", "pt")
_CONVERTING = {"jax": "jax.numpy.asarray", "tf": "tf.convert_to_tensor"}
"""Functions that make tensors of other libraries of arrays, by the ``return_tensors`` of transformers."""

_PIXEL_TYPES = ("f32", "f16", "bf16")


_ELSEWHERE = {
    "a configuration has it as a key: rs.vision.processor({**config, ...})": COMMON,
    "only images are computed here; rs.compat.transformers.accelerate(processor) keeps the rest of a processor": (
        "text",
        "videos",
        "audio",
        "padding",
        "truncation",
        "max_length",
    ),
}
"""Keywords that transformers takes at a call, and where a caller of restride gives them instead."""


@partial(
    check_keywords,
    elsewhere={**_ELSEWHERE, "the processor takes it: rs.vision.processor(config)(images, ...)": ("device", "dtype")},
)
def processor(config: Mapping[str, object] | str | os.PathLike[str]) -> Processor:
    """The image processor of a configuration, with the results of transformers' PIL backend, bit for bit.

    Args:
        config: a dictionary, a file (``preprocessor_config.json`` or ``processor_config.json``), or a folder with one
            of these. Nothing is fetched. ``image_processor_type`` names the class; old names (CLIPFeatureExtractor,
            CLIPImageProcessorFast) are understood.

    Raises:
        DescriptorError: there is no such file, it names no class, has a key that the class does not know, or a value
            that it does not take.
        UnsupportedError: the class is not known, or its bits cannot be reproduced.

    Example:
        >>> clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})
        >>> inputs = clip(np.zeros((480, 640, 3), np.uint8))
        >>> inputs.pixel_values.shape
        (1, 3, 224, 224)

    Source: transformers 5.24, image_processing_pil_*.py; Pillow 13, Image.resize.
    """
    if hasattr(config, "to_dict"):
        raise DescriptorError(
            f"config must be a dictionary, a file or a folder, got {shown(config)}: its .to_dict() is one, and "
            f"rs.compat.transformers.accelerate takes it as it is"
        )
    read = read_config(config)
    family = family_of(read)
    with ErrorContext(family.class_name):
        changed = dict(read)
        if family.prepare is not None:
            family.prepare(changed)
        options = read_options(family.defaults, changed, family.ignored, family.checks)
        return Processor(family, options, read)


@dataclass(frozen=True)
class ImagePlan:
    """The results of a processor for one image: their sizes and costs, without pixels.

    Attributes:
        resized: height and width of every resized picture, in order.
        results: the sizes of each result by its key; None for a result that is a list.
        tiles: the number of tiles or patches that are written; 1 for an image that stays whole.
        dispatches: kernels that are started. One more may be needed for each resize that is resized again, has more
            than 2^20 elements or, on GPUs, has few elements, and for each part of a result whose rows are not whole
            quads.
        nbytes: about the most bytes of the device that the image takes in a call: itself, what is in between, and its
            results in f32. A call of several images takes their sum; a GPU some MB more, for transfers.
    """

    resized: tuple[tuple[int, int], ...]
    results: Mapping[str, tuple[int, ...] | None]
    tiles: int
    dispatches: int
    nbytes: int


class _CallPart(NamedTuple):
    """What was computed of some images of a call.

    first: the number of the first of them in the call. samples: the number of images of each sample. recipe: what is
    made of ``shots``, their pictures, by key. values: the results, by key.
    """

    first: int
    shots: list[Shot]
    samples: list[int]
    recipe: Mapping[Any, Any]
    values: Mapping[Any, Any]


class Processor:
    """An image processor: ``processor(images)`` has the keys, sizes and types of transformers' own, as ``Inputs``.

    ``rs.vision.processor`` creates it. It keeps no images. All images of a call are uploaded at once, computed in one
    submission, images of equal sizes together, and downloaded at once. On a device with memory of
    its own there is one submission more for each 4 MiB of an upload or a download.
    """

    def __init__(self, family: Family, options: Options, config: Mapping[str, object]) -> None:
        self._family = family
        self._options = options
        self._config = config

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the configuration, from which workers of a data loader create the processor anew."""
        return processor, (dict(self._config),)

    @partial(check_keywords, elsewhere=_ELSEWHERE)
    def __call__(
        self,
        images: ImageLike | Sequence[ImageLike | Sequence[ImageLike]],
        return_tensors: ReturnedTensors | None = "np",
        dtype: DTypeLike | None = None,
        device: Device | None = None,
    ) -> Inputs:
        """The results for one image, a batch, a list of images, or a list of lists of them.

        Args:
            images: each an image of Pillow, an array or tensor of rows, columns and channels or channels first, u8 or
                floats of 0 to 1, or a file: its path, its bytes, or an object opened for reading bytes, as in
                ``rs.imread``. Files are rotated as EXIF says and lose alpha, as in transformers. Pillow's images and
                arrays are not rotated; if ``do_convert_rgb`` is true, their alpha is blended over white. A
                ``restride.Tensor`` of u8 is read without a copy.
            return_tensors: "np" for arrays, "restride" for tensors on the device, "pt" for tensors of torch, which
                share the memory of a device that is a CPU, and are copies otherwise. Grids, masks and sizes are
                computed on the host: with "restride" they are arrays. None for what transformers gives without it:
                lists of arrays, also of images that end in different sizes, and of numbers; for some families arrays.
            dtype: element type of pixels, f32, f16 or bf16, rounded from f32 once; default: as in transformers, f32 or,
                if pixels are neither rescaled nor normalized, u8. For Llama 4 it is bf16, and other types are rounded
                from bf16.
            device: where to compute; default: the device of the images, or ``rs.default_device()``.

        Raises:
            DescriptorError: there is no image, one cannot be read or decoded, the configuration does not allow one, or
                results that are to be stacked differ in size. The message names ``images[k]``, the image's number in
                the call, counted through lists of lists, and its file.
            UnsupportedError: an image would keep its alpha, has another type where the family needs u8, or is given by
                its address, which is not fetched.
        """
        if (converting := _CONVERTING.get(str(return_tensors))) is not None:
            raise DescriptorError(
                f"return_tensors {return_tensors!r} is not done: take 'np', and {converting}(results['pixel_values'])"
            )
        require_word("return_tensors", return_tensors, (*_KINDS, None))
        element = None if dtype is None else _pixel_type(dtype)
        results = self._lists if return_tensors is None else self._results
        done = self._compute(images, results, element, device)
        if return_tensors is None:
            return Inputs(self._listed(done.values, done.samples))
        return Inputs({key: as_kind(value, return_tensors) for key, value in done.values.items()})

    @partial(check_keywords, elsewhere=_ELSEWHERE)
    def in_parts(
        self, parts: Iterable[Sequence[ImageLike]], *, dtype: DTypeLike | None = None, device: Device | None = None
    ) -> Inputs:
        """The arrays of one call for the images of all parts, where only one part is on the device at a time.

        An iterable that decodes a part when it is asked for it also bounds the memory of the host: a part, and the
        results twice.

        Args:
            parts: lists of images as a call takes them, but of no lists.
            dtype: as of a call.
            device: as of a call.

        Raises:
            DescriptorError: as of a call, where sizes that differ between parts are noticed after the last one; or a
                part is no list of images.
            UnsupportedError: as of a call.
        """
        element = None if dtype is None else _pixel_type(dtype)
        shots: list[Shot] = []
        done: list[_CallPart] = []
        if is_file(parts) or not isinstance(parts, Iterable):
            raise DescriptorError(f"{self._name}: parts must be lists of images, got {shown(parts)}")
        for images in parts:
            if not isinstance(images, list | tuple) or any(isinstance(image, list | tuple) for image in images):
                raise DescriptorError(f"{self._name}: each part must be a list of images, got {shown(images)}")
            part = self._compute(images, self._results, element, device, len(shots))
            shots += part.shots
            done.append(part._replace(values={key: as_kind(value, "np") for key, value in part.values.items()}))
        if not shots:
            return Inputs()
        with ErrorContext(self._name):
            whole = self._results(shots, self._samples(len(shots)))
        return Inputs({key: _joined(key, of, done) if isinstance(of, Pixels) else of for key, of in whole.items()})

    def _compute(
        self,
        images: object,
        results: Callable[[Sequence[Shot], Sequence[int]], Mapping[Any, Any]],
        element: DType | None,
        device: Device | None,
        first: int = 0,
    ) -> _CallPart:
        """Compute images of a call from number ``first`` on; ``results`` says what is made of their pictures."""
        with ErrorContext(self._name):
            read, samples = read_images(images, self._options, first)
            samples = samples or self._samples(len(read))
            where, sources = _device_of(read, device), _sources(read)
            shots = self._shots(sources, samples, [image.name for image in read])
            recipe = results(shots, samples)
            self._warn_of_rescaled(sources)
        with prefixed(self._name), advised(FEWER_IMAGES):
            computed = execute(recipe, sources, [image.elements for image in read], self._options, where, element)
        return _CallPart(first, shots, samples, recipe, computed)

    def _samples(self, images: int) -> list[int]:
        """The number of images of each sample, if they are not in lists of their own."""
        return [images] if self._family.list_is_sample else [1] * images

    if not TYPE_CHECKING:  # type checkers do not see this method, or they would accept every name

        def __getattr__(self, name: str) -> NoReturn:
            """Raise for what a processor of transformers has and this one has not, such as ``preprocess``."""
            hint = (
                ": call it, as processor(images)"
                if name in ("preprocess", "process")
                else did_you_mean(name, dir(self))
            )
            raise AttributeError(f"an image processor has no {name}{hint}", name=name, obj=self)

    def plan(self, size: Sequence[int]) -> ImagePlan:
        """The plan for one RGB image of ``size``, height and width: sizes, tiles and dispatches, without a device.

        Raises:
            DescriptorError: ``size`` is not two positive integers, or the processor refuses such an image.
        """
        sides = counts("size", size)
        if len(sides) != 2 or 0 in sides:
            raise DescriptorError(f"size must be height and width, both positive, got {sides}")
        with ErrorContext(self._name):
            name = f"an image of {sides[0]} x {sides[1]}"
            source = SourceImage(*sides, 3, floats=False)
            results = self._results(self._shots([source], [1], [name]), [1])
        return ImagePlan(
            tuple((each.height, each.width) for each in work.needed(results) if isinstance(each, Resized)),
            {key: _sizes_of(result) for key, result in results.items()},
            sum(put.count for result in results.values() if isinstance(result, Pixels) for put in result.puts),
            work.dispatches(results, [source]),
            work.nbytes(results),
        )

    def _warn_of_rescaled(self, sources: Sequence[SourceImage]) -> None:
        factor = self._options.rescale_factor
        if self._options.do_rescale and factor != 1 and any(source.floats for source in sources):
            warn_caller(
                f"images have floats of 0 to 1, and do_rescale multiplies these by {factor:.6g} too, as in "
                "transformers: pass u8, or a configuration with do_rescale false"
            )

    def _shots(self, sources: Sequence[SourceImage], samples: Sequence[int], names: Sequence[str]) -> list[Shot]:
        """The pictures that each image becomes."""
        alone = self._family.geometry
        together = self._family.together or alone
        geometries = [alone if images == 1 else together for images in samples for _ in range(images)]
        shot = cache(lambda geometry, source: geometry(source, self._options))  # equal images are planned once
        shots = []
        for name, geometry, source in zip(names, geometries, sources, strict=True):
            with prefixed(name):
                shots.append(replace(shot(geometry, source), name=name))
        return shots

    def _results(self, shots: Sequence[Shot], samples: Sequence[int]) -> dict[str, OutputValue]:
        """The results of a call, before they are computed."""
        return self._checked(self._family.build(shots, self._options, samples), shots)

    def _lists(self, shots: Sequence[Shot], samples: Sequence[int]) -> dict[tuple[str, int], OutputValue]:
        """The results of a call that become lists, by key and number of the image; a result of all images has number 0.

        Images that end in different sizes have results of their own.
        """
        build = self._family.build_lists or self._family.build
        try:
            results = {(key, 0): result for key, result in build(shots, self._options, samples).items()}
            return self._checked(results, shots)
        except UnequalImages:
            if set(samples) != {1} and not self._family.list_is_sample:
                raise
        return self._checked(
            {
                (key, image): _moved(result, image) if isinstance(result, Pixels) else result
                for image, shot in enumerate(shots)
                for key, result in build([shot], self._options, [1]).items()
            },
            shots,
        )

    def _listed(self, computed: Mapping[tuple[str, int], Any], samples: Sequence[int]) -> dict[str, Any]:
        """The computed results of ``_lists``, joined over the images, as the lists or arrays that the family says."""
        lists: dict[str, Any] = {}
        firsts = starts_of(samples)
        for (key, image), value in computed.items():
            depth = self._family.lists.get(key, 1 if isinstance(value, Tensor) else None)
            if isinstance(depth, tuple):
                depth = depth[not self._options.do_pad]
            listed = _in_lists(as_kind(value, "np"), depth)
            if image == 0:
                lists[key] = listed
            elif self._family.list_is_sample and image not in firsts:
                lists[key][-1] += listed[0]
            else:
                lists[key] += listed
        return lists

    def _checked(self, results: dict[Key, OutputValue], shots: Sequence[Shot]) -> dict[Key, OutputValue]:
        """The same results, after a check that no image would keep its fractions or its element type."""
        for result in results.values():
            if isinstance(result, Pixels):
                for put in result.puts:
                    with prefixed(shots[put.image].name):
                        _require_bytes(result, put.picture, self._options)
        return results

    @property
    def _name(self) -> str:
        return self._family.class_name

    def __repr__(self) -> str:
        """The steps of the processor in words."""
        return f"<restride.vision {self._name}: {'; '.join(_words(self._family, self._options))}>"


def _words(family: Family, options: Options) -> list[str]:
    words = ["RGB, alpha over white (of files dropped)" if options.do_convert_rgb else "channels as they are"]
    if options.do_resize:
        words.append(f"resized to {family.size_words(options)} by Pillow's {options.resample}")
    if options.do_center_crop and options.crop_size is not None:
        words.append(f"centre {options.crop_size}")
    if family.words:
        words.append(family.words)
    if options.do_rescale:
        words.append(f"times {options.rescale_factor:.6g}")
    if options.do_normalize:
        words.append(f"minus {options.image_mean}, divided by {options.image_std}")
    return words


def _require_bytes(result: Pixels, picture: Picture, options: Options) -> None:
    """Refuse an image whose fractions or element type transformers would keep: tables hold values for bytes only."""
    if picture.floats and isinstance(picture, SourceImage):
        raise UnsupportedError("images of floats must be resized; this configuration does not, and needs u8")
    dtype = np.dtype(kept_dtype(picture))
    if dtype == np.uint8 or options.do_rescale:
        return
    is_kept = result.table(options, picture.channels, picture.floats).dtype == np.uint8
    if is_kept or (dtype.kind == "f" and dtype != np.float32):
        raise UnsupportedError(
            f"images of {dtype} must be resized or rescaled; this configuration does neither, and needs u8"
        )


def _pixel_type(dtype: DTypeLike) -> DType:
    element = as_dtype(dtype)
    if element.name not in _PIXEL_TYPES:
        raise DescriptorError(f"dtype of pixels must be one of {', '.join(_PIXEL_TYPES)}, got {element}")
    return element


def _device_of(images: Sequence[Image], device: Device | None) -> Device:
    """The device that the caller names, else that of the images that are on a device.

    Raises:
        DescriptorError: images are on different devices.
    """
    found = {id(image.elements.device): image.elements.device for image in images if isinstance(image.elements, Tensor)}
    if device is not None:
        found[id(device)] = as_device(device)
    if len(found) > 1:
        raise DescriptorError(f"images and device must be on one device, got {[*found.values()]}")
    return next(iter(found.values()), None) or as_device(None)


def _sources(images: Sequence[Image]) -> list[SourceImage]:
    """The source of each image. Images of equal sizes share one if they are on the host, or adjacent in one memory."""
    sources: list[SourceImage] = []
    own = 0
    for place, (x, source, _) in enumerate(images):
        if not isinstance(x, Tensor):
            own = 0
        elif not (place and _follows(images[place - 1].elements, x)):
            own = place + 1
        sources.append(replace(source, place=own))
    return sources


def _follows(before: Array | Tensor, x: Tensor) -> bool:
    """True if ``x`` begins where an image of the same sizes ends, in the same memory, and both are row-major."""
    if not isinstance(before, Tensor) or before.memory is not x.memory or before.sizes != x.sizes:
        return False
    is_next = x.desc.offset == before.desc.offset + before.desc.numel
    return is_next and before.desc.is_row_major and x.desc.is_row_major


def _moved(result: Pixels, image: int) -> Pixels:
    """A result of one image, which is number ``image`` of the call."""
    return replace(result, puts=tuple(replace(put, image=image) for put in result.puts))


def _in_lists(value: Array | list[Any], depth: int | None) -> Any:
    """An array as lists, nested ``depth`` deep, of the arrays along the other axes; None: as lists of numbers."""
    if isinstance(value, list) or depth == 0:
        return value
    return value.tolist() if depth is None else [_in_lists(each, depth - 1) for each in value]


def _sizes_of(result: OutputValue) -> tuple[int, ...] | None:
    return None if isinstance(result, list) else tuple(result.shape)


def _joined(key: str, whole: Pixels, parts: Sequence[_CallPart]) -> Array:
    """The array of a result of all images from those of its parts, where the same pictures have other places.

    A part of which nothing is in the result, such as one without tiles, does not have the key.
    """
    parts = [part for part in parts if key in part.recipe]
    made = np.zeros(whole.shape, np.result_type(*(part.values[key].dtype for part in parts)))
    by_place = _by_place(whole, made)
    found = {
        (part.first + put.image, put.picture, put.order): _by_place(part.recipe[key], part.values[key])[_place(put)]
        for part in parts
        for put in part.recipe[key].puts
    }
    for put in whole.puts:
        by_place[_place(put)] = found[put.image, put.picture, put.order]
    return made


def _by_place(result: Pixels, array: Array) -> Array:
    """The array of a result as a view with its own ``sizes``."""
    memory = list(result.memory or range(len(result.sizes)))
    view = array.reshape([result.sizes[axis] for axis in memory])
    return view.transpose([memory.index(axis) for axis in range(len(memory))])


def _place(put: Put) -> tuple[slice, ...]:
    """The part of a result, with its own ``sizes``, that a put fills."""
    ends = zip((put.start, *put.corner), (put.count, *put.extent), strict=True)
    return tuple(slice(start, start + length) for start, length in ends)


def as_kind(value: Computed, kind: ReturnedTensors) -> Any:
    """A result as the kind of array that the caller asks for."""
    if kind == "restride" or isinstance(value, list):
        return value
    if kind == "pt":
        return _as_torch(value)
    return value.numpy() if isinstance(value, Tensor) else value


def _as_torch(value: Tensor | Array) -> Any:
    """A result as a torch tensor; on a CPU device it shares the device's memory."""
    import torch

    if isinstance(value, Tensor):
        if value.device.info.kind == "cpu":
            with suppress(BufferError, TypeError):  # kompute cannot map its memory; an old torch has no copy=
                return torch.from_dlpack(value, copy=False)
        value = value.numpy()
    if value.dtype == np.float64:  # Fuyu's scale factors: transformers has lists, which become f32
        value = value.astype(np.float32)
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(value)
