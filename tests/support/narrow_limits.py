"""Limits within which plans are cut into many dispatches, or take other kernels, though a device would allow more."""

from __future__ import annotations

from dataclasses import replace

from restride.kernel import Limits
from restride_conformance.shader.part import SteeredLimits

WHOLE = Limits(offset_alignment=0)
"""Of a runtime that binds whole memories only."""
ALWAYS_WALK = SteeredLimits(elements_per_dispatch=0)
"""Strided walks, however many, where there are any."""
NEVER_SEVERAL = SteeredLimits(elements_per_dispatch=1 << 40)
"""The general kernel where one walk is not enough."""
CRAMPED = replace(ALWAYS_WALK, max_buffer_range=512, max_group_count=(3, 65535, 2))
CRAMPED_GENERAL = replace(NEVER_SEVERAL, max_buffer_range=512, max_group_count=(3, 65535, 2))
