"""Commands that apply an operation to files and write the results to others; ``restride.cli.operations`` has them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from restride import reference
from restride.cli.ahead import Take, in_turn
from restride.cli.folders import outputs_of
from restride.command import files
from restride.command.files import FileArray, FileBuffer, FileContent
from restride.command.options import (
    SCALES,
    OptionRows,
    add_options,
    given,
    require_mode,
    require_use_of_axis,
    scales_along,
)
from restride.command.parser import Commands, Parser, add_command, add_device_options, open_device, runtime_name
from restride.command.process import Exit, UsageError, counted, exit_for, line_for, say, tell
from restride.dtypes import Array
from restride.errors import RestrideError, prefixed
from restride.files.writing import Content
from restride.layout import TensorDesc, views
from restride.layout.argument import axis_order, is_permutation, laid_out
from restride.layout.lines import layout_for
from restride.progress import Progress
from restride.reference.comparison import compare_bits, compare_limits, flush_limits
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor

_DESC = "what the bytes of IN are, such as 'f32[2,32,4,4]:nChw16c', if its name ends in .bin or in no format's ending"


class FileOperation(NamedTuple):
    """An operation on a file.

    result: type and sizes of the result. on_device: computes the result. answers: what the reference makes of the
    elements of IN: the right elements, alone or with the lowest and the highest that are allowed. notes: lines to print
    afterwards; a line that begins with "warning: " is printed once, even if several files have it.
    """

    result: TensorDesc
    on_device: Callable[[Tensor], Tensor]
    answers: Callable[[Array], tuple[Array, ...]]
    notes: tuple[str, ...] = ()


class FileCommand(NamedTuple):
    """A command from IN to OUT.

    function: a function of ``restride``; ``restride.reference`` has one of the same name.
    groups: the options for its arguments, as ``add_options`` takes them.
    operation: makes the operation that the options ask for.
    inputs: how many inputs it takes, in the words of ``add_argument``.
    describe: makes the descriptor of a raw file from the options.
    described_by: options, each of which says what the bytes of a raw file are.
    one_of: the arguments of which at least one must be given, and their options in words; None: all are optional.
    """

    name: str
    description: str
    function: Callable[..., Tensor]
    groups: Mapping[str, OptionRows]
    operation: Callable[[argparse.Namespace, FileContent], FileOperation]
    inputs: int | str = argparse.ONE_OR_MORE
    describe: Callable[[argparse.Namespace], str | None] = attrgetter("desc")
    described_by: tuple[str, ...] = ("desc",)
    one_of: Mapping[str, str] | None = None

    def add(self, commands: Commands) -> Parser:
        """Add the command; ``run`` executes it, with this value as the option ``file_command``."""
        parser = add_command(commands, self.name, self.description, run)
        text = "file to read; or a folder, or a pattern such as 'photos/*.jpg', and OUT is a folder too"
        parser.add_argument("inputs", metavar="IN", type=Path, nargs=self.inputs, help=text)
        parser.add_argument("output", metavar="OUT", type=Path, help="file to write, in one step once all went well")
        add_skip_bad(parser)
        text = "let OUT be IN, which is replaced in one step once all went well"
        parser.add_argument("--in-place", action="store_true", help=text)
        text = "compare with the numpy reference before OUT is written"
        parser.add_argument("--check", action="store_true", help=text)
        text = "element type of a .npy IN in which numpy saved bf16 or f8 as raw bytes"
        parser.add_argument("--dtype", dest="stored", metavar="TYPE", help=text)
        parser.add_argument("--desc", metavar="TEXT", help=_DESC)
        add_options(parser, self.function, self.groups)
        add_device_options(parser)
        parser.set_defaults(file_command=self)
        return parser


def run(options: argparse.Namespace) -> int:
    """Do with each input file what the command does: read it, compute, check if requested, and write the result."""
    command: FileCommand = options.file_command
    is_described = any(getattr(options, name) is not None for name in command.described_by)
    one_of = command.one_of
    if one_of is not None and given(options).keys().isdisjoint(one_of) and not _packs_or_unpacks(options, command):
        ways = ", ".join(dict.fromkeys(one_of.values()))
        raise UsageError(f"one of these is required: {ways} (see `restride {options.command} --help`)")
    outputs = outputs_of(options.inputs, options.output, may_be_raw=is_described, in_place=options.in_place)
    named = [value for name, value in vars(options).items() if isinstance(value, Path) and name != "output"]
    for output in outputs.values():
        files.require_apart(named, output)  # files of options, such as --boxes
    if options.output in outputs.values():
        return _run_one(_of_file(options, *outputs.popitem()))
    with open_device(options) as device:  # before any file, so that the error for no device names no file
        return _run_several(options, outputs, device)


def _packs_or_unpacks(options: argparse.Namespace, command: FileCommand) -> bool:
    """True if a reorder takes the elements of a raw buffer to a file in logical order, or the other way."""
    is_to_buffer = options.desc is None and options.output.suffix.lower() == ".bin"
    is_from_buffer = any(map(files.is_raw, options.inputs)) and not files.is_raw(options.output)
    return command.name == "reorder" and (is_to_buffer or is_from_buffer)


def _of_file(options: argparse.Namespace, source: Path, output: Path) -> argparse.Namespace:
    """The options for one of the input files."""
    return argparse.Namespace(**vars(options) | {"input": source, "output": output})


def _run_one(options: argparse.Namespace) -> int:
    """Write the result of one file to another."""
    file = _read(options)
    operation = _operation(options, file)
    with open_device(options) as device:
        source = file.tensor(device)
        start = time.perf_counter()
        output = _computed(operation, source, options.output)
        _print_time(start, device, "kernels prepared and result read back, without reading and writing files")
    for note in operation.notes:
        tell(note)
    if options.check and not _is_right(operation, file, output, say):
        tell(f"{options.output} is not written")
        return Exit.CHECK_FAILED
    files.write_whole(options.output, output.content(options.output))
    say(f"{options.output}: {output}" + (f" from {source.desc}" if isinstance(output, FileArray) else ""))
    return Exit.OK


def _run_several(options: argparse.Namespace, outputs: Mapping[Path, Path], device: Device) -> int:
    """Write the results of files to a folder.

    Raises:
        RestrideError: that of the first file that cannot be done; a note says how many were written before it.
    """
    start, written, is_wrong = time.perf_counter(), 0, False
    skipped: list[str] = []
    warned: set[str] = set()
    try:
        with (
            Progress(len(outputs), sys.stderr) as progress,
            closing(in_turn(partial(_done, options, device), tuple(outputs.items()))) as turns,
        ):
            for (source, target), turn in zip(outputs.items(), turns, strict=True):
                done = None
                with Skipping(options, skipped, is_first=not written):
                    done = turn()
                if done is None:
                    progress.step(f"{source.name} skipped")
                    continue
                for note in done.operation.notes:
                    kind = note.replace(str(source), "")
                    if kind not in warned:
                        progress.clear()
                        tell(f"{source}: {note}")
                    if note.startswith("warning: "):
                        warned.add(kind)
                lines: list[str] = []
                is_wrong = options.check and not _is_right(done.operation, done.file, done.output, lines.append)
                if is_wrong:
                    progress.clear()
                    say(f"{source}: {'; '.join(lines)}")
                    tell(f"{target} is not written")
                    break
                with files.named_errors("write", options.output):
                    options.output.mkdir(exist_ok=True)
                files.require_unlinked(target)
                files.write_whole(target, done.content)
                written += 1
                progress.step(source.name)
        if written:
            _print_time(start, device, "files read, kernels prepared and results written")
    except (RestrideError, KeyboardInterrupt) as error:
        if written:
            error.add_note(f"{written} of {len(outputs)} files are written")
        raise
    for line in skipped:
        tell(f"skipped: {line}")
    say(f"{options.output}: {written} of {counted(len(outputs), 'file')}" + (", checked" if options.check else ""))
    return Exit.CHECK_FAILED if is_wrong else Exit.USAGE if skipped else Exit.OK


class _Done(NamedTuple):
    """What was done with one of several files. content: ``output`` as it is written."""

    operation: FileOperation
    file: FileContent
    output: FileContent
    content: Content


def _done(several: argparse.Namespace, device: Device, paths: tuple[Path, Path], take: Take) -> _Done:
    """Read the first of two files, compute its result and encode it as the second."""
    options = _of_file(several, *paths)
    take(files.decoded_nbytes(options.input))
    file = _read(options)
    with prefixed(str(options.input)):
        operation = _operation(options, file)
        take(operation.result.nbytes)
        output = _computed(operation, file.tensor(device), options.output)
    return _Done(operation, file, output, output.content(options.output))


def add_skip_bad(parser: Parser) -> None:
    """Add ``--skip-bad``."""
    text = "skip files that cannot be read, computed or written; they are named at the end, and the exit code is 2"
    parser.add_argument("--skip-bad", action="store_true", help=text)


class Skipping:
    """A block for one of several files. With ``--skip-bad``, an error ends only the block, and is told at the end.

    Args:
        options: those of the command.
        skipped: gets the line to tell at the end.
        is_first: no file was done before.
    """

    def __init__(self, options: argparse.Namespace, skipped: list[str], *, is_first: bool) -> None:
        self._options, self._skipped, self._is_first = options, skipped, is_first

    def __enter__(self) -> None:
        """Do nothing: errors are handled on exit."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, RestrideError) or exit_for(error) != Exit.USAGE:
            return False
        if self._options.skip_bad:
            self._skipped.append(line_for(error))
        elif not self._is_first:
            error.add_note("--skip-bad goes on without it")
        return bool(self._options.skip_bad)


