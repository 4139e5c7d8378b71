"""The C programs of docs/beside, built, and the VkDevice of the one that is a library."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, POINTER, Structure, byref, c_char_p, c_double, c_int32, c_uint8, c_uint32, c_uint64
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "beside"
SHARING = "VK_KHR_external_memory_fd"


class Handles(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in ("instance", "physical_device", "device", "queue")],
        ("queue_family", c_uint32),
    ]


class Shared(Structure):
    _fields_ = [
        *[(name, c_uint64) for name in ("nbytes", "offset", "allocation_bytes")],
        ("memory_type", c_uint32),
        ("fd", c_int32),
        ("dedicated", c_int32),
        ("device_uuid", c_uint8 * 16),
        ("driver_uuid", c_uint8 * 16),
    ]


@cache
def built(name: str) -> Path:
    """The program, or as ``lib....so`` the library, that cc makes of ``docs/beside/NAME.c``."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    target = Path(tempfile.mkdtemp(prefix="restride-beside-")) / (f"lib{name}.so" if name == "your_device" else name)
    how = ["-shared", "-fPIC"] if target.suffix else []
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *how, FOLDER / f"{name}.c", "-lvulkan", "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "vulkan/vulkan.h" in done.stderr or "-lvulkan" in done.stderr:
        pytest.skip("no vulkan.h or no loader to link with")
    assert done.returncode == 0, done.stderr
    return target


class YourDevice:
    """A VkDevice that the library made; ``handles`` are the arguments of ``rs.Device``."""

    def __init__(self, name: str, extensions: tuple[str, ...] = (SHARING,)) -> None:
        self._library = CDLL(str(built("your_device")))
        made = Handles()
        names = (c_char_p * len(extensions))(*[each.encode() for each in extensions])
        result = self._library.your_open(name.encode(), names, c_uint32(len(extensions)), byref(made))
        assert result == 0, f"your_open returned {result}"
        self.handles: dict[str, Any] = {field: getattr(made, field) for field, *_ in Handles._fields_}

    def share(self, nbytes: int) -> dict[str, Any]:
        """A buffer of the library's, as arguments of ``rs.import_memory``, all but ``desc``; the caller closes fd."""
        self._shared = Shared()
        result = self._library.your_share(c_uint64(nbytes), byref(self._shared))
        assert result == 0, f"your_share returned {result}"
        fields = {field: getattr(self._shared, field) for field, *_ in Shared._fields_}
        uuids = {name: bytes(fields[name]).hex() for name in ("device_uuid", "driver_uuid")}
        return fields | uuids | {"dedicated": bool(fields["dedicated"])}

    def sum(self) -> float:
        """Writes 7 as the last f32 of the buffer; returns the sum of all."""
        total = c_double()
        self._library.your_sum.argtypes = [POINTER(Shared), POINTER(c_double)]
        result = self._library.your_sum(byref(self._shared), byref(total))
        assert result == 0, f"your_sum returned {result}"
        return total.value

    def free(self) -> None:
        """Frees the buffer."""
        self._library.your_free()

    def close(self) -> None:
        self._library.your_close()


@contextmanager
def your_device(name: str, extensions: tuple[str, ...] = (SHARING,)) -> Iterator[YourDevice]:
    """A VkDevice on the device of that name, destroyed at the end."""
    yours = YourDevice(name, extensions)
    try:
        yield yours
    finally:
        yours.close()
