"""``restride demo``: crop, flip, re-lay-out and resize a photograph on the device, and check each result."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from types import ModuleType
from typing import Any

import numpy as np

import restride
from restride import reference
from restride.command.files import named_errors, read_array, require_apart, require_unlinked, write_whole
from restride.command.parser import Commands, add_command, add_device_options, open_device, runtime_name
from restride.command.process import Exit, UsageError, say, tell
from restride.command.stopwatch import Timer, rounds
from restride.dtypes import Array
from restride.errors import installing
from restride.layout import TensorDesc
from restride.ops.reorder import reorder, strided_slice
from restride.ops.resample import resample
from restride.reference.comparison import Comparison, compare_bits, compare_limits
from restride.tensor.arrays import asarray
from restride.tensor.device import Device
from restride.tensor.images import pillow
from restride.tensor.tensor import Tensor, empty

_DESCRIPTION = """\
Crops, flips, transposes and resizes a photograph on the device, in u8 and f32, checks every result against the numpy
reference, and draws a contact sheet. Without PHOTO it takes a photograph that scikit-image ships. --no-photo needs
neither Pillow nor scikit-image.

examples:
  restride demo                                a photograph of scikit-image
  restride demo photo.jpg --out sheets         your own
  restride demo --no-photo --device radeon     a computed picture"""

_MAX_RUNS = 15
_MAX = 0.3
"""A step is not measured again after this many seconds."""

SHIPPED = ("astronaut.png", "coffee.png", "chelsea.png")
"""Photographs that scikit-image ships."""

_MAX_SIDE = 1280
"""Maximum pixels of a side, because the numpy reference works in float64 and is slow for a camera's 48 megapixels."""
_MIN_SIDE = 32


