"""The folder of one case: its program in C or for Amber, the files that this reads, and the text of a bug report.

    DIR/<name of the case>/  repro.c Makefile README.md case.json *.spv *.bin
    DIR/<name of the case>/  case.amber README.md case.json *.spv

A folder appears whole or not at all. Nothing in it names a path, a user or a machine.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from restride.command.files import named_errors, write_whole
from restride.command.process import UsageError
from restride.dtypes import Array
from restride_conformance.export import amber
from restride_conformance.export.program import Copy, Dispatch, Program
from restride_conformance.export.tables import c_program
from restride_conformance.record import Host, Outcome

FORMAT = "restride-export"
VERSION = 1

FORMS = ("c", "amber")
"""The forms that a case may be written in."""

_DESCRIPTION = "case.json"

_MAKEFILE = """\
CFLAGS = -std=c99 -Wall -Wextra -Werror -O2

repro: repro.c
\t$(CC) $(CFLAGS) -o $@ repro.c -lvulkan

run: repro
\t./repro

.PHONY: run
"""

_HOW = {
    "c": """\
    make && ./repro

It needs a C compiler, `vulkan.h` and the Vulkan loader. The exit code is 0 if all is right, 1 if not, 77 if there is no
device. `--device NAME` chooses a device, and `--replay 100` submits the same command buffer 100 times and counts the
distinct results.""",
    "amber": """\
    amber -v 1.1 case.amber

It needs Amber (github.com/google/amber). `-D N` chooses a device, `-d` does without validation layers. Amber waits for
the device after each dispatch, so a barrier that is missing or without effect does not show.""",
}
"""How each of ``FORMS`` is run."""

_FILES = {
    "c": """\
`repro.c` has the dispatches as tables at its top; `case.json` has the same and versions. `*.spv` are the modules as the
driver gets them, `*.bin` the buffers before the first dispatch and what must come out: `expected`, {limits}`places`
(the position of each element, 64 bits), `judged` (1 for each other byte that must be as expected).""",
    "amber": """\
