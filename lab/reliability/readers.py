"""Every function that reads a text or file from outside, with valid inputs for it, which are mutated."""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import io
import json
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from restride import vision
from restride.cli import operations
from restride.command import drivers, files, named_files, options, parser
from restride.drawing.explain import explain
from restride.drawing.picture import show
from restride.errors import RestrideError
from restride.kernel import modules
from restride.layout import TensorDesc
from restride.layout.argument import axis_order, laid_out
from restride.layout.lines import layouts_in
from restride.layout.tags import parse_tag
from restride.runtime import choices_file, choose, manifests, specialization
from restride.runtime.interface import DeviceInfo
from restride.runtime.vulkan import program
from restride.tensor.colors import ColorSpace, in_srgb, other_colors
from restride.tensor.images import imread
from restride.vision.families import FAMILIES
from restride.weights.rows import MAX_OF_GRADIENT
from restride_bench.audit.compiler import Figures, Key
from restride_bench.audit.kernels import Kernel
from restride_bench.audit.problems import differences
from restride_bench.audit.table import record_of
from restride_conformance import choice, selection, sweep
from restride_conformance.case import Case
from restride_conformance.operations import require_valid
from restride_conformance.record import Outcome, Target, Verdict
from restride_conformance.report import Record
from restride_conformance.report.compare import compare
from restride_conformance.report.file import json_text, read_record
from restride_conformance.report.junit import write_junit
from restride_conformance.report.page import write_page
from restride_conformance.report.summary import summary
from restride_conformance.shader import contract
from restride_measure.selftest import table as selftest
from restride_measure.selftest.table import table

CORPUS = Path(__file__).resolve().parents[2] / "tests" / "corpus"
"""Inputs that once failed: a file for each reader, one Python bytes literal per line."""


@dataclass(frozen=True)
class Reader:
    """A function that reads untrusted input, and the data to fuzz it with.

    read: reads an input, and raises AssertionError if what it read makes no sense.
    inputs: valid inputs, to mutate.
    tokens: the tokens of its inputs; without any, bytes and numbers of 1, 2, 4 and 8 bytes are mutated.
    is_json: inputs are JSON, whose values are mutated too.
    repair: corrects lengths and checksums, so that the contents after them are read; may raise anything.
    refusals: the exceptions that ``read`` may raise.
    longest: most bytes of an input, or twice the longest of ``inputs`` if that is more.
    small: number of inputs that `make test` has time for.
    """

    name: str
    read: Callable[[bytes], object]
    inputs: tuple[bytes, ...]
    tokens: tuple[bytes, ...] = ()
    is_json: bool = False
    repair: Callable[[bytes], bytes] | None = None
    refusals: tuple[type[Exception], ...] = (RestrideError,)
    longest: int = 4096
    small: int = 1000


