"""The peak bandwidth of a GPU's memory, by the name that its driver gives, as its maker's data sheet says."""

from __future__ import annotations

GB_PER_SECOND = {
    "NVIDIA B200": 8000.0,
    "NVIDIA GH200 480GB": 4000.0,
    "NVIDIA H200": 4800.0,
    "NVIDIA H100 NVL": 3900.0,
    "NVIDIA H100 80GB HBM3": 3350.0,
    "NVIDIA H100 PCIe": 2000.0,
    "NVIDIA A100-SXM4-80GB": 2039.0,
    "NVIDIA A100-SXM4-40GB": 1555.0,
    "NVIDIA A100 80GB PCIe": 1935.0,
    "NVIDIA L40S": 864.0,
    "NVIDIA L4": 300.0,
    "NVIDIA A10G": 600.0,
    "Tesla T4": 320.0,
    "NVIDIA GeForce RTX 5090": 1792.0,
    "NVIDIA GeForce RTX 4090": 1008.0,
    "NVIDIA GeForce RTX 3090": 936.0,
    "AMD Radeon RX 7900 XTX": 960.0,
    "AMD Radeon RX 6900 XT": 512.0,
    "AMD Instinct MI300X": 5300.0,
    "Intel(R) Arc(tm) A770 Graphics": 560.0,
    "Apple M1": 68.0,
    "Apple M1 Max": 400.0,
}
"""10^9 bytes a second, read and written together. A name is looked up as a whole: a GPU whose name only begins with it
may have other memory."""


def peak(device: str) -> float | None:
    """The peak of a device in GB/s; None if no entry has its name. Mesa adds the chip's name in brackets, which is cut.

    Example: ``AMD Radeon RX 7900 XTX (RADV NAVI31)`` is ``AMD Radeon RX 7900 XTX``.
    """
    return GB_PER_SECOND.get(device) or GB_PER_SECOND.get(device.rpartition(" (")[0])
