"""Commands that apply an operation to files and write the results to others; ``restride.cli.operations`` has them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache, partial
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from restride import reference
from restride.cli import files
from restride.cli.comparison import compare_bits, compare_limits, flush_limits
from restride.cli.files import Array, FileArray, FileBuffer, FileContent
from restride.cli.folders import outputs_of
from restride.cli.options import SCALES, Rows, add_options, given, scales_along
from restride.cli.parser import Commands, Parser, add_command, add_device_options, open_device, runtime_name
from restride.cli.process import Exit, UsageError, counted, exit_for, line_for, tell
from restride.dtypes import DType
from restride.errors import RestrideError, prefixed
from restride.layout import TensorDesc
from restride.layout.argument import axis_order, is_permutation, laid_out
from restride.ops.progress import Progress
from restride.tensor.device import Device
from restride.tensor.tensor import Tensor


class FileOperation(NamedTuple):
    """An operation on a file.

    dtype, sizes: of the result. on_device: computes it. answers: what the reference makes of the elements of IN: the
    right elements, or the right ones with the lowest and the highest. notes: lines to print afterwards; of several
    files, a line that begins with "warning: " once.
    """

    dtype: DType
    sizes: tuple[int, ...]
    on_device: Callable[[Tensor], Tensor]
    answers: Callable[[Array], tuple[Array, ...]]
    notes: tuple[str, ...] = ()


class FileCommand(NamedTuple):
    """A command from IN to OUT.

    function: a function of ``restride``; ``restride.reference`` has one of the same name.
    groups: the options for its arguments, as ``add_options`` takes them.
    operation: makes the operation that the options ask for.
    inputs: how many inputs it takes, in the words of ``add_argument``.
    describe: makes the descriptor of a .bin file from the options.
    one_of: the arguments of which at least one must be given, and their options in words; None: all are optional.
    """

    name: str
    description: str
    function: Callable[..., Tensor]
    groups: Mapping[str, Rows]
    operation: Callable[[argparse.Namespace, FileContent], FileOperation]
    inputs: int | str = argparse.ONE_OR_MORE
    describe: Callable[[argparse.Namespace], str | None] = attrgetter("desc")
    one_of: Mapping[str, str] | None = None

    def add(self, commands: Commands) -> Parser:
        """Add the command; ``run`` executes it."""
        parser = add_command(commands, self.name, self.description)
        text = "file to read; or a folder, or a pattern such as 'photos/*.jpg', and OUT is a folder too"
        parser.add_argument("inputs", metavar="IN", type=Path, nargs=self.inputs, help=text)
        parser.add_argument("output", metavar="OUT", type=Path, help="file to write, in one step once all went well")
        text = "skip files that cannot be read, computed or written; they are named at the end, and the exit code is 2"
        parser.add_argument("--skip-bad", action="store_true", help=text)
        parser.add_argument(
            "--check", action="store_true", help="compare with the numpy reference before OUT is written"
        )
        parser.add_argument(
            "--dtype",
            dest="stored",
            metavar="TYPE",
            help="element type of a .npy IN in which numpy saved bf16 or f8 as raw bytes",
        )
        parser.add_argument("--desc", metavar="TEXT", help="descriptor of a .bin IN, such as 'f32[2,32,4,4]:nChw16c'")
        add_options(parser, self.function, self.groups)
        add_device_options(parser)
        parser.set_defaults(run=run, operation=self.operation, function=self.function, describe=self.describe)
        parser.set_defaults(one_of=self.one_of)
        return parser


def run(options: argparse.Namespace) -> int:
    """Do with each input file what the command does: read it, compute, check if requested, and write the result."""
    if options.one_of is not None and given(options).keys().isdisjoint(options.one_of):
        ways = ", ".join(dict.fromkeys(options.one_of.values()))
        raise UsageError(f"one of these is required: {ways} (see `restride {options.command} --help`)")
    outputs = outputs_of(options.inputs, options.output)
    if options.output in outputs.values():
        return _run_one(_of_file(options, *outputs.popitem()))
    with ExitStack() as stack:
        return _run_several(options, outputs, cache(lambda: stack.enter_context(open_device(options))))


def _of_file(options: argparse.Namespace, source: Path, output: Path) -> argparse.Namespace:
    """The options for one of the input files."""
    return argparse.Namespace(**vars(options) | {"input": source, "output": output})


def _run_one(options: argparse.Namespace) -> int:
    """Write the result of one file to another."""
    file = files.read_file(options.input, options.stored, options.describe(options))
    operation = _operation(options, file)
    with open_device(options) as device:
        source = file.tensor(device)
        start = time.perf_counter()
        output = _computed(operation, source, options.output)
        print_time(start, device, "kernels prepared and result read back")
    for note in operation.notes:
        tell(note)
    if options.check and not _is_right(operation, file, output, partial(print, flush=True)):
        tell(f"{options.output} is not written")
        return Exit.CHECK_FAILED
    output.write(options.output)
    print(f"{options.output}: {output}" + (f" from {source.desc}" if isinstance(output, FileArray) else ""))
    return Exit.OK


def _run_several(options: argparse.Namespace, outputs: Mapping[Path, Path], device: Callable[[], Device]) -> int:
    """Write the results of files to a folder.

    device: opens the device, once a file was read, and returns the open one from then on.

    Raises:
        RestrideError: that of the first file that cannot be done; a note says how many were written before it.
    """
    start, written, code = time.perf_counter(), 0, Exit.OK
    skipped: list[str] = []
    warned: set[str] = set()
    try:
        with Progress(len(outputs), sys.stderr) as progress:
            for source, target in outputs.items():
                of_file = _of_file(options, source, target)
                try:
                    file = files.read_file(source, options.stored, options.describe(of_file))
                    with prefixed(str(source)):
                        operation = _operation(of_file, file)
                        output = _computed(operation, file.tensor(device()), target)
                except RestrideError as error:
                    if not options.skip_bad or exit_for(error) != Exit.USAGE:
                        if written and exit_for(error) == Exit.USAGE:
                            error.add_note("--skip-bad goes on without it")
                        raise
                    skipped.append(line_for(error))
                    progress.step(f"{source.name} skipped")
                    continue
                for note in operation.notes:
                    kind = note.replace(str(source), "")
                    if kind not in warned:
                        progress.clear()
                        tell(f"{source}: {note}")
                    if note.startswith("warning: "):
                        warned.add(kind)
                wrong: list[str] = []
                if options.check and not _is_right(operation, file, output, wrong.append):
                    progress.clear()
                    print(f"{source}: {'; '.join(wrong)}", flush=True)
                    tell(f"{target} is not written")
                    code = Exit.CHECK_FAILED
                    break
                options.output.mkdir(exist_ok=True)
                output.write(target)
                written += 1
                progress.step(source.name)
        if written:
            print_time(start, device(), "files read, kernels prepared and results written")
    except (RestrideError, KeyboardInterrupt) as error:
        if written:
            error.add_note(f"{written} of {len(outputs)} files are written")
        raise
    for line in skipped:
        tell(f"skipped: {line}")
    print(f"{options.output}: {written} of {counted(len(outputs), 'file')}" + (", checked" if options.check else ""))
    return code or (Exit.USAGE if skipped else Exit.OK)


def _operation(options: argparse.Namespace, file: FileContent) -> FileOperation:
    """The operation that the options ask for; its result can be written to their output."""
    operation: FileOperation = options.operation(options, file)
    files.require_room(options.output, operation.dtype.dtype, operation.sizes)
    return operation


def _computed(operation: FileOperation, source: Tensor, path: Path) -> FileContent:
    """The result for ``source`` as the content of the file ``path``."""
    result = operation.on_device(source)
    return files.buffer_of(result, source) if files.is_raw(path) else FileArray(result.numpy())


def print_time(start: float, device: Device, text: str) -> None:
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
    result: TensorDesc,
    arguments: dict[str, Any],
    *notes: str,
    dtype: DType | None = None,
    of_reference: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    part: Any = (),
) -> FileOperation:
    """The function of a command with the arguments that are given, and its reference.

    Args:
        options: the options.
        file: IN.
        result: type and sizes of the result before ``--layout`` permutes them.
        arguments: of both functions, beside those that are given.
        notes: lines to print afterwards.
        dtype: element type of the result; default: that of ``--to``, of ``--layout`` where it says one, or of
            ``result``.
        of_reference: makes the arguments of the reference from those of the function.
        part: an index of the result, before ``--layout`` permutes its axes: OUT is this part.
    """
    arguments = given(options) | arguments
    layout = arguments.pop("layout", None)
    of_layout = {} if layout is None else {"layout": layout}
    if "axis" not in signature(options.function).parameters:
        arguments.pop("axis", None)  # the axis of scales
    order = axis_order(result, layout)
    dtype = dtype or arguments.get("dtype") or laid_out(result, layout).dtype
    if "dtype" in options.arguments:
        arguments["dtype"] = dtype
    on_device = arguments | scales_along(options, result, order)
    right = of_reference(arguments | scales_along(options, result, range(result.rank)))
    has_scales = not right.keys().isdisjoint(SCALES)
    name = options.function.__name__
    sizes = tuple(result.sizes[axis] for axis in order if not part or part[axis] == slice(None))
    turned = tuple(part[axis] for axis in order) if part else ()

    def compute(x: Tensor) -> Tensor:
        whole: Tensor = options.function(x, **of_layout, **on_device)
        return whole[turned] if turned else whole

    def answers(array: Array) -> tuple[Array, ...]:
        function, limits = getattr(reference, name), getattr(reference, f"{name}_limits", None)
        made: tuple[Array, ...] = (function(array, **right),)
        if limits is not None and (has_scales or not str(arguments.get("mode")).startswith("nearest")):
            made = (*made, *limits(array, **right))
        elif has_scales:
            made = (*made, *flush_limits(made[0], function(array, flush=True, **right)))
        return tuple(each.transpose(order)[turned] for each in made)

    return FileOperation(dtype, sizes, compute, answers, (*_notes(options, file, layout), *notes))


def _notes(options: argparse.Namespace, file: FileContent, layout: str | None) -> tuple[str, ...]:
    """Where a result may not be what the user expects.

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
            "by it first, as restride.compat.pil.resize does of an image"
        )
    return tuple(notes)