def text_of(data: bytes) -> str:
    """The text as a command gets it from the shell: bytes that are not UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def corpus(name: str) -> tuple[bytes, ...]:
    """The inputs in ``tests/corpus`` for a reader."""
    path = CORPUS / f"{name.replace(' ', '_')}.txt"
    if not path.exists():
        return ()
    return tuple(ast.literal_eval(line) for line in path.read_text("ascii").splitlines() if not line.startswith("#"))


@contextmanager
def _variable(name: str, folder: Path) -> Iterator[None]:
    """Set an environment variable to ``folder`` while one input is read."""
    before = os.environ.get(name)
    os.environ[name] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _encoded(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode() for text in texts)


# Texts.

_LONG = 1 << 14
"""Number of elements from which an axis counts as long."""

_RANK_4 = TensorDesc("f32", (2, 3, 4, 5))


def _read_descriptor(data: bytes) -> None:
    desc = TensorDesc.parse(text_of(data))
    assert TensorDesc.parse(str(desc)) == desc, f"{desc} does not read back"
    assert desc.nbytes >= 0, f"{desc} has {desc.nbytes} bytes"


def _draw(data: bytes) -> None:
    layout, _, to = text_of(data).partition("|")
    picture = show(layout, to or None)
    str(picture).encode()
    picture.file(Path("picture.svg"))
    for desc in picture.layouts:
        explain(desc, None).encode()


def _read_tag(data: bytes) -> None:
    tag = parse_tag(text_of(data))
    assert sorted(tag.order) == list(range(tag.rank)), f"order {tag.order} does not name each axis once"
    assert all(0 <= axis < tag.rank and size > 0 for axis, size in tag.blocks), f"blocks {tag.blocks}"


_LINES = (
    "onednn_verbose,v1,exec,cpu,reorder,undef,src:f32::blocked:abcd::f0 dst:f32:p:blocked:aBcd16b::f0,,,2x20x4x4,0.02",
    "src_f32::blocked:abcd:f0 dst_u8::blocked:aBcd8b:f0,,mb2_ic3oc16_ih7oh4kh5sh2dh0ph2_iw9ow5kw3sw2dw0pw1,0.02",
    "memref<3x5xf32, strided<[1, 3], offset: 4>, 1>",
    "memref<3x5xf32, affine_map<(d0, d1) -> (d1, d0)>>",
    "ROOT %t = (f32[2]{0}, /*index=1*/s32[3]{0}) tuple(f32[2]{0} %a, s32[3]{0} %b)",
)
_LINE_TOKENS = (
    *("src:", "f32", ":", "::", "blocked", "undef", "p", "aBcd16b", "x", "2", "*", ",", " ", "memref<", "tensor<"),
    *("strided<", "affine_map<", "offset", "d0", "->", "[", "]", "(", ")", "{0}", ">", "?", "#", "%a = ", "/*", "*/"),
)


def _read_line(data: bytes) -> None:
    for _, desc, _ in layouts_in(text_of(data)):
        assert TensorDesc.parse(str(desc)) == desc, f"{desc} does not read back"


def _read_layout(data: bytes) -> None:
    text = text_of(data)
    desc, order = laid_out(_RANK_4, text), axis_order(_RANK_4, text)
    assert desc.nbytes >= 0, f"{desc} has {desc.nbytes} bytes"
    assert sorted(order) == [0, 1, 2, 3], f"order {order} does not name each axis once"


def _read_case(data: bytes) -> None:
    case = Case.parse(text_of(data))
    assert Case.parse(str(case)) == case, f"{case} does not read back"
    # The weights of a library or of a gradient are computed for whole axes at once, which takes seconds for long ones.
    is_whole = case.op == "resample_backward" or case.get("like") is not None
    if not is_whole or not _LONG <= max((*case.src.sizes, *case.dst.sizes), default=0) <= MAX_OF_GRADIENT:
        require_valid(case)


def _read_case_file(data: bytes) -> None:
    # Loops make 200,000 cases of a few lines, which take 20 s and 300 MiB: that is what they are for.
    most = sweep.MAX_CASES, sweep.MAX_WORK
    sweep.MAX_CASES, sweep.MAX_WORK = 2000, 2_000_000
    try:
        sweep.read_cases(data.decode("utf-8", "replace"))
    finally:
        sweep.MAX_CASES, sweep.MAX_WORK = most


def _read_expression(data: bytes) -> None:
    selection.expression(text_of(data))("resample u8[2,3]{1,0} -> u8[4,6]{1,0} mode=linear")


_DEVICE = DeviceInfo(0, "a device", "cpu", 65541, 0, "llvmpipe", "Mesa 22.3.6", "1.3.230", "0" * 32, 1 << 34)

_OPTIONS: dict[str, Callable[[str], object]] = {
    "number": options.number,
    "type": options.element_type,
    "seconds": parser._seconds,  # noqa: SLF001 - options have no public readers
    "index": parser.parse_index,
    "box": operations.box,
    "window": options.part_of_axis,
    "shard": choice._shard,  # noqa: SLF001
    "device": lambda text: choose([_DEVICE], text),
}


def _read_option(data: bytes) -> None:
    name, _, text = text_of(data).partition("=")
    _OPTIONS.get(name, options.number)(text)


_DESCRIPTORS = (
    *("f32[]", "u32[]{:T(128)}", "f32[2,3]{0,1}", "bf16[0]{0}", "f32[2,3]{strides=(-1,2),offset=4}"),
    *("f32[3,5]{1,0:T(2,2)}", "bf16[2048]{0:T(1024)(128)(2,1)}", "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"),
    *("f32[2,3]{1,0:T(2,2)pad(3,5)=-1.5}", "f64[2]{0:pad(3)=1e+30}", "f32[2,16,4,4]:nChw16c"),
    *("f32[2]{at=(1+2a,3),in=[4,4]{1,0:T(4,4)}}", "s8[3,4]{at=(7-b,a,4a+b),in=[8,3,20]:aBc4b}"),
    "f32[8,128]{1,0:T(8,128)S(1)}",
)
_DESCRIPTOR_TOKENS = (
    *("f32", "s8", "[", "]", "{", "}", "(", ")", ",", ":", "T", "pad", "=", "strides", "offset", "at", "in"),
    *("*", "-", "+", "-1", "0", "1", "2", "16", "a", "b", "c", "nan", "inf", "1.5", "e9", "S(", "D(", " "),
    *("4611686018427387904", "9" * 155, "1" + "0" * 400, "1e400", "1e-400"),
)
_TAGS = ("x", "acdb", "abcdefgh", "nhwc", "nChw16c", "OIhw4i16o4i", "BA16a16b2a", "hwigo", "ldgOI32o4i", "ntc", "NHWC")
_CASES = (
    "slice f32[1,1,4,4]{3,2,1,0} -> f32[1,1,2,2]{3,2,1,0} offsets=(0,0,0,1) sizes=(1,1,4,3) strides=(1,1,-2,2)",
    "reorder u8[1,3,5,7]{3,2,1,0} -> u8[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC",
    "resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3",
    "reorder f32[8,6]{1,0} -> f32[6,2]{0,1} view=[::-4].permute(1,0) data=index",
    "reorder u8[1,3,5,7]{1,3,2,0} -> f16[1,3,5,7]{3,2,1,0} src_scale=(1) src_zero_point=(1)",
    "reorder f32[4,8]{1,0} -> s8[4,8]{0,1} dst_scale=(0,1) group_sizes=(2,4) rounding=even saturate=no sum_scale=0.5",
    "reorder f32[4]{0} -> f32[4]{0} post_ops=relu(0.1),clip(0,6),linear(2,-1) out=any rounds_first=yes",
    "resample u8[9,30]{1,0} -> f32[9,11]{1,0} mode=cubic sizes=(20) antialias=yes window=(5:16) src_scale=0.5",
    "resample f32[3,5]{1,0} -> f32[6,10]{1,0} mode=nearest axes=(0,-1) scales=(2,1/3) coordinates=asymmetric",
    "resample f32[9]{0} -> f32[4]{0} mode=linear coordinates=tf_crop_and_resize roi=(0.1,0.9) extrapolation_value=-1",
    "resample_backward f32[8,8]{1,0} -> f32[4,3]{1,0} mode=area",
    "yuv_to_rgb u8[9,8]{1,0} -> u8[6,8,3]{2,1,0} format=i420 matrix=bt709 full_range=yes",
    "crop_resize u8[2,9,9,3]{3,2,1,0} -> f32[2,4,4,3]{3,2,1,0} boxes=(2,3,10,12,-5,0.5,9,9) axes=(1,2) mode=linear",
    "crop_resize u8[9,9]{1,0} -> u8[1,4,4]{2,1,0} boxes=(2,3,9,9) axes=(0,1) mode=nearest fill=(1) flip=horizontal",
    "crop_resize u8[9,9]{1,0} -> u8[1,4,4]{2,1,0} boxes=(0,0,1,1) axes=(0,1) mode=linear letterbox=center like=opencv",
    "pad f32[4,5]{1,0} -> f32[7,6]{1,0} before=(1,0) behind=(2,1) mode=reflect value=-7",
    "roll u8[5,7]{1,0} -> u8[5,7]{0,1} shift=(4,-9) axes=(1,0)",
    "concat f16[6,5]{1,0} -> f16[9,5]{1,0} axes=(0) parts=(2:,1:3,:3)",
    "stack u8[3,5,4]{2,1,0} -> u8[5,3,4]{2,1,0} axes=(1)",
    "tile f32[3,5]{1,0} -> f32[2,3,15]{2,1,0} repetitions=(2,1,3)",
    "rearrange u8[6,4,3]{2,1,0} -> f32[3,2,12]{2,1,0} pattern=(h,s),...,c->h,s,(...,c) lengths=s=2 dst_scale=255",
    "equal s64[3,5]{1,0} -> pred[3,5]{1,0} other=f64[3,1]{1,0:T(2,2)} negated=yes",
)
_CASE_TOKENS = (
    *(*_DESCRIPTOR_TOKENS, "->", "view=", "data=bits", "out=same", "out=new", "seed=18446744073709551616", "1/3", "::"),
    *("mode=linear", "mode=area", "like=pillow", "antialias=yes", "window=(0:1)", "sizes=(1)", "scales=(0.5)", "None"),
    *(".reshape(-1)", ".broadcast_to(4,4)", ".permute(1,0)", "[...]", "boxes=(0,0,1,1)", "yes", "no", "1e99", "99" * 9),
)
_CASE_FILES = (
    """# cases
