"""What the presets do to a photograph
===================================

The batches of ``rs.Preprocess``, normalized back to colours for looking at them.
"""

import numpy as np
from gallery import images, photo, save

import restride as rs

cup = photo("coffee")
shown = []
for name in ("imagenet", "clip", "yolo"):
    recipe = rs.Preprocess.preset(name)
    batch = recipe([cup])
    planes = (batch[0] if isinstance(batch, tuple) else batch).numpy()[0]
    low, high = planes.min(), planes.max()
    shown.append(
        (f"{name}: {planes.shape}\n{low:.2f} to {high:.2f}", np.moveaxis((planes - low) / (high - low), 0, -1))
    )
save(images(("400 x 600", cup), *shown))
