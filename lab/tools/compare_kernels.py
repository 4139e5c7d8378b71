"""Compare the kernels that two versions plan, byte for byte: for every case of the catalogue, and for random ones.

The device's own copies, and what the host uploads, are not compared.

    python lab/tools/compare_kernels.py COMMIT [--random 20000] [--seed 0]

COMMIT is checked out into a temporary folder, and this file runs there too, without a device. Prints the cases whose
kernels differ, with the limits of a GPU or of a processor; the exit code is 1 if there are any. Takes some twenty
minutes with 20,000 random cases.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from restride.dtypes import DTYPES
from restride.kernel import Choices, KernelSpec, Limits
from restride_bench.audit.recording import record_case
from restride_conformance.case import Case
from restride_conformance.recording import GPU
from restride_conformance.sweep import catalogue

ROOT = Path(__file__).resolve().parents[2]

LIMITS = {"gpu": GPU, "cpu": Limits(choices=Choices.usual("cpu"))}


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the version to compare with")
    parser.add_argument("--random", type=int, default=0, help="number of random cases beside the catalogue")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random cases")
    arguments = parser.parse_args()
    cases = list(dict.fromkeys([*catalogue("ci"), *catalogue("perf")]))
    cases += islice(random_cases(arguments.seed), arguments.random)
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "cases.txt"
        lines.write_text("".join(f"{case}\n" for case in cases), encoding="utf-8")
        other = Path(folder) / "other"
        subprocess.run(
            ["git", "worktree", "add", "--detach", other, arguments.commit], cwd=ROOT, stdout=sys.stderr, check=True
        )
        try:
            subprocess.run([sys.executable, "tools/compile_shaders.py"], cwd=other, stdout=sys.stderr, check=True)
            before, now = digests_of(other, lines), digests_of(ROOT, lines)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, stdout=sys.stderr, check=True)
    named = [f"{name} {case}" for case in cases for name in LIMITS]
    differ = [text for text, a, b in zip(named, before, now, strict=True) if a != b]
    for text in differ:
        print(text)
    print(f"{len(differ):,} of {len(named):,} differ", file=sys.stderr)
    return 1 if differ else 0


def random_cases(seed: int) -> Iterator[Case]:
    """Yield random reorders, arithmetic and resamplings for ever, as the tools that write case files draw them."""
    sys.path += [str(ROOT / "tools"), str(ROOT / "tests")]
    import make_arithmetic_cases as arithmetic
    import make_layout_cases as layout
    import make_resampling_cases as resampling

    rng = random.Random(seed)
    of_layouts, of_sums, of_resamplings = cycle(DTYPES), arithmetic.random_kinds(rng), resampling.random_kinds(rng)
    while True:
        drawn = (
            layout.random_case(rng, next(of_layouts)),
            arithmetic.random_case(rng, next(of_sums)),
            resampling.random_case(rng, next(of_resamplings)),
        )
        yield from filter(None, drawn)


def digests_of(root: Path, lines: Path) -> list[str]:
    """What a checkout plans for the cases in a file: a digest for each case and limits, in order."""
    path = os.pathsep.join([str(root / "src"), str(root / "lab/src"), str(Path(__file__).parent)])
    code = "import compare_kernels, sys; compare_kernels.print_digests(sys.argv[1])"
    printed = subprocess.run(
        [sys.executable, "-c", code, lines],
        cwd=root,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return printed.stdout.splitlines()


def print_digests(lines: str) -> None:
    """Print the digests of the version that is imported."""
    for line in Path(lines).read_text(encoding="utf-8").splitlines():
        for limits in LIMITS.values():
            print(digest(line, limits))


def digest(line: str, limits: Limits) -> str:
    """A digest of a case's kernels, or of why it has none."""
    try:
        planned = repr([_fields(spec) for spec in record_case(Case.parse(line), limits)])
    except Exception as error:  # noqa: BLE001 - what a version does not do differs from what the other does
        planned = type(error).__name__
    return hashlib.sha256(planned.encode()).hexdigest()


def _fields(spec: KernelSpec) -> tuple[object, ...]:
    bindings = [(binding.offset, binding.nbytes, binding.writes) for binding in spec.bindings]
    return spec.shader, spec.constants, spec.push, spec.parameters, spec.groups, bindings


if __name__ == "__main__":
    sys.exit(main())