def _read(options: argparse.Namespace) -> FileContent:
    return files.read_file(options.input, options.stored, options.file_command.describe(options))


def _operation(options: argparse.Namespace, file: FileContent) -> FileOperation:
    """The operation that the options ask for, on rows and columns of an image; its result can be written to OUT."""
    if getattr(options, "layout", None) is not None and (found := layout_for("destination", options.layout)):
        options.layout = str(found)
    if "mode" in options.arguments:
        options.mode = require_mode(options)
    if file.is_image and "axes" in options.arguments and options.axes is None:
        for name in ("sizes", "scales"):
            numbers = getattr(options, name, None)
            if numbers is not None and len(numbers) != 2:
                raise UsageError(
                    f"an image is resized along height and width: give 2 {name}, not {len(numbers)}, or name other "
                    "axes by --axes"
                )
        options.axes = (0, 1)
    operation: FileOperation = options.file_command.operation(options, file)
    files.require_room(options.output, operation.result.dtype.dtype, operation.result.sizes)
    notes = files.about_raw_elements(options.output, operation.result.dtype)
    return operation._replace(notes=(*operation.notes, *notes))


def _computed(operation: FileOperation, source: Tensor, path: Path) -> FileContent:
    """The result for ``source`` as the content of the file ``path``."""
    result = operation.on_device(source)
    return files.buffer_of(result, source) if files.is_raw(path) else FileArray(result.numpy())


