"""Letterbox, and back
===================

A photograph in a square with its aspect ratio kept, as detectors want it. ``Letterboxed.of`` the same box brings what
was found there back to the photograph.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

cup = data.coffee()
whole = [(0, 0, *cup.shape[:2])]
boxed = rs.crop_resize(cup, whole, (256, 256), axes=(0, 1), letterbox="center", antialias=True, fill=114)
places = rs.Letterboxed.of(whole, (256, 256))
detected = np.array([70.0, 70.0, 170.0, 200.0])
figure, axes = plt.subplots(1, 2, width_ratios=(1, 1.5), layout="constrained")
shown = (("256 x 256, found here", boxed.numpy()[0], detected), ("brought back", cup, places.to_image(detected, 0)))
for place, (title, image, (y0, x0, y1, x1)) in zip(axes, shown, strict=True):
    place.imshow(image)
    place.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor="white", linewidth=2))
    place.set_title(f"{title}: {y0:.0f}, {x0:.0f}, {y1:.0f}, {x1:.0f}")
    place.set_axis_off()
plt.savefig("crop_letterbox.png")
