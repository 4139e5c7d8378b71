"""Tiles of tiles
==============

Red outlines are sub-tiles: bf16 in tiles of 4 x 4, in which two rows of a column make one word.
"""

import restride as rs

rs.show("bf16[4,8]{1,0:T(4,4)(2,1)}").save("layout_sub_tiles.svg")
