"""The options of ``restride test``: what they are, which contradict each other, and the values that they ask for."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from restride.command.drivers import driver_file
from restride.command.options import whole_number
from restride.command.parser import add_device_options
from restride.command.process import UsageError
from restride.errors import prefixed
from restride.runtime import RUNTIMES, choose_runtime
from restride_conformance.case import OPERATIONS
from restride_conformance.expectations import Expectations, require_free
from restride_conformance.export.exports import Exports
from restride_conformance.export.folder import FORMS
from restride_conformance.record import Target
from restride_conformance.report.commands import add_reports
from restride_conformance.run.groups import shapes_under
from restride_conformance.run.limits import BOUNDS
from restride_conformance.run.validation import PROFILES
from restride_conformance.shader import shader_under_test

_TIMEOUT_HELP = "longest time for one case on the device (default: %(default)g)"

MOST_REDUCED = 10
"""How many failed cases ``--reduce`` reduces."""

_MAX_PROCESSES = 64

_MAX_RUNS = 1000

MODES = ("correctness", "perf", "list")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options of ``restride test``."""
    text = "catalogues or case files (default: ci; perf with --mode perf)"
    parser.add_argument("cases", nargs="*", metavar="CASES", help=text)
    parser.add_argument("--repro", action="append", metavar="CASE", help="run this case; repeat it for more")
    _add_selection(parser)
    text = "correctness (default); perf: also measure; list"
    parser.add_argument("--mode", choices=MODES, metavar="MODE", default=MODES[0], help=text)
    number = whole_number("number of processes", 1, _MAX_PROCESSES)
    text = "run the cases in N processes at a time (default: 1); not with --mode perf"
    parser.add_argument("-n", dest="processes", type=number, metavar="N", default=1, help=text)
    parser.add_argument("-x", "--exitfirst", action="store_true", help="stop at the first case that does not pass")
    text = f"also search the simplest case that still fails, for the first {MOST_REDUCED} that fail; correctness only"
    parser.add_argument("--reduce", action="store_true", help=text)
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every case")
    parser.add_argument("--force", action="store_true", help="replace existing exports and expectations")
    _add_runs(parser)
    add_reports(parser)
    _add_export(parser)
    _add_expectations(parser)
    _add_gtest(parser)
    _add_target(parser)
    add_device_options(parser, _TIMEOUT_HELP)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selection")
    group.add_argument("-k", dest="keywords", metavar="EXPRESSION", help="as in pytest: 'nearest and not f16'")
    group.add_argument("--op", action="append", metavar="OP", help=f"{', '.join(OPERATIONS)}; repeat it for more")
    group.add_argument("--dtype", action="append", metavar="TYPE", help="element type; repeat it for more")
    group.add_argument("--seed", type=int, metavar="N", help="add N to the seed of each case, for other values")
    group.add_argument("--shard", metavar="I/N", help="run the I-th of N parts, I from 1")
    group.add_argument(
        "--lf", action="store_true", help="only those of CASES that did not pass when they last ran, on any device"
    )
    group.add_argument("--list", action="store_true", help="print the cases, run nothing (as --mode list)")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("several runs of each case, which must leave the same bytes")
    number = whole_number("number of repetitions", 2, _MAX_RUNS)
    text = "run each case N times, in two processes in turn"
    group.add_argument("--repeat", type=number, metavar="N", default=1, help=text)
    number = whole_number("number of replays", 2, _MAX_RUNS)
    text = "record the command buffers of each case once, and submit them N times (runtime vulkan)"
    group.add_argument("--replay", type=number, metavar="N", default=1, help=text)
    text = "start large copies, for which nobody waits, around all work of a case (runtime vulkan)"
    group.add_argument("--under-load", action="store_true", help=text)
    text = "run each case alone, and then among other work in one batch (runtime vulkan)"
    group.add_argument("--in-batch", action="store_true", help=text)


