"""What the presets do to a photograph
===================================

The batches of ``rs.Preprocess``, normalized back to colours for looking at them.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

cup = data.coffee()
shown = {"400 x 600": cup}
for name in ("imagenet", "clip", "yolo"):
    recipe = rs.Preprocess.preset(name)
    batch = recipe([cup])
    planes = (batch[0] if isinstance(batch, tuple) else batch).numpy()[0]
    low, high = planes.min(), planes.max()
    title = f"{name}: {planes.shape}\n{low:.2f} to {high:.2f}"
    shown[title] = np.moveaxis((planes - low) / (high - low), 0, -1)
figure, axes = plt.subplots(1, len(shown), figsize=(8, 2.2), layout="constrained")
for place, (title, image) in zip(axes, shown.items(), strict=True):
    place.imshow(image)
    place.set_title(title)
    place.set_axis_off()
plt.savefig("crop_presets.png")
