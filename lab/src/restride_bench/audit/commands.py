"""``restride audit``: without a GPU, compile kernels for one, count memory traffic, and predict times by a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from textwrap import fill

import restride
from restride.cli.files import write_output
from restride.cli.options import list_of
from restride.cli.parser import Commands, add_command
from restride.cli.process import Exit, NothingSelected, UsageError, tell
from restride.errors import DeviceNotFound, OutOfDeviceMemory, UnsupportedError
from restride.ops.progress import Progress
from restride_bench import charts
from restride_bench.audit import goals, vendors
from restride_bench.audit.compiler import Key, NoCompiler, UnknownFamily, compile_kernels, compiler_version
from restride_bench.audit.gpus import FAMILIES, GPUS, STORED
from restride_bench.audit.record import changes, lines_of, part_of, read_record, record, require_alike
from restride_bench.audit.roofline import Device, known_devices
from restride_bench.audit.table import Model, Row, case_rows, text, workload_rows
from restride_bench.audit.times import Benchmark, predicted_text, predictions, read_benchmark
from restride_bench.audit.traffic import Tracer
from restride_conformance import Case
from restride_measure.workloads import Workload, selected

_DEVICES = known_devices()
_DEFAULT_DEVICES = (goals.DEVICE, "H200")

_ALL = "all"

_CARDS = [f"{name:<10} {card}" for name, card in FAMILIES.items()]

_VENDORS = fill(f"{', '.join(GPUS)}, by Mesa 26, which tools/mesa26.sh fetches", 100, subsequent_indent=" " * 10)

_DESCRIPTION = f"""\
Compiles the kernels that a discrete GPU would get for each workload of the benchmark with AMD's compiler in Mesa's
driver RADV, which needs no GPU. Counts how well their loads and stores use the 32-byte sectors of memory, from the
addresses of some of their work groups, which any Vulkan device computes. From both, a model predicts the time of each
workload on several GPUs, and its share of the speed of their own copy. Nothing is measured on a GPU; --measured puts
such figures beside the model. docs/benchmarks/audit.md derives the model and has the goals.

families: {
    '''
          '''.join(_CARDS)
}

devices:  {fill(", ".join(_DEVICES), 100, subsequent_indent=" " * 10)}

vendors:  {_VENDORS}

columns:  invocations    of the dispatch, and the work groups in which they run
          waves          most subgroups that a SIMD unit keeps in flight; more of them hide more latency
          VGPRs, spills  vector registers of an invocation, and how many of them had to go to memory
          LDS            bytes of memory that a work group shares
          instr./B       instructions in the code, and branches/B those that branch, times invocations, over the bytes \
that may be written
          cycles         of the busiest unit, and latency, of one subgroup, as the compiler estimates them
          div.           integer divisions by numbers that are not constant
          loads, stores  instructions by the bytes that each moves for an invocation: "3 load 12" are three of 12 bytes;
                         "uniform" is once for a subgroup, "shared" to and from the LDS
          load, store    efficiency, 1 at best: the fewest sectors that hold the needed bytes, over the sectors moved; \
in brackets the needed bytes over the bytes moved
          missed         the goals that the kernel misses, which are about the family {goals.FAMILY}
model:    us, of copy    microseconds of a workload, and its speed as a share of that of the device's own copy
          limit          what takes most of the time: memory, the cache that all units share, that of each unit, \
arithmetic, waiting for loads, or launches

In the JSON, traffic has the bytes needed, the fewest sectors, the sectors moved, and the sectors ("requests") and lines
of 128 bytes that all instructions of all subgroups touch, cached or not; "partial" requests are for part of one.

