"""Family: one class of image processors of transformers, as a value: its defaults, its geometry and its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from restride.vision.options import OptionCheck, Options
from restride.vision.picture import Picture
from restride.vision.recipe import OutputValue, Shot, ValueMap, facts_of, one, padded, stacked
from restride.vision.sizes import HeightWidth, resized
from restride.vision.values import plain

Geometry = Callable[[Picture, Options], Shot]
Build = Callable[[Sequence[Shot], Options, Sequence[int]], dict[str, OutputValue]]
Prepare = Callable[[dict[str, object]], None]
SizeRule = Callable[[int, int, Options], HeightWidth]
"""A function from an image's height and width and the options to the size that it is resized to."""


def by_size(height: int, width: int, options: Options) -> HeightWidth:
    """The common rule for sizes: the members of ``size`` determine the size."""
    return resized(height, width, options.needed_size())


def resize(image: Picture, options: Options, rule: SizeRule = by_size, mode: str | None = None) -> Picture:
    """Resize a picture to the size of a rule, by ``mode`` or the filter ``resample``, if ``do_resize`` is true."""
    if not options.do_resize:
        return image
    return image.resize(*rule(image.height, image.width, options), mode or options.needed_mode())


def cropped(image: Picture, options: Options) -> Picture:
    """The middle of a picture, if ``do_center_crop`` is true."""
    return image.center_crop(*options.needed_crop()) if options.do_center_crop else image


def by_rule(rule: SizeRule = by_size, *, crops: bool = True) -> Geometry:
    """The usual geometry: the image is resized to the size of a rule, then its middle is cut out.

    crops: False: it is only resized, even if ``do_center_crop`` is true.
    """

    def geometry(image: Picture, options: Options) -> Shot:
        image = resize(image, options, rule)
        return one(cropped(image, options) if crops else image)

    return geometry


def or_bilinear(rule: SizeRule) -> Geometry:
    """The image is resized to the size of a rule, by the bilinear filter if ``resample`` is null."""
    return lambda image, options: one(resize(image, options, rule, options.resample or "bilinear"))


common = by_rule()


def planes(table: ValueMap = plain, *, pads: bool = True) -> Build:
    """The builder of ``pixel_values`` [tiles, channels, height, width] and of the other results of the images.

    pads: True: with ``do_pad``, images are put at the top left of zeros; False: the family has no ``do_pad``.
    """

    def build(shots: Sequence[Shot], options: Options, _samples: Sequence[int]) -> dict[str, OutputValue]:
        is_padded = pads and options.do_pad
        pixels = padded(shots, options.pad_size, table) if is_padded else stacked(shots, table)
        return {"pixel_values": pixels, **facts_of(shots)}

    return build


def size_in_words(options: Options) -> str:
    """The size that images are resized to, for people."""
    return str(options.size or "a size of the image")


@dataclass(frozen=True)
class Family:
    """An image processor of transformers.

    Attributes:
        names: names of the class up to "ImageProcessor"; the first one is shown.
        defaults: values of keys that a configuration may leave out, and of the family's own keys.
        geometry: a function from an image to the pictures that are written.
        build: a function from the pictures of all images, and the number of images of each sample, to the results by
            their keys.
        size_words: the size that images are resized to, for people.
        words: a description for people of the steps of ``geometry`` beside resizing and cropping.
        ignored: keys that change no pixel.
        checks: checks of the family's own keys. A key without one takes values by the type of its default: a boolean, a
            count, a positive number, a tuple of numbers, a dictionary that is a size, a list of heights and widths, or,
            if the default is None, a count or null.
        prepare: a function that changes a configuration in place before it is read, for keys that replace others.
        list_is_sample: a list of images is one sample of several images; else each image is a sample.
        together: the geometry of images whose sample has several images; None: ``geometry``.
        lists: the form of results where no arrays are asked for: 0 for one array, 1 for a list of arrays, 2 for a list
            of lists of arrays; a pair has the form with ``do_pad`` and the form without. If a result has no form here,
            pixels are a list of arrays, and other results are lists of numbers.
        build_lists: the builder where no arrays are asked for; None: ``build``.
    """

    names: tuple[str, ...]
    defaults: Mapping[str, object]
    geometry: Geometry = common
    build: Build = field(default_factory=planes)
    size_words: Callable[[Options], str] = size_in_words
    words: str = ""
    ignored: frozenset[str] = frozenset()
    checks: Mapping[str, OptionCheck] = field(default_factory=dict)
    prepare: Prepare | None = None
    list_is_sample: bool = False
    together: Geometry | None = None
    lists: Mapping[str, int | tuple[int, int]] = field(default_factory=dict)
    build_lists: Build | None = None

    @property
    def class_name(self) -> str:
        """The name of the class."""
        name = self.names[0]
        return f"{name}Processor" if name.endswith("Video") else f"{name}ImageProcessor"