@contextmanager
def timed_device(options: argparse.Namespace, text: str) -> Iterator[Device]:
    """Open the device that the options name, and print on stderr what the block took; ``text``: what it includes."""
    with open_device(options) as device:
        start = time.perf_counter()
        yield device
        _print_time(start, device, text)


def _print_time(start: float, device: Device, text: str) -> None:
    """Print on stderr the time since ``start``, from ``time.perf_counter``, and ``text`` about what it includes."""
    milliseconds = 1000 * (time.perf_counter() - start)
    tell(f"{milliseconds:.1f} ms on {device.info.name} ({runtime_name(device)}), {text}")


def _is_right(operation: FileOperation, file: FileContent, output: FileContent, say: Callable[[str], object]) -> bool:
    """Compare the elements of the result, and the padding of a buffer, with the reference; say the comparisons."""
    elements = output.elements()
    answer, *limits = operation.answers(file.elements())
    comparisons = {"check": compare_limits(elements, answer, *limits) if limits else compare_bits(elements, answer)}
    if isinstance(output, FileBuffer):
        image = FileBuffer(reference.to_buffer(elements, output.desc), output.desc)
        comparisons["check of the padding"] = compare_bits(output.padding(), image.padding())
    for name, comparison in comparisons.items():
        say(f"{name}: {comparison}")
    return all(comparison.passed for comparison in comparisons.values())