let WIDE = f32 s32 u32
for T in $WIDE u8
for N,M in 4,2 65,33
reorder $T[$N,$M]{1,0} -> $T[$N,$M]{0,1}
slice $T[$N]{0} -> $T[$((N-1)/3+1)]{0} offsets=(0) sizes=($N) strides=(3)

""",
    "for SIZES;ORDER in 2,3;1,0 4,5;0,1\nfor S in 1..4\nreorder u8[$SIZES]{$ORDER} -> u8[$SIZES]{0,1} seed=$S\n",
    "let N = $(MAX_BINDING/4)\nreorder f32[$N]{0} -> f32[$N]{0}\nfor T in $TYPES\nreorder $T[2]{0} -> $T[2]{0}\n",
)


def _texts() -> tuple[Reader, ...]:
    from argparse import ArgumentTypeError

    layouts = ("NCHW->NHWC", "NHWC -> NCHW", "abcd->dcba", "NCHW", "any", "nChw16c", "{0,1,2,3}", *_DESCRIPTORS)
    expressions = ("linear and not (u8 or s8)", "'u8[2,3]' or \"f32 \"", "not not not a", "((((a))))")
    values = (
        *("number=1_0", "number=1e400", "number=-0x1", "type=f8e4m3fn", "seconds=1e3", "seconds=nan", "window=5:9"),
        *("index=[..., ::2, ::-1]", "index=-1, None", "box=1,2,3.5,4", "shard=1/2", "shard=\u0663/\u0664"),
    )
    drawings = (*_DESCRIPTORS, "f32[2,3]{1,0}|{0,1}", "f32[1,3,5,7]|NHWC", "f32[2,16,4,4]|nChw16c")
    in_tags = (*"abcdefghijklnotwxABCIO", "16", "8", "2", "0", "4611686018427387904")
    in_layouts = ("N", "C", "H", "W", "D", "a", "->", "-", ">", " ")
    in_files = ("\n", "\n\n", "let ", "for ", " in ", "$", "$(", "..", "1..4096", "$T", "$TYPES", "A,B", ";", *_CASES)
    in_expressions = ("and", "or", "not", "(", ")", "'", '"', "u8", " ")
    in_values = (*(f"{name}=" for name in _OPTIONS), *":-+,/.e1_", "9" * 5000, "inf", "nan")
    refusals = RestrideError, ArgumentTypeError

    def of(
        name: str, read: Callable[[bytes], None], inputs: Iterable[str], tokens: Iterable[str], **more: Any
    ) -> Reader:
        return Reader(name, read, _encoded(inputs), _encoded(tokens), **more)

    return (
        of("descriptors", _read_descriptor, _DESCRIPTORS, _DESCRIPTOR_TOKENS),
        of("drawings", _draw, drawings, (*_DESCRIPTOR_TOKENS, "|"), small=300),
        of("tags", _read_tag, _TAGS, in_tags),
        of("layouts", _read_layout, layouts, in_layouts),
        of("lines with layouts", _read_line, _LINES, _LINE_TOKENS),
        of("cases", _read_case, _CASES, _CASE_TOKENS),
        of("case files of 2,000 cases", _read_case_file, _CASE_FILES, in_files, small=300),
        of("expressions", _read_expression, expressions, in_expressions),
        of("options", _read_option, values, in_values, refusals=refusals),
    )


# Files of arrays.


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npy_header(text: str, version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode()


def _npy_repair(data: bytes) -> bytes:
    """The data with the right length in its header, which ends at the first newline."""
    end = data.index(b"\n") + 1
    return data[:8] + struct.pack("<H", end - 10) + data[10:]


def _image(mode: str, kind: str, **saved: Any) -> bytes:
    from PIL import Image

    picture = Image.effect_noise((9, 7), 60).convert("RGB")
    picture = picture.quantize(4) if mode == "P" else picture.convert("L").convert(mode)
    file = io.BytesIO()
    picture.save(file, kind, **saved)
    return file.getvalue()


def _exif() -> Any:
    from PIL import Image

    tags = Image.Exif()
    tags[0x0112], tags[0x010E] = 6, "held upright"
    return tags


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", binascii.crc32(kind + content))


def _png_repair(data: bytes) -> bytes:
    """The data with the right checksums of its chunks, whose lengths are taken as they are."""
    fixed, position = [data[:8]], 8
    while position + 12 <= len(data):
        length = struct.unpack(">I", data[position : position + 4])[0]
        end = min(position + 8 + length, len(data))
        checksum = struct.pack(">I", binascii.crc32(data[position + 4 : end]))
        fixed += [data[position:end], checksum]
        position = end + 4
    return b"".join(fixed) + data[position:]


def _png_of(width: int, height: int, bits: int, color: int, content: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", content) + _chunk(b"IEND", b"")


_DEEP = ((16, 2, 18), (16, 4, 12), (16, 6, 24), (2, 0, 1))
"""Kinds of PNG that Pillow cannot write: bits of a sample, color type, and bytes of a row of 3 pixels."""
_ARITHMETIC = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgy"
    "PC4zNDL/yQALCAIAAgABAREA/8wABgAQEAX/2gAIAQEAAD8AHreA/9k="
)
"""A flat JPEG of 512 x 512 pixels with arithmetic coding, which Pillow cannot write."""


def _pngs() -> tuple[bytes, ...]:
    import zlib

    plain = _image("RGB", "PNG")
    frame = struct.pack(">IIIII", 0, 9, 7, 0, 0) + bytes(6)
    text = b"Comment\0\0" + zlib.compress(bytes(1 << 15))
    return (
        *(_image(mode, "PNG") for mode in ("1", "L", "LA", "RGB", "RGBA", "P", "I;16")),
        _image("P", "PNG", transparency=1),
        _image("RGB", "PNG", exif=_exif()),
        _png_of(13_000, 13_000, 8, 2, zlib.compress(bytes(1 << 17))),
        _png_of(0, 1 << 31, 16, 6, b""),
        plain[:33] + _chunk(b"zTXt", text) + _chunk(b"iCCP", text) + _chunk(b"gAMA", bytes(4)) + plain[33:],
        plain[:33] + _chunk(b"acTL", struct.pack(">II", 2, 0)) + _chunk(b"fcTL", frame) + plain[33:],
        plain[:33] + _chunk(b"tRNS", bytes(6)) + plain[33:],
        *(_png_of(3, 2, bits, color, zlib.compress(bytes(50)[: 2 + 2 * size])) for bits, color, size in _DEEP),
    )


def _jpegs() -> tuple[bytes, ...]:
    progressive = _image("RGB", "JPEG", progressive=True)
    at = progressive.index(b"\xff\xc2") + 5
    return (
        *(_image(mode, "JPEG") for mode in ("L", "RGB", "CMYK")),
        progressive,
        _image("RGB", "JPEG", exif=_exif(), icc_profile=bytes(200), comment=b"a comment", dpi=(72, 72)),
        progressive[:at] + struct.pack(">HH", 13_000, 13_000) + progressive[at + 4 :],
        _ARITHMETIC,
    )


def _webps() -> tuple[bytes, ...]:
    lossy = _image("RGB", "WEBP")
    return (
        lossy,
        *(_image(mode, "WEBP", lossless=True) for mode in ("L", "RGB", "RGBA")),
        _image("RGBA", "WEBP", exif=_exif(), icc_profile=bytes(200)),
        _image("RGB", "WEBP", save_all=True, append_images=[]),
        lossy[:26] + struct.pack("<HH", 13_000, 13_000) + lossy[30:],
    )


def _colored_pngs() -> tuple[bytes, ...]:
    gamma = _chunk(b"gAMA", struct.pack(">I", 100_000))
    points = _chunk(b"cHRM", struct.pack(">8I", 34_567, 35_850, 73_470, 26_530, 15_960, 84_040, 3_660, 10))
    chunks = (gamma, gamma + points, _chunk(b"cICP", bytes((9, 16, 0, 1))), _chunk(b"sRGB", b"\0") + gamma)
    plain = [_image(mode, "PNG") for mode in ("L", "RGB", "P")]
    return tuple(each[:33] + chunk + each[33:] for each in plain for chunk in chunks)


def _profiles() -> tuple[bytes, ...]:
    """ICC profiles: that of sRGB, those made of the chunks of a PNG, and one of tables."""
    from PIL import ImageCms

    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    points = (34_567, 35_850, 73_470, 26_530, 15_960, 84_040, 3_660, 10)
    chunks = {b"gAMA": struct.pack(">I", 55_556), b"cHRM": struct.pack(">8I", *points)}
    spaces: tuple[ColorSpace, ...] = ("RGB", "GRAY")
    made = [other_colors("a PNG", space, None, chunks) for space in spaces]
    table = b"mft1" + bytes(4) + bytes((3, 3, 2, 0)) + struct.pack(">9i", *[65_536, 0, 0, 0] * 2, 65_536)
    table += bytes(range(256)) * 3 + bytes(range(0, 240, 10)) + bytes(range(256)) * 3
    lut = srgb[:20] + b"Lab " + srgb[24:128] + struct.pack(">I4sII", 1, b"A2B0", 144, len(table)) + table
    lut = struct.pack(">I", len(lut)) + lut[4:]
    return tuple(profile for profile in (srgb, *(each.profile for each in made if each is not None), lut))


def _profile_repair(data: bytes) -> bytes:
    """The profile, with the right length and signature in its header."""
    return struct.pack(">I", len(data)) + data[4:36] + b"acsp" + data[40:]


def _read_profile(data: bytes) -> None:
    space: ColorSpace = "GRAY" if data[16:20] == b"GRAY" else "CMYK" if data[16:20] == b"CMYK" else "RGB"
    colors = other_colors("an image", space, data, {})
    if colors is not None:
        pixels = in_srgb(space, np.zeros((2, 3, 4), np.uint8), colors.profile)
        assert pixels.shape == (2, 3, 3), f"pixels of {pixels.shape}"


def _tiff(
    rows: int, columns: int, compression: int, data: bytes | bytearray, *more: tuple[int, int], order: str = "<"
) -> bytes:
    """A TIFF file of one strip of grey; more: tags of one number."""
    where = (324, 325) if 322 in dict(more) else (273, 279)
    tags = {256: columns, 257: rows, 258: 8, 259: compression, 262: 1, where[0]: 8, where[1]: len(data), 277: 1}
    tags |= {278: rows} if where[0] == 273 else {}
    tags |= dict(more)
    entries = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in sorted(tags.items()))
    head = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 8 + len(data))
    return head + data + struct.pack(f"{order}H", len(tags)) + entries + bytes(4)


def _tiffs() -> tuple[bytes, ...]:
    import zlib

    import imagecodecs

    noise = np.arange(63, dtype=np.uint8).tobytes()
    packed = {5: imagecodecs.lzw_encode(noise), 8: zlib.compress(noise), 32773: imagecodecs.packbits_encode(noise)}
    packed |= {34925: imagecodecs.lzma_encode(noise), 50000: imagecodecs.zstd_encode(noise)}
    grey = np.arange(63, dtype=np.uint8).reshape(7, 9)
    rgb = np.arange(189, dtype=np.uint8).reshape(7, 9, 3)
    return (
        *(_image(mode, "TIFF") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F")),
        *(_image("1", "TIFF", compression=kind) for kind in ("group3", "group4")),
        _image("YCbCr", "TIFF", compression="jpeg"),
        _image("RGB", "TIFF", exif=_exif(), icc_profile=bytes(200)),
        _tiff(7, 9, 1, noise),
        _tiff(7, 9, 1, noise, order=">"),
        *(_tiff(7, 9, kind, data, (317, 2)) for kind, data in packed.items()),
        _tiff(7, 9, 7, imagecodecs.jpeg_encode(grey)),
        _tiff(7, 9, 34933, imagecodecs.png_encode(grey)),
        _tiff(7, 9, 34712, imagecodecs.jpeg2k_encode(grey, reversible=True)),
        *(
            _tiff(7, 9, kind, imagecodecs.webp_encode(rgb, lossless=lossless), (262, 2), (277, 3))
            for kind, lossless in ((34927, True), (50001, False))
        ),
        _tiff(7, 9, 8, zlib.compress(bytes(256)), (322, 16), (323, 16), (274, 6)),
        _tiff(30_000, 30_000, 5, imagecodecs.lzw_encode(bytes(99))),
        _tiff(13_000, 13_000, 50000, imagecodecs.zstd_encode(bytes(99))),
        _tiff(13_000, 13_000, 34925, imagecodecs.lzma_encode(bytes(99))),
    )


_EXPANSION = {"a.npy": 1, "a.png": 4 * 8 * 1032, "a.jpg": 4 * 512, "a.webp": 4 * 1032, "a.tif": 8 * 32768}
"""Maximum bytes of elements for each byte of a file; in TIFF by zstd's blocks, of pixels of one bit."""
_FREE = {"a.jpg": 1 << 22, "a.webp": 1 << 22, "a.tif": 3 << 22}
"""Bytes of pixels that even a tiny file may have: by arithmetic coding in JPEG, flat WebP images, palettes in TIFF."""


