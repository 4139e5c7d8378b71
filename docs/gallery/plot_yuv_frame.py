"""A frame of video
================

A frame in NV12 is a plane of luma and, at half of the rows and columns, pairs of chroma below it. The matrix matters:
the same bytes read by BT.709 instead of BT.601 have other colours.
"""

import numpy as np
from gallery import images, photo, save

import restride as rs

rgb = photo("astronaut") / 255
y = rgb @ (0.299, 0.587, 0.114)
chroma = np.stack([(rgb[..., 2] - y) / 1.772, (rgb[..., 0] - y) / 1.402], axis=-1)
small = rs.resample(chroma.astype(np.float32), (256, 256), axes=(0, 1), mode="area").numpy()
luma, pairs = np.round(16 + 219 * y).astype(np.uint8), np.round(128 + 224 * small).astype(np.uint8)
frame = np.concatenate([luma, pairs.reshape(256, 512)])
save(
    images(
        ("the frame, u8[768, 512]", frame),
        ("bt601", rs.yuv_to_rgb(frame).numpy()),
        ("bt709: not its matrix", rs.yuv_to_rgb(frame, matrix="bt709").numpy()),
    )
)
