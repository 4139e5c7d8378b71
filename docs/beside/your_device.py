"""The library of your_device.c in Python, by ctypes: its handles for rs.Device, its buffer for rs.import_memory."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, Structure, byref, c_char_p, c_double, c_int32, c_uint8, c_uint32, c_uint64
from typing import Any


class Handles(Structure):
    """The struct of that name in C."""

    _fields_ = (
        *((name, c_uint64) for name in ("instance", "physical_device", "device", "queue")),
        ("queue_family", c_uint32),
    )


class Shared(Structure):
    """The struct of that name in C."""

    _fields_ = (
        *((name, c_uint64) for name in ("nbytes", "offset", "allocation_bytes")),
        ("memory_type", c_uint32),
        ("fd", c_int32),
        ("dedicated", c_int32),
        ("device_uuid", c_uint8 * 16),
        ("driver_uuid", c_uint8 * 16),
    )


class YourDevice:
    """A VkDevice that the library made; ``handles`` are the arguments of ``rs.Device``."""

    def __init__(self, library: str, name: str, extensions: Sequence[str]) -> None:
        """Make a device of that name with these extensions."""
        self._library, self._shared, made = CDLL(library), Shared(), Handles()
        names = (c_char_p * len(extensions))(*[each.encode() for each in extensions])
        self._call("your_open", name.encode(), names, c_uint32(len(extensions)), byref(made))
        self.handles: dict[str, Any] = {field: getattr(made, field) for field, *_ in Handles._fields_}

    def _call(self, function: str, *arguments: Any) -> None:
        result = self._library[function](*arguments)
        if result:
            raise RuntimeError(f"{function} returned {result}")

    def share(self, nbytes: int) -> dict[str, Any]:
        """A buffer of the library's, as arguments of ``rs.import_memory``, all but ``desc``; the caller closes fd."""
        self._call("your_share", c_uint64(nbytes), byref(self._shared))
        fields = {field: getattr(self._shared, field) for field, *_ in Shared._fields_}
        uuids = {name: bytes(fields[name]).hex() for name in ("device_uuid", "driver_uuid")}
        return fields | uuids | {"dedicated": bool(fields["dedicated"])}

    def sum(self) -> float:
        """Write 7 as the last f32 of the buffer; return the sum of all."""
        total = c_double()
        self._call("your_sum", byref(self._shared), byref(total))
        return total.value

    def free(self) -> None:
        """Free the buffer."""
        self._library.your_free()

    def close(self) -> None:
        """Destroy all of it."""
        self._library.your_close()