def _arrays(folder: Path) -> tuple[Reader, ...]:
    def file_reader(name: str) -> Callable[[bytes], object]:
        path = folder / name

        def read(data: bytes) -> None:
            path.write_bytes(data)
            array = files.read_array(path)
            most = max(_EXPANSION[name] * len(data), _FREE.get(name, 0))
            assert array.array.nbytes <= most, f"{array} of {len(data)} bytes"

        return read

    def read_colors(data: bytes) -> None:
        for mode in ("rgb", "srgb"):
            assert imread(data, mode=mode).shape[2] == 3, "not three channels"

    def read_buffer(data: bytes) -> None:
        desc, _, content = data.partition(b"\n")
        (folder / "a.bin").write_bytes(content)
        buffer = files.read_buffer(folder / "a.bin", text_of(desc))
        assert buffer.data.size == buffer.desc.nbytes

    npys = (
        *(_npy(np.arange(6).reshape(2, 3).astype(dtype)) for dtype in ("<f4", ">i2", "u1", "?", "<f8", "<c8")),
        _npy(np.asfortranarray(np.arange(6).reshape(2, 3))),
        _npy(np.zeros((), "<f2")),
        _npy(np.zeros(2, [("a", "<f4"), ("b", "u1")])),
        _npy(np.array([{}, None], object)),
        _npy(np.zeros(3, "<M8[s]")),
        _npy_header("{'descr': '|V1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}\n", 2),
        _npy_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1000000000,)}\n", 3) + bytes(40),
    )
    tokens = (
        *("{", "}", "'descr'", "'fortran_order'", "'shape'", "True", "False", "(", ")", ",", "'<f4'", "'|O'", "'|V1'"),
        *("'<f1'", "'>c16'", "-1", "0", "4294967296", "9" * 400, "1e400", "L", "None", "[", "]", ":", "\n", "((" * 200),
    )
    buffers = (b"f32[2,3]{1,0}\n" + bytes(24), b"u8[3]:a\nabc", b"f32[0]{0}\n", b"s8[2]{strides=(0)}\n7")
    return (
        Reader("npy files", file_reader("a.npy"), npys, _encoded(tokens), repair=_npy_repair),
        Reader("bin files", read_buffer, buffers, _encoded((*_DESCRIPTOR_TOKENS, "\n"))),
        # Files as short as ``longest`` cannot have so many pixels that these take much memory.
        Reader("PNG files", file_reader("a.png"), _pngs(), repair=_png_repair, longest=256),
        Reader("JPEG files", file_reader("a.jpg"), _jpegs(), longest=1024),
        Reader("WebP files", file_reader("a.webp"), _webps(), longest=1024),
        Reader("colours of PNG files", read_colors, _colored_pngs(), repair=_png_repair, longest=256),
        Reader("ICC profiles", _read_profile, _profiles(), repair=_profile_repair, refusals=(ValueError,), small=300),
        Reader("TIFF files", file_reader("a.tif"), _tiffs(), longest=1024),
    )


