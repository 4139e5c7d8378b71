"""``restride show``: a picture of a layout, or of what a reorder from one layout to another moves."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from restride.cli.files import write_whole
from restride.cli.parser import Commands
from restride.cli.process import EXPLAINED, Exit, UsageError
from restride.drawing.explain import explain
from restride.drawing.picture import show

_DESCRIPTION = """\
Draws where the elements of a layout lie: a grid of the array with each element's offset in memory, and below it the
memory with the index that lies there, tiles coloured and outlined, padding marked. With two layouts also what a reorder
from the first to the second reads, writes, and which kernel does it. No device is needed."""

_EPILOG = f"""\
layouts, quoted for the shell:
  'f32[2,3]{{0,1}}'                  XLA: the axes from the fastest to the slowest
  'f32[3,5]{{1,0:T(2,2)}}'           in tiles; 'bf16[8,256]{{1,0:T(8,128)(2,1)}}' with sub-tiles
  'f32[2,3]{{1,0:pad(3,5)=0}}'       padded to 3,5
  'f32[2,16,4,4]:nChw16c'          a oneDNN format tag
  'f32[2,3]{{strides=(5,1)}}'        element strides

{EXPLAINED}"""


def add_commands(commands: Commands) -> None:
    """Add ``show``."""
    parser = commands.add_parser("show", help="a picture of a layout", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("layout", metavar="LAYOUT", help="a layout in any written form")
    parser.add_argument(
        "to", metavar="LAYOUT2", nargs="?", help="what it is reordered to, also a tag or a name such as NHWC"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write the picture to a .svg or .png instead")
    parser.add_argument("--explain", action="store_true", help="the digits and the formula of the offset, with numbers")
    parser.add_argument(
        "--at", metavar="INDEX", help="the element that --explain works out: 2,3; default: the last one"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Draw, write or explain."""
    for text in filter(None, (arguments.layout, arguments.to)):
        if re.search(r"\][0-9]", text):
            raise UsageError(f"{text!r} is what a shell makes of braces: put the layout in quotes")
    picture = show(arguments.layout, arguments.to)
    index = None if arguments.at is None else _index(arguments.at)
    if arguments.output is not None:
        write_whole(arguments.output, picture.file(arguments.output))
        print(f"restride: wrote {arguments.output}", file=sys.stderr)
    else:
        print(picture)
    if arguments.explain or index is not None:
        for desc in picture.layouts:
            print(f"\n{explain(desc, index)}")
    return Exit.OK


def _index(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in text.split(",") if text)
    except ValueError:
        raise UsageError(f"--at takes an index such as 2,3, not {text!r}") from None