examples:
  restride audit -k transpose
  restride audit --family all --json now.json            every family above that the installed RADV knows
  restride audit --json now.json --against before.json   exit code 1 if a kernel got worse
  restride audit --case 'reorder f32[64,48]{{1,0}} -> f16[64,48]{{0,1}}'
  restride audit --device 'RX 580,Mali-G715' --chart here.svg
  restride audit --vendors                               by every compiler that is here, of Mesa 26
  restride audit --vendors ampere,Apple -k transpose
  restride audit --measured bench.json                   what `restride bench --json` measured, beside the model"""


def add_commands(commands: Commands) -> None:
    """Add ``audit``."""
    parser = add_command(commands, "audit", _DESCRIPTION, run)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "-k", dest="keyword", metavar="TEXT", default="", help="workloads with this in their name or group"
    )
    what.add_argument("--case", metavar="LINE", help="audit a case of `restride test --list`")
    parser.add_argument(
        "--family",
        metavar="A,B",
        default=goals.FAMILY,
        help=f"AMD's families, those above or others that RADV knows; {_ALL}: those above (default: %(default)s)",
    )
    parser.add_argument(
        "--device",
        type=list_of(_DEVICES),
        metavar="A,B",
        help=f"GPUs whose times the model predicts, or none (default: {','.join(_DEFAULT_DEVICES)})",
    )
    parser.add_argument("--list", action="store_true", help="print the workloads, audit nothing")
    parser.add_argument("--no-traffic", action="store_true", help="compile only; no Vulkan device is needed then")
    parser.add_argument("--subgroup", type=int, choices=(32, 64), default=32, help="lanes that load together")
    parser.add_argument("--small", action="store_true", help="small sizes, to see in a moment if it works")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every figure")
    parser.add_argument("--chart", metavar="FILE", type=Path, help="draw bars, as .svg or .png; needs matplotlib")
    parser.add_argument(
        "--measured",
        metavar="FILE",
        type=Path,
        help="JSON of `restride bench`, to put beside the model's prediction for its device if the model has that",
    )
    parser.add_argument(
        "--against", metavar="FILE", type=Path, help="JSON of an earlier audit: print what changed since"
    )
    parser.add_argument(
        "--vendors",
        metavar="A,B",
        nargs="?",
        const="",
        help="compile with Mesa's drivers for GPUs of seven makers, named below; GPUs or makers (default: those of the "
        "table of --against, else all)",
    )
    parser.add_argument(
        "--contract",
        action="store_true",
        help="with --vendors: kernels of every module; JSON has one GPU of each maker in full",
    )
    parser.add_argument("--table", action="store_true", help="with --vendors: print a row for each GPU, in Markdown")


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the tables, goals and changes, and write the files. A missed goal is no failure."""
    if arguments.list:
        print("\n".join(map(str, _workloads(arguments))))
        return Exit.OK
    if arguments.vendors is not None:
        return _run_vendors(arguments)
    if arguments.contract or arguments.table:
        raise UsageError("--contract and --table are for --vendors")
    benchmark = None
    if arguments.measured is not None:
        benchmark = read_benchmark(arguments.measured, _DEVICES, is_small=arguments.small)
    devices = _devices(arguments, benchmark)
    rows = _rows(arguments)
    settings = {
        "restride": restride.__version__,
        "compiler": compiler_version(goals.FAMILY),
        "subgroup": arguments.subgroup,
        "small": arguments.small,
    }
    before = None if arguments.against is None else read_record(arguments.against)
    if before is not None:
        require_alike(before["settings"], settings, arguments.against)
    charts.require_outputs(arguments.json, arguments.chart)
    if arguments.chart is not None:
        charts.require_matplotlib()
    if arguments.small:
        tell("small sizes: the figures are not those of the sizes in the names")
    is_all = arguments.family == _ALL
    families = _compile(rows, FAMILIES if is_all else _families(arguments.family), skips_unknown=is_all)
    _compile(rows, [device.family for device in devices if device.family not in families])
    if not arguments.no_traffic:
        _trace(rows, devices, arguments.subgroup)
    model = predictions(rows, devices) if devices or benchmark is not None else {}
    is_judged = goals.FAMILY in families and arguments.subgroup == goals.SUBGROUP and not arguments.small
    verdicts = goals.verdicts(rows, model) if is_judged else []
    print("\n\n".join(_blocks(rows, families, devices, model, benchmark, verdicts)), flush=True)
    audit = record(rows, settings, model)
    if arguments.json is not None:
        write_output(arguments.json, lines_of(audit).encode())
    if arguments.chart is not None:
        figure = charts.draw_audit(rows, model, devices, is_small=arguments.small)
        write_output(arguments.chart, charts.chart_file(figure, arguments.chart.suffix))
    if before is None:
        return Exit.OK
    lines, is_worse = changes(part_of(before, {row.subject for row in rows}, arguments.keyword), audit)
    print("\n".join(["", f"against {arguments.against}", *lines]))
    return Exit.CHECK_FAILED if is_worse else Exit.OK


def _run_vendors(arguments: argparse.Namespace) -> int:
    """Compile for the GPUs of all makers, print the table and the changes, and write the file."""
    if arguments.device or arguments.measured is not None or arguments.chart is not None or arguments.no_traffic:
        raise UsageError("--vendors only compiles: it excludes --device, --measured, --chart and --no-traffic")
    if arguments.contract and (arguments.keyword or arguments.case is not None or arguments.small):
        raise UsageError("--contract takes kernels of every module: it excludes -k, --case and --small")
    before = None if arguments.against is None else vendors.read_record(arguments.against)
    known = [] if before is None else [gpu for gpu in before[1] if gpu in GPUS]
    gpus = vendors.chosen_gpus(arguments.vendors) if arguments.vendors else known or [*GPUS]
    charts.require_outputs(arguments.json, None)
    if arguments.contract:
        kernels = vendors.contract_kernels()
    else:
        kernels = vendors.kernels_of([(row.subject.name, row.dispatch.kernel) for row in _rows(arguments)])
    devices = vendors.compile_all(kernels, gpus, skips_missing=not arguments.vendors)
    if not devices:
        raise NoCompiler("no driver compiles for these GPUs here: bash tools/mesa26.sh")
    now = vendors.record(kernels, devices, STORED if arguments.contract else gpus)
    if arguments.table:
        print(vendors.table(now["gpus"], now["settings"]["date"]))
    else:
        print(vendors.text(kernels))
    problems = vendors.problems(kernels)
    if problems:
        print("\n".join(["", "errors, spills and scratch memory", *problems]))
    if arguments.json is not None:
        write_output(arguments.json, lines_of(now).encode())
    if before is None:
        return Exit.CHECK_FAILED if problems else Exit.OK
    lines, is_worse = vendors.changes(before[0], before[1], kernels, devices)
    print("\n".join(["", f"against {arguments.against}", *(lines or ["nothing changed"])]))
    return Exit.CHECK_FAILED if is_worse or problems else Exit.OK


