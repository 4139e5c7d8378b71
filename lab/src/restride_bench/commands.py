"""``restride bench``: measure speed, compared with other libraries and the device's own copy; text, JSON and charts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from restride.command.files import write_output
from restride.command.options import list_of, whole_number
from restride.command.parser import Commands, add_command, add_device_options, open_device, runtime_name
from restride.command.process import Exit, NothingSelected, UsageError, say, why_ended
from restride.progress import Progress
from restride.runtime import DEVICE_VARIABLE, RUNTIME_VARIABLE
from restride_bench import charts
from restride_bench.peers import PEERS
from restride_bench.report import JUDGED, measure, new_record
from restride_bench.scale import run as scale
from restride_bench.scale.parts import SCALE, WAYS_OF_PEERS, Part, is_scale, parts
from restride_conformance.report import Record
from restride_conformance.report.file import read_record, write_record
from restride_conformance.report.summary import summary
from restride_conformance.report.table import MEASURES
from restride_measure.workloads import IMAGES, LARGE, ON_REQUEST, TTC57, Workload, growth, is_named, selected

_DESCRIPTION = f"""\
Measures everyday work on the device. restride, the device's own copy, hand-written kernels and every other library that
is installed take turns in rounds, whose medians are printed. Each result is checked against restride's before the clock
starts. Leave the machine alone meanwhile; the whole list takes some ten minutes on a CPU.

measures: resident  the call and the wait, on tensors that are on the device
          kernel    what the device itself says it took
          numpy     numpy array in, numpy array out
          processor of a resident call, the processor time of all threads: on a CPU driver steadier than resident
columns:  GB/s      useful bytes, those of the elements that must be read and written, each once, per second
          of copy   that speed, as a share of the speed of the device's own copy
          of peak   that speed, as a share of the memory's peak, where the device's data sheet is known
          /NAME     restride's time over that of NAME: below 1 restride is faster; /own: another operation of restride \
that moves as many bytes or does the same in f32
peers:    {", ".join(PEERS)}

-k {SCALE} measures files instead, each run in a process of its own, by its seconds and its memory: pyramids of a large
image, streams, Dask, and how both grow. Its peers: {", ".join(WAYS_OF_PEERS)}.

examples:
  restride bench                                        everything, against everybody
  restride bench -k transpose --peers numpy,torch
  restride bench -k permutations -k resampling --seconds 60
  restride bench -k ttc57 --peers numpy --measure resident --repeat 5
  restride bench -k "image processors" --measure numpy,resident --peers transformers
  restride bench -k "large moves" --peers none           shares of a GPU's memory speed, 256 MiB each
  restride bench --measure numpy --json here.json --chart here.svg
  restride bench --small --repeat 1                     does it all work? (times mean nothing)
  restride bench --growth here.svg --json here.json     how time grows with bytes and with axes
  restride bench --stored here.json --growth here.png    draw it again, measure nothing
  restride bench -k scale --json here.json              pyramids and streams of files; half an hour on a CPU
  restride bench -k "scale: growth" --growth here.svg   how time and memory of a stream grow with bytes"""


_PEERS = (*PEERS, *WAYS_OF_PEERS)
_ROUNDS, _SCALE_ROUNDS = 15, 3


def add_commands(commands: Commands) -> None:
    """Add ``bench``."""
    parser = add_command(commands, "bench", _DESCRIPTION, run)
    text = (
        "workloads with this in their name or group, as --list prints them; repeat it for more, in this order; "
        f"only on request: {TTC57}, the 57 transpositions of TTC, HPTT and cuTT, 200 MiB each; {IMAGES!r}, of vision "
        f"models; {LARGE!r}, of 256 MiB; {SCALE}, files of any size"
    )
    parser.add_argument("-k", dest="keywords", action="append", metavar="TEXT", help=text)
    parser.add_argument("--list", action="store_true", help="print the workloads and their goals, measure nothing")
    text = f"{', '.join(MEASURES)} (default: the first two)"
    parser.add_argument("--measure", type=list_of(MEASURES), default=MEASURES[:2], metavar="A,B", help=text)
    text = "other libraries, or none (default: all)"
    parser.add_argument("--peers", type=list_of(_PEERS), default=_PEERS, metavar="A,B", help=text)
    text = f"rounds to measure (default: {_ROUNDS}, for {SCALE} {_SCALE_ROUNDS})"
    parser.add_argument("--repeat", type=whole_number("number of rounds", 1, 99_999), metavar="N", help=text)
    text = "begin no workload after this time; those left out are named"
    parser.add_argument("--seconds", type=whole_number("number of seconds", 1, 999_999), metavar="N", help=text)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--small", action="store_true", help="small sizes, to see in a moment if it works")
    text = f"for {SCALE}, all 7.1 GB of the image instead of an eighth, and streams up to 8 GiB"
    sizes.add_argument("--whole", action="store_true", help=text)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every time of every round")
    text = "draw each library's time beside restride's, as .svg or .png; needs matplotlib"
    parser.add_argument("--chart", metavar="FILE", type=Path, help=text)
    text = "measure a few tasks from 1 KiB to 1 GiB and along 1 to 8 axes instead, without peers, and draw lines"
    parser.add_argument("--growth", metavar="FILE", type=Path, help=text)
    text = "measure nothing: draw --chart or --growth of a run that --json stored"
    parser.add_argument("--stored", metavar="FILE", type=Path, help=text)
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the table and write the files. A wrong peer is a failure; a missed goal is not."""
    on_request = ON_REQUEST if arguments.list and arguments.growth is None else ()
    keywords: list[str] = arguments.keywords or ["", *on_request]
    if arguments.stored is not None:
        if arguments.chart is arguments.growth is None:
            raise UsageError("--stored needs --chart or --growth, which it draws")
        charts.require_outputs(None, arguments.chart, arguments.growth)
        _draw(read_record(arguments.stored, "bench"), arguments)
        return Exit.OK
    if any(map(is_scale, keywords)):
        return _run_scale(arguments, keywords)
    if arguments.whole:
        raise UsageError(f"--whole goes with -k {SCALE} only")
    if arguments.growth is not None:
        chosen = [each for each in growth(arguments.small) if _is_any(keywords, each.group, each.name)]
    else:
        chosen = [*dict.fromkeys(each for keyword in keywords for each in selected(keyword, arguments.small))]
    charts.require_outputs(arguments.json, arguments.chart, arguments.growth)
    _require_each(arguments.keywords or (), [(each.group, each.name) for each in chosen])
    if arguments.list:
        say("\n".join(map(_listed, chosen)), has_lines=True)
        return Exit.OK
    if arguments.chart is not None or arguments.growth is not None:
        charts.require_matplotlib()
    is_growth = arguments.growth is not None
    with open_device(arguments) as device, Progress(len(chosen), sys.stderr) as progress:
        record = new_record("bench", device, arguments.measure, arguments.repeat or _ROUNDS, is_small=arguments.small)
        progress.begin("restride: opening other libraries, then measuring ...")
        record, broken_off = measure(
            record,
            chosen,
            device,
            () if is_growth else [name for name in arguments.peers if name in PEERS],
            is_whole=not (any(keywords) or arguments.small or is_growth),
            seconds=arguments.seconds,
            finished=lambda result: progress.step(result.workload.name),
        )
    say(summary(record), has_lines=True)
    if arguments.json is not None:
        write_record(record, arguments.json)
    _draw(record, arguments)
    if broken_off is not None:
        raise broken_off
    return Exit.CHECK_FAILED if record.problems else Exit.OK