`case.amber` has the dispatches, the buffers before the first one and what must come out; `case.json` has the dispatches
and versions. `*.spv` are the modules as the driver gets them.""",
}

_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\:'\",()]+)+[/\\]([^\s/\\:'\",()]+)")

_DRIVER = ("name", "driver", "driver_version", "api_version", "vendor_id", "device_id")
"""The fields of ``DeviceInfo`` that a bug report tells; the uuid is left out, because it may identify a machine."""


@dataclass(frozen=True)
class Seen:
    """What a run saw of a case: its outcome, and the device and software on which it ran."""

    outcome: Outcome
    host: Host

    @property
    def message(self) -> str:
        """The message of the outcome, with the names of files instead of their paths."""
        return _PATH.sub(r"\1", self.outcome.message)


def write_folder(program: Program, seen: Seen, folder: Path, form: str = "c") -> None:
    """Write the folder of a case in one of ``FORMS``, in the place of an older export if there is one.

    Raises:
        UnsupportedError: a case of this kind cannot be written in this form.
        UsageError: the folder cannot be written; the message names the file. No part of it is left, and an older export
            stays.
    """
    part = folder.with_name(f".restride-{token_hex(8)}.part")
    try:
        with named_errors("write", folder):
            part.mkdir()
        for name, content in _files(program, seen, form):
            try:
                write_whole(part / name, content)
            except UsageError as error:
                raise UsageError(str(error).replace(str(part), str(folder))) from error
        with named_errors("write", folder):
            _take_place(part, folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def is_export(folder: Path) -> bool:
    """True if the folder is one that ``write_folder`` wrote, and no link to one."""
    return folder.is_dir() and not folder.is_symlink() and (folder / _DESCRIPTION).is_file()


def _take_place(part: Path, folder: Path) -> None:
    if not is_export(folder):
        part.rename(folder)  # an OSError if something else is there
        return
    old = part.with_suffix(".old")
    folder.rename(old)
    try:
        part.rename(folder)
    except BaseException:
        with suppress(OSError):
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _files(program: Program, seen: Seen, form: str) -> Iterator[tuple[str, bytes]]:
    """The files by name; case.json, which makes the folder an export, comes last."""
    if form == "amber":
        yield "case.amber", amber.script(program).encode()
    else:
        arrays = {buffer.name: buffer.contents for buffer in program.buffers} | check_arrays(program)
        for name, array in arrays.items():
            yield f"{name}.bin", np.ascontiguousarray(array).tobytes()
        yield "repro.c", c_program(program).encode()
        yield "Makefile", _MAKEFILE.encode()
    for name, code in program.modules.items():
        yield f"{name}.spv", code
    yield "README.md", readme(program, seen, form).encode()
    yield _DESCRIPTION, json.dumps(description(program, seen), indent=2, allow_nan=False).encode() + b"\n"


def check_arrays(program: Program) -> dict[str, Array]:
    """The arrays by which ``repro.c`` judges: it judges elements one by one, and other bytes by the mask ``judged``."""
    check = program.check
    arrays = {
        "expected": check.expected,
        "judged": (check.judged & ~check.element_bytes).astype(np.uint8),
        "places": check.places.astype("<u8"),
    }
    if not check.is_exact:
        arrays["lowest"], arrays["highest"] = check.limits
    return arrays


def description(program: Program, seen: Seen) -> dict[str, Any]:
    """The content of case.json."""
    check = program.check
    return {
        "format": FORMAT,
        "version": VERSION,
        "case": program.line,
        "verdict": str(seen.outcome.verdict),
        "message": seen.message,
        "groups": seen.outcome.groups,
        "modules": {name: {"sha256": sha256(code).hexdigest()} for name, code in program.modules.items()},
        "buffers": [{"name": each.name, "nbytes": each.contents.size} for each in program.buffers],
        "steps": [_step(step) for step in program.steps],
        "check": {
            "destination": check.destination,
            "unchanged": list(check.unchanged),
            "type": str(check.dtype),
            "sizes": list(check.sizes),
            "exact": check.is_exact,
        },
        "device": _driver(seen.host.device),
        "runtime": seen.host.runtime,
        "versions": dict(seen.host.versions),
    }


def _step(step: Dispatch | Copy) -> dict[str, Any]:
    return {"kind": "copy" if isinstance(step, Copy) else "dispatch", **asdict(step)}


def _driver(device: Mapping[str, Any]) -> dict[str, Any]:
    return {name: device[name] for name in _DRIVER if name in device}


def readme(program: Program, seen: Seen, form: str = "c") -> str:
    """The text of a bug report."""
    check, host = program.check, seen.host
    dispatches = sum(isinstance(step, Dispatch) for step in program.steps)
    copies = len(program.steps) - dispatches
    work = f"{dispatches} compute dispatches" if dispatches != 1 else "one compute dispatch"
    work += f" and {copies} of vkCmdCopyBuffer" if copies else ""
    work += f", work groups of {seen.outcome.groups}," if seen.outcome.groups else ""
    device = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in _driver(host.device).items())
    rule = (
        "Each element has one right value, bit for bit."
        if check.is_exact
        else "Each element must lie between two limits, and be NaN where a limit is NaN."
    )
    limits = "" if check.is_exact else "`lowest`, `highest`, "
    return f"""\
# {seen.outcome.verdict}: {program.line.split(" ")[0]} on {host.device.get("name", "a device")}

A case of restride's conformance suite, without restride: {work} in one command buffer.
It needs Vulkan 1.1 and no optional feature.

    {program.line}

## Expected

{rule}
The bytes around the result, and the source, must not change.

## Seen

`restride test` said {seen.outcome.verdict}:

{_indented(seen.message or "(nothing is wrong)")}

## How to run it

{_HOW[form]}
With restride: `restride test --repro LINE{" --groups" if seen.outcome.groups else ""}`, LINE as above in quotes.

## Driver

| | |
| --- | --- |
{device}

## Files

{_FILES[form].format(limits=limits)}
"""


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
