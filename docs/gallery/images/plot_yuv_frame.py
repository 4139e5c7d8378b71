"""A frame of video
================

A frame in NV12 is a plane of luma and, at half of the rows and columns, pairs of chroma below it. The matrix matters:
the same bytes read by BT.709 instead of BT.601 have other colours.
"""

import numpy as np
from matplotlib import pyplot as plt
from skimage import data

import restride as rs

rgb = data.astronaut() / 255
y = rgb @ (0.299, 0.587, 0.114)
chroma = np.stack([(rgb[..., 2] - y) / 1.772, (rgb[..., 0] - y) / 1.402], axis=-1)
small = rs.resample(chroma.astype(np.float32), (256, 256), axes=(0, 1), mode="area").numpy()
luma, pairs = np.round(16 + 219 * y).astype(np.uint8), np.round(128 + 224 * small).astype(np.uint8)
frame = np.concatenate([luma, pairs.reshape(256, 512)])
shown = {
    "the frame, u8[768, 512]": frame,
    "bt601": rs.yuv_to_rgb(frame).numpy(),
    "bt709: not its matrix": rs.yuv_to_rgb(frame, matrix="bt709").numpy(),
}
figure, axes = plt.subplots(1, len(shown), figsize=(8, 4.4), layout="constrained")
for place, (title, image) in zip(axes, shown.items(), strict=True):
    place.imshow(image, cmap="gray", vmin=0, vmax=255)
    place.set_title(title)
    place.set_axis_off()
plt.savefig("yuv_frame.png")