def _draw(record: Record, arguments: argparse.Namespace) -> None:
    """Write the charts that are asked for, of the measure that goals apply to, or else the first."""
    for path, draw in ((arguments.chart, charts.draw_ratios), (arguments.growth, charts.draw_growth)):
        if path is not None and (measures := record.options["measures"]):
            figure = draw(record, JUDGED if JUDGED in measures else measures[0])
            write_output(path, charts.chart_file(figure, path.suffix))


def _is_any(keywords: Sequence[str], group: str, name: str) -> bool:
    return any(is_named(keyword, group, name) for keyword in keywords)


def _run_scale(arguments: argparse.Namespace, keywords: Sequence[str]) -> int:
    """As ``run``, for the group ``scale``."""
    if not all(map(is_scale, keywords)):
        raise UsageError(f"-k {SCALE} goes with no other workloads: it measures files")
    if arguments.seconds is not None:
        raise UsageError(f"--seconds does not go with -k {SCALE}, whose parts are long")
    chosen = [
        part
        for part in parts(is_small=arguments.small, is_whole=arguments.whole, peers=arguments.peers)
        if _is_any(keywords, SCALE, part.name) and (part.is_growth or arguments.growth is None)
    ]
    charts.require_outputs(arguments.json, arguments.chart, arguments.growth)
    if arguments.chart is not None:
        raise UsageError(f"--chart does not go with -k {SCALE}; --growth draws how its time and memory grow")
    _require_each(keywords, [(SCALE, each.name) for each in chosen])
    if arguments.list:
        say("\n".join(f"{SCALE}: {part.name}; {part.source}\n{_goals(part)}" for part in chosen), has_lines=True)
        return Exit.OK
    if arguments.growth is not None:
        charts.require_matplotlib()
    repeat = arguments.repeat or _SCALE_ROUNDS
    with open_device(arguments) as device:
        record = new_record("scale", device, (), repeat, is_small=arguments.small)
        environment = {DEVICE_VARIABLE: str(device.info.index), RUNTIME_VARIABLE: runtime_name(device)}
    results: list[scale.PartResult] = []
    broken_off: BaseException | None = None
    try:
        with Progress(scale.steps(chosen, repeat), sys.stderr) as progress:
            progress.begin("restride: writing the source, then measuring ...")
            results.extend(scale.run(chosen, environment, repeat, progress.step))
    except BaseException as error:  # noqa: BLE001 - raised once the report is written
        broken_off = error
    record = scale.complete(record, results, why_ended(broken_off))
    say(summary(record), has_lines=True)
    if arguments.json is not None:
        write_record(record, arguments.json)
    if arguments.growth is not None and any(result.took for result in results):
        figure = charts.draw_streams(record, results[-1])
        write_output(arguments.growth, charts.chart_file(figure, arguments.growth.suffix))
    if broken_off is not None:
        raise broken_off
    return Exit.CHECK_FAILED if record.problems else Exit.OK


def _goals(part: Part) -> str:
    return "\n".join(f"  {goal.way}: {goal}" for goal in part.goals)


def _require_each(keywords: Sequence[str], chosen: Sequence[tuple[str, str]]) -> None:
    """Raise ``NothingSelected`` unless each keyword selects one of the groups and names, and is not empty."""
    missing = [each for each in keywords if not each.strip() or not any(is_named(each, *name) for name in chosen)]
    if missing:
        raise NothingSelected(
            f"no workload has {' or '.join(map(repr, missing))} in its name or group: `restride bench --list` has "
            "them, and --peers names libraries"
        )


def _listed(workload: Workload) -> str:
    return f"{workload!s:<105} {'; '.join(map(str, workload.goals))}".rstrip()
