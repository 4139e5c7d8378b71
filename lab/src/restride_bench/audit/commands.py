"""``restride audit``: what compilers for GPUs make of the kernels, on a machine without these GPUs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from textwrap import fill

from restride.command.files import require_apart, require_places
from restride.command.parser import Commands, add_command
from restride.command.process import Exit, NothingSelected, UsageError, say, tell
from restride_bench.audit.compiler import NoCompiler, compile_all
from restride_bench.audit.gpus import GPUS, STORED
from restride_bench.audit.kernels import Kernel, contract_kernels, kernels_of_case, kernels_of_workloads
from restride_bench.audit.problems import differences
from restride_bench.audit.table import gpus_in, record_of, stored, with_others_of
from restride_conformance import Case
from restride_conformance.report import Record
from restride_conformance.report.compare import RecordChanges, compare
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.summary import summary
from restride_measure.workloads import Workload, selected

_GPUS = "\n".join(
    fill(f"{maker:<12}{', '.join(names)}", 100, initial_indent="  ", subsequent_indent=" " * 14)
    for maker, names in groupby(GPUS, lambda name: GPUS[name].maker)
)

_DESCRIPTION = f"""\
Compiles the kernels that a GPU would be given for the workloads of the benchmark with Mesa's drivers for GPUs of seven
makers, which need not be here. Prints what the compilers say of each kernel. Nothing runs: this shows neither speed nor
right results. bash tools/mesa26.sh fetches the compilers; docs/benchmarks/audit.md explains them.

GPUs:
{_GPUS}

counts:   instructions   in the code
          registers      of an invocation, in a unit of each maker's own
          in_flight      the most work in flight that registers and shared memory allow
          spills         registers that had to go to memory
          scratch        bytes of memory that an invocation has for these and for its arrays
          cycles         of one subgroup, as the compiler estimates them
          trips          how often a store or an access to shared memory follows a load: a subgroup waits so often
          load, store    instructions by the bytes that each moves for an invocation, such as "load 12";
                         "uniform" is once for a subgroup, "shared" to and from the memory of a work group

The exit code is 1 if a compiler refuses a kernel, if one spills or has scratch memory without a listed reason, and with
--against if a count got worse.

examples:
  restride audit -k transpose                            on every GPU whose compiler is here
  restride audit ampere Apple -k transpose               on this GPU, and on all of this maker
  restride audit --case 'reorder f32[64,48]{{1,0}} -> f16[64,48]{{0,1}}'
  restride audit ampere --json before.json               then, after a change: restride audit --against before.json
  restride audit --contract --against docs/benchmarks/vendors.json"""


def add_commands(commands: Commands) -> None:
    """Add ``audit``."""
    parser = add_command(commands, "audit", _DESCRIPTION, run)
    parser.add_argument(
        "gpus",
        nargs="*",
        metavar="GPU",
        help="GPUs or makers of the list above (default: those of --against, else all, if their compilers are here)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "-k", dest="keyword", metavar="TEXT", default="", help="workloads with this in their name or group"
    )
    what.add_argument("--case", metavar="LINE", help="audit a case of `restride test --list`")
    what.add_argument(
        "--contract", action="store_true", help="kernels of every module: those of all workloads, and some of cases"
    )
    parser.add_argument("--list", action="store_true", help="print the workloads, audit nothing")
    parser.add_argument(
        "--json",
        metavar="FILE",
        type=Path,
        help="write the table; with --contract, only one GPU of each maker in full; if FILE exists, its GPUs that this "
        "audit leaves out stay in it",
    )
    parser.add_argument(
        "--against", metavar="FILE", type=Path, help="JSON of an earlier audit: print what changed since"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile, print the table, the problems and the changes, and write the file."""
    if arguments.list:
        say("\n".join(map(str, _workloads(arguments.keyword))), has_lines=True)
        return Exit.OK
    before = None if arguments.against is None else read_record(arguments.against, "audit")
    kept = None
    if arguments.json is not None:
        require_places(arguments.json)
        require_apart([arguments.against] if arguments.against else [], arguments.json)
        if arguments.contract and arguments.json.exists():
            kept = read_record(arguments.json, "audit")
    gpus = _named(arguments.gpus) or [name for name in GPUS if before is None or name in gpus_in(before)]
    kernels = _kernels(arguments)
    compiled = compile_all([each.key for each in kernels], gpus, skips_missing=not arguments.gpus)
    if not compiled:
        raise NoCompiler("no driver here compiles for these GPUs: bash tools/mesa26.sh")
    record = record_of(kernels, compiled)
    say(summary(record), has_lines=True)
    is_worse = bool(record.problems)
    if before is not None:
        comparison = _against(before, record)
        is_worse = is_worse or comparison.is_worse
        say("\n".join(["", f"against {arguments.against}", str(comparison)]), has_lines=True)
    if arguments.json is not None:
        whole = record if kept is None else with_others_of(record, kept)
        write_record(stored(whole, STORED if arguments.contract else gpus), arguments.json)
    return Exit.CHECK_FAILED if is_worse else Exit.OK


def _against(before: Record, after: Record) -> RecordChanges:
    """The comparison of the rows that the later record has; counts only where the versions of the driver are equal."""
    rows = {(outcome.group, outcome.case) for outcome in after.outcomes}
    known = [outcome for outcome in before.outcomes if (outcome.group, outcome.case) in rows]
    was, now = gpus_in(before), gpus_in(after)
    same = [gpu for gpu in now if gpu in was and was[gpu].figures["version"] == now[gpu].figures["version"]]
    for gpu in now.keys() & was.keys() - {*same}:
        tell(f"{gpu}: the driver is no longer {was[gpu].figures['version']!r:.60}: only 128-bit accesses are compared")
    return compare(replace(before, outcomes=tuple(known)), after, differences(same))


def _named(words: list[str]) -> list[str]:
    """The GPUs that the user names, by GPU or by maker.

    Raises:
        UsageError: a name is unknown.
    """
    chosen: list[str] = []
    for word in words:
        names = [name for name, gpu in GPUS.items() if word.casefold() in (name, gpu.maker.casefold())]
        if not names:
            makers = dict.fromkeys(gpu.maker for gpu in GPUS.values())
            raise UsageError(f"no GPU is named {word[:40]!r}: known are {', '.join([*GPUS, *makers])}")
        chosen += names
    return list(dict.fromkeys(chosen))


def _workloads(keyword: str) -> list[Workload]:
    workloads = selected(keyword)
    if not workloads:
        raise NothingSelected(f"no workload has {keyword!r} in its name or group: `restride audit --list` has them")
    return workloads


def _kernels(arguments: argparse.Namespace) -> list[Kernel]:
    if arguments.contract:
        return contract_kernels()
    if arguments.case is not None:
        kernels = kernels_of_case(Case.parse(arguments.case))
    else:
        kernels = kernels_of_workloads(_workloads(arguments.keyword))
    if not kernels:
        raise NothingSelected("no kernel is dispatched: the device's own copy, or the host, does all of it")
    return kernels