# Files that others name.

_SECRET = 77


def _naming_files(folder: Path) -> tuple[Reader, ...]:
    """HDF5 files (a kind and a name) and OME-XML that name a file, which is never read outside of their folder."""
    near = folder / "near"
    near.mkdir()
    (folder / "secret.bin").write_bytes(bytes([_SECRET]) * 16)

    def read_hdf5(data: bytes) -> None:
        import h5py

        kind, _, rest = text_of(data).partition("\n")
        name = rest.replace("{}", str(folder))
        for path, element in ((folder / "secret.h5", _SECRET), (near / "b.h5", 0)):
            with h5py.File(path, "w") as file:
                file["x"] = np.full(16, element, np.uint8)
        # What is no name of HDF5 is refused by h5py.
        with h5py.File(near / "a.h5", "w") as file, suppress(ValueError, OSError, TypeError, RuntimeError):
            if kind == "storage":
                file.create_dataset("x", shape=(16,), dtype="u1", external=[(name, 0, 16)])
            elif kind == "link":
                file["x"] = h5py.ExternalLink(name, "/x")
            elif kind == "soft":
                file["y"] = np.zeros(16, np.uint8)
                file["x"] = h5py.SoftLink(name)
            else:
                layout = h5py.VirtualLayout((16,), "u1")
                layout[:] = h5py.VirtualSource(name, "x", shape=(16,))
                file.create_virtual_dataset("x", layout)
        with ExitStack() as stack:
            array = files.open_array(near / "a.h5" / "x", stack)
            with suppress(OSError):  # it lies in the folder, and is shorter or no file
                assert not (array[...] == _SECRET).any()

    def read_ome(data: bytes) -> None:
        for name in named_files.named_by_ome(data.decode("utf-8", "replace")):
            with suppress(RestrideError, OSError, ValueError):
                named_files.Reach.of(near / "a.ome.tif", follow=False).require(near / name)
                assert (near / name).resolve().is_relative_to(near.resolve())

    hdf5 = ("link\nb.h5", "virtual\nb.h5", "storage\n{}/near/a.bin", "soft\n/y")
    kinds = ("link\n", "virtual\n", "storage\n")
    parts = (*kinds, "..", "/", "{}", "secret.h5", "secret.bin", "a.h5", "/dev/zero", "%b")
    ome = (
        '<OME xmlns="o"><Image><Pixels><TiffData><UUID FileName="../a.tif"/></TiffData></Pixels></Image></OME>',
        '<!DOCTYPE a [<!ENTITY b "cc"><!ENTITY d "&b;&b;&b;">]><OME><UUID FileName="&d;/&#47;x"/></OME>',
        f"<OME>{'<UUID>' * 500}",
    )
    return (
        Reader("names in HDF5 files", read_hdf5, _encoded(hdf5), _encoded(parts)),
        Reader("names in OME-XML", read_ome, _encoded(ome), _encoded(("<UUID", ' FileName="', '"', "/>", "..", "/"))),
    )


