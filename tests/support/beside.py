"""The C programs of docs/beside, built, and the VkDevice of the one that is a library."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from support.c_programs import compile_c

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "beside"
SHARING = "VK_KHR_external_memory_fd"

sys.path.append(str(FOLDER))
import your_device as page  # noqa: E402 - what a reader of the page copies


@cache
def built(name: str) -> Path:
    """The program, or as ``lib....so`` the library, that cc makes of ``docs/beside/NAME.c``."""
    target = Path(tempfile.mkdtemp(prefix="restride-beside-")) / (f"lib{name}.so" if name == "your_device" else name)
    how = ["-shared", "-fPIC", "-pthread"] if target.suffix else []
    compile_c(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *how, FOLDER / f"{name}.c", "-lvulkan", "-o", target])
    return target


class YourDevice(page.YourDevice):
    """A VkDevice of the built library, on the device of that name."""

    def __init__(self, name: str, extensions: tuple[str, ...] = (SHARING,)) -> None:
        super().__init__(str(built("your_device")), name, extensions)


@contextmanager
def your_device(name: str, extensions: tuple[str, ...] = (SHARING,)) -> Iterator[YourDevice]:
    """A VkDevice on the device of that name, destroyed at the end."""
    yours = YourDevice(name, extensions)
    try:
        yield yours
    finally:
        yours.close()
