"""The list of workloads, group by group: what is measured, at sizes of every day or so small that they only work."""

from __future__ import annotations

from dataclasses import replace

from restride_bench.catalogue.calls import calls
from restride_bench.catalogue.conversions import conversions
from restride_bench.catalogue.copies import copies
from restride_bench.catalogue.layouts import layouts
from restride_bench.catalogue.permutations import permutations
from restride_bench.catalogue.resamplings import resamplings
from restride_bench.catalogue.scale import Scale
from restride_bench.workload import Workload

_GROUPS = (copies, permutations, layouts, conversions, resamplings, calls)


def catalogue(is_small: bool = False) -> tuple[Workload, ...]:
    """Every workload, in the order of the table.

    Args:
        is_small: with small sizes, under the same names: to see that all works. Their times mean nothing,
            so they have no goals.
    """
    scale = Scale(is_small)
    workloads = tuple(workload for group in _GROUPS for workload in group(scale))
    return tuple(replace(workload, goals=()) for workload in workloads) if is_small else workloads
