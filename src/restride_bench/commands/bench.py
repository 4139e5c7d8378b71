"""``restride bench``: how fast it is here, beside other libraries and the device's own copy; text, JSON, a chart."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import restride
from restride.cli.arguments import Commands, add_device_options, open_device, runtime_name
from restride.cli.files import write_whole
from restride.cli.process import EXPLAINED, Exit, UsageError, as_interrupts, line_for
from restride.drawing.shapes import write_png, write_svg
from restride.ops.progress import Progress
from restride.tensor.device import Device
from restride_bench.catalogue import catalogue
from restride_bench.chart import draw
from restride_bench.growth import growth
from restride_bench.growth_chart import draw_growth
from restride_bench.offer import MEASURES, Measure
from restride_bench.own import has_clock
from restride_bench.peers import PEERS, open_peers
from restride_bench.report import JUDGED, Report
from restride_bench.run import Result
from restride_bench.run import run as run_workloads
from restride_bench.surroundings import memory_beside, warnings
from restride_bench.table import text
from restride_bench.workload import Workload
from restride_conformance.report.file import require_writable

_DESCRIPTION = f"""\
Measures everyday work on the device: medians of rounds in which restride, the device's own copy, kernels written by
hand and every other library that is installed take turns. Each result is checked against restride's before the clock
starts.
Leave the machine alone meanwhile; the whole list takes some ten minutes on a CPU.

measures: resident  the call and the wait, on tensors that are on the device
          kernel    what the device itself says it took
          numpy     numpy array in, numpy array out
peers:    {", ".join(PEERS)}"""

_EPILOG = f"""\
examples:
  restride bench                                        everything, against everybody
  restride bench -k transpose --peers numpy,torch
  restride bench --measure numpy --json here.json --chart here.svg
  restride bench --small --repeat 1                     does it all work? (times mean nothing)
  restride bench --growth here.svg --json here.json     how time grows with bytes and with axes

{EXPLAINED}"""

_CHARTS = (".svg", ".png")


def add_commands(commands: Commands) -> None:
    """Add ``bench``."""
    parser = commands.add_parser(
        "bench", help="measure speed, beside other libraries", description=_DESCRIPTION, epilog=_EPILOG
    )
    parser.add_argument(
        "-k",
        dest="keyword",
        metavar="TEXT",
        default="",
        help="workloads with this in name or group, as --list has them; libraries are named by --peers",
    )
    parser.add_argument("--list", action="store_true", help="print the workloads and their goals, measure nothing")
    parser.add_argument(
        "--measure",
        type=_list_of(MEASURES),
        default=MEASURES[:2],
        metavar="A,B",
        help="of resident, kernel, numpy (default: the first two)",
    )
    parser.add_argument(
        "--peers", type=_list_of(PEERS), default=tuple(PEERS), metavar="A,B", help="who else; none (default: all)"
    )
    parser.add_argument(
        "--repeat", type=_rounds, default=15, metavar="N", help="rounds that count (default: %(default)s)"
    )
    parser.add_argument("--small", action="store_true", help="small sizes: see whether all works, in a moment")
    parser.add_argument("--json", metavar="FILE", type=Path, help="every time of every round")
    parser.add_argument("--chart", metavar="FILE", type=Path, help="bars, as .svg or .png")
    parser.add_argument(
        "--growth",
        metavar="FILE",
        type=Path,
        help="measure a few tasks from 1 KiB to 1 GiB and along 1 to 8 axes instead, without peers, and draw lines",
    )
    add_device_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the table, write the files. A goal that is missed is no failure; a peer that is wrong is one."""
    everything = catalogue if arguments.growth is None else growth
    chosen = [each for each in everything(arguments.small) if _is_meant(each, arguments.keyword)]
    _require_files(arguments)
    if not chosen:
        print(
            f"restride: no workload has {arguments.keyword!r} in its name or group: `restride bench --list` has them, "
            "and --peers names libraries",
            file=sys.stderr,
        )
        return Exit.NOTHING_SELECTED
    if arguments.list:
        print("\n".join(map(_listed, chosen)))
        return Exit.OK
    with as_interrupts(), open_device(arguments) as device:
        report, broken_off = _measured(chosen, device, arguments)
    print(text(report), flush=True)
    _write(report, arguments)
    if broken_off is not None:
        raise broken_off
    return Exit.CHECK_FAILED if report.disagreements else Exit.OK


