"""Modes: nearest, linear, cubic, area
===================================

A part of a photograph, 24 x 24 pixels, enlarged and made smaller. "area" is a mean when an axis shrinks, and the same
as "nearest" when it grows by a whole factor.
"""

from matplotlib import pyplot as plt
from skimage import data

import restride as rs

eye = data.astronaut()[92:116, 194:218]
figure, axes = plt.subplots(2, 4, figsize=(8, 4.3), layout="constrained")
for column, mode in enumerate(("nearest", "linear", "cubic", "area")):
    for place, size in zip(axes[:, column], (192, 9), strict=True):
        place.imshow(rs.resample(eye, (size, size), axes=(0, 1), mode=mode).numpy())
        place.set_title(f"{mode}, {size} x {size}")
        place.set_axis_off()
plt.savefig("resample_modes.png")
