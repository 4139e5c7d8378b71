"""torch: ``interpolate`` on the CPU, of bytes, of floats, and of the same floats in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from restride_like_check.judge import Array, Judge, Resize, Way, any_sizes, as_pixels

_FILTERS: tuple[tuple[str, dict[str, bool]], ...] = (
    ("bilinear", {}),
    ("bicubic", {}),
    ("bilinear", {"align_corners": True}),
    ("bicubic", {"align_corners": True}),
    ("bilinear", {"antialias": True}),
    ("bicubic", {"antialias": True}),
)


def torch() -> Judge:
    """Of the torch that is installed."""
    import torch

    ways = []
    for dtype in ("u8", "f32"):
        ways += [Way(mode, dtype, {"mode": mode}, _resize(mode, {}, "")) for mode in ("nearest", "nearest-exact")]
    for dtype, against in (("u8", ""), ("f32", "f64"), ("f32", "f32")):
        for mode, options in (*_FILTERS, *([("area", {})] if dtype == "f32" else [])):
            arguments: dict[str, Any] = {"mode": mode}
            if "antialias" in options:
                arguments["antialias"] = True
            if "align_corners" in options:
                arguments["coordinates"] = "align_corners"
            words, resize = ", ".join((mode, *options)), _resize(mode, options, against)
            takes = is_right_for if dtype == "f32" and "antialias" in options else any_sizes
            ways.append(Way(words, dtype, arguments, resize, against=against, takes=takes))
    return Judge("torch", "torch", torch.__version__, tuple(ways))


def is_right_for(_before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """False where torch's antialiased floats repeat their first row: of one column."""
    return after[1] > 1


def _resize(mode: str, options: dict[str, Any], against: str) -> Resize:
    import torch

    def resize(x: Array, sizes: tuple[int, int]) -> Array:
        planes = torch.from_numpy(np.ascontiguousarray(np.atleast_3d(x).transpose(2, 0, 1)))[None]
        if against == "f64":
            planes = planes.double()
        result = torch.nn.functional.interpolate(planes, sizes, mode=mode, **options)[0].numpy()
        return as_pixels(result.transpose(1, 2, 0).reshape(*sizes, *x.shape[2:]))

    return resize