def _measured(
    chosen: Sequence[Workload], device: Device, arguments: argparse.Namespace
) -> tuple[Report, BaseException | None]:
    """The report of what was measured, and what broke it off."""
    started, found = datetime.now(UTC), warnings()
    measures, notes = _possible(arguments.measure, device)
    peers, absent = open_peers(arguments.peers if arguments.growth is None else (), device)
    for line in (*(f"warning: {warning}" for warning in found), *notes):
        print(f"restride: {line}", file=sys.stderr)
    results: list[Result] = []
    broken_off: BaseException | None = None
    memory: int | None = None
    progress = Progress(len(chosen), sys.stderr)

    def finished(result: Result) -> None:
        results.append(result)
        progress.step(result.workload.name)

    try:
        run_workloads(chosen, device, peers, measures, arguments.repeat, finished)
        is_part = arguments.keyword or arguments.small or arguments.growth is not None
        memory = None if is_part else memory_beside(device)
    except BaseException as error:  # noqa: BLE001 - raised once the report is written
        broken_off = error
    finally:
        progress.clear()
    report = Report(
        started=started,
        command=shlex.join(["restride", *sys.argv[1:]]),
        device=asdict(device.info),
        runtime=runtime_name(device),
        platform=platform.platform(),
        versions={"restride": restride.__version__, "python": platform.python_version(), "numpy": np.__version__},
        warnings=tuple(found),
        measures=measures,
        notes=tuple(notes),
        repeat=arguments.repeat,
        is_small=arguments.small,
        peers={peer.name: peer.version for peer in peers},
        absent=absent,
        results=tuple(results),
        memory_beside=memory,
        broken_off=_reason(broken_off),
    )
    return report, broken_off


def _reason(broken_off: BaseException | None) -> str:
    """What broke a run off, in the words that the report keeps."""
    if isinstance(broken_off, KeyboardInterrupt):
        return "interrupted"
    return "" if broken_off is None else line_for(broken_off)


def _possible(wanted: Sequence[Measure], device: Device) -> tuple[tuple[Measure, ...], list[str]]:
    """The measures that the device has, and why one is left out."""
    if "kernel" not in wanted or has_clock(device):
        return tuple(wanted), []
    runtime = runtime_name(device)
    why = "the queue has no timestamps" if runtime == "vulkan" else f"the runtime {runtime} has no clock of the device"
    return tuple(measure for measure in wanted if measure != "kernel"), [f"kernel is left out: {why}"]


def _write(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.json is not None:
        _write_file(arguments.json, (json.dumps(report.record(), indent=1, allow_nan=False) + "\n").encode())
    for path, drawn in ((arguments.chart, draw), (arguments.growth, draw_growth)):
        if path is not None and report.measures:
            figure = drawn(report, JUDGED if JUDGED in report.measures else report.measures[0])
            _write_file(path, write_png(figure) if _is_png(path) else write_svg(figure).encode())


def _write_file(path: Path, data: bytes) -> None:
    write_whole(path, data)
    print(f"restride: wrote {path}", file=sys.stderr)


def _require_files(arguments: argparse.Namespace) -> None:
    """What cannot be written is better known before the run than after."""
    charts = [path for path in (arguments.chart, arguments.growth) if path is not None]
    for path in charts:
        if path.suffix.lower() not in _CHARTS:
            raise UsageError(f"a chart is .svg or .png, not {str(path)!r}")
    files = [*charts, *([arguments.json] if arguments.json is not None else [])]
    for path in files:
        require_writable(path)
    if len({path.resolve() for path in files}) < len(files):
        raise UsageError("--json, --chart and --growth need a file each")


def _is_png(path: Path) -> bool:
    return path.suffix.lower() == ".png"


def _is_meant(workload: Workload, keyword: str) -> bool:
    return keyword.casefold() in f"{workload.group}: {workload.name}".casefold()


def _listed(workload: Workload) -> str:
    goals = "; ".join(map(str, workload.goals))
    return f"{workload.group + ':':<19} {workload.name:<42} {workload.src:<42} {goals}".rstrip()


def _list_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """A list with commas, of known names, in the order that is known; ``none`` is empty."""

    def parse(words: str) -> tuple[str, ...]:
        named = [] if words == "none" else [word.strip() for word in words.split(",")]
        for word in named:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word[:40]!r} is none of {', '.join(known)}")
        return tuple(name for name in known if name in named)

    return parse


def _rounds(words: str) -> int:
    """The value of ``--repeat``."""
    number = int(words) if words.isascii() and words.isdecimal() and len(words) < 6 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{words[:40]!r} is no number of rounds: 1 or more")
    return number
