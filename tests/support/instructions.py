"""The instructions of Python's bytecode that a call executes, which no clock can disturb."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(call: Callable[[], object]) -> int:
    """How many the call executes, in every function that it calls."""
    count = 0

    def local(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return local

    def trace(frame: FrameType, *_: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return local

    tracing = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(tracing)
    return count
