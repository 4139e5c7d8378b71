"""Source: one image, a batch or a list of images, and which of their axes are rows, columns and channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import integers
from restride.errors import DescriptorError, UnsupportedError
from restride.layout import TensorDesc
from restride.ops.crops.boxes import batch_remedy
from restride.ops.plan import source_beside
from restride.tensor.tensor import Tensor

_MOST_CHANNELS = 4
"""Of a pixel."""


class Form(NamedTuple):
    """How images lie in a tensor. axes: rows and columns. first: the axis at which those of an image begin."""

    desc: TensorDesc
    axes: tuple[int, int]
    first: int

    @property
    def others(self) -> tuple[int, ...]:
        """The axes of an image beside rows and columns."""
        return tuple(axis for axis in range(self.first, self.desc.rank) if axis not in self.axes)

    @property
    def channel(self) -> int | None:
        """The axis of the channels, the one beside rows and columns; None: there is none, or there are more."""
        return self.others[0] if len(self.others) == 1 else None

    @property
    def channels(self) -> int | None:
        """How many channels there are."""
        return None if self.channel is None else self.desc.sizes[self.channel]

    @property
    def last_other(self) -> int:
        """Elements along the last axis beside rows and columns; 1 if there is none."""
        return self.desc.sizes[self.others[-1]] if self.others else 1

    @property
    def extents(self) -> tuple[int, int]:
        """Rows and columns of an image."""
        return self.desc.sizes[self.axes[0]], self.desc.sizes[self.axes[1]]

    def resized(self, sizes: tuple[int, int]) -> Form:
        """The same layout of images of other sizes, if it is packed; else itself, of which there are few."""
        if self.desc.strides is None or not self.desc.is_packed:
            return self
        rows, columns = self.axes
        new = list(self.desc.sizes)
        new[rows], new[columns] = sizes
        return self._replace(desc=TensorDesc.xla(self.desc.dtype, new, self.desc.minor_to_major))

    def result_sizes(self, boxes: int, sizes: tuple[int, int]) -> tuple[int, ...]:
        """Sizes of the result: the boxes, then an image, its rows and columns resized."""
        image = list(self.desc.sizes)
        for axis, size in zip(self.axes, sizes, strict=True):
            image[axis] = size
        return (boxes, *image[self.first :])


class Run(NamedTuple):
    """Boxes that one dispatch may have: of one tensor, and of a batch ``images`` says the image of each."""

    boxes: slice
    tensor: int
    form: Form
    images: npt.NDArray[np.int64] | None


class Layouts(NamedTuple):
    """What boxes are cut from, without elements: one image or a batch, or a list of images. form: of the first."""

    descs: tuple[TensorDesc, ...]
    form: Form
    is_list: bool

    @property
    def images(self) -> int:
        """Images."""
        return self.form.desc.sizes[0] if self.form.first else len(self.descs)

    def runs(self, images: npt.NDArray[np.int64]) -> Iterator[Run]:
        """The boxes in order, those of a list cut where the image changes. images: of each box."""
        if not self.is_list:
            yield Run(slice(0, len(images)), 0, self.form, images if self.form.first else None)
            return
        cuts = [0, *(np.flatnonzero(images[1:] != images[:-1]) + 1).tolist(), len(images)]
        for start, stop in pairwise(cuts):
            if start < stop:
                image = int(images[start])
                yield Run(slice(start, stop), image, self.form._replace(desc=self.descs[image]), None)


class Source(NamedTuple):
    """What boxes are cut from, with its elements."""

    tensors: tuple[Tensor, ...]
    layouts: Layouts

    @property
    def form(self) -> Form:
        """That of the first tensor."""
        return self.layouts.form

    @property
    def is_list(self) -> bool:
        """True if each image is a tensor."""
        return self.layouts.is_list


def source_of(x: Any, axes: Iterable[SupportsIndex] | None, is_batch: bool, out: Tensor | None) -> Source:
    """The images of ``x``, on the device of ``out``, or of the first one.

    Raises:
        DescriptorError: a list of none, of several types or ranks; no elements; axes that are not rows and columns; or
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
        if not tensor.desc.numel:
            raise DescriptorError(f"{name} {tensor.desc} has no elements to cut boxes from")
        if out is not None and out.memory is tensor.memory:
            raise DescriptorError(f"out {out.desc} must have another buffer than {name} {tensor.desc}")
    first = int(is_batch and not is_list)
    form = Form(desc, _axes(axes, desc, first), first)
    for place, tensor in enumerate(tensors):
        if form._replace(desc=tensor.desc).result_sizes(0, (1, 1)) != form.result_sizes(0, (1, 1)):
            raise DescriptorError(f"x[{place}] {tensor.desc} may differ from x[0] {desc} in rows and columns alone")
    return Source(tensors, Layouts(tuple(tensor.desc for tensor in tensors), form, is_list))


def _tensors(images: Sequence[Any], out: Tensor | None) -> Iterator[Tensor]:
    for place, image in enumerate(images):
        try:
            yield source_beside(image, out)
        except (DescriptorError, UnsupportedError) as error:
            raise type(error)(f"x[{place}]: {error}") from error


def _axes(axes: Iterable[SupportsIndex] | None, desc: TensorDesc, first: int) -> tuple[int, int]:
    rank = desc.rank
    if rank < first + 2:
        raise DescriptorError(f"x {desc} must have rows and columns{', behind the axis of the images' * first}")
    if axes is None:
        if rank > first + 2 and desc.sizes[-1] <= _MOST_CHANNELS < desc.sizes[-2]:
            raise DescriptorError(
                f"the last axes of x {desc} look like columns and channels: say axes=({rank - 3}, {rank - 2}), or "
                f"axes=({rank - 2}, {rank - 1}) if they are not{'' if first else batch_remedy(desc)}"
            )
        return rank - 2, rank - 1
    given = integers("axes", axes, desc.__str__)
    counted = [axis + rank if axis < 0 else axis for axis in given]
    if len(counted) != 2 or not first <= counted[0] < counted[1] < rank:
        raise DescriptorError(
            f"axes {given} must be two of an image, rows before columns, each in [{first}, {rank}), for {desc}"
        )
    return counted[0], counted[1]