# JSON.

_REPORT_CASE = "reorder u8[2,3]{1,0} -> u8[2,3]{0,1}"


def _record() -> Record:
    outcomes = (
        Outcome(_REPORT_CASE, Verdict.PASSED, "", 0.5),
        Outcome(f"{_REPORT_CASE} seed=1", Verdict.FAILED, "1 of 6 elements is wrong\nelement (0, 1)", 0.25),
    )
    return Record(
        kind="test",
        started=datetime(2026, 1, 2, tzinfo=UTC),
        seconds=1.5,
        command="restride test",
        options={"mode": "correctness", "catalogues": ["ci"], **asdict(Target())},
        selected=2,
        device=asdict(_DEVICE),
        versions={"restride": "0.1", "python": "3.11"},
        platform="Linux",
        outcomes=outcomes,
    )


def _measured() -> Record:
    resident: dict[str, Any] = {"restride": [1e-3, 2e-3], "copy": [1e-3], "numpy": 5e-3}
    goals = {"at most 2x numpy": {"met": True, "measured": "0.30x numpy"}}
    figures = {"resident": resident, "kernel": {"restride": 1e-4}, "goals": goals}
    outcomes = (
        Outcome("copy f32", Verdict.PASSED, group="copies", figures=figures),
        Outcome("numpy", Verdict.SKIPPED, "no", group="installed", figures={"status": "missing", "sizes": [1, 2]}),
    )
    options = {"repeat": 2, "measures": ["resident", "kernel"], "peers": {"numpy": "2"}, "small": True}
    problems, not_run = ({"case": "a", "message": "b"},), {"torch": "not here"}
    record = replace(_record(), problems=problems, not_run=not_run, warnings=("busy",))
    return replace(record, kind="bench", device=None, options=options, outcomes=outcomes)