def add_commands(commands: Commands) -> None:
    """Add ``demo``."""
    parser = add_command(commands, "demo", _DESCRIPTION, run)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("photo", metavar="PHOTO", nargs="?", type=Path, help="a .png or .jpg of yours")
    source.add_argument("--no-photo", action="store_true", help="take a computed picture, and draw no contact sheet")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="for the contact sheet (default: demo_out)")
    add_device_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the tour, print its table, draw the contact sheet."""
    if arguments.no_photo and arguments.out is not None:
        raise UsageError("--no-photo draws no contact sheet: leave out --out")
    start = time.perf_counter()
    with open_device(arguments) as device:
        info = device.info
        heading = f"{info.name}, driver {info.driver} {info.driver_version}, runtime {runtime_name(device)}"
        say(f"restride {restride.__version__} on {heading}")
        if arguments.no_photo:
            photo = zone_plates()
        else:
            pillow()
            photo = load_photograph(arguments.photo)
            folder = arguments.out or Path("demo_out")
            with named_errors("make the folder", folder):
                folder.mkdir(parents=True, exist_ok=True)
            require_unlinked(folder / "contact_sheet.png")
            require_apart([arguments.photo] if arguments.photo else [], folder / "contact_sheet.png")
        tour = make_tour(photo.pixels, device)
        _print_header(photo.title, photo.pixels, tour)
        outcomes = [_print_outcome(number, step, device) for number, step in enumerate(tour.steps, 1)]
        fusion_is_right = _print_fusion(tour, outcomes[-1], device)
    passed = sum(outcome.comparison.passed for outcome in outcomes)
    print("allowed: 0 is bit for bit; sums in u8 may differ by 1, but only next to a rounding tie")
    print(f"{passed} of {len(outcomes)} results are right, in {time.perf_counter() - start:.1f} s", flush=True)
    if not arguments.no_photo:
        sheet = folder / "contact_sheet.png"
        # A processor's times say little of a GPU.
        panels = _panels(photo, outcomes, is_timed=info.kind != "cpu")
        draw_sheet(sheet, "restride demo", heading, panels)
        say(f"contact sheet: {sheet}")
    return Exit.OK if passed == len(outcomes) and fusion_is_right else Exit.CHECK_FAILED


def _print_header(title: str, pixels: Array, tour: Tour) -> None:
    height, width, _ = pixels.shape
    say(f"photograph: {title}, {width} x {height}, u8 and f32 (divided by 255)")
    print(f"crop + flip + HWC->CHW is {tour.crop.text}: a view, no dispatch, no copy\n")
    print(f"{'':4}{'operation':<44}{'dispatches':>10}{'ms':>9}{'GB/s':>7}{'difference':>12}{'allowed':>9}")


def _print_outcome(number: int, step: DemoStep, device: Device) -> DemoResult:
    print(f"{number:>2}  {step.name + ', ' + step.src.dtype.name:<44}", end="", flush=True)
    dispatches, milliseconds = _measure((step,), device)
    result = step.dst.numpy()
    comparison = step.check(result)
    print(
        f"{dispatches:>10}{milliseconds:>9.2f}{step.nbytes / milliseconds / 1e6:>7.2f}"
        f"{comparison.difference:>12.2g}{comparison.allowed:>9.2g}  {'OK' if comparison.passed else 'FAILED'}"
    )
    print(f"    {step.src.desc} -> {step.dst.desc}", flush=True)
    if not comparison.passed:
        print(f"    {comparison}")
    return DemoResult(step, result, milliseconds, dispatches, comparison)


def _measure(steps: tuple[DemoStep, ...], device: Device) -> tuple[int, float]:
    """The dispatches of a first run of all steps in turn, and the median milliseconds of several further runs."""

    def run() -> None:
        for step in steps:
            step.run()

    before = device.counters().dispatches
    run()
    dispatches = device.counters().dispatches - before
    timer = Timer(run, device.wait, before=device.wait)
    return dispatches, 1000 * statistics.median(rounds({"": timer}, _MAX_RUNS, seconds=_MAX)[""])


def _print_fusion(tour: Tour, fused: DemoResult, device: Device) -> bool:
    """Run the last row again one operation at a time, with two intermediate results, and print the comparison.

    Returns:
        True if the bits of both results are equal.
    """
    dispatches, milliseconds = _measure(tour.unfused, device)
    is_equal = np.array_equal(tour.unfused[-1].dst.numpy(), fused.result)
    print(
        f"\nfused: {fused.dispatches} dispatch, {fused.milliseconds:.2f} ms; one operation after the other: "
        f"{dispatches} dispatches, {milliseconds:.2f} ms; {'bits equal, OK' if is_equal else 'bits differ, FAILED'}"
    )
    return is_equal


# Loads the photograph: the user's own, one that scikit-image ships, or a computed picture.


@dataclass(frozen=True, eq=False)
class Photograph:
    """A photograph. pixels: u8[height,width,3]. title: its name."""

    pixels: Array
    title: str


def load_photograph(path: Path | None) -> Photograph:
    """Read ``path``, or a photograph that scikit-image ships, as RGB; one that is shrunk first is named on stderr.

    Raises:
        UsageError: no such photograph, or smaller than the demo can crop.
    """
    chosen = path if path is not None else _shipped()
    array = read_array(chosen).array
    if array.dtype != np.uint8 or array.ndim not in {2, 3}:
        raise UsageError(f"{chosen} is no photograph of u8 pixels: {array.dtype}{list(array.shape)}")
    image = pillow().fromarray(array).convert("RGB")
    title = chosen.name if path is not None else f"{chosen.name}, from scikit-image"
    if min(image.size) < _MIN_SIDE:
        raise UsageError(f"{chosen} is {image.width} x {image.height} pixels; the demo needs {_MIN_SIDE} a side")
    if max(image.size) > _MAX_SIDE:
        before = f"{image.width} x {image.height}"
        image.thumbnail((_MAX_SIDE, _MAX_SIDE))
        after = f"{image.width} x {image.height}"
        tell(f"{title}: {before} pixels, shrunk to {after} by Pillow first: the numpy reference is slow")
    return Photograph(np.asarray(image), title)


def zone_plates() -> Photograph:
    """Rings that become finer outwards, with a different centre in each channel; resizing them shows a wrong filter."""
    y, x = np.mgrid[0:240, 0:320]
    rings = [1 + np.cos(((y - top) ** 2 + (x - left) ** 2) / 250) for top, left in ((80, 100), (120, 220), (160, 140))]
    return Photograph(np.rint(127.5 * np.stack(rings, 2)).astype(np.uint8), "zone plates, computed")


def _shipped() -> Path:
    fix = f"name a photograph (restride demo PHOTO.jpg), or take --no-photo, or {installing('demo')}"
    paths = shipped(*SHIPPED)
    if not paths:
        raise UsageError(f"scikit-image, which ships the demo's photographs, is not installed; {fix}")
    return next(iter(paths.values()))


def shipped(*names: str) -> dict[str, Path]:
    """The paths of the named pictures that the installed scikit-image ships; none if it is not installed."""
    package = find_spec("skimage")
    if package is None or package.origin is None:
        return {}
    folder = Path(package.origin).parent / "data"
    return {name: folder / name for name in names if (folder / name).is_file()}


# The steps of the demo, each with its source, its destination and its check against the numpy reference.

FUSED_SIZES = (224, 224)
"""The input sizes of many vision models."""

_TAPS = {"nearest": 1, "linear": 4, "cubic": 16}
"""For each mode, the number of source elements per output element, over two axes."""


@dataclass(frozen=True)
class DemoStep:
    """One operation that can run repeatedly into the same destination.

    taps: source elements per destination element, for ``nbytes``.
    """

    name: str
    src: Tensor
    dst: Tensor
    run: Callable[[], object]
    check: Callable[[Array], Comparison]
    taps: int = 1

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that are read, each counted once, and of those written."""
        read = min(self.src.desc.numel, self.taps * self.dst.desc.numel)
        return (read + self.dst.desc.numel) * self.src.dtype.itemsize


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The result of a step. milliseconds: the median of several runs, from the call until the device has finished."""

    step: DemoStep
    result: Array
    milliseconds: float
    dispatches: int
    comparison: Comparison


_Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Crop:
    """The first ``rows``, and ``columns`` from ``left`` on, of an [height, width, 3] photograph, flipped."""

    rows: int
    left: int
    columns: int

    @classmethod
    def of(cls, height: int, width: int) -> Crop:
        """The upper five eighths without a strip of 3/16 at the left."""
        left = width * 3 // 16
        return cls(height * 5 // 8, left, width - left)

    @property
    def window(self) -> tuple[_Triple, _Triple, _Triple]:
        """The crop and flip as DirectML's offsets, sizes and strides."""
        return (0, self.left, 0), (self.rows, self.columns, 3), (1, -1, 1)

    @property
    def text(self) -> str:
        """The crop as a Python expression."""
        return f"x[:{self.rows}, {self.left}:{self.left + self.columns}][:, ::-1].permute(2, 0, 1)"

    def view(self, x: Tensor) -> Tensor:
        """The crop, flipped, channels first: three views, no dispatch."""
        return x[: self.rows, self.left : self.left + self.columns][:, ::-1].permute(2, 0, 1)


