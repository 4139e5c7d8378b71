"""``restride audit``: without a GPU, compile kernels for one, count memory traffic, and predict times by a model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, TypeAlias, TypeVar

import restride
from restride.cli.files import read_bounded, write_output
from restride.cli.options import list_of
from restride.cli.parser import Commands
from restride.cli.process import EXPLAINED, Exit, NothingSelected, UsageError
from restride.errors import OutOfDeviceMemory, UnsupportedError
from restride.ops.progress import Progress
from restride_bench import charts
from restride_bench.audit import goals
from restride_bench.audit.compiler import DEFAULT_FAMILIES, FAMILIES, Key, compile_kernels
from restride_bench.audit.roofline import Device, Prediction, known_devices
from restride_bench.audit.table import (
    Measured,
    Row,
    Subject,
    case_rows,
    changes,
    lines_of,
    predicted_text,
    predictions,
    read_record,
    record,
    text,
    workload_rows,
)
from restride_bench.audit.traffic import Tracer, both_ways
from restride_bench.own import COPY, OURS
from restride_bench.report import FORMAT as BENCHMARK
from restride_bench.workloads import is_named, selected
from restride_conformance import Case

_T = TypeVar("_T")

_Model: TypeAlias = Mapping[Subject, Mapping[str, Prediction]]
_Times: TypeAlias = Mapping[tuple[str, str], tuple[float, float]]
"""Seconds and share of the copy's speed, by group and workload."""

_DEVICES = known_devices()
_DEFAULT_DEVICES = (goals.DEVICE, "H200")

_CARDS = [f"{name:<10} {card}" for name, card in FAMILIES.items()]

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

columns:  waves          subgroups that a SIMD unit keeps in flight, at most
          VGPRs, spills  registers of an invocation, and how many of them had to go to memory
          LDS            bytes of memory that a work group shares
          instr./B       instructions of the code, times invocations, over the bytes that may be written
          cycles         of the busiest unit, and latency, of one subgroup, as the compiler estimates them
          div.           integer divisions by what is no constant
          load, store    the fewest sectors over those that are moved (the needed bytes over the bytes moved)
          missed         the goals that the kernel misses, which are about the family {goals.FAMILY}
model:    us, of copy    microseconds of a workload, and its share of the speed of the device's copy of as many bytes
          limit          what takes most of the time: memory, the cache that all units share, that of each unit, \
arithmetic, waiting for loads, or launches

In the JSON, traffic has the bytes needed, the fewest sectors, the sectors moved, and the sectors ("requests") and lines
of 128 bytes that all instructions of all subgroups touch, cached or not; "partial" requests are for part of one."""

_EPILOG = f"""\
examples:
  restride audit -k transpose
  restride audit --family all --json now.json
  restride audit --json now.json --against before.json   exit code 1 if a kernel got worse
  restride audit --case 'reorder f32[64,48]{{1,0}} -> f16[64,48]{{0,1}}'
  restride audit --device 'RX 580,Mali-G715' --chart here.svg
  restride audit --measured bench.json                   what `restride bench --json` measured, beside the model

