"""Where an output of a resampling reads, by each coordinate rule, as an exact fraction."""

from __future__ import annotations

from fractions import Fraction

HALF = Fraction(1, 2)


def position(rule: str, o: int, i: int, n: int) -> Fraction:
    """Where output o of n reads on an axis of i, as ONNX writes it."""
    half_pixel = (o + HALF) * i / n - HALF
    return {
        "half_pixel": half_pixel,
        "half_pixel_symmetric": half_pixel,
        "pytorch_half_pixel": half_pixel if n > 1 else Fraction(0),
        "align_corners": Fraction(o * (i - 1), n - 1) if n > 1 else Fraction(0),
        "asymmetric": Fraction(o * i, n),
        "tf_half_pixel_for_nn": (o + HALF) * i / n,
        "tf_crop_and_resize": Fraction(1, 4) * (i - 1) + o * HALF * (i - 1) / (n - 1) if n > 1 else HALF * (i - 1),
    }[rule]
