"""``restride doctor``: check that everything restride needs is installed and works, and print fixes."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict

from restride.command.findings import Finding, look
from restride.command.parser import Commands, add_command
from restride.command.process import Exit, say, tell
from restride.runtime import RUNTIMES

_DESCRIPTION = """\
Checks what restride needs: packages, the Vulkan loader, drivers, devices and their limits, shader modules and
validation layers. Then it opens each runtime in a process of its own and checks a small operation. Whatever is missing
comes with its fix. The exit code is 4 if the default runtime does not work.

examples:
  restride doctor
  restride doctor --device radeon     open the runtimes on this device
  restride doctor --json"""


def add_commands(commands: Commands) -> None:
    """Add ``doctor``."""
    parser = add_command(commands, "doctor", _DESCRIPTION, run)
    parser.add_argument("--device", metavar="DEVICE", help="index, or part of the name, for the runtimes to open")
    parser.add_argument("--json", action="store_true", help="a JSON list instead of text")


def run(arguments: argparse.Namespace) -> int:
    """Print the findings as they come; the default runtime decides the exit code."""
    default = os.environ.get("RESTRIDE_RUNTIME") or RUNTIMES[0]
    findings: list[Finding] = []
    works = False
    for finding in look(default, arguments.device):
        findings.append(finding)
        works = works or (finding.status == "ok" and finding.subject == f"runtime {default}")
        if not arguments.json:
            say(f"{finding.status:<10}{finding.subject:<18}{finding.detail}")
            if finding.fix:
                same = next(earlier.subject for earlier in findings if earlier.fix == finding.fix)
                say(f"{'':<28}fix: {finding.fix if same == finding.subject else f'as for {same}'}")
    if arguments.json:
        say(json.dumps([asdict(finding) for finding in findings], indent=2), has_lines=True)
    # The summary is the last line of the text; with JSON it goes to stderr.
    summary = _summary(default, works, findings)
    if arguments.json:
        tell(summary, begin="")
    else:
        say(summary)
    return Exit.OK if works else Exit.NO_DEVICE


def _summary(default: str, works: bool, findings: list[Finding]) -> str:
    """One line: whether the default runtime works, and what else is not in order."""
    others = []
    for status, meaning in (("BROKEN", "broken"), ("old", "slow"), ("optional", "not installed, but optional")):
        if subjects := [finding.subject for finding in findings if finding.status == status]:
            others.append(f"; {meaning}: {', '.join(subjects)}")
    return f"restride: the default runtime, {default}, {'works' if works else 'does not work'}{''.join(others)}"
