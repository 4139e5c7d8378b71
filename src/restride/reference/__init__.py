"""The numpy reference: a second implementation of every operation, numpy in and out, without a device.

Its arguments are read and checked by ``restride.request``, as those of the operations are. From there on it shares no
index, coordinate, rounding or conversion code with the plan or the shaders, so a test passes with a mistake only if
both make it; the one exception are the rows of libraries that ``like`` names (``reference/like.py``). It prefers the
formula to speed: coordinates are exact fractions, weighted sums are evaluated in float64, a conversion is an exact
number rounded once.
"""

from restride.reference.conversion import convert
from restride.reference.crop_resize import crop_resize, crop_resize_limits
from restride.reference.gradient import resample_backward, resample_backward_limits
from restride.reference.lookup import lookup
from restride.reference.memory import from_buffer, to_buffer
from restride.reference.reorder import reorder
from restride.reference.resample import resample, resample_bound, resample_limits, strided_slice
from restride.reference.resize import resize, resize_limits
from restride.reference.yuv import yuv_to_rgb

__all__ = [
    "convert",
    "crop_resize",
    "crop_resize_limits",
    "from_buffer",
    "lookup",
    "reorder",
    "resample",
    "resample_backward",
    "resample_backward_limits",
    "resample_bound",
    "resample_limits",
    "resize",
    "resize_limits",
    "strided_slice",
    "to_buffer",
    "yuv_to_rgb",
]
