"""The processor of this machine, on which the drivers of a CPU compute."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")

_VECTORS = {"avx512vl": "AVX-512", "avx2": "AVX2"}
"""Vector extensions of x86 processors by their flag, widest first; a CPU driver generates different code for each."""


def cpu_model() -> str:
    """The processor's model (on systems other than Linux as Python reports it), its widest vectors and its cores."""
    text = _CPU_INFO.read_text(encoding="utf-8", errors="replace") if _CPU_INFO.is_file() else ""
    facts = dict(re.findall(r"^(model name|flags)\s*: (.+)$", text, re.MULTILINE))
    vectors = [name for flag, name in _VECTORS.items() if flag in facts.get("flags", "").split()]
    name = facts.get("model name") or platform.processor() or platform.machine()
    return ", ".join([name, *vectors[:1], f"{os.cpu_count() or 1} cores"])
