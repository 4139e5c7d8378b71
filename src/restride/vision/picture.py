"""Picture: an image before it is computed: its sizes, and the resize, crop or pad that computes it from another one.

A family of image processors uses only these values, so that it can be planned without pixels and without a device.
Equal pictures are computed once, for all images of equal sizes together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from restride.errors import DescriptorError, UnsupportedError

MAX_ELEMENTS = 1 << 24
"""Maximum number of elements that a small square image becomes: 64 MiB of f32, enough for a page of 2560 x 1920.

For other images the maximum is multiplied by the ratio of the longer to the shorter side, up to ``MAX_STRIP``, because
``size`` often names the shorter side.
"""

MAX_STRIP = 64
"""Maximum ratio of an image's sides that multiplies ``MAX_ELEMENTS``; a longer strip may not become larger."""

MAX_ENLARGEMENT = 16
"""A large image may become more than ``MAX_ELEMENTS``: this many times its own elements."""

MAX_TILES = 256
"""Maximum number of tiles that an image is cut into."""


@dataclass(frozen=True)
class Picture:
    """Rows, columns and channels of u8.

    floats: the caller's image had floats of 0 to 1; the elements are these times 255.
    """

    height: int
    width: int
    channels: int
    floats: bool

    def resize(self, height: int, width: int, mode: str) -> Picture:
        """Pillow's resize by the filter ``mode``; a picture that has these sizes already is returned unchanged.

        Raises:
            DescriptorError: a side would be below 1.
            UnsupportedError: there is an alpha channel, by which Pillow weights colours, or floats were resized before.
        """
        if height < 1 or width < 1:
            raise DescriptorError(
                f"an image of {self.height} x {self.width} would become one of {height} x {width}: both sides must be "
                "1 or more"
            )
        require_bounded(self, height * width * self.channels)
        if self.floats and not isinstance(self, SourceImage):
            raise UnsupportedError(
                "images of floats are resized once, before any other step, and this processor resizes again: give u8"
            )
        if (height, width) == (self.height, self.width) and not self.floats and kept_dtype(self) == "uint8":
            return self
        if self.channels in (2, 4):
            raise UnsupportedError(
                f"an image of {self.channels} channels, whose last one is alpha, is not resized: convert it to RGB, or "
                "set do_convert_rgb to true"
            )
        return Resized(height, width, self.channels, self.floats, self, mode)

    def crop(self, top: int, left: int, height: int, width: int) -> Picture:
        """The part of ``height`` rows and ``width`` columns that begins at ``top``, ``left``, inside the picture.

        Raises:
            DescriptorError: it has no pixels.
        """
        self._require_bytes()
        if height < 1 or width < 1:
            raise DescriptorError(f"the part of an image of {self.height} x {self.width} has no pixels")
        if (top, left, height, width) == (0, 0, self.height, self.width):
            return self
        return Cropped(height, width, self.channels, self.floats, self, top, left)

    def pad(self, height: int, width: int, top: int, left: int, fill: tuple[int, ...] = (0,)) -> Picture:
        """The picture at ``top``, ``left`` of a larger one that is ``fill`` elsewhere: one value, or one per channel.

        Raises:
            DescriptorError: the picture does not fit into ``height`` x ``width``.
        """
        self._require_bytes()
        if height < self.height or width < self.width:
            raise DescriptorError(f"an image of {self.height} x {self.width} does not fit {height} x {width}")
        require_bounded(self, height * width * self.channels)
        if (height, width) == (self.height, self.width):
            return self
        if any(fill) and self.floats:
            raise UnsupportedError(f"images of floats are not padded with {fill}; this processor needs u8")
        return Padded(height, width, self.channels, self.floats, self, top, left, fill)

    def pad_center(self, height: int, width: int, fill: tuple[int, ...] = (0,)) -> Picture:
        """The picture in the middle of a larger one; an odd row or column is added after it."""
        return self.pad(height, width, (height - self.height) // 2, (width - self.width) // 2, fill)

    def center_crop(self, height: int, width: int) -> Picture:
        """The middle part. A side that is too short is first padded with zeros; an odd one is added before the picture.

        Of 7 columns, 4 begin at column 1: ``(7 - 4) // 2``. 4 columns in 7 begin at column 2: ``ceil((7 - 4) / 2)``.

        Source: transformers, image_transforms.center_crop.
        """
        tall, wide = max(height, self.height), max(width, self.width)
        padded = self.pad(tall, wide, (tall - self.height + 1) // 2, (wide - self.width + 1) // 2)
        return padded.crop((tall - height) // 2, (wide - width) // 2, height, width)

    def _require_bytes(self) -> None:
        if self.floats and isinstance(self, SourceImage):
            raise UnsupportedError("images of floats are resized before anything else; this processor needs u8")


@dataclass(frozen=True)
class SourceImage(Picture):
    """The caller's image. Images of equal sizes are one source, unless ``place`` tells them apart.

    dtype: the element type of the caller's image, as numpy names it.
    """

    place: int = 0
    dtype: str = "uint8"


@dataclass(frozen=True)
class Resized(Picture):
    """The picture ``of``, resized by a filter of Pillow."""

    of: Picture
    mode: str


@dataclass(frozen=True)
class Cropped(Picture):
    """The part of the picture ``of`` that begins at row ``top`` and column ``left``."""

    of: Picture
    top: int
    left: int


@dataclass(frozen=True)
class Padded(Picture):
    """The picture ``of`` at row ``top`` and column ``left``; the rest is ``fill``, one element or one per channel."""

    of: Picture
    top: int
    left: int
    fill: tuple[int, ...]


def source_of(picture: Picture) -> Picture:
    """The image that a picture comes from."""
    while isinstance(picture, Resized | Cropped | Padded):
        picture = picture.of
    return picture


def require_bounded(picture: Picture, elements: int) -> None:
    """Refuse a configuration by which the image that ``picture`` comes from becomes too many elements.

    Raises:
        DescriptorError: ``elements`` are more than ``MAX_ELEMENTS`` and ``MAX_ENLARGEMENT`` allow.
    """
    image = source_of(picture)
    shorter, longer = sorted((image.height, image.width))
    of_ratio = MAX_ELEMENTS * min(longer, MAX_STRIP * shorter) // shorter
    most = max(of_ratio, MAX_ENLARGEMENT * image.height * image.width * image.channels)
    if elements > most:
        raise DescriptorError(
            f"an image of {image.height} x {image.width} must become at most {most} elements, and this configuration "
            f"makes {elements} of it: size, or another key that enlarges, pads, tiles or repeats it, is too large"
        )


def kept_dtype(picture: Picture) -> str:
    """The element type that the caller's image had, if no resize has converted it to u8."""
    while isinstance(picture, Cropped | Padded):
        picture = picture.of
    return picture.dtype if isinstance(picture, SourceImage) else "uint8"


def tiles_of_canvas(canvas: Picture, height: int, width: int) -> list[Picture]:
    """The tiles of a canvas, row by row; the last ones of a row or column may be smaller.

    Raises:
        DescriptorError: there are more than ``MAX_TILES``.
    """
    tiles = -(-canvas.height // height) * -(-canvas.width // width)
    if tiles > MAX_TILES:
        raise DescriptorError(
            f"an image must be cut into at most {MAX_TILES} tiles, and this configuration makes {tiles} of "
            f"{height} x {width}: its tiles are too small, or its canvas is too large"
        )
    return [
        canvas.crop(top, left, min(height, canvas.height - top), min(width, canvas.width - left))
        for top in range(0, canvas.height, height)
        for left in range(0, canvas.width, width)
    ]


def cut(canvas: Picture, height: int, width: int, finish: Callable[[Picture], Picture]) -> tuple[Piece, ...]:
    """The tiles of a canvas, after ``finish``. Tiles of equal sizes that ``finish`` does not change stay one piece."""
    tiles = tiles_of_canvas(canvas, height, width)
    finished = [finish(tile) for tile in tiles]
    if finished == tiles and canvas.height % height == canvas.width % width == 0:
        return (Piece(canvas, canvas.height // height, canvas.width // width),)
    return tuple(Piece(tile) for tile in finished)


class Piece(NamedTuple):
    """A picture that becomes part of a result, cut into ``rows`` times ``columns`` tiles of equal sizes."""

    picture: Picture
    rows: int = 1
    columns: int = 1

    @property
    def tiles(self) -> int:
        """The number of tiles."""
        return self.rows * self.columns

    @property
    def tile(self) -> tuple[int, int]:
        """Height and width of a tile."""
        return self.picture.height // self.rows, self.picture.width // self.columns
