"""Peers: other libraries that do the same work, one module each. All are optional; absent ones are reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from restride.tensor.device import Device
from restride_bench.peers.arrays import Numpy
from restride_bench.peers.computeml import ComputeML
from restride_bench.peers.einops import Einops
from restride_bench.peers.image_processors import Transformers
from restride_bench.peers.ncnn import Ncnn
from restride_bench.peers.onnx_runtime import OnnxRuntime
from restride_bench.peers.opencv import OpenCV
from restride_bench.peers.pillow import Pillow
from restride_bench.peers.pytorch import Torch
from restride_bench.peers.vulkan import ByHand, Raw
from restride_bench.peers.webgpu import Wgpu
from restride_measure.offer import Absent, Peer

PEERS: dict[str, Callable[[Device], Peer]] = {
    "by-hand": ByHand,
    "raw": Raw,
    "numpy": lambda _: Numpy(),
    "torch": lambda _: Torch("cpu"),
    "torch-cuda": lambda _: Torch("cuda"),
    "torch-vulkan": lambda _: Torch("vulkan"),
    "einops-numpy": lambda _: Einops("numpy"),
    "einops-torch": lambda _: Einops("torch"),
    "opencv": lambda _: OpenCV(),
    "pillow": lambda _: Pillow(),
    "transformers": lambda _: Transformers(),
    "onnxruntime": lambda _: OnnxRuntime(),
    "wgpu": Wgpu,
    "computeml": ComputeML,
    "ncnn": Ncnn,
}
"""Functions that open a peer, by its name, in the order of the table's columns; they raise Absent."""


def open_peers(names: Sequence[str], device: Device) -> tuple[dict[str, Peer], dict[str, str]]:
    """Open the named peers; returns by name the available ones, and the reasons why others are not."""
    present: dict[str, Peer] = {}
    absent: dict[str, str] = {}
    for name in names:
        try:
            present[name] = PEERS[name](device)
        except Absent as error:
            absent[name] = str(error)
    return present, absent
