"""A kernel written by hand for one shape, run through a runtime of its own: what a general one is measured against."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from compile_shaders import find_compiler

import restride as rs
from restride.kernel import Binding, KernelSpec
from restride.runtime import open_runtime

BARE = Path(__file__).parent / "bare"
GROUP_SIZE = 256


def bare(
    device: rs.Device, name: str, array: np.ndarray, nbytes: int, groups: tuple[int, int, int] | None = None
) -> Callable[[], object]:
    """tools/bare/NAME.comp over ``array`` to ``nbytes`` bytes, and the wait for it.

    groups: default: of 256 invocations, one for four elements of ``array``.
    """
    runtime = open_runtime(device.info.index, module_source=_compiled)
    memories = runtime.allocate(array.nbytes), runtime.allocate(nbytes)
    runtime.write(memories[0], 0, array.reshape(-1).view(np.uint8).data)
    groups = groups or (-(-array.size // 4 // GROUP_SIZE), 1, 1)
    kernel = KernelSpec(name, (), (), b"", groups, (Binding(0, array.nbytes), Binding(0, nbytes, writes=True)))

    def operation() -> None:
        runtime.submit([kernel], memories)
        runtime.wait()

    return operation


def _compiled(name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "bare.spv"
        source = BARE / f"{name}.comp"
        made = find_compiler().run("-V", "--target-env", "vulkan1.1", "-o", str(target), str(source))
        if made.returncode:
            raise RuntimeError(f"{source} does not compile: {made.stdout}{made.stderr}")
        return target.read_bytes()
