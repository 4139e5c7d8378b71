"""Help: complete, as wide as the terminal, with examples that parse; and completion scripts that complete."""

import argparse
import re
import shlex
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest

from restride.cli import command_modules, main, operations
from restride.command.options import element_type, given, number, part_of_axis
from restride.command.parser import SUMMARIES, missing_commands, parse
from restride.request import COORDINATES, LIBRARIES, POLICIES
from restride.request.arithmetic import ROUNDINGS
from restride_conformance.case import OPERATIONS


def with_commands(parser):
    """A parser, and those of its commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from with_commands(command)


PARSERS = {parser.prog: parser for parser in with_commands(parse(command_modules(), ["devices"]).program)}
HERE = {name: summary for name, summary in SUMMARIES.items() if name not in missing_commands()}
"""The commands, without those of the laboratory where it is not installed."""
WITH_EXAMPLES = [name for name in PARSERS if name.count(" ") < 2]


@pytest.fixture
def help_of(monkeypatch):
    def text(name, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        return PARSERS[name].format_help()

    return text


def examples(text):
    """The words of each example of a help, without what a shell takes for itself."""
    block = text[text.index("\nexamples:\n") :].split("\n\n")[0].replace("\\\n", " ")
    lines = [line.strip() for line in block.splitlines() if line.startswith("  restride ")]
    assert lines, text
    return [shlex.split(re.split(r" > |(?<=\S) {3,}(?=[^- ])", line)[0]) for line in lines]


def test_there_is_a_parser_for_every_command():
    assert {f"restride {name}" for name in HERE} | {"restride", "restride report compare"} <= PARSERS.keys()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", PARSERS)
def test_help_fits_its_terminal_and_says_the_exit_codes(name, columns, help_of):
    text = help_of(name, columns)
    assert [line for line in text.splitlines() if len(line) >= columns] == []
    assert text.startswith(f"usage: {name} [OPTIONS]")
    assert "\nexit codes: 0 ok; 1 a check failed; 2 bad" in text
    assert not re.search(r"\w-\n", text), "a word or an option is torn apart"


@pytest.mark.parametrize("name", PARSERS)
def test_every_argument_is_explained(name):
    for action in PARSERS[name]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action
        assert "<" not in str(action.help), action


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_are_the_same_in_every_width_and_parse(name, help_of):
    narrow, wide = (examples(help_of(name, columns)) for columns in (50, 120))
    assert narrow == wide
    for words in wide:
        assert words[0] == "restride"
        assert parse(command_modules(), words[1:]).command == words[1]


def test_an_example_that_is_too_long_goes_on_between_options(help_of):
    assert "  # 0 to 255 becomes 0 to 1\n" in help_of("restride reorder", 80)
    assert "--dst-scale 255 \\\n      --layout 'HWC->CHW'\n" in help_of("restride reorder", 80)
    assert "--layout 'HWC->CHW'    0 to 255 becomes 0 to 1\n" in help_of("restride reorder", 120)


def test_prose_is_filled_and_formulas_stay(help_of):
    text = help_of("restride reorder", 80)
    assert "\n    (src_scale * (IN - src_zero_point)) / dst_scale + dst_zero_point\n" in text


NOT_OPTIONS = {
    "x", "image", "frame", "boxes", "out",  # files, and --box
    "images", "source_sizes",  # of batches and parts, which no file is
    "sum_scale", "group_sizes", "post_ops",  # no word of the command line says them yet
}  # fmt: skip


@pytest.mark.parametrize("command", operations.COMMANDS, ids=lambda command: command.name)
def test_every_argument_of_an_operation_is_an_option_with_its_words_and_default(command):
    options = {action.dest: action for action in PARSERS[f"restride {command.name}"]._actions}
    arguments = signature(command.function).parameters
    assert arguments.keys() - options.keys() <= NOT_OPTIONS
    for name in arguments.keys() & {name for rows in command.groups.values() for name in rows}:
        assert options[name].default is None, "the function's own holds"
        default = arguments[name].default
        if isinstance(default, str | float) and not isinstance(default, bool):
            assert f"(default: {default})" in options[name].help


NOT_WORDS = {
    "x", "frame", "layout", "dtype",  # the descriptors of the line
    "source_sizes",  # of parts, which tests of windows make
    "mean", "std",  # scales and zero points by another name
}  # fmt: skip


WITH_CASES = [command for command in operations.COMMANDS if command.name != "resize"]
"""rs.resize is rs.resample with other defaults, and has no case lines."""


@pytest.mark.parametrize("command", WITH_CASES, ids=lambda command: command.name)
def test_every_argument_of_an_operation_is_a_word_of_case_lines(command):
    name = command.function.__name__
    words = next(each.named for each in OPERATIONS.values() if getattr(each, "function", None) == name)
    left_out = {"sizes"} if command.name == "crop" else {"output_sizes"}  # those of the destination
    missing = signature(command.function).parameters.keys() - words.keys() - NOT_WORDS - left_out
    assert not missing, f"add them to the parameters of the class of {name} in restride_conformance/operations.py"


def options_of_arguments():
    """A command line with an option for an argument alone, the argument, and its value."""
    samples = {int: "3", number: "-1.5e2", element_type: "f16", part_of_axis: "1:", None: "text"}
    files = {"restride preprocess": ["a.jpg", "-o", "b.npy"], "restride pyramid": ["a.npy", "b.zarr"]}
    for program, parser in PARSERS.items():
        names = parser.get_default("arguments") or []
        options = [action for action in parser._actions if action.dest in names]
        for action in options:
            others = [other for other in options if other.required and other is not action]
            needed = [word for other in others for word in (other.option_strings[0], *["3"] * (other.nargs or 1))]
            word = list(action.choices)[-1] if action.choices else samples[action.type]
            count = {None: 1, 0: 0}.get(action.nargs, 2)
            values = [action.type(word) if action.type else word] * count
            value = action.const if count == 0 else values[0] if action.nargs is None else values
            value = [value] if type(action).__name__ == "_AppendAction" else value
            words = [*program.split()[1:], *files.get(program, ["a.npy", "b.npy"]), *needed]
            required = {other.dest for other in others}
            yield [*words, action.option_strings[0], *[word] * count], action.dest, value, required


@pytest.mark.parametrize(("words", "name", "value", "required"), list(options_of_arguments()))
def test_an_option_is_the_argument_of_its_name_and_an_absent_one_is_none(words, name, value, required):
    options = given(parse(command_modules(), words))
    assert options.pop(name) == value
    assert options.keys() == required


def test_words_of_arguments_are_choices():
    choices = {action.dest: action.choices for action in PARSERS["restride resample"]._actions}
    assert choices["coordinates"] == list(COORDINATES)
    assert choices["like"] == list(LIBRARIES)
    assert choices["keep_aspect_ratio_policy"] == list(POLICIES)
    assert choices["rounding"] == list(ROUNDINGS)
    assert choices["mode"] is choices["layout"] is choices["dtype"] is None


SEVERAL = [
    (parser, action)
    for parser in PARSERS.values()
    for action in parser._actions
    if action.nargs == "+" and action.option_strings and parser._get_positional_actions()
]
"""Options of several values of the commands that have other arguments."""
VALUES = {"window": ["0:2", ":"], "flip": ["both", "none"]}


@pytest.mark.parametrize(("parser", "action"), SEVERAL, ids=lambda each: getattr(each, "prog", None) or each.dest)
def test_files_may_stand_before_and_behind_the_values_of_an_option(parser, action):
    files = {"restride preprocess": ["a.jpg", "b.npy", "-o", "c.npy"]}.get(parser.prog, ["dir/a.png", "b.ome.zarr"])
    needed = ["--sizes", "4", "5"] if parser.prog == "restride crop" else []
    option = [action.option_strings[0], *VALUES.get(action.dest, ["2", "-1" if action.type is int else "-1e-3"])]
    orders = ([*files, *needed, *option], [*option, *needed, *files], [*needed, *option, "--", *files])
    first, *others = [vars(parser.parse_args(words)) for words in orders if "-o" not in files or "--" not in words]
    assert len(first[action.dest]) == 2
    assert others == [first] * len(others)


def test_an_index_may_follow_the_values_of_an_option():
    words = ["slice", "--output-sizes", "2", "a.npy", "b.npy", "[::2]"]
    assert parse(command_modules(), words).index == "[::2]"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("resmple a.npy b.npy", "). Did you mean 'resample'? (see `restride --help`)"),
        ("convert a.npy b.npy --to f16", "; it is `restride reorder x.npy y.npy --to f16` here (see"),
        ("transpose a.npy b.npy", "; it is `restride reorder x.npy y.npy --layout 'NCHW->NHWC'` here (see"),
        ("scale a.jpg b.jpg", "; it is `restride resize photo.jpg small.jpg --shorter 256` here (see"),
        ("info", "; it is `restride devices` here (see"),
        ("prfiles", "Did you mean 'profiles'?"),  # also where the laboratory is not installed
        ("report comprae a b", "(choose from compare, show, merge, html, junit). Did you mean 'compare'?"),
        ("resample a.npy b.npy --antialais", "--antialais. Did you mean '--antialias'? (see `restride resample --h"),
        ("report compare a b --jsn", "--jsn. Did you mean '--json'? (see `restride report compare --help`)"),
        ("--verson", "--verson. Did you mean '--version'? (see `restride --help`)"),
        ("resample a.npy b.npy --mode neares", "area_weighted). Did you mean 'nearest'?"),
        ("resample a.npy b.npy --mode INTER_CUBC --like opencv", "Did you mean 'cubic'?"),
        ("resample a.npy b.npy --like cv2", "scikit-image); it is 'opencv' here"),
        ("resample a.npy b.npy --nearest half-up", "ceil); it is 'half_up' here"),
        ("resample a.npy b.npy --to flaot32", "numpy names. Did you mean 'float32'?"),
        ("yuv a.npy b.npy --like pilow", "(choose from opencv) (see"),
        ("test --mode linaer", "perf, list) (see"),
        ("test --validate snyc", "Did you mean 'sync'?"),
        ("test smoke --list --op resampel", "Did you mean 'resample'?"),
        (
            "resize a.npy b.npy --sizes 224x224",
            "expected 2 arguments; numbers are separated by spaces, rows before columns, such as 480 640 (",
        ),
        ("resample a.npy b.npy --axes 0,1", "invalid int value: '0,1'; numbers are separated by spaces"),
        ("test smoke --shader a.comp --as strided_cpy", "Did you mean 'strided_copy'?"),
        ("resample a.npy b.npy --zzz", "unrecognized arguments: --zzz (see `restride resample --help`)"),
    ],
)
def test_an_unknown_word_gets_the_nearest_known_one(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((4, 4), np.uint8))
    sizes = ["--sizes", "2", "2"] if words.startswith("resample") else []
    assert main([*words.split(), *sizes]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_every_command_has_its_group(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, summary in HERE.items():
        assert f"\n  {name:<12}{summary}\n" in text


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The completion script of a shell, in a file."""
    pytest.importorskip("shtab")
    folder = tmp_path_factory.mktemp("completion")

    def written(shell):
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w") as file:
            patch.setattr("sys.stdout", file)
            assert main(["completion", shell]) == 0
        return folder / shell

    return written


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["re"], ["report", "reorder", "resample", "resize"]),
        (["resample", "--l"], ["--layout", "--like"]),
        (["resample", "--like", "p"], ["pillow"]),
        (["report", "c"], ["compare"]),
        (["slice", "pho"], ["photo.png"]),
        (["test", "--json", "pho"], ["photo.png"]),
    ],
)
def test_bash_completes(words, completed, script, tmp_path):
    (tmp_path / "photo.png").touch()
    typed = f"COMP_WORDS=({shlex.join(['restride', *words])}); COMP_CWORD={len(words)}"
    code = f"source {script('bash')}; {typed}; _shtab_restride; echo ${{COMPREPLY[*]}}"
    done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == sorted(completed), done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command_with_its_summary(shell, script):
    text = script(shell).read_text()
    for name, summary in HERE.items():
        assert name in text
        assert summary in text or "'" in summary


def test_without_shtab_the_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "pip install '.[cli]'" in printed.err