def _audit() -> Record:
    kernel = Kernel(Key("run_copy_32", (1, 2), 3), "copy f32")
    driver = {"name": "a GPU", "driver": "a driver", "version": "Mesa 26"}
    return record_of([kernel], {"navi21": (driver, [Figures(7, 7, 7, 7, 7, 7, 7, {"load 16": 7})])})


def _selftest() -> bytes:
    return (CORPUS.parents[1] / "docs" / "devices" / "llvmpipe.json").read_bytes()


def _configurations(folder: Path) -> Reader:
    """A reader of the configurations of image processors, with the defaults of each family."""
    path = folder / "config.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        processor = vision.processor(path)
        repr(processor).encode()
        for size in ((5, 7), (1, 300), (600, 400)):
            processor.plan(size)

    configs = [{"image_processor_type": family.class_name, **family.defaults} for family in FAMILIES.values()]
    inputs = tuple(json.dumps(config).encode() for config in ({"image_processor": configs[0]}, *configs))
    return Reader("configurations", read, inputs, is_json=True, longest=1 << 14, small=300)


def _loader_files(folder: Path) -> tuple[Reader, ...]:
    """The readers of files that the Vulkan loader reads too."""
    driver, layer = folder / "driver.json", folder / "layer.json"

    def read_driver(data: bytes) -> None:
        driver.write_bytes(data)
        drivers.driver_file(str(driver))

    def read_layer(data: bytes) -> None:
        layer.write_bytes(data)
        read, *_ = manifests.layers({"VK_LAYER_PATH": str(layer), "XDG_DATA_DIRS": str(folder)})
        assert read.path == layer
        read.problem.encode()

    described = {"name": "VK_LAYER_A_b", "type": "GLOBAL", "library_path": "./b.so", "api_version": "1.3.230"}
    switched = described | {"enable_environment": {"B": "1"}, "disable_environment": {"NO_B": ""}}
    layers = ({"layer": switched}, {"layers": [described, switched]})
    icd = {"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_lvp.so", "api_version": "1.3.230"}}
    return (
        Reader("driver manifests", read_driver, (json.dumps(icd).encode(),), is_json=True),
        Reader("layer manifests", read_layer, _encoded(map(json.dumps, layers)), is_json=True),
    )


