"""Drop-in replacements: functions with the names, arguments and results of other libraries, computed by restride."""

from __future__ import annotations

from restride.compat import cv2, pil, torch, transformers

__all__ = ["cv2", "pil", "torch", "transformers"]
