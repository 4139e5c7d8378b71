"""Boxes of a photograph, one call
===============================

Boxes (y0, x0, y1, x1) of any size, some of them over the edge, become 128 x 128 each.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

face = data.astronaut()
boxes = np.array([(30, 140, 220, 310), (300, 380, 440, 560), (200, 30, 380, 150), (140, 100, 500, 460)])
crops = rs.crop_resize(face, boxes, (128, 128), axes=(0, 1), antialias=True, fill=127).numpy()
figure, axes = plt.subplot_mosaic("aabc;aade", figsize=(8, 4), layout="constrained")
axes["a"].imshow(face)
for color, (box, crop) in enumerate(zip(boxes, crops, strict=True)):
    y0, x0, y1, x1 = box
    axes["a"].add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=f"C{color}", linewidth=2))
    axes["bcde"[color]].imshow(crop)
    axes["bcde"[color]].set_title(f"{y0}:{y1}, {x0}:{x1}", color=f"C{color}")
axes["a"].set(xlim=(0, 570), ylim=(512, 0), facecolor="gray")
for place in axes.values():
    place.set_axis_off()
plt.savefig("crop_boxes.png")
