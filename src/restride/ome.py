"""``import restride.ome``: the module ``restride.interop.ome`` under its short name."""

import sys
from typing import TYPE_CHECKING

import restride

if TYPE_CHECKING:
    from restride.interop.ome import *  # noqa: F403 - all of it, for editors and type checkers
else:
    sys.modules[__name__] = restride.ome
