"""Which colours the numbers of an image file mean, and their conversion to sRGB.

An ICC profile says it, or chunks of a PNG. The name in a profile does not count: a profile is one of sRGB if LittleCMS,
by the media-relative colorimetric intent, converts a grid of colours to sRGB and changes none by more than 1 of 255.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from restride.dtypes import Array
from restride.errors import warn_caller

ColorSpace: TypeAlias = Literal["RGB", "GRAY", "CMYK"]
"""What the channels of pixels are, beside alpha, by the names of ICC."""

MAX_PROFILE = 1 << 23
"""Maximum bytes of an ICC profile, with which LittleCMS takes 64 MiB. Printers' profiles have up to 3 MB, others a few
KB."""

COLOR_CHUNKS = frozenset((b"cICP", b"sRGB", b"gAMA", b"cHRM"))
"""Chunks of a PNG that say what its colours are, beside the profile in iCCP."""

_MODES: dict[ColorSpace, str] = {"RGB": "RGB", "GRAY": "L", "CMYK": "CMYK"}
"""Pillow's mode for each colour space."""
_CHANNELS: dict[ColorSpace, int] = {"RGB": 3, "GRAY": 1, "CMYK": 4}
_CLASSES = (b"mntr", b"scnr", b"prtr", b"spac")
"""Classes of profiles that say what the colours of an image are: of a display, an input or output device, a space."""
_HEADER, _TAG = 128, 12
"""Bytes of the header of an ICC profile, and of a tag in the table after it."""
_EXACT = 0x100
"""LittleCMS's flag for no tables in between. With tables, dark greys of a linear profile are wrong by 10 of 255."""
_MAX_TAGS = 100
"""Maximum number of tags of a profile: LittleCMS's own limit."""

