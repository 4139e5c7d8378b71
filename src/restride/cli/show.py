"""``restride show``: draw a layout, or the reorder from one layout to another."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from restride.command.files import write_output
from restride.command.parser import Commands, add_command
from restride.command.process import Exit, UsageError, say
from restride.drawing.explain import explain
from restride.drawing.picture import show
from restride.layout import TensorDesc
from restride.layout.lines import layouts_in
from restride.tensor.images import READ_FORMATS

_DESCRIPTION = """\
Draws a layout: the array as a grid with the offset of each element in memory, and below it the memory with the index
of each element. Tiles and blocks are coloured and outlined, padding is marked. With two layouts it also shows what a
reorder from the first to the second reads and writes, and with which kernel. It needs no device. Colours are for
terminals, and off where NO_COLOR is set.

layouts, quoted for the shell:
  'f32[2,3]{0,1}'                  XLA: the axes from the fastest to the slowest
  'f32[3,5]{1,0:T(2,2)}'           in tiles; 'bf16[8,256]{1,0:T(8,128)(2,1)}' with sub-tiles
  'f32[2,3]{1,0:pad(3,5)=0}'       padded to 3,5
  'f32[2,16,4,4]:nChw16c'          a oneDNN format tag
  'f32[2,3]{strides=(5,1)}'        element strides

or a line that another program printed, with its layouts:
  'src:f32:blocked:aBcd16b::f0 2x16x4x4'                            of oneDNN's verbose mode; whole lines too
  'memref<3x5xf32, strided<[1, 3]>>'                                MLIR
  '%copy = f32[3,5]{0,1:T(8,128)} copy(f32[3,5]{1,0} %p0)'          HLO

examples:
  restride show 'f32[3,5]{1,0:T(2,2)}'
  restride show 'f32[3,5]{1,0:T(2,2)}' -o tiles.svg          a picture for a page
  restride show 'f32[32,32,3,3]:OIhw16i16o' --plane hw       other axes than o and i, the blocked ones
  restride show 'u8[4,6,3]' 'HWC->CHW'                       what a reorder moves
  restride show 'f32[2,16,4,4]:nChw16c' --at 1,9,2,3         the offset, step by step"""


def add_commands(commands: Commands) -> None:
    """Add ``show``."""
    parser = add_command(commands, "show", _DESCRIPTION, run)
    parser.add_argument("layout", metavar="LAYOUT", help="a layout in any written form, or a line with layouts")
    parser.add_argument(
        "to", metavar="LAYOUT2", nargs="?", help="the layout of the result, also a tag or a name such as NHWC"
    )
    parser.add_argument("--plane", metavar="AXES", help="axes of rows and columns: 0,1 or oi (default: blocked ones)")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the picture to a .svg or .png instead")
    parser.add_argument("--explain", action="store_true", help="derive the offset of an element, with numbers")
    parser.add_argument("--at", metavar="INDEX", help="the element to derive, such as 2,3 (default: the last)")


def run(arguments: argparse.Namespace) -> int:
    """Print the picture or write it to a file, and explain offsets if requested."""
    for text in filter(None, (arguments.layout, arguments.to)):
        if re.search(r"^\S*\][0-9]\S*$", text):
            raise UsageError(f"{text!r} looks like braces that the shell has expanded: put the layout in quotes")
        if text.lower().endswith((".npy", *READ_FORMATS)):
            raise UsageError(
                f"{text!r} looks like the name of a file, and show draws layouts; a picture of what is in a file: "
                f"restride view {shlex.quote(text)}"
            )
    found = layouts_in(arguments.layout)
    if len(found) > 1 and arguments.to is None:
        if arguments.output is not None:
            names = ", ".join(f"{each.name} {str(each.desc)!r}" for each in found)
            raise UsageError(f"a picture is of one layout, and the line has {len(found)}: give one of {names}")
        for place, each in enumerate(found):
            say("\n" * (place > 0) + f"{each.name}:", has_lines=True)
            _show(arguments, each.desc, None)
        return Exit.OK
    _show(arguments, arguments.layout, arguments.to)
    return Exit.OK


def _show(arguments: argparse.Namespace, layout: TensorDesc | str, to: str | None) -> None:
    """Draw one layout or one reorder, with derivations if they are asked for."""
    picture = show(layout, to, plane=arguments.plane)
    index = None if arguments.at is None else _index(arguments.at)
    explained = arguments.explain or index is not None
    derivations = [explain(desc, index) for desc in picture.layouts] if explained else []
    if arguments.output is not None:
        write_output(arguments.output, picture.file(arguments.output))
    else:
        print(picture)
    for derivation in derivations:
        say(f"\n{derivation}", has_lines=True)


def _index(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(",") if text)
    except ValueError:
        raise UsageError(f"--at takes an index such as 2,3, not {text!r}") from None