def call(
    options: argparse.Namespace,
    file: FileContent,
    plain: TensorDesc,
    *notes: str,
    of_reference: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    is_first: bool = False,
    **arguments: Any,
) -> FileOperation:
    """The function of a command with the arguments that are given, and its reference.

    Args:
        options: the options.
        file: IN.
        plain: type and sizes of the result before ``--to`` and ``--layout`` change them.
        notes: lines to print afterwards.
        of_reference: makes the arguments of the reference from those of the function.
        is_first: OUT is the first element along axis 0 of the result, before ``--layout`` permutes its axes.
        arguments: of both functions, beside those that are given.
    """
    arguments = given(options) | arguments
    layout = arguments.pop("layout", None)
    of_layout = {} if layout is None else {"layout": layout}
    function: Callable[..., Tensor] = options.file_command.function
    if "axis" not in signature(function).parameters:
        arguments.pop("axis", None)  # the axis of scales
        require_use_of_axis(options)
    order = axis_order(plain, layout)
    dtype = arguments.get("dtype") or laid_out(plain, layout).dtype
    if "dtype" in options.arguments:
        arguments["dtype"] = dtype
    on_device = arguments | scales_along(options, plain, order)
    right = of_reference(arguments | scales_along(options, plain, range(plain.rank)))
    has_scales = not right.keys().isdisjoint(SCALES)
    whole = tuple(slice(None) for _ in order)
    taken = tuple(0 if is_first and axis == 0 else slice(None) for axis in order)

    def compute(x: Tensor) -> Tensor:
        result = function(x, **of_layout, **on_device)
        return result if taken == whole else result[taken]

    def answers(array: Array) -> tuple[Array, ...]:
        name = function.__name__
        right_one, limits = getattr(reference, name), getattr(reference, f"{name}_limits", None)
        made: tuple[Array, ...] = (right_one(array, **right),)
        if limits is not None and (has_scales or not str(arguments.get("mode")).startswith("nearest")):
            made = (*made, *limits(array, **right))
        elif has_scales:
            made = (*made, *flush_limits(made[0], right_one(array, flush=True, **right)))
        return tuple(each.transpose(order)[taken] for each in made)

    result = TensorDesc(dtype, [plain.sizes[axis] for axis in order])
    return FileOperation(views.index(result, taken), compute, answers, (*_notes(options, file, layout), *notes))


def _notes(options: argparse.Namespace, file: FileContent, layout: str | None) -> tuple[str, ...]:
    """Notes for the user where a result may not be what is expected.

    ``--layout`` may change only memory, which does not show in an OUT in logical order; ``--like pillow`` resizes an
    image with alpha, where Pillow multiplies colours by alpha first.
    """
    notes = []
    is_logical = isinstance(file, FileArray) and not files.is_raw(options.output)
    if is_logical and layout is not None and not is_permutation(layout):
        notes.append(
            f"layout {layout!r} changes memory only, so the elements have the order of {options.input}; 'A->B', such "
            f"as 'NCHW->NHWC', permutes the axes"
        )
    has_alpha = file.is_image and file.desc.rank == 3 and file.desc.sizes[2] in (2, 4)
    is_apart = not getattr(options, "premultiply", None)
    if has_alpha and is_apart and getattr(options, "like", None) == "pillow" and options.mode != "nearest":
        notes.append(
            f"warning: {options.input} has alpha, which is resized apart from the colours here; Pillow multiplies them "
            "by it first"
        )
    return tuple(notes)