_UNIT = 100_000
"""The integer that gAMA and cHRM have for the number 1."""
_SRGB_GAMMA = 45_455
_GAMMA_TOLERANCE = 455
"""A gamma this near to sRGB's, 1 %, counts as sRGB's: codes then differ by less than 1 of 255."""
_SRGB_POINTS = (31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000)
"""x and y of white, red, green and blue, as cHRM states them."""
_POINT_TOLERANCE = 100
_LEAST = 1e-6
"""Primaries lie on one line if their determinant, or the share of one in white, is smaller than this."""
_MOST = 1 << 15
"""All numbers in an ICC profile are below this."""
_SRGB_CURVE = (2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
"""The numbers of a curve of ICC, (a x + b)^g from d on, and c x below: g, a, b, c, d."""
_SRGB_CODE_POINTS = bytes((1, 13, 0, 1))
_D50 = np.array((0.9642, 1.0, 0.8249))
"""XYZ of the white of every ICC profile."""
_BRADFORD = np.array(((0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296)))


class Colors(NamedTuple):
    """Colours that are not those of sRGB. ``source`` names what says so; ``profile`` is an ICC profile of them."""

    source: str
    profile: bytes


def other_colors(name: str, space: ColorSpace, profile: bytes | None, chunks: Mapping[bytes, bytes]) -> Colors | None:
    """The colours of an image; None if they are those of sRGB, or nothing says what they are.

    A profile of another space than that of the pixels is left out, with a warning.

    Args:
        name: what the warning calls the image.
        space: that of the pixels.
        profile: the ICC profile of the file; empty if it has one that is not whole.
        chunks: the ``COLOR_CHUNKS`` of a PNG. The first of these counts: cICP, the profile, sRGB, gAMA with cHRM.

    Raises:
        ValueError: the profile or a chunk is damaged, or cICP says other colours than sRGB's.

    Source: W3C, PNG, third edition, 4.3 (precedence), 11.3.2; ITU-T H.273 (the code points of cICP).
    """
    cicp = chunks.get(b"cICP")
    if cicp is not None:
        if cicp == _SRGB_CODE_POINTS:
            return None
        codes = ", ".join(map(str, cicp[:8]))
        raise ValueError(f"its cICP chunk has the code points {codes}, of which only 1, 13, 0, 1 (sRGB) are known")
    if profile is not None:
        space_of_profile = _require_whole(profile)
        if space_of_profile == space:
            return None if _is_srgb(space, profile) else Colors("an ICC profile", profile)
        warn_caller(f"{name} has pixels of {space} and an ICC profile of {space_of_profile}, which is left out")
    if b"sRGB" in chunks:
        return None
    return _by_chromaticities(space, chunks.get(b"gAMA"), chunks.get(b"cHRM"))


def in_srgb(space: ColorSpace, pixels: Array, profile: bytes) -> Array:
    """Pixels as RGB, converted from the colours of an ICC profile to sRGB, with the intent that the profile names.

    Args:
        space: that of the pixels and of the profile.
        pixels: u8; rows and columns, or rows, columns and channels, of which those after the ones of ``space`` are
            dropped.
        profile: one that ``other_colors`` has returned.

    Raises:
        ValueError: LittleCMS does not take the profile.
    """
    channels = pixels.reshape(*pixels.shape[:2], -1)[..., : _CHANNELS[space]]
    if space == "GRAY":
        greys = np.arange(256, dtype=np.uint8)[np.newaxis, :, np.newaxis]
        table: Array = _converted(space, greys, profile, flags=_EXACT)[0]
        return np.take(table, channels[..., 0], axis=0)
    return _converted(space, channels, profile)


def _require_whole(profile: bytes) -> str:
    """Check the header and the table of tags of an ICC profile, and return the name of its space.

    Raises:
        ValueError: it is too long, cut, damaged, or of a class without colours of an image.

    Source: ICC.1:2022, 7.2 and 7.3.
    """
    nbytes = len(profile)
    if nbytes > MAX_PROFILE:
        raise ValueError(f"its ICC profile has {nbytes} bytes, and at most {MAX_PROFILE} are read")
    if nbytes < _HEADER + 4 or profile[36:40] != b"acsp":
        raise ValueError(f"its ICC profile is damaged: its {nbytes} bytes do not begin as one")
    size, count = (int.from_bytes(profile[at : at + 4], "big") for at in (0, _HEADER))
    if count > _MAX_TAGS or not _HEADER + 4 + _TAG * count <= size <= nbytes:
        raise ValueError(f"its ICC profile is damaged: its {nbytes} bytes are said to be {size}, with {count} tags")
    for place in range(_HEADER + 4, _HEADER + 4 + _TAG * count, _TAG):
        name, at, length = struct.unpack_from(">4sII", profile, place)
        if at + length > size or _claimed_bytes(profile, at) > length:
            raise ValueError(f"its ICC profile is damaged: its tag {name!r} is shorter than what it claims to hold")
    if profile[12:16] not in _CLASSES:
        raise ValueError(f"its ICC profile has the class {profile[12:16]!r}, which says no colours of an image")
    return profile[16:20].decode("ascii", "backslashreplace").strip()


def _claimed_bytes(profile: bytes, at: int) -> int:
    """Least bytes of the table of colours that a tag announces; LittleCMS allocates them before it reads a colour."""
    kind, inputs, outputs, grid, table = struct.unpack(">4s4xBBB13xI", profile[at : at + 28].ljust(28, b"\0"))
    if kind in (b"mft1", b"mft2"):
        return int(grid**inputs * outputs * int(kind[3:]))
    if kind in (b"mAB ", b"mBA ") and table:
        return math.prod(profile[at + table : at + table + inputs]) * int(outputs)
    if kind == b"mpet":
        raise ValueError("its ICC profile has multi-process elements (mpet), which are not read")
    return 0


def _is_srgb(space: ColorSpace, profile: bytes) -> bool:
    if space == "CMYK":
        return False
    greys = np.arange(256, dtype=np.uint8)
    colors = np.stack([greys] * 3, axis=-1)
    if space == "RGB":
        steps = greys[::15]
        grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
        colors = np.concatenate([colors, grid])
    sample = colors[np.newaxis, :, : _CHANNELS[space]]
    converted = _converted(space, sample, profile, intent=1, flags=_EXACT)
    return bool(np.abs(converted - colors.astype(int)).max() <= 1)


def _converted(space: ColorSpace, pixels: Array, profile: bytes, intent: int | None = None, flags: int = 0) -> Array:
    """Pixels of [rows, columns, channels] as RGB in sRGB; the intent is the profile's if it is None.

    Raises:
        ValueError: LittleCMS does not take the profile.
    """
    from PIL import Image, ImageCms

    image = Image.frombytes(_MODES[space], pixels.shape[1::-1], pixels.tobytes())
    try:
        source = ImageCms.ImageCmsProfile(BytesIO(profile))
        intent = ImageCms.getDefaultIntent(source) if intent is None else intent
        srgb = ImageCms.createProfile("sRGB")
        return np.array(ImageCms.profileToProfile(image, source, srgb, intent, "RGB", flags=flags))
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises OSError, PyCMSError or, built without LittleCMS, ImportError
        raise ValueError(f"its ICC profile cannot be used: {error}") from error


# Profiles of gAMA and cHRM.


def _by_chromaticities(space: ColorSpace, gamma: bytes | None, chromaticities: bytes | None) -> Colors | None:
    """The colours that gAMA and cHRM say; None: sRGB's. A curve or primaries that they do not say are sRGB's."""
    exponent, points = _SRGB_GAMMA, _SRGB_POINTS
    if gamma is not None:
        exponent = int.from_bytes(gamma[:4], "big")
        if len(gamma) != 4 or not _UNIT // 100 <= exponent <= _UNIT * 100:
            raise ValueError(f"its gAMA chunk must be 1,000 to 10,000,000 in 4 bytes, is {exponent} in {len(gamma)}")
    if chromaticities is not None and space != "GRAY":
        if len(chromaticities) != 32:
            raise ValueError(f"its cHRM chunk is damaged: it has {len(chromaticities)} bytes, not 32")
        points = struct.unpack(">8I", chromaticities)
    off = max(abs(one - other) for one, other in zip(points, _SRGB_POINTS, strict=True))
    if abs(exponent - _SRGB_GAMMA) <= _GAMMA_TOLERANCE and off <= _POINT_TOLERANCE:
        return None
    numbers = (3, *_SRGB_CURVE) if gamma is None else (0, _UNIT / exponent)
    curve = struct.pack(f">4s4xH2x{len(numbers) - 1}i", b"para", numbers[0], *map(_fixed, numbers[1:]))
    names = ", ".join(name for name, chunk in (("gAMA", gamma), ("cHRM", chromaticities)) if chunk is not None)
    return Colors(f"gamma or chromaticities ({names})", _profile_of(space, curve, points))


def _profile_of(space: ColorSpace, curve: bytes, points: tuple[int, ...]) -> bytes:
    """An ICC profile of a tone curve, and of x and y of white, red, green and blue, as cHRM states them.

    Source: ICC.1:2022, 7 to 10, and E.3: Bradford's matrix adapts the colours to the white of D50.
    """
    tags = {b"kTRC": curve}
    if space == "RGB":
        colorants = _colorants(points)
        tags = {name + b"TRC": curve for name in (b"r", b"g", b"b")}
        tags |= {name + b"XYZ": _xyz(each) for name, each in zip((b"r", b"g", b"b"), colorants.T, strict=True)}
    tags[b"wtpt"] = _xyz(_D50)
    at = _HEADER + 4 + _TAG * len(tags)
    table = b""
    for name, content in tags.items():
        table += struct.pack(">4sII", name, at, len(content))
        at += len(content)
    header = struct.pack(">I4xI4s4s4s12x4s24xI", at, 0x4300000, b"mntr", f"{space:4}".encode(), b"XYZ ", b"acsp", 1)
    header += struct.pack(">3i48xI", *map(_fixed, _D50), len(tags))
    return b"".join((header, table, *tags.values()))


def _colorants(points: tuple[int, ...]) -> Array:
    """XYZ of red, green and blue, in columns, adapted to D50."""
    x, y = np.array(points, np.int64).reshape(4, 2).T
    xyz = np.stack([x, y, _UNIT - x - y]) / _UNIT
    white, primaries = xyz[:, 0], xyz[:, 1:]
    if xyz.min() >= 0 and white[1] > 0 and abs(np.linalg.det(primaries)) > _LEAST:
        shares = np.linalg.solve(primaries, white / white[1])
        cones = _BRADFORD @ white / white[1]
        if min(*shares, *cones) > _LEAST:
            adapted = np.linalg.solve(_BRADFORD, (_BRADFORD @ _D50 / cones)[:, np.newaxis] * _BRADFORD)
            colorants: Array = adapted @ (primaries * shares)
            if np.abs(colorants).max() < _MOST:
                return colorants
    raise ValueError(f"its cHRM chunk is damaged: no colours have white, red, green and blue at (x, y) {points}")


def _xyz(color: Array) -> bytes:
    return struct.pack(">4s4x3i", b"XYZ ", *map(_fixed, color))


def _fixed(number: float) -> int:
    """A number as ICC has it in 32 bits, of which 16 are behind the point."""
    return round(65536 * number)
