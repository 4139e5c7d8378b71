"""Tamper with shader modules: each changed module must be refused before the driver sees a byte of it.

    python lab/reliability/tampering.py [--small] [--seed N] [--write FILE.json]

Copies of the package's modules, or of their manifest, are changed on disk, and a pipeline is asked for. What counts is
whether ``vkCreateShaderModule`` was called, which is looked at in the table of the device's functions.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from figures import Figure, run_part

from restride.errors import DeviceError
from restride.kernel import Binding, KernelSpec, modules
from restride.runtime.vulkan.runtime import VulkanRuntime

COUNT = 1000
"""Number of modules to change."""

WHOLE_EVERY = 50
"""One module per so many changed ones is left whole and must reach the driver, which shows that the check works."""

Change = Callable[[bytes, Random], bytes]


def _flipped(code: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(code))
    return code[:at] + bytes([code[at] ^ 1 << rng.randrange(8)]) + code[at + 1 :]


def _exchanged(code: bytes, rng: Random) -> bytes:
    """Exchange two words that differ."""
    words = [code[at : at + 4] for at in range(0, len(code), 4)]
    first = rng.randrange(len(words))
    second = rng.choice([place for place, word in enumerate(words) if word != words[first]])
    words[first], words[second] = words[second], words[first]
    return b"".join(words)


CHANGES: dict[str, Change] = {
    "bit flipped": _flipped,
    "many bits flipped": lambda code, rng: _flipped(_flipped(_flipped(code[:-1] + b"?", rng), rng), rng) + b"?",
    "cut off": lambda code, rng: code[: rng.randrange(len(code))],
    "lengthened": lambda code, rng: code + rng.randbytes(rng.randint(1, 400)),
    "two words exchanged": _exchanged,
    "a part repeated": lambda code, rng: code[: (at := rng.randrange(4, len(code)))] + code[at - 4 :],
    "random bytes": lambda code, rng: code[:20] + rng.randbytes(len(code) - 20),
}
"""Changes to a module's file, by name."""

MANIFEST_CHANGES: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "another module's hash": lambda entry, other: {**entry, "sha256": other},
    "a hash that is none": lambda entry, _: {**entry, "sha256": entry["sha256"][:-1]},
    "a hash in another case": lambda entry, _: {**entry, "sha256": entry["sha256"].upper()},
    "no hash": lambda entry, _: {name: value for name, value in entry.items() if name != "sha256"},
    "an entry that is no object": lambda entry, _: entry["sha256"],
}
"""Changes to a module's entry in the manifest, by name."""


class Folder:
    """A copy of the shipped modules, which the runtime reads instead of the originals."""

    def __init__(self, path: Path) -> None:
        self.path = path
        for entry in modules.spirv_folder().iterdir():
            (path / entry.name).write_bytes(entry.read_bytes())
        self.manifest = json.loads((path / "manifest.json").read_text("utf-8"))
        self.names = sorted(self.manifest["modules"])
        self.codes = {name: (path / f"{name}.spv").read_bytes() for name in self.names}

    def change(self, name: str, how: str, rng: Random) -> None:
        """Change a module or its entry in the manifest."""
        other = rng.choice([other for other in self.names if self.codes[other] != self.codes[name]])
        if how in CHANGES:
            code = CHANGES[how](self.codes[name], rng)
            (self.path / f"{name}.spv").write_bytes(self.codes[other] if code == self.codes[name] else code)
        elif how == "another module's code":
            (self.path / f"{name}.spv").write_bytes(self.codes[other])
        elif how in MANIFEST_CHANGES:
            entry = self.manifest["modules"][name]
            changed = MANIFEST_CHANGES[how](entry, self.manifest["modules"][other]["sha256"])
            self._write_manifest({**self.manifest["modules"], name: changed})

    def restore(self, name: str) -> None:
        """Undo ``change``."""
        (self.path / f"{name}.spv").write_bytes(self.codes[name])
        self._write_manifest(self.manifest["modules"])

    def _write_manifest(self, entries: dict[str, Any]) -> None:
        (self.path / "manifest.json").write_text(json.dumps({**self.manifest, "modules": entries}))


WHOLE = "left as it is"
EVERY = (*CHANGES, "another module's code", *MANIFEST_CHANGES)


def tampered(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How many modules were changed in each way, and one line for each violation."""
    rng = Random(seed)
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    spirv_folder = modules.spirv_folder
    with tempfile.TemporaryDirectory() as name, closing(VulkanRuntime()) as runtime:
        folder = Folder(Path(name))
        functions: Any = runtime._session.device.vk  # noqa: SLF001 - the table of functions is the seam
        create, created = functions.vkCreateShaderModule, 0

        def counting(*arguments: Any) -> int:
            nonlocal created
            created += 1
            result: int = create(*arguments)
            return result

        functions.vkCreateShaderModule = counting
        memory = runtime.allocate(64)
        modules.spirv_folder = lambda: folder.path
        try:
            for number in range(count + count // WHOLE_EVERY):
                how = WHOLE if number % (WHOLE_EVERY + 1) == WHOLE_EVERY else EVERY[number % len(EVERY)]
                module = "run_copy_32" if how == WHOLE else rng.choice(folder.names)
                folder.change(module, how, rng)
                modules.load_module.cache_clear()
                modules.manifest.cache_clear()
                before, refused = created, ""
                try:
                    # A constant that no pipeline had before makes a new pipeline. With 0 pieces it does nothing.
                    spec = KernelSpec(module, (number,), (0,) * 5, b"", (1, 1, 1), (Binding(0, 64, writes=True),) * 2)
                    runtime.submit([spec], [memory, memory])
                except DeviceError as error:
                    refused = str(error)
                counted[how] += 1
                if (created > before) != (how == WHOLE) or bool(refused) == (how == WHOLE):
                    wrong.append(f"{module}, {how}: the driver saw {created - before} modules; {refused or 'no error'}")
                folder.restore(module)
        finally:
            modules.spirv_folder = spirv_folder
            modules.load_module.cache_clear()
            modules.manifest.cache_clear()
            memory.free()
    return counted, wrong


def measure(small: bool, seed: int) -> Iterator[Figure]:
    """One figure: how many modules were refused."""
    counted, wrong = tampered(100 if small else COUNT, seed)
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    changed = counted.total() - counted[WHOLE]
    yield Figure(
        f"modules changed in {len(counted) - 1} ways, refused before vkCreateShaderModule",
        f"{changed} of {changed}, and {counted[WHOLE]} whole ones taken",
        f"{changed + counted[WHOLE] - len(wrong)} right",
        not wrong,
    )


if __name__ == "__main__":
    run_part(measure)