def _add_export(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reproducers")
    text = "write a program that needs no restride for each case that fails, or that --repro names"
    group.add_argument("--export", metavar="DIR", type=Path, help=text)
    text = "what it is: c, a C program that needs only Vulkan (default); amber, a script of Amber"
    group.add_argument("--export-as", choices=FORMS, metavar="FORM", help=text)
    group.add_argument("--export-all", action="store_true", help="for each case that runs, also if it passes")


def _add_expectations(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("expectations, in the lists of Mesa's deqp-runner")
    text = "a folder with fails.txt, flakes.txt, skips.txt: what fails as they say is no failure, what passes is one"
    group.add_argument("--expect", type=Path, metavar="DIR", help=text)
    text = "write fails.txt and flakes.txt of this run into a folder"
    group.add_argument("--write-expectations", type=Path, metavar="DIR", help=text)


def _add_gtest(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the protocol of googletest, for Mesa's gtest-runner")
    group.add_argument("--gtest_list_tests", action="store_true", help="print the names of the cases, run nothing")
    text = "run the cases of these names, such as 'slice.*:pad.*-*_u8_*', and print googletest's lines"
    group.add_argument("--gtest_filter", metavar="FILTER", help=text)


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("driver and shader")
    text = "lavapipe, swiftshader, an ICD manifest, or part of an installed one's name"
    group.add_argument("--driver", metavar="DRIVER", help=text)
    text = f"run under the Khronos validation layer: {', '.join(PROFILES)}"
    group.add_argument("--validate", choices=PROFILES, metavar="PROFILE", help=text)
    text = "use no more than the limits of a small device (runtime vulkan)"
    group.add_argument("--limits", choices=BOUNDS, help=text)
    text = "run each case in work groups of other sizes, 32 to 512, and shapes, such as 8x8"
    group.add_argument("--groups", action="store_true", help=text)
    group.add_argument("--shader", metavar="FILE", help="your own kernel, GLSL or SPIR-V")
    group.add_argument("--as", dest="module", metavar="MODULE", help="the module it replaces, such as strided_copy")


def require_consistent(arguments: argparse.Namespace) -> None:
    """Raise UsageError if two options contradict each other."""
    _require_run(arguments)
    if arguments.processes > 1 and arguments.mode == "perf":
        raise UsageError("-n and --mode perf: cases that run at the same time have no speed of their own")
    if arguments.reduce and arguments.mode == "perf":
        raise UsageError("--reduce and --mode perf: only cases of --mode correctness are reduced")
    is_gtest = arguments.gtest_list_tests or arguments.gtest_filter is not None
    if is_gtest and (arguments.processes > 1 or arguments.expect is not None):
        raise UsageError("gtest-runner has processes and lists of its own: --gtest_... goes without -n and --expect")
    if is_gtest and arguments.reduce:
        raise UsageError("--reduce and --gtest_...: gtest-runner reads no other lines on stdout")
    _require_consistent_runs(arguments)


def _require_run(arguments: argparse.Namespace) -> None:
    """Raise UsageError if nothing runs, and an option is of use only where cases run.

    ``--gtest_list_tests`` goes with every option: gtest-runner lists the cases with the options of the run.
    """
    if not arguments.list and arguments.mode != "list":
        return
    for name, is_set in (
        ("--reduce", arguments.reduce),
        ("--repeat", arguments.repeat > 1),
        ("--replay", arguments.replay > 1),
        ("--under-load", arguments.under_load),
        ("--in-batch", arguments.in_batch),
        ("--groups", arguments.groups),
        ("--export", arguments.export),
        ("--write-expectations", arguments.write_expectations),
        ("--json", arguments.json),
        ("--junitxml", arguments.junitxml),
        ("--html", arguments.html),
    ):
        if is_set:
            lists = "--list" if arguments.list else "--mode list"
            raise UsageError(f"{name} and {lists}: what only lists runs nothing")


def _require_consistent_runs(arguments: argparse.Namespace) -> None:
    """Raise UsageError if an option for several runs contradicts another option."""
    ways = (
        ("--replay", arguments.replay > 1),
        ("--under-load", arguments.under_load),
        ("--in-batch", arguments.in_batch),
    )
    need_vulkan = [name for name, is_set in ways if is_set]
    asked = ["--repeat"] * (arguments.repeat > 1) + need_vulkan
    if asked and arguments.mode == "perf":
        raise UsageError(f"{asked[0]} and --mode perf: a speed is that of a case that runs with nothing beside it")
    if arguments.repeat > 1 and arguments.validate is not None:
        raise UsageError("--repeat and --validate: the layer gives a message only once in a process")
    runtime = choose_runtime(arguments.runtime) if need_vulkan else RUNTIMES[0]
    if runtime != RUNTIMES[0]:
        raise UsageError(f"{need_vulkan[0]} needs the runtime {RUNTIMES[0]}, not {runtime}")


def exports_of(arguments: argparse.Namespace) -> Exports | None:
    """The folder for reproducers that the options ask for."""
    if arguments.force and arguments.export is None and arguments.write_expectations is None:
        raise UsageError("--force goes with --export DIR or --write-expectations DIR")
    if arguments.export is None:
        if arguments.export_all or arguments.export_as:
            raise UsageError("--export-all and --export-as go with --export DIR")
        return None
    takes_all = arguments.export_all or bool(arguments.repro and not arguments.cases)
    return Exports(arguments.export, takes_all, arguments.force, arguments.export_as or FORMS[0])


def expectations_of(arguments: argparse.Namespace) -> Expectations:
    """The expectations that the options name, after a check that the lists that the run is to write have a place."""
    if arguments.write_expectations is not None:
        require_free(arguments.write_expectations, force=arguments.force)
    return Expectations() if arguments.expect is None else Expectations.read(arguments.expect)


def target_of(arguments: argparse.Namespace, folder: Path) -> Target:
    """The target that the options ask for; a user's shader is compiled into ``folder`` and checked."""
    if (arguments.shader is None) != (arguments.module is None):
        raise UsageError("--shader FILE and --as MODULE go together")
    if arguments.groups and arguments.mode == "perf":
        raise UsageError("--groups and --mode perf: a speed is that of one size of work groups")
    shader = None if arguments.shader is None else shader_under_test(arguments.shader, arguments.module, folder)
    if arguments.groups and shader is not None:
        with prefixed(f"--groups: shader {shader.source}"):
            shapes_under(shader)
    driver = None if arguments.driver is None else str(driver_file(arguments.driver))
    named = {each.name: getattr(arguments, each.name) for each in fields(Target)}
    return Target(**named | {"runtime": choose_runtime(arguments.runtime), "driver": driver, "shader": shader})
