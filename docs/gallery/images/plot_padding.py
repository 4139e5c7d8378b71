"""Padding a photograph
====================

Edges repeated, mirrored and wrapped, by ``rs.xp.pad``, whose source may be a view.
"""

from matplotlib import pyplot as plt
from skimage import data

import restride as rs

eye = rs.asarray(data.chelsea())[60:124, 150:214]
modes = ("constant", "edge", "reflect", "wrap")
shown = {mode: rs.xp.pad(eye, ((24, 24), (24, 24), (0, 0)), mode).numpy() for mode in modes}
figure, axes = plt.subplots(1, len(shown), figsize=(8, 2.4), layout="constrained")
for place, (title, image) in zip(axes, shown.items(), strict=True):
    place.imshow(image)
    place.set_title(title)
    place.set_axis_off()
plt.savefig("padding.png")