def _families(words: str) -> list[str]:
    """The families that the user names, which need not be in ``FAMILIES``."""
    names = [word.strip().casefold() for word in words.split(",")]
    if "" in names or _ALL in names:
        raise UsageError(f"--family {words[:40]!r} is neither {_ALL} nor names such as {','.join(FAMILIES)}")
    return names


def _devices(arguments: argparse.Namespace, benchmark: Benchmark | None) -> list[Device]:
    """The requested devices of the model, and the measured one."""
    if arguments.no_traffic:
        if arguments.device or benchmark is not None or arguments.chart is not None:
            raise UsageError(
                "the model and the chart need the traffic: --no-traffic excludes --device, --measured, --chart"
            )
        return []
    names = _DEFAULT_DEVICES if arguments.device is None else arguments.device
    measured = [] if benchmark is None or benchmark.device is None else [benchmark.device]
    return [_DEVICES[name] for name in dict.fromkeys([*names, *measured])]


def _workloads(arguments: argparse.Namespace) -> list[Workload]:
    workloads = selected(arguments.keyword, arguments.small)
    if not workloads:
        raise NothingSelected(
            f"no workload has {arguments.keyword!r} in its name or group: `restride audit --list` has them"
        )
    return workloads


def _rows(arguments: argparse.Namespace) -> list[Row]:
    """The rows of the requested case or workloads, before compilation."""
    if arguments.case is not None:
        rows = case_rows(Case.parse(arguments.case))
    else:
        rows = [row for each in _workloads(arguments) for row in workload_rows(each)]
    if not rows:
        raise NothingSelected("no kernel is dispatched: the device's own copy, or the host, does all of it")
    return rows


def _compile(rows: Sequence[Row], families: Iterable[str], *, skips_unknown: bool = False) -> list[str]:
    """Fill in what each family's compiler says about the rows, and return the families.

    skips_unknown: leave out a family that the installed RADV does not know; otherwise that is an error.
    """
    keys = list(dict.fromkeys(Key.of(row.dispatch.kernel) for row in rows))
    done = []
    for family in dict.fromkeys(families):
        tell(f"compiling the kernels for {family} ...")
        try:
            compiled = compile_kernels(family, keys)
        except UnknownFamily as error:
            if not skips_unknown:
                raise
            tell(f"{family} is left out: {error}")
            continue
        for row in rows:
            row.compiled[family] = compiled[Key.of(row.dispatch.kernel)]
        done.append(family)
    return done


def _trace(rows: Sequence[Row], devices: Sequence[Device], subgroup: int) -> None:
    """Fill in the traffic of the rows; rows that do not fit the device here have none, and stderr names them."""
    tell("counting their memory traffic ...")
    try:
        tracer = Tracer()
    except DeviceNotFound as error:
        error.add_note("--no-traffic only compiles, which needs no device")
        raise
    with closing(tracer), Progress(len(rows), sys.stderr) as progress:
        for row in rows:
            try:
                trace = tracer.trace(row.dispatch, subgroup)
                row.traffic, row.turns = trace.traffic, trace.turns
                row.moved = {device.name: trace.shared.moved(device.cache) for device in devices}
            except (OutOfDeviceMemory, UnsupportedError) as error:
                progress.clear()
                tell(f"{row.subject.name} is not traced: {error}")
            progress.step(row.subject.name)


def _blocks(
    rows: Sequence[Row],
    families: Sequence[str],
    devices: Sequence[Device],
    model: Model,
    benchmark: Benchmark | None,
    verdicts: Sequence[goals.Verdict],
) -> Iterator[str]:
    """Yield the blocks of text for the terminal: the tables of the kernels, the table of the model, and the goals."""
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    of_rows = [[verdict.figure for verdict in missed if verdict.row is row] for row in rows]
    for family in families:
        yield text(rows, family, of_rows if family == goals.FAMILY else [])
    if model:
        yield predicted_text(model, devices, benchmark)
    if verdicts:
        about = f"{goals.FAMILY}, subgroups of {goals.SUBGROUP}"
        summary = f"goals: {len(verdicts) - len(missed)} of {len(verdicts)} met ({about})"
        of_groups = [verdict for verdict in verdicts if verdict.name in goals.SHARES_OF_GROUPS and verdict.row is None]
        met = (f"met: {verdict}" for verdict in of_groups if verdict.is_met)
        yield "\n".join([summary, *met, *(f"missed: {verdict}" for verdict in missed)])
