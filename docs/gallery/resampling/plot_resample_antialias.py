"""With and without antialias
==========================

Rings that get finer outwards, 512 x 512, made 96 x 96. Two neighbours an axis are too few for a factor of 5: the fine
rings become coarse ones that are not there. ``antialias=True`` widens the filter to all that an output covers.
"""

import numpy as np
from matplotlib import pyplot as plt

import restride as rs

y, x = np.mgrid[-1:1:512j, -1:1:512j]
rings = np.round(127.5 + 127.5 * np.cos(140 * (x * x + y * y))).astype(np.uint8)
shown = {
    "512 x 512": rings,
    "linear": rs.resample(rings, (96, 96)).numpy(),
    "linear, antialias": rs.resample(rings, (96, 96), antialias=True).numpy(),
    "area": rs.resample(rings, (96, 96), mode="area").numpy(),
}
figure, axes = plt.subplots(1, len(shown), figsize=(8, 2.4), layout="constrained")
for place, (title, image) in zip(axes, shown.items(), strict=True):
    place.imshow(image, cmap="gray", vmin=0, vmax=255)
    place.set_title(title)
    place.set_axis_off()
plt.savefig("resample_antialias.png")