def _json_files(folder: Path) -> tuple[Reader, ...]:
    record_file, shaders = folder / "record.json", folder / "spirv"
    shaders.mkdir()
    code = modules.load_module("run_copy_32")
    (shaders / "copy.spv").write_bytes(code)
    copy = {"sha256": hashlib.sha256(code).hexdigest(), "bytes": len(code), "defines": []}
    listed = {"format": 2, "modules": {"copy": copy}}
    choices = {"device": "a device", "choices": {"elements": "apart", "transpose": "shared"}}

    known = {record.kind: record for record in (_record(), _measured(), _audit())}

    def read_file(data: bytes) -> None:
        record_file.write_bytes(data)
        record = read_record(record_file)
        before = known.get(record.kind, record)
        judged = differences(["navi21"])
        for text in (summary(record), str(compare(before, record, judged)), str(compare(record, before, judged))):
            text.encode()
        if record.kind == "test":
            write_junit(record, folder / "report.xml")
        write_page(record, folder / "report.html")

    def read_selftest(data: bytes) -> None:
        (folder / "selftest.json").write_bytes(data)
        shown = table([selftest.read(folder / "selftest.json")])
        assert shown.encode().count(b"\n") == 2

    def read_choices(data: bytes) -> None:
        (folder / "device.json").write_bytes(data)
        with _variable(choices_file.FOLDER_VARIABLE, folder):
            choices_file.read_choices("device")

    def read_list(data: bytes) -> None:
        (shaders / "manifest.json").write_bytes(data)
        folder_before, modules.spirv_folder = modules.spirv_folder, lambda: shaders
        try:
            modules.manifest.cache_clear()
            # A plan names the module, never the list.
            assert modules.load_module.__wrapped__("copy") == code
        finally:
            modules.spirv_folder = folder_before
            modules.manifest.cache_clear()

    records = _encoded(map(json_text, known.values()))
    return (
        Reader("records", read_file, records, is_json=True, small=300),
        Reader("choices", read_choices, (json.dumps(choices).encode(),), is_json=True),
        Reader("module manifests", read_list, (json.dumps(listed).encode(),), is_json=True),
        Reader("selftests", read_selftest, (_selftest(),), is_json=True),
        _configurations(folder),
        *_loader_files(folder),
    )


# Files of words and of lines.


def _digest_repair(data: bytes) -> bytes:
    return hashlib.sha256(data[32:]).digest() + data[32:]


def _other_files(folder: Path) -> tuple[Reader, ...]:
    failed_cases = folder / "restride" / "last_failed.txt"
    failed_cases.parent.mkdir()

    def read_cache(data: bytes) -> None:
        (folder / "pipelines.bin").write_bytes(data)
        content = program.read_cache(folder / "pipelines.bin")
        assert content in (b"", data[32:])

    def read_kept(data: bytes) -> None:
        failed_cases.write_bytes(data)
        with _variable("XDG_CACHE_HOME", folder):
            lines = choice._last_failed_lines()  # noqa: SLF001 - the command prints beside it
        assert lines or not data.strip(), "nothing was read"

    code = tuple(modules.load_module(name) for name in ("run_copy_32", "digit_copy"))
    kept = _encoded(("\n".join(_CASES), _CASES[0]))

    def read_interface(data: bytes) -> None:
        contract.require_interface(data, "run_copy_32")

    def specialize(data: bytes) -> None:
        specialization._read.cache_clear()  # noqa: SLF001 - its cache is not a leak
        specialization.specialized(data, (1, 2))

    return (
        Reader("pipeline caches", read_cache, (_digest_repair(bytes(96)), b""), repair=_digest_repair),
        Reader("kept cases", read_kept, kept, _encoded(("\n", "\r", *_CASE_TOKENS)), small=300),
        Reader("SPIR-V interfaces", read_interface, code),
        Reader("SPIR-V constants", specialize, code),
    )


def readers(folder: Path) -> tuple[Reader, ...]:
    """Every reader; ``folder`` is an empty one for their files."""
    return (*_texts(), *_arrays(folder), *_naming_files(folder), *_json_files(folder), *_other_files(folder))
