"""Padding a photograph
====================

Edges repeated, mirrored and wrapped, by ``rs.xp.pad``, whose source may be a view.
"""

from gallery import images, photo, save

import restride as rs

eye = rs.asarray(photo("chelsea"))[60:124, 150:214]
modes = ("constant", "edge", "reflect", "wrap")
save(images(*((mode, rs.xp.pad(eye, ((24, 24), (24, 24), (0, 0)), mode).numpy()) for mode in modes)))
