"""Libraries: which of them have rows of their own, and the module that computes them."""

from __future__ import annotations

from restride.errors import DescriptorError
from restride.request.libraries import LibraryRequest
from restride.weights.like import opencv, pillow, scikit_image, torch
from restride.weights.rows import LibraryRows

_RULES = {
    "torch": torch.rules,
    "pillow": pillow.rules,
    "opencv": opencv.rules,
    "scikit-image": scikit_image.rules,
}
"""What computes a library's own rows, for axes that have elements."""


def rows_like(request: LibraryRequest) -> LibraryRows | None:
    """The rows of each axis as the library computes them; None: as modes of ``rs.resample`` do, or an axis is empty.

    Raises:
        DescriptorError: the library resizes another number of axes.
    """
    if request.profile.is_flat and len(request.axes) != 2:
        raise DescriptorError(f"like {request.like!r} resizes two axes, not {len(request.axes)}")
    if request.like not in _RULES or 0 in (*request.old, *request.new):
        return None
    return _RULES[request.like](request)


def follows_sizes(request: LibraryRequest) -> tuple[bool, ...]:
    """For each axis, whether its coordinates follow the sizes even if a scale is given."""
    return torch.follows_sizes(request) if request.like == "torch" else (False,) * len(request.axes)
