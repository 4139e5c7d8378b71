"""``restride view``: show the picture in a file in the terminal or a browser, or write it to another file."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import webbrowser
from pathlib import Path

import numpy as np

from restride.command.files import named_errors, read_array, require_apart, write_whole
from restride.command.parser import Commands, add_command, parse_index
from restride.command.process import Exit, UsageError, say, tell
from restride.drawing import pixels
from restride.drawing.picture import takes_colour
from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.tensor.images import IMAGE_FORMATS, imwrite

_DESCRIPTION = """\
Shows the picture in an image or a .npy file, and prints its element type, sizes, least and greatest element. A picture
has rows and columns, and 1 to 4 channels before or behind them (the rule of rs.resize); the last of 2 or 4 is alpha,
which is not shown. u8 is shown as it is, floats of 0 to 1 from black to white, other elements from the least, black, to
the greatest, white. It needs no device.

examples:
  restride view photo.jpg
  restride view batch.npy '[0]'                 one image of a batch
  restride view features.npy '[0, 17]' -o 17.png"""


def add_commands(commands: Commands) -> None:
    """Add ``view``."""
    parser = add_command(commands, "view", _DESCRIPTION, run)
    parser.add_argument("input", metavar="FILE", type=Path, help="a .npy file or an image")
    parser.add_argument("index", metavar="INDEX", nargs="?", help="the part to show, in numpy's slice syntax")
    parser.add_argument("--dtype", help="element type of a .npy file in which numpy saved bf16 as raw bytes")
    parser.add_argument("-o", "--output", metavar="OUT", type=Path, help="write a .png, .jpg or .html instead")
    parser.add_argument("--browser", action="store_true", help="open a browser instead")


def run(arguments: argparse.Namespace) -> int:
    """Show the picture, or write it."""
    output: Path | None = arguments.output
    if output is not None and output.suffix.lower() not in (*IMAGE_FORMATS, ".html"):
        raise UsageError(f"{output}: the name must end in {', '.join(IMAGE_FORMATS)} or .html")
    if output is not None:
        require_apart([arguments.input], output)
    array = read_array(arguments.input, arguments.dtype).array
    name = str(arguments.input)
    if arguments.index is not None:
        try:
            array = array[parse_index(arguments.index)]
        except (IndexError, ValueError) as error:  # ValueError: a step of 0
            raise UsageError(f"{name}: {error}, for {TensorDesc(array.dtype, array.shape)}") from error
        name += f" {arguments.index}"
    try:
        picture = pixels.channels_last(array)
    except DescriptorError as error:
        raise UsageError(f"{name}: {error}; name a part: restride view {arguments.input} '[0]'") from error
    least, most, nans = pixels.extent(array)
    sizes = ",".join(map(str, array.shape))
    is_integer = array.dtype.kind in "iu"
    span = "{} to {}" if is_integer else "{:g} to {:g}"  # integers are shown with every digit
    facts = f"{name}: {TensorDesc(array.dtype, array.shape).dtype}[{sizes}], {span.format(least, most)}"
    facts += f", {nans} NaN" if nans else ""
    ends = pixels.ends_shown(array)
    if array.dtype != np.uint8:
        facts += f", shown from {span.format(*((least, most) if is_integer else ends))}"
    say(facts)
    if output is not None or arguments.browser:
        _write(pixels.brightness(picture, ends), facts, output, opens=arguments.browser)
        return Exit.OK
    columns, lines = shutil.get_terminal_size()
    shown = pixels.brightness(pixels.shrunk(picture, 2 * max(lines - 2, 1), columns), ends)
    is_coloured = takes_colour(sys.stdout) and (sys.stdout.encoding or "").lower().startswith("utf")
    print(pixels.text(shown, is_coloured, os.environ.get("COLORTERM") in ("truecolor", "24bit")))
    return Exit.OK


def _write(bytes_shown: pixels.Bytes, facts: str, output: Path | None, *, opens: bool) -> None:
    """Write the picture to ``output`` in the format of its name, or to a temporary page; ``opens`` shows a browser."""
    if output is None:
        output = Path(tempfile.mkdtemp(prefix="restride-")) / "view.html"
    if output.suffix.lower() == ".html":
        write_whole(output, pixels.page(bytes_shown, facts))
    else:
        with named_errors("write", output):
            imwrite(output, bytes_shown)
    tell(f"wrote {output}")
    if opens:
        webbrowser.open(output.resolve().as_uri())