{EXPLAINED}"""


def add_commands(commands: Commands) -> None:
    """Add ``audit``."""
    parser = commands.add_parser(
        "audit", help="say what a GPU would make of the kernels, without one", description=_DESCRIPTION, epilog=_EPILOG
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "-k", dest="keyword", metavar="TEXT", default="", help="workloads with this in their name or group"
    )
    what.add_argument("--case", metavar="LINE", help="audit a case of `restride test --list`")
    parser.add_argument(
        "--family",
        metavar="A,B",
        default=DEFAULT_FAMILIES[0],
        help=f"families of AMD's GPUs, or all: {', '.join(DEFAULT_FAMILIES)} (default: %(default)s)",
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
        help="JSON of `restride bench` on one of the devices, to put beside the model",
    )
    parser.add_argument(
        "--against", metavar="FILE", type=Path, help="JSON of an earlier audit: print what changed since"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit, print the tables, goals and changes, and write the files. A missed goal is no failure."""
    if arguments.list:
        return _list(arguments.keyword)
    device = ""
    times: _Times = {}
    if arguments.measured is not None:
        device, times = _read(arguments.measured, partial(_measured, is_small=arguments.small))
    devices = _devices(arguments, device)
    rows = _rows(arguments)
    if not rows:
        raise NothingSelected("no kernel is dispatched: no workload is meant, or a copy is all there is")
    settings = {"restride": restride.__version__, "subgroup": arguments.subgroup, "small": arguments.small}
    before = None if arguments.against is None else _read(arguments.against, read_record)
    if before is not None:
        _require_alike(before["settings"], settings, arguments.against)
    charts.require_outputs(arguments.json, arguments.chart)
    if arguments.chart is not None:
        charts.require_matplotlib()
    families = DEFAULT_FAMILIES if arguments.family == "all" else tuple(filter(None, arguments.family.split(",")))
    if arguments.small:
        print("restride: small sizes: the figures are not those of the sizes in the names", file=sys.stderr)
    _compile(rows, [*families, *(each.family for each in devices)])
    if not arguments.no_traffic:
        _trace(rows, devices, arguments.subgroup)
    model = predictions(rows, devices)
    is_judged = goals.FAMILY in families and arguments.subgroup == goals.SUBGROUP and not arguments.small
    verdicts = goals.verdicts(rows, model) if is_judged else []
    measured = {
        subject: Measured(device, *times[subject.group, subject.name])
        for subject in model
        if (subject.group, subject.name) in times
    }
    print("\n\n".join(_blocks(rows, families, devices, model, measured, verdicts)), flush=True)
    audit = record(rows, settings, model)
    if arguments.json is not None:
        write_output(arguments.json, lines_of(audit).encode())
    if arguments.chart is not None:
        figure = charts.draw_audit(rows, families[0], model, devices)
        write_output(arguments.chart, charts.chart_file(figure, arguments.chart.suffix))
    if before is None:
        return Exit.OK
    lines, is_worse = changes(_chosen(before, {row.subject for row in rows}, arguments.keyword), audit)
    print("\n".join(["", f"against {arguments.against}", *(lines or ["nothing changed"])]))
    return Exit.CHECK_FAILED if is_worse else Exit.OK


def _devices(arguments: argparse.Namespace, measured: str) -> list[Device]:
    """The requested devices of the model, and the measured one."""
    if arguments.no_traffic:
        if arguments.device or measured:
            raise UsageError("the model needs the traffic, so --device and --measured exclude --no-traffic")
        return []
    names = _DEFAULT_DEVICES if arguments.device is None else arguments.device
    return [_DEVICES[name] for name in dict.fromkeys([*names, *filter(None, [measured])])]


def _rows(arguments: argparse.Namespace) -> list[Row]:
    """The rows of the requested case or workloads, before compilation."""
    if arguments.case is not None:
        return case_rows(Case.parse(arguments.case))
    return [row for each in selected(arguments.keyword, arguments.small) for row in workload_rows(each)]


def _list(keyword: str) -> int:
    """Print the workloads with a keyword."""
    if not (chosen := selected(keyword)):
        raise NothingSelected(f"no workload has {keyword!r} in its name or group")
    print("\n".join(map(str, chosen)))
    return Exit.OK


def _compile(rows: Sequence[Row], families: Sequence[str]) -> None:
    """Fill in what each family's compiler says about the rows."""
    keys = list(dict.fromkeys(Key.of(row.dispatch.kernel) for row in rows))
    for family in dict.fromkeys(families):
        compiled = compile_kernels(family, keys)
        for row in rows:
            row.compiled[family] = compiled[Key.of(row.dispatch.kernel)]


def _trace(rows: Sequence[Row], devices: Sequence[Device], subgroup: int) -> None:
    """Fill in the traffic of the rows; rows that fit no device here stay without it, and are named on stderr."""
    progress = Progress(len(rows), sys.stderr)
    tracer = Tracer()
    try:
        for row in rows:
            try:
                trace = tracer.trace(row.dispatch, subgroup)
                row.traffic, row.turns = both_ways(trace.traffic, row.dispatch.kernel), trace.turns
                row.moved = {device.name: trace.shared.moved(device.cache) for device in devices}
            except (OutOfDeviceMemory, UnsupportedError) as error:
                progress.clear()
                print(f"restride: {row.subject.name} is not traced: {error}", file=sys.stderr)
            progress.step(row.subject.name)
    finally:
        progress.clear()
        tracer.close()


