"""einops on numpy arrays and on PyTorch tensors of the CPU: patterns, whose results are packed."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

import numpy as np

from restride_measure.offer import Offer, Peer, installed, returning
from restride_measure.workloads import Array, Rearrange, Workload


class Einops(Peer):
    def __init__(self, backend: Literal["numpy", "torch"]) -> None:
        self._rearrange = installed("einops", "einops").rearrange
        self._torch = installed("torch", "torch") if backend == "torch" else None
        self.version = f"{version('einops')}, {backend} {version(backend)}"
        self.lingers = backend == "torch"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        task, torch = workload.task, self._torch
        if not isinstance(task, Rearrange):
            return None

        def moved(x: Array) -> Array:
            array: Array
            if torch is None:
                array = np.ascontiguousarray(self._rearrange(x, task.pattern, **dict(task.lengths)))
            else:
                array = self._rearrange(torch.from_numpy(x), task.pattern, **dict(task.lengths)).contiguous().numpy()
            return array

        return returning(lambda: moved(source))
