"""Tiles
=====

XLA's tiles of 2 x 2. Each cell has the offset of its element, each colour is a tile, white cells are padding.
"""

import restride as rs

rs.show("f32[3,5]{1,0:T(2,2)}").save("layout_tiles.svg")
