"""Peers: who else does the same work, one module a family; each is optional, and named where it is absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restride.benchmark.offer import Absent, Peer
from restride.benchmark.peers.arrays import Numpy
from restride.benchmark.peers.by_hand import ByHand
from restride.benchmark.peers.onnx_runtime import OnnxRuntime
from restride.benchmark.peers.opencv import OpenCV
from restride.benchmark.peers.pillow import Pillow
from restride.benchmark.peers.pytorch import Torch
from restride.benchmark.peers.raw import Raw
from restride.benchmark.peers.webgpu import Wgpu
from restride.device import Device

PEERS: dict[str, Callable[[Device], Peer]] = {
    "by-hand": ByHand,
    "raw": Raw,
    "numpy": lambda _: Numpy(),
    "torch": lambda _: Torch("cpu"),
    "torch-cuda": lambda _: Torch("cuda"),
    "opencv": lambda _: OpenCV(),
    "pillow": lambda _: Pillow(),
    "onnxruntime": lambda _: OnnxRuntime(),
    "wgpu": Wgpu,
}
"""By name, in the order of the table's columns."""


def open_peers(names: Sequence[str], device: Device) -> tuple[list[Peer], dict[str, str]]:
    """The peers that are here, and why the others are not, by name."""
    present: list[Peer] = []
    absent: dict[str, str] = {}
    for name in names:
        try:
            present.append(PEERS[name](device))
        except Absent as error:
            absent[name] = str(error)
    return present, absent