def _blocks(
    rows: Sequence[Row],
    families: Sequence[str],
    devices: Sequence[Device],
    model: _Model,
    measured: Mapping[Subject, Measured],
    verdicts: Sequence[goals.Verdict],
) -> Iterator[str]:
    """Yield the blocks of text for the terminal: the tables of the kernels, the table of the model, and the goals."""
    missed = [verdict for verdict in verdicts if not verdict.is_met]
    of_rows = [[verdict.figure for verdict in missed if verdict.row is row] for row in rows]
    for family in families:
        yield text(rows, family, of_rows if family == goals.FAMILY else [])
    if model:
        yield predicted_text(model, devices, measured)
    if verdicts:
        about = f"{goals.FAMILY}, subgroups of {goals.SUBGROUP}"
        summary = f"goals: {len(verdicts) - len(missed)} of {len(verdicts)} met ({about})"
        of_groups = [verdict for verdict in verdicts if verdict.name in goals.SHARES and verdict.row is None]
        met = (f"met: {verdict}" for verdict in of_groups if verdict.is_met)
        yield "\n".join([summary, *met, *(f"missed: {verdict}" for verdict in missed)])


_LARGEST = 16 << 20
"""Most bytes of a JSON file; an audit of all workloads and families has half a MiB, a benchmark less."""


def _read(path: Path, parse: Callable[[Any, str], _T]) -> _T:
    """Read a JSON file and return ``parse(content, name)``, where the name is for error messages."""
    content = read_bounded(path, _LARGEST)
    try:
        return parse(json.loads(content), str(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from error


def _measured(content: Any, source: str, *, is_small: bool) -> tuple[str, _Times]:
    """The model's name for the device of a benchmark, and the times measured there by the device's own clock."""
    if not isinstance(content, dict) or content.get("format") != BENCHMARK:
        raise UsageError(f"{source} is no benchmark of `restride bench --json`")
    _require_alike(content, {"small": is_small}, source)
    times = {}
    try:
        words = str(content["device"]["name"]).casefold()
        for result in content["results"]:
            columns = result["measures"].get("kernel", {})
            if OURS in columns and COPY in columns:
                ours, copied = (_seconds(columns[column]["median"]) for column in (OURS, COPY))
                times[str(result["group"]), str(result["name"])] = ours, copied / ours
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"the benchmark {source} is damaged: {type(error).__name__}: {str(error)[:200]}") from error
    name = next((name for name in _DEVICES if all(word in words for word in name.casefold().split())), None)
    if name is None:
        raise UsageError(f"{source} is of {words[:80]!r}, which is none of the model's devices: {', '.join(_DEVICES)}")
    if not times:
        raise UsageError(f"{source} has no times of the measure kernel: restride bench --measure kernel")
    return name, times


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not 0 < seconds < 1e9:
        raise ValueError(f"a median of {seconds} s")
    return seconds


def _chosen(before: Mapping[str, Any], subjects: Collection[Subject], keyword: str) -> dict[str, Any]:
    """The part of an earlier record that was requested now: the rows with the keyword, or those of the same cases."""
    cases = {subject.name for subject in subjects if subject.group == "cases"}

    def is_chosen(each: Mapping[str, Any]) -> bool:
        return each["workload"] in cases if cases else is_named(keyword, each["group"], each["workload"])

    return {**before, "rows": [*filter(is_chosen, before["rows"])], "model": [*filter(is_chosen, before["model"])]}


def _require_alike(before: Mapping[str, Any], settings: Mapping[str, Any], source: Path | str) -> None:
    """Raise UsageError if the other file has kernels of other sizes, or traffic of other subgroups."""
    for name in ("subgroup", "small"):
        was, now = before.get(name), settings.get(name)
        if name in settings and was != now:
            raise UsageError(f"{source} cannot be compared with: its {name} is {was}, and here it is {now}")
