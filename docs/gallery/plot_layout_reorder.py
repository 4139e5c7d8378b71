"""What a reorder moves
====================

Column-major becomes tiles of 2 x 4. Elements keep their colours.
"""

from gallery import save

import restride as rs

save(rs.show("f32[4,6]", "f32[4,6]{0,1:T(2,4)}").svg())
