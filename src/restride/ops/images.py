"""The images that boxes are cut from: one image, a batch or a list, with their axes of rows, columns and channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restride.dtypes import Array
from restride.errors import DescriptorError, prefixed
from restride.layout import TensorDesc
from restride.layout.tensor_desc import packed
from restride.layout.views import from_start
from restride.ops.perform import source_beside
from restride.request.arithmetic import require_of_type
from restride.request.boxes import (
    Indices,
    batch_remedy,
    read_axes,
    read_image_indices,
    read_per_channel,
    require_pixels,
)
from restride.tensor.tensor import Tensor
from restride.weights.resizing import replaced


class Images(NamedTuple):
    """The layouts of the images of a call: one image, a batch, or a list of images.

    axes: the axes of rows and columns. first: the first axis of an image, 1 in a batch, else 0.
    """

    descs: tuple[TensorDesc, ...]
    axes: tuple[int, int]
    first: int = 0
    is_list: bool = False

    @property
    def desc(self) -> TensorDesc:
        """The descriptor of the first tensor."""
        return self.descs[0]

    @property
    def number(self) -> int:
        """Number of images."""
        return self.desc.sizes[0] if self.first else len(self.descs)

    @property
    def others(self) -> tuple[int, ...]:
        """The axes of an image beside rows and columns."""
        return tuple(axis for axis in range(self.first, self.desc.rank) if axis not in self.axes)

    @property
    def channel(self) -> int | None:
        """The axis of the channels, the one beside rows and columns; None: there is none, or there are more."""
        others = self.others
        return others[0] if len(others) == 1 else None

    @property
    def axes_of_image(self) -> tuple[int, int]:
        """The axes of rows and columns of a single image, without the axis of images."""
        return self.axes[0] - self.first, self.axes[1] - self.first

    @property
    def last_other(self) -> int:
        """Elements along the last axis beside rows and columns; 1 if there is none."""
        others = self.others
        return self.desc.sizes[others[-1]] if others else 1

    def extents(self, desc: TensorDesc) -> tuple[int, int]:
        """Rows and columns of an image in one of the tensors."""
        return desc.sizes[self.axes[0]], desc.sizes[self.axes[1]]

    def result_sizes(self, boxes: int, sizes: Sequence[int]) -> tuple[int, ...]:
        """Sizes of the result: the boxes, then an image, its rows and columns resized."""
        return (boxes, *replaced(self.desc.sizes, self.axes, sizes)[self.first :])

    def resized(self, sizes: tuple[int, int]) -> Images:
        """The layout of the first tensor alone; a packed one gets rows and columns of ``sizes``.

        So images of all sizes share a cached target.
        """
        desc = self.desc
        if desc.strides is not None and desc.is_packed:
            desc = packed(desc.dtype, replaced(desc.sizes, self.axes, sizes), desc.minor_to_major)
        return Images((desc,), self.axes, self.first)

    def from_starts(self, alignment: int) -> tuple[Images, list[int]]:
        """These images moved to the starts of their buffers, as far as alignment allows, and by how many bytes each."""
        if not any(desc.offset for desc in self.descs):
            return self, [0] * len(self.descs)
        descs, nbytes = zip(*[from_start(desc, alignment) for desc in self.descs], strict=True)
        return self._replace(descs=descs), list(nbytes)

    def runs(self, images: npt.NDArray[np.int64]) -> Iterator[BoxRun]:
        """Yield runs of boxes, in order; a list is cut where the image changes. images: index of each box's image."""
        if not self.is_list:
            yield BoxRun(slice(0, len(images)), 0, self.desc, images if self.first else None)
            return
        cuts = [0, *(np.flatnonzero(images[1:] != images[:-1]) + 1).tolist(), len(images)]
        for start, stop in pairwise(cuts):
            if start < stop:
                image = int(images[start])
                yield BoxRun(slice(start, stop), image, self.descs[image], None)


class BoxRun(NamedTuple):
    """Neighbouring boxes of one tensor, which may share a dispatch. images: in a batch, index of each box's image."""

    boxes: slice
    tensor: int
    desc: TensorDesc
    images: npt.NDArray[np.int64] | None


def images_of(x: Any, axes: Indices, is_batch: bool, out: Tensor | None) -> tuple[tuple[Tensor, ...], Images]:
    """The tensors of ``x``, on the device of ``out`` or of the first one, and the layouts of the images in them.

    Raises:
        DescriptorError: an empty list, or one of several types or ranks; no elements; axes not of rows and columns; or
            ``out`` shares the memory of an image.
    """
    is_list = isinstance(x, list | tuple)
    if is_list and not x:
        raise DescriptorError("x must have an image, got an empty list")
    tensors = tuple(_tensors(x, out)) if is_list else (source_beside(x, out),)
    desc = tensors[0].desc
    for place, tensor in enumerate(tensors):
        name = f"x[{place}]" if is_list else "x"
        if (tensor.dtype, tensor.desc.rank) != (desc.dtype, desc.rank) or tensor.device is not tensors[0].device:
            raise DescriptorError(
                f"{name} {tensor.desc} must have the type, the number of axes and the device of x[0] {desc}"
            )
        require_pixels(name, tensor.desc)
        if out is not None and out.memory is tensor.memory:
            raise DescriptorError(f"out {out.desc} must have another buffer than {name} {tensor.desc}")
    first = int(is_batch and not is_list)
    source = Images(tuple(tensor.desc for tensor in tensors), read_axes(axes, desc, first), first, is_list)
    for place, other in enumerate(source.descs):
        if source._replace(descs=(other,)).result_sizes(0, (1, 1)) != source.result_sizes(0, (1, 1)):
            raise DescriptorError(f"x[{place}] {other} may differ from x[0] {desc} only in rows and columns")
    return tensors, source


def _tensors(images: Sequence[object], out: Tensor | None) -> Iterator[Tensor]:
    for place, image in enumerate(images):
        with prefixed(f"x[{place}]"):
            yield source_beside(image, out)


def image_indices(images: Indices, boxes: int, source: Images) -> npt.NDArray[np.int64]:
    """The index of the image of each box."""
    if images is None:
        if source.is_list and boxes != source.number:
            raise DescriptorError(
                f"images must say the image of each of {boxes} boxes, because x has {source.number} images; got none"
            )
        return np.arange(boxes) if source.is_list else np.zeros(boxes, np.int64)
    return read_image_indices(images, boxes, source.number)


def per_channel(argument: str, value: object, source: Images) -> Array:
    """``value`` as one number, or one for each channel of an image.

    Raises:
        DescriptorError: not numbers, or not as many as channels.
    """
    channels = None if source.channel is None else source.desc.sizes[source.channel]
    return read_per_channel(argument, value, channels, batch_remedy(source.desc) if channels is None else "")


def read_fill(fill: object, source: Images) -> Array:
    """``fill`` as elements of the images' type: one, or one for each channel."""
    dtype = source.desc.dtype
    array = per_channel("fill", fill, source)
    if not dtype.is_float:
        require_of_type("fill", array, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.dtype)
