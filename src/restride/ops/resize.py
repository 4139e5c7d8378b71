"""resize: resizes photographs; one rule finds their axes, and linear light and alpha are respected on request."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from inspect import signature
from typing import Any, SupportsIndex, TypedDict, Unpack, overload

from restride.arguments import counts, flag, integer, integers, list_arguments, require_listed
from restride.arguments.pillow import PillowImage, is_file, is_pillow
from restride.errors import DescriptorError, ErrorContext, Message, UnsupportedError, shown
from restride.kernel.shared_constants import MAX_CHANNELS
from restride.layout import TensorDesc
from restride.layout.argument import family
from restride.ops.perform import cached
from restride.ops.reorder import reorder
from restride.ops.resample import require_interpolated, resample
from restride.plan.two_sources import CODES, light_kernels
from restride.request import Library, ModeName, Request, read_words, resized_axes
from restride.tensor.arrays import asarray
from restride.tensor.images import image_of, imread
from restride.tensor.tensor import Tensor, empty
from restride.weights import keeping_aspect
from restride.words import ARGUMENTS


class ResizeArguments(TypedDict, total=False):
    """The keywords of ``rs.resize``."""

    shorter: SupportsIndex | None
    longer: SupportsIndex | None
    fit: Iterable[SupportsIndex] | None
    cover: Iterable[SupportsIndex] | None
    like: Library | None
    axes: Iterable[SupportsIndex] | None
    antialias: bool | None
    linear_light: bool
    premultiply: bool


_SCALES = [name for name, ours in ARGUMENTS.items() if ours == ("scales",)]
_ELSEWHERE = {
    "rs.resample has it": signature(resample).parameters,
    "rs.resample has it: scales=(0.5, 0.5), with axes=(0, 1) for rows and columns": _SCALES,
}

_DEFAULTS = {"linear_light": False, "premultiply": False}
"""The arguments whose default is not None."""


@overload
def resize(
    image: PillowImage,
    sizes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    **arguments: Unpack[ResizeArguments],
) -> Any: ...


@overload
def resize(
    image: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    **arguments: Unpack[ResizeArguments],
) -> Tensor: ...


@list_arguments(ResizeArguments, _DEFAULTS)
def resize(
    image: Any,
    sizes: Iterable[SupportsIndex] | None = None,
    mode: ModeName | int | Enum | None = None,
    **arguments: Unpack[ResizeArguments],
) -> Any:
    """Resize a photograph, or a batch of them, to ``sizes``, rows and columns: ``rs.resample`` with fewer arguments.

    Instead of ``sizes`` one of ``shorter``, ``longer``, ``fit`` and ``cover`` keeps the aspect, by the rule of ONNX's
    ``keep_aspect_ratio_policy``: both sides are multiplied by one factor and rounded, halves up, to 1 or more. Of 480 x
    640, ``shorter=256`` makes 256 x 341, ``longer=256`` and ``fit=(256, 256)`` 192 x 256, and ``cover=(256, 400)``
    300 x 400. torchvision's Resize and ``Preprocess(shorter=...)`` round the other side down.

    The rule of the axes: C is 1 to 4 channels. Two axes are H W. Three are H W C or C H W, and four are N H W C or
    N C H W, whichever has 1 to 4 at the place of C; if both or neither has, that is an error: ``axes`` must say it.
    With ``axes`` given, C is the axis after them, or if there is none, the one before them. The last of 2 or 4 channels
    is alpha for ``linear_light`` and ``premultiply``; without these it is a channel like the others.

    Shrinking averages what it leaves out, as Pillow and torchvision do: without ``like``, "linear" and "cubic" are
    antialiased, with the weights of Pillow's BILINEAR and BICUBIC, in f32, rounded once. Bytes of "linear" are within 1
    of Pillow's, which also rounds between rows and columns; ``like="pillow"`` gives exactly Pillow's.

    Args:
        image: an array, a Tensor, anything else that ``rs.asarray`` takes; a file, by its path, its bytes, or an object
            opened for reading bytes, read by ``rs.imread``; or a Pillow image, whose palette becomes RGB or RGBA and
            whose transparent colour becomes alpha, as by ``rs.imread``.
        sizes: rows and columns of the result. One number is an error, since libraries do not agree what it means.
        shorter: how long the shorter side becomes, as in torchvision's ``Resize(256)``.
        longer: how long the longer side becomes.
        fit: rows and columns: the result is the largest that fits into them, "not_larger".
        cover: rows and columns: the result is the smallest that covers them, "not_smaller".
        mode: as in ``resample``.
        like: as in ``resample``; ``antialias`` is then the library's own unless it is given.
        axes: those of rows and columns, where the rule does not find them.
        antialias: as in ``resample``; False reads two or four neighbours an axis, however many lie between.
        linear_light: average light, not the codes of sRGB: u8 and u16 become light, f32 of 0 to 1, are resampled, and
            become codes again, on the device. Alpha is not light: its codes are averaged.
        premultiply: weight colours by their alpha: they are multiplied by alpha while they are resampled, so that what
            hides behind alpha 0 does not bleed out; u8 and u16. Colours of image and result are not premultiplied.

    Returns:
        A Tensor of the type and the axes of ``image``; for a Pillow image another one. ``linear_light`` and
        ``premultiply`` take 4 bytes an element in between, and give the same bits on every device but for denormals.

    Raises:
        DescriptorError: not exactly one of ``sizes``, ``shorter``, ``longer``, ``fit`` and ``cover`` is given, the axes
            are not clear, ``premultiply`` has no alpha, ``linear_light`` or ``premultiply`` has
            no effect, as in a nearest mode, or what ``imread`` and ``resample`` refuse.
        OSError: there is no such file, as of ``imread``.
        UnsupportedError: ``linear_light`` or ``premultiply`` of other types than u8 and u16; or what ``resample`` says.

    Examples:
        >>> rs.resize(np.zeros((480, 640, 3), np.uint8), (224, 224)).sizes
        (224, 224, 3)
        >>> rs.resize(np.zeros((480, 640, 3), np.uint8), shorter=256).sizes
        (256, 341, 3)
        >>> stripes = np.tile(np.uint8([0, 255]), (8, 4))  # half of their light is code 188, not 128
        >>> rs.resize(stripes, (1, 1)).item(), rs.resize(stripes, (1, 1), linear_light=True).item()
        (128, 188)

    Source: IEC 61966-2-1 (sRGB); Porter and Duff, Compositing Digital Images, 1984 (colours times alpha).
    """
    require_listed(resize, arguments, _ELSEWHERE)
    options: ResizeArguments = {**_DEFAULTS, **arguments}  # type: ignore[typeddict-item] # both are of its names
    if not isinstance(image, Tensor) and (is_pillow(image) or is_file(image)):
        if (axes := options.get("axes")) is not None:
            kind = "a file" if is_file(image) else "an image of Pillow"
            raise DescriptorError(f"axes {axes!r} are for arrays; {kind} has rows and columns: leave them out")
        of_array: ResizeArguments = {**options, "axes": (0, 1)}
        resized = resize(asarray(imread(image) if is_file(image) else image), sizes, mode, **of_array)
        if is_file(image):
            return resized
        result = image_of(resized.numpy())
        result.info = image.info.copy()
        if result.mode != image.mode:  # info on the old pixels no longer holds, except on colours
            kept = () if image.mode == "CMYK" else ("icc_profile",)
            result.info = {key: image.info[key] for key in kept if key in image.info}
        return result
    x = asarray(image)
    with ErrorContext(x.desc):
        filters, channels = settle(x.desc, sizes, mode, options)
    if not options["linear_light"] and not options["premultiply"]:
        return resample(x, **filters)
    return _resize_in_light(x, filters, channels, options["linear_light"], options["premultiply"])


def settle(desc: TensorDesc, sizes: Any, mode: Any, options: ResizeArguments) -> tuple[dict[str, Any], int | None]:
    """The arguments of ``resample`` that ``resize`` of ``desc`` comes to, and the axis whose last element is alpha.

    Raises:
        DescriptorError: what ``resize`` refuses.
        UnsupportedError: the same.
    """
    both = rows_and_columns(desc.sizes, options.get("axes"))
    new = _sizes((desc.sizes[both[0]], desc.sizes[both[1]]), sizes, options)
    like, antialias = options.get("like"), options.get("antialias")
    filters: dict[str, Any] = {"sizes": new, "axes": both, "mode": mode, "like": like, "antialias": antialias}
    if like is None and mode in (None, "linear", "cubic") and antialias in (None, True):
        filters |= {"antialias": True, "exclude_outside": True, "cubic_a": -0.5 if mode == "cubic" else None}
    if desc.dtype == "f64":
        require_interpolated(desc, read_words(Request(**filters), "f64")[0].mode)
    channels = _channels_with_alpha(desc.sizes, both)
    linear_light, premultiply = (flag(name, options.get(name, False)) for name in ("linear_light", "premultiply"))
    if linear_light or premultiply:
        _require_effect(desc, Request(**filters), linear_light, premultiply, channels is not None)
    return filters, channels


KEEP_ASPECT = {"shorter": "not_smaller", "longer": "not_larger", "fit": "not_larger", "cover": "not_smaller"}
"""For each argument that gives sizes, the aspect ratio policy that it means."""


def _sizes(old: tuple[int, int], sizes: object, options: ResizeArguments) -> Any:
    """The new sizes of rows and columns that the arguments ask for.

    Raises:
        DescriptorError: none or several of them are given, or a number is below 1.
    """
    given: dict[str, Any] = {} if sizes is None else {"sizes": sizes}
    for name in KEEP_ASPECT:
        if options.get(name) is not None:
            given[name] = options.get(name)
    if len(given) != 1:
        known = ", ".join(KEEP_ASPECT)
        python = " and ".join(f"{name}={shown(value)}" for name, value in given.items()) or "none"
        command = " and ".join(f"--{name}" for name in given)
        raise DescriptorError(
            Message(
                f"resize needs one of sizes=(rows, columns), {known}, got {python}",
                f"resize needs one of sizes (rows, then columns), {known}, got {command}",
            )
        )
    ((name, value),) = given.items()
    if name == "sizes":
        if hasattr(value, "__index__") and not getattr(value, "shape", ()):
            raise DescriptorError(
                f"sizes must be rows and columns, got {value}: shorter={value} is the shorter side, as of torchvision, "
                f"longer={value} the longer one, and sizes=({value}, {value}) a square"
            )
        return value
    pair = (integer(name, value),) * 2 if name in ("shorter", "longer") else counts(name, value)
    if len(pair) != 2 or min(pair) < 1:
        rule = "be 1 or more" if name in ("shorter", "longer") else "be rows and columns, both 1 or more"
        raise DescriptorError(f"{name} must {rule}, got {value}")
    new, _ = keeping_aspect(KEEP_ASPECT[name], old, pair)
    return tuple(max(size, 1) for size in new)


def rows_and_columns(sizes: tuple[int, ...], axes: Iterable[SupportsIndex] | None) -> tuple[int, int]:
    """The axes of rows and columns, by the rule of ``resize``.

    Raises:
        DescriptorError: they are not clear, or ``axes`` does not name two.
    """
    rank = len(sizes)
    if axes is not None:
        named = integers("axes", axes)
        if len(named) != 2:
            raise DescriptorError(f"axes must be those of rows and columns, two, got {named}")
        rows, columns = resized_axes(named, {"axes": named}, rank)
        return rows, columns
    if rank < 2:
        raise DescriptorError(f"an image has rows and columns, and shape {sizes} has {rank} axes")
    if rank == 2:
        return 0, 1
    if rank in (3, 4):
        is_first, is_last = (1 <= sizes[place] <= MAX_CHANNELS for place in (rank - 3, rank - 1))
        if is_first != is_last:
            return (rank - 3, rank - 2) if is_last else (rank - 2, rank - 1)
    rule = (
        "resize takes images of H W, H W C, C H W, N H W C or N C H W, and knows them by C, 1 to "
        f"{MAX_CHANNELS} at one of its places and more at the other; shape {sizes} is not clear: say which axes are "
        f"rows and columns: "
    )
    raise DescriptorError(
        Message.of(
            rule,
            f"axes={(rank - 3, rank - 2)} if the last has the channels, and axes={(rank - 2, rank - 1)} if it does not",
            f"--axes {rank - 3} {rank - 2} if the last has the channels, and --axes {rank - 2} {rank - 1} if it does "
            "not",
        )
    )


def _channels_with_alpha(sizes: tuple[int, ...], both: tuple[int, int]) -> int | None:
    """The axis of 2 or 4 channels: the last one if it comes after rows and columns, else the one before them."""
    axis = len(sizes) - 1 if max(both) < len(sizes) - 1 else min(both) - 1
    return axis if axis >= 0 and sizes[axis] in (2, 4) else None


def _require_effect(desc: TensorDesc, request: Request, linear_light: bool, premultiply: bool, has_alpha: bool) -> None:
    """Require that ``linear_light`` or ``premultiply`` can be done and changes something."""
    name = "linear_light" if linear_light else "premultiply"
    if premultiply and not has_alpha:
        raise DescriptorError(f"premultiply needs alpha, the last of 2 or 4 channels, image has shape {desc.sizes}")
    if read_words(request, desc.dtype.name)[0].mode == "nearest":
        raise DescriptorError(
            f"{name} True has no effect in mode {request.mode or 'nearest'!r}, which moves elements as they are"
        )
    if desc.dtype.name not in CODES:
        raise UnsupportedError(
            Message.of(
                f"{name} is for codes, elements of u8 or u16, not {desc.dtype}: ",
                "rs.reorder converts, or resize light itself",
                "`restride reorder --to` converts, or resize light itself",
            )
        )


def _resize_in_light(
    x: Tensor,
    filters: dict[str, Any],
    channels: int | None,
    is_linear: bool,
    premultiply: bool,
) -> Tensor:
    """Convert codes to f32, resample, and convert back: colours through a table, alpha (the last channel) without."""
    whole = x.desc
    x = x if whole.strides is not None else x.copy()
    light = empty(TensorDesc.xla("f32", x.sizes, family(x.desc, x.sizes).minor_to_major), x.device)
    _convert_codes(x, light, channels, is_linear, premultiply)
    resized = resample(light, **filters)
    layout = family(whole, resized.sizes)
    has_strides = layout.strides is not None  # a layout of one tile has strides, one of several tiles has none
    codes = empty(layout if has_strides else family(resized.desc, resized.sizes, x.dtype), x.device)
    _convert_codes(resized, codes, channels, is_linear, premultiply)
    return codes if has_strides else reorder(codes, out=empty(layout, x.device))


def _convert_codes(src: Tensor, dst: Tensor, channels: int | None, is_linear: bool, premultiply: bool) -> None:
    """Convert every element of ``src`` from codes to light, or back, into ``dst``."""
    colors, alpha = src, None
    if channels is not None:
        before = (slice(None),) * channels
        reorder(src[(*before, slice(-1, None))], out=dst[(*before, slice(-1, None))])
        colors, dst = src[(*before, slice(-1))], dst[(*before, slice(-1))]
        alpha = src[(*before, slice(-1, None))].broadcast_to(colors.sizes) if premultiply else None
    arguments = colors.desc, None if alpha is None else alpha.desc, dst.desc, is_linear, src.device.limits
    is_short = "u8" in (src.dtype.name, dst.dtype.name)  # the 256 KB tables of u16 are too large to keep
    kernels = cached(light_kernels, *arguments) if is_short else light_kernels(*arguments)
    if kernels:
        src.device.runtime.submit(kernels, (src.memory, dst.memory, src.memory))
