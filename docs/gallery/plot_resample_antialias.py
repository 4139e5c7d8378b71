"""With and without antialias
==========================

Rings that get finer outwards, 512 x 512, made 96 x 96. Two neighbours an axis are too few for a factor of 5: the fine
rings become coarse ones that are not there. ``antialias=True`` widens the filter to all that an output covers.
"""

import numpy as np
from gallery import images, save

import restride as rs

y, x = np.mgrid[-1:1:512j, -1:1:512j]
rings = np.round(127.5 + 127.5 * np.cos(140 * (x * x + y * y))).astype(np.uint8)
save(
    images(
        ("512 x 512", rings),
        ("linear", rs.resample(rings, (96, 96)).numpy()),
        ("linear, antialias", rs.resample(rings, (96, 96), antialias=True).numpy()),
        ("area", rs.resample(rings, (96, 96), mode="area").numpy()),
    )
)
