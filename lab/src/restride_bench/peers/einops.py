"""einops on numpy arrays and on PyTorch tensors of the CPU: rearranges by a pattern, with contiguous results."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

import numpy as np

from restride.dtypes import Array
from restride_conformance.operations import CheckedRearrange
from restride_measure.offer import Offer, Peer, installed, returning
from restride_measure.workloads import Workload


class Einops(Peer):
    def __init__(self, backend: Literal["numpy", "torch"]) -> None:
        self._rearrange = installed("einops", "einops").rearrange
        self._torch = installed("torch", "torch") if backend == "torch" else None
        self.version = f"{version('einops')}, {backend} {version(backend)}"
        self.lingers = backend == "torch"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        case, torch = workload.case, self._torch
        if case is None or not isinstance(case.operation, CheckedRearrange):
            return None
        pattern, lengths = case.word("pattern").replace(",", " "), case.operation.lengths(case)

        def moved(x: Array) -> Array:
            array: Array
            if torch is None:
                array = np.ascontiguousarray(self._rearrange(x, pattern, **lengths))
            else:
                array = self._rearrange(torch.from_numpy(x), pattern, **lengths).contiguous().numpy()
            return array

        return returning(lambda: moved(source))
