"""Prepared: the dispatches of a submission, checked once and found again while everything that they need is there."""

from __future__ import annotations

from collections.abc import Sequence

from restride.kernel import KernelSpec
from restride.recent import Recent
from restride.runtime.loader import Handle
from restride.runtime.vk_descriptors import DescriptorSet
from restride.runtime.vk_hazards import Use
from restride.runtime.vk_memory import Block
from restride.runtime.vk_program import Pipeline

MOST_PREPARED = 256


class Dispatch:
    """One kernel, ready to record. push: its push constants as Vulkan takes them."""

    __slots__ = ("descriptors", "groups", "pipeline", "push", "push_bytes", "uses")

    def __init__(
        self, spec: KernelSpec, pipeline: Pipeline, descriptors: DescriptorSet, push: Handle, uses: list[Use]
    ) -> None:
        self.groups = spec.groups
        self.push_bytes = 4 * len(spec.push)
        self.pipeline = pipeline
        self.descriptors = descriptors
        self.push = push
        self.uses = uses


class Prepared:
    """The dispatches of a submission, what they use, the blocks of their parameters, and the kernels they are of."""

    __slots__ = ("dispatches", "kernels", "parameters", "uses")

    def __init__(self, kernels: Sequence[KernelSpec], dispatches: list[Dispatch], parameters: list[Block]) -> None:
        self.kernels = kernels
        self.dispatches = dispatches
        self.parameters = parameters
        self.uses = [use for dispatch in dispatches for use in dispatch.uses]


class Preparations(Recent[Prepared]):
    """What was prepared lately. All of it is forgotten when a pipeline, a set or a block of parameters is given up.

    forgotten: how often that was.
    """

    def __init__(self) -> None:
        super().__init__(MOST_PREPARED)
        self.forgotten = 0

    def forget(self) -> None:
        """Something that may be needed is about to be destroyed, or to become another."""
        self.clear()
        self.forgotten += 1


def key_of(kernels: Sequence[KernelSpec], blocks: Sequence[Block], sizes: Sequence[int]) -> tuple[object, ...] | None:
    """What the same kernels on the same blocks have in common; None: they may change, as a list may.

    A tuple of kernels is known by its number, which no other one has while this one is kept with what was prepared.
    """
    return (id(kernels), *blocks, *sizes) if type(kernels) is tuple else None
