"""Run `make reliability`: every part of this folder, one after the other, then print a table of their figures.

    python lab/reliability/run.py [PART ...] [--seed N] [--again] [--page]

Results are stored in .cache/reliability by commit and seed: a run that was stopped continues with the part that it was
in, and ``--again`` measures everything anew. ``--page`` writes the table into docs/reliability.md, with the commit, the
machine and the parts that were left out. The exit code is 1 if a figure missed its goal or a part failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from figures import table

import restride as rs
from restride.command.processor import cpu_model
from restride_conformance.record import Outcome, Verdict
from restride_conformance.report.file import read_record

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- figures: make reliability -->", "<!-- end of figures -->"

PARTS: dict[str, tuple[str, ...]] = {
    "leaks": ("lab/reliability/leaks.py",),
    "injection": ("lab/reliability/injection.py",),
    "threads": ("lab/reliability/threads.py",),
    "interrupts": ("lab/reliability/interrupts.py",),
    "profiles": ("lab/reliability/profiles.py",),
    "soak": ("lab/reliability/soak.py", "--minutes", "30"),
    "fuzz": ("lab/reliability/fuzz.py",),
    "tampering": ("lab/reliability/tampering.py",),
}
"""The command line of each part, without the interpreter; ``--seed`` and ``--write`` are appended."""


def commit() -> str:
    """The commit of this checkout, with ``-changed`` appended if files differ from it."""
    process = subprocess.run(
        ["git", "describe", "--always", "--dirty=-changed", "--exclude", "*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()


def machine() -> str:
    """The device, its driver and the processor that figures are measured on."""
    with rs.Device() as device:
        info = device.info
    return f"{info.name}, {info.driver} {info.driver_version}; {cpu_model()}"


def measured(part: str, folder: Path, seed: int) -> tuple[Outcome, ...] | None:
    """The figures of one part, from its stored file or by running it; None if it failed before its last figure."""
    file = folder / f"{part}.json"
    if not file.exists():
        print(f"restride: {part} ...", file=sys.stderr, flush=True)
        start = time.perf_counter()
        command = [sys.executable, *PARTS[part], "--seed", str(seed), "--write", str(file)]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(f"restride: {part} took {(time.perf_counter() - start) / 60:.1f} minutes", file=sys.stderr, flush=True)
        if not file.exists():
            print(f"restride: {part} failed with exit code {code}", file=sys.stderr)
            return None
    return read_record(file, "reliability").outcomes


def write_page(text: str, left_out: list[str]) -> None:
    """Write table, commit, machine and parts left out between the two marks of docs/reliability.md."""
    page = PAGE.read_text()
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    missing = f" Not measured there: {', '.join(left_out)}." if left_out else ""
    PAGE.write_text(f"{before}{START}\n\nMeasured at {commit()} on {machine()}.{missing}\n\n{text}\n{END}{after}")


def main() -> int:
    """Run the parts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="measure what was measured before, too")
    parser.add_argument("--page", action="store_true", help="write the table into docs/reliability.md")
    options = parser.parse_args()
    if wrong := [part for part in options.parts if part not in PARTS]:
        parser.error(f"no part is named {', '.join(wrong)}; there are {', '.join(PARTS)}")
    folder = ROOT / ".cache" / "reliability" / f"{commit()}-{options.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    parts = options.parts or list(PARTS)
    if options.again:
        for part in parts:
            (folder / f"{part}.json").unlink(missing_ok=True)
    results = {part: measured(part, folder, options.seed) for part in parts}
    figures = [figure for part in results.values() for figure in part or ()]
    failed = [part for part, part_figures in results.items() if part_figures is None]
    print(table(figures))
    if failed:
        print(f"failed: {', '.join(failed)}")
    if options.page and not failed:
        write_page(table(figures), [part for part in PARTS if part not in parts])
    return 1 if failed or not all(figure.verdict is Verdict.PASSED for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
