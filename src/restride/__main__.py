"""``python -m restride`` is the command ``restride``."""

from __future__ import annotations

import sys

from restride.cli import main

if __name__ == "__main__":
    sys.exit(main())
