"""A plugin of pytest: packages that RESTRIDE_TEST_WITHOUT names, such as ``rich,kp``, cannot be imported or found."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

WITHOUT = frozenset(os.environ["RESTRIDE_TEST_WITHOUT"].split(","))


class Finder(PathFinder):
    """Finds all modules on the path but those of the packages."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module; None: it is not there."""
        return None if fullname.partition(".")[0] in WITHOUT else super().find_spec(fullname, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
