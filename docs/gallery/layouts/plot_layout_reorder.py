"""What a reorder moves
====================

Rows become tiles of two columns and four rows, each walked down its columns. Elements keep their colours.
"""

import restride as rs

rs.show("f32[4,6]", "f32[4,6]{0,1:T(2,4)}").save("layout_reorder.svg")