@dataclass(frozen=True, eq=False)
class Tour:
    """All steps of the demo; ``unfused`` computes the same as the last of them, one operation at a time."""

    steps: tuple[DemoStep, ...]
    unfused: tuple[DemoStep, ...]
    crop: Crop


def make_tour(pixels: Array, device: Device) -> Tour:
    """The steps for a u8 photograph, in u8 and in f32, where it is divided by 255."""
    crop = Crop.of(pixels.shape[0], pixels.shape[1])
    scaled = pixels.astype(np.float32) / np.float32(255)
    photo = asarray(scaled, device=device)
    as_u8 = _steps(pixels, asarray(pixels, device=device), crop)
    as_f32 = _steps(scaled, photo, crop)
    # Fused: from the photograph through views in one dispatch. Unfused: with each intermediate result in memory.
    planes_answer = reference.reorder(reference.strided_slice(scaled, *crop.window), "HWC->CHW")
    fused = _resize("crop + flip + HWC->CHW + resize", crop.view(photo), planes_answer, FUSED_SIZES)
    unfused = (as_f32[0], as_f32[1], _resize("resize", as_f32[1].dst, planes_answer, FUSED_SIZES))
    return Tour((*as_u8, *as_f32, fused), unfused, crop)


def _steps(pixels: Array, photo: Tensor, crop: Crop) -> list[DemoStep]:
    cropped = reference.strided_slice(pixels, *crop.window)
    planes = reference.reorder(cropped, "HWC->CHW")
    crops = _moved("crop + flip", photo, cropped, lambda out: strided_slice(photo, *crop.window, out=out))
    split = _moved("HWC->CHW", crops.dst, planes, lambda out: reorder(crops.dst, "HWC->CHW", out=out))
    view = crop.view(photo)
    fused = _moved("crop + flip + HWC->CHW", view, planes, lambda out: reorder(crop.view(photo), out=out))
    rows, columns = planes.shape[1:]
    down, up = (rows * 9 // 32, columns * 9 // 32), (rows * 5 // 2, columns * 5 // 2)
    return [
        crops,
        split,
        fused,
        _resize("shrink", split.dst, planes, down, "nearest"),
        _resize("shrink", split.dst, planes, down, antialias=True),
        *(_resize("enlarge", split.dst, planes, up, mode) for mode in ("nearest", "linear", "cubic")),
    ]


def _moved(name: str, src: Tensor, answer: Array, operation: Callable[[Tensor], object]) -> DemoStep:
    """A step that only moves elements of ``src``; its result must equal ``answer`` bit for bit."""
    dst = empty(TensorDesc(src.dtype, answer.shape), src.device)
    return DemoStep(name, src, dst, lambda: operation(dst), lambda result: compare_bits(result, answer))


def _resize(
    name: str, src: Tensor, source: Array, sizes: tuple[int, int], mode: str = "linear", antialias: bool = False
) -> DemoStep:
    """A resample of ``src``, whose elements are ``source``, along its last two axes."""
    dst = empty(TensorDesc(src.dtype, (*src.sizes[:-2], *sizes)), src.device)
    rules: dict[str, Any] = {"mode": mode, "antialias": antialias}

    def check(result: Array) -> Comparison:
        answer = reference.resample(source, sizes, **rules)
        if mode == "nearest":
            return compare_bits(result, answer)
        return compare_limits(result, answer, *reference.resample_limits(source, sizes, **rules))

    return DemoStep(
        f"{name}, {'antialiased' if antialias else mode}",
        src,
        dst,
        lambda: resample(src, sizes, **rules, out=dst),
        check,
        src.desc.numel if antialias else _TAPS[mode],
    )


# Draws contact sheets of panels; the demo's sheet shows results of the steps, and how far they are from numpy's.

_CELL = (360, 288)
_CAPTION = 44
_MARGIN = 24
_HEADER = 76
_COLUMNS = 3
_BACKGROUND, _CELL_GREY, _TITLE, _TEXT = (22, 25, 30), (33, 37, 44), (240, 242, 245), (150, 158, 168)
_TINTS = ((255, 110, 100), (110, 235, 120), (110, 150, 255))
_PILE_STEP = 0.3
"""Distance between the planes of a pile, as a fraction of a plane's size."""
_DETAIL_CENTRE = (0.38, 0.66)
"""Centre of the detail of enlarged results, as fractions of height and width."""


@dataclass(frozen=True, eq=False)
class Panel:
    """A picture of u8 pixels, [height, width, 3], and two lines below it."""

    pixels: Array
    title: str
    text: str


def draw_sheet(path: Path, title: str, heading: str, panels: Sequence[Panel]) -> None:
    """Draw panels in rows of three and write the sheet as a PNG."""
    image_module = pillow()
    from PIL import ImageDraw, ImageFont

    large, medium, small = (ImageFont.load_default(size) for size in (24, 15, 12))
    cell_width, cell_height = _CELL[0] + _MARGIN, _CELL[1] + _CAPTION + _MARGIN
    rows = -(-len(panels) // _COLUMNS)
    sheet = image_module.new("RGB", (_COLUMNS * cell_width + _MARGIN, _HEADER + rows * cell_height), _BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    draw.text((_MARGIN, 16), title, _TITLE, large)
    draw.text((_MARGIN, 48), shorten(heading, 150, placeholder="..."), _TEXT, small)
    for number, panel in enumerate(panels):
        left = _MARGIN + number % _COLUMNS * cell_width
        top = _HEADER + number // _COLUMNS * cell_height
        picture = _fitted(image_module, panel.pixels)
        draw.rectangle((left, top, left + _CELL[0] - 1, top + _CELL[1] - 1), _CELL_GREY)
        sheet.paste(picture, (left + (_CELL[0] - picture.width) // 2, top + (_CELL[1] - picture.height) // 2))
        draw.text((left, top + _CELL[1] + 6), panel.title, _TITLE, medium)
        draw.text((left, top + _CELL[1] + 26), panel.text, _TEXT, small)
    write_whole(path, lambda file: sheet.save(file, "PNG", optimize=True))


def _panels(photo: Photograph, outcomes: Sequence[DemoResult], *, is_timed: bool) -> list[Panel]:
    by_name = {(outcome.step.name, outcome.step.src.dtype.name): outcome for outcome in outcomes}
    shown: list[tuple[str, DemoResult, Callable[[Array], Array]]] = [
        ("cropped and flipped", by_name["crop + flip", "u8"], np.asarray),
        ("HWC->CHW: three planes in memory", by_name["HWC->CHW", "u8"], _tinted_planes),
        ("shrunk, nearest", by_name["shrink, nearest", "u8"], _as_pixels),
        ("shrunk, antialiased", by_name["shrink, antialiased", "u8"], _as_pixels),
        ("all four steps in one dispatch, linear", outcomes[-1], _as_pixels),
        ("enlarged, nearest (detail)", by_name["enlarge, nearest", "u8"], lambda planes: _detail(_as_pixels(planes))),
        ("enlarged, linear (detail)", by_name["enlarge, linear", "u8"], lambda planes: _detail(_as_pixels(planes))),
        ("enlarged, cubic (detail)", by_name["enlarge, cubic", "u8"], lambda planes: _detail(_as_pixels(planes))),
    ]
    height, width, _ = photo.pixels.shape
    return [
        Panel(photo.pixels, "the photograph", f"{photo.title}, {width} x {height}"),
        *(
            Panel(picture(outcome.result), title, _caption(outcome, is_timed=is_timed))
            for title, outcome, picture in shown
        ),
    ]


def _caption(outcome: DemoResult, *, is_timed: bool) -> str:
    """The layout of a result, its distance from numpy's, and on a GPU its time."""
    comparison = outcome.comparison
    unit = " of 255" if outcome.result.dtype == np.uint8 else ""
    distance = f"at most {comparison.difference:.2g}{unit} from numpy" if comparison.difference else "the bits of numpy"
    text = f"{outcome.step.dst.desc}   {distance if comparison.passed else 'FAILED'}"
    return f"{text}   {outcome.milliseconds:.2f} ms" if is_timed else text


def _as_pixels(planes: Array) -> Array:
    """Convert planes, u8 or f32 from 0 to 1, with channels first, to u8 pixels."""
    if planes.dtype == np.float32:
        planes = np.rint(np.clip(planes, 0, 1) * 255).astype(np.uint8)
    return planes.transpose(1, 2, 0)


def _tinted_planes(planes: Array) -> Array:
    """A picture of the three planes as a pile, each tinted in its colour."""
    rows, columns = planes.shape[1:]
    down, right = int(rows * _PILE_STEP), int(columns * _PILE_STEP)
    pile = np.full((rows + 2 * down, columns + 2 * right, 3), _CELL_GREY, np.uint8)
    for number, (plane, tint) in enumerate(zip(planes, _TINTS, strict=True)):
        tinted = plane[:, :, np.newaxis] * np.array(tint, np.uint16) // 255
        pile[number * down : number * down + rows, number * right : number * right + columns] = tinted
    return pile


def _detail(pixels: Array) -> Array:
    """Cut out a window of the size of a cell, unscaled."""
    window = []
    for size, room, centre in zip(pixels.shape[:2], reversed(_CELL), _DETAIL_CENTRE, strict=True):
        start = min(max(int(size * centre) - room // 2, 0), max(size - room, 0))
        window.append(slice(start, start + room))
    return pixels[tuple(window)]


def _fitted(image_module: ModuleType, pixels: Array) -> Any:
    """Scale a picture to the cell; small pictures are enlarged by a whole factor without smoothing."""
    image = image_module.fromarray(np.ascontiguousarray(pixels))
    scale = min(_CELL[0] / image.width, _CELL[1] / image.height)
    if scale >= 2:
        scale, how = float(int(scale)), image_module.Resampling.NEAREST
    else:
        how = image_module.Resampling.LANCZOS
    if scale == 1:
        return image
    return image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), how)
