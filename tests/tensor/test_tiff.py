"""TIFF files of all types, interpretations and compressions, whole; damaged and hostile ones; and where Pillow errs."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc
import warnings
import zlib
from io import BytesIO

import numpy as np
import pytest
from support.judges import judge
from support.random_tiffs import COMPRESSION_TAGS, PHOTOMETRIC, claimed, drawn, file_of, upright
from support.sampled import FULL, SEED

import restride as rs
from restride.arguments.pillow import pixels_of, require_read_right
from restride.tensor import tiff

Image = judge("PIL.Image")
tifffile = judge("tifffile")
codecs = judge("imagecodecs")

RNG = np.random.default_rng(17)
BRIEF = (5, 7)


def written(array: np.ndarray, **named) -> bytes:
    file = BytesIO()
    tifffile.imwrite(file, array, metadata=None, **named)
    return file.getvalue()


def plain(array: np.ndarray, **tags) -> bytes:
    """A file of one strip without compression; ``tags`` have numbers of tags as their names, after ``t``."""
    samples = array.shape[2] if array.ndim == 3 else 1
    whole = {
        256: ("I", [array.shape[1]]), 257: ("I", [array.shape[0]]), 258: ("H", [array.itemsize * 8] * samples),
        259: ("H", [1]), 262: ("H", [1 if samples < 3 else 2]), 277: ("H", [samples]), 278: ("I", [array.shape[0]]),
        339: ("H", [{"u": 1, "i": 2, "f": 3}[array.dtype.kind]] * samples),
    }  # fmt: skip
    whole |= {int(name[1:]): value for name, value in tags.items() if value}
    for name, value in tags.items():
        if value is None:
            del whole[int(name[1:])]
    return file_of(whole, [array.tobytes()], "<", big=False, tiled=False)


# What is read.


def require_read(seed: str) -> None:
    file = drawn(seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*premultiplied", UserWarning)
        if file.refusal is not None:
            with pytest.raises(rs.UnsupportedError, match=file.refusal):
                print(file.text, rs.imread(file.content).shape)
            return
        result, pixels = rs.imread(file.content), file.pixels()
    assert (result.dtype, result.shape) == (pixels.dtype, pixels.shape), file.text
    assert np.array_equal(result, pixels, equal_nan=pixels.dtype.kind == "f"), file.text


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))])
def test_random_files_are_the_array_that_was_written_or_refused_by_name(part: int):
    count = 4000 if FULL else 100
    for number in range(count):
        require_read(f"{SEED} {part} {number}")


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compression", [None, "deflate", "lzw", "zstd", "packbits", "lzma"])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"])
def test_every_type_is_read_as_tifffile_wrote_it(dtype: str, compression: str | None, order: str):
    """Pillow swaps the bytes of s16, s32 and f32 of big-endian, compressed files, and makes others of u32 and s8."""
    for samples in ((), (3,)):
        array = np.frombuffer(RNG.bytes(35 * 3 * 8), dtype)[: 35 * max((1, *samples))].reshape(*BRIEF, *samples)
        kind = "rgb" if samples else "minisblack"
        result = rs.imread(written(array, byteorder=order, compression=compression, photometric=kind))
        assert result.dtype == array.dtype
        assert np.array_equal(result, array, equal_nan=array.dtype.kind == "f")
        assert result.flags.writeable


@pytest.mark.parametrize("bits", [2, 4, 6, 10, 12, 14, 16, 20, 24, 31])
def test_other_numbers_of_bits_become_the_next_type_and_8_bits_as_rgb(bits: int):
    dtype = "u1" if bits < 8 else "u2" if bits <= 16 else "u4"
    array = RNG.integers(0, 1 << bits, (*BRIEF, 3)).astype(dtype)
    array[0, 0] = (0, (1 << bits) - 1, 1 << (bits - 1))
    content = written(array, photometric="rgb", **({} if bits == 16 else {"bitspersample": bits}))
    assert np.array_equal(rs.imread(content), array)
    assert rs.imread(content).dtype == dtype
    eight = rs.imread(content, mode="rgb")
    assert eight.dtype == np.uint8
    assert eight[0, 0, :2].tolist() == [0, 255]
    assert np.abs(eight - array / ((1 << bits) - 1) * 255).max() <= (0.5 if bits != 16 else 1)
    grey = written(array[..., 0], photometric="minisblack", **({} if bits == 16 else {"bitspersample": bits}))
    assert rs.imread(grey, mode="rgb").dtype == ("u2" if bits == 16 else "u1")


def test_one_bit_is_black_and_white():
    array = RNG.integers(0, 2, (9, 13)).astype(bool)
    for kind, black in (("minisblack", 0), ("miniswhite", 1)):
        assert np.array_equal(rs.imread(written(array, photometric=kind)), np.where(array == black, 0, 255))


def test_white_that_is_zero_is_inverted_of_unsigned_integers_alone():
    for dtype in ("u1", "u2", "u4", "u8"):
        array = np.frombuffer(RNG.bytes(35 * 8), dtype)[:35].reshape(BRIEF)
        assert np.array_equal(rs.imread(written(array, photometric="miniswhite")), ~array)
    twelve = RNG.integers(0, 4096, BRIEF).astype(np.uint16)
    assert np.array_equal(rs.imread(written(twelve, photometric="miniswhite", bitspersample=12)), 4095 - twelve)
    for dtype in ("i1", "i2", "i4", "i8", "f2", "f4", "f8"):
        with pytest.raises(rs.UnsupportedError, match=r"cannot read .*MINISWHITE is read with unsigned integers, not"):
            rs.imread(written(np.zeros(BRIEF, dtype), photometric="miniswhite"))


@pytest.mark.parametrize("most", [255, 65535])
@pytest.mark.parametrize("bits", [1, 4, 8])
def test_palettes_are_read_as_opencv_reads_them(bits: int, most: int):
    """A map without a number above 255 holds 8-bit numbers, from which Pillow makes black."""
    table = RNG.integers(0, most + 1, (3, 1 << bits)).astype(np.uint16)
    table[0, 0] = most
    numbers = RNG.integers(0, 1 << bits, (16, 16)).astype(np.uint8)
    packed = np.packbits((numbers[..., None] >> np.arange(bits)[::-1] & 1).reshape(16, -1).astype(np.uint8), axis=1)
    content = plain(packed, t256=("I", [16]), t258=("H", [bits]), t262=("H", [3]), t320=("H", table.ravel().tolist()))
    colors = (table >> 8 if most > 255 else table).astype(np.uint8).T[numbers]
    assert np.array_equal(rs.imread(content), colors)
    cv2 = judge("cv2")
    judged = cv2.cvtColor(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    assert np.abs(judged.astype(int) - colors).max() <= (1 if most > 255 else 0)  # libtiff divides by 257
    image = Image.open(BytesIO(content))
    if most > 255:
        assert np.array_equal(np.asarray(image.convert("RGB")), colors)
        assert np.array_equal(rs.asarray(image).numpy(), colors)
    else:
        assert not np.asarray(image.convert("RGB")).any()
        with pytest.raises(rs.UnsupportedError, match=r"makes black of a palette of 8-bit numbers; rs\.imread\(path\)"):
            rs.asarray(image)


def test_inks_become_rgb_as_pillow_makes_them():
    inks = RNG.integers(0, 256, (40, 50, 4), np.uint8)
    rgb = np.asarray(Image.fromarray(inks, "CMYK").convert("RGB"))
    for named in ({}, {"compression": "lzw"}, {"planarconfig": "separate"}):
        array = np.moveaxis(inks, -1, 0) if named == {"planarconfig": "separate"} else inks
        content = written(np.ascontiguousarray(array), photometric="separated", **named)
        assert np.array_equal(rs.imread(content), rgb)
    deep = rs.imread(written(inks.astype(np.uint16) * 257, photometric="separated"))
    assert np.array_equal((deep + 128.0) // 257, rgb)
    other = plain(inks, t262=("H", [5]), t332=("H", [2]))
    with pytest.raises(rs.UnsupportedError, match="photometric interpretation SEPARATED is not read"):
        rs.imread(other)


def test_samples_beyond_the_colours_are_channels_and_no_rgb():
    for kind, count in (("minisblack", 1), ("rgb", 3)):
        for extra, is_alpha in (
            (("unspecified",), False),
            (("unassalpha",), True),
            (("unassalpha", "unspecified"), False),
        ):
            array = RNG.integers(0, 256, (*BRIEF, count + len(extra)), np.uint8)
            content = written(array, photometric=kind, planarconfig="contig", extrasamples=extra)
            assert np.array_equal(rs.imread(content), array)
            if is_alpha:
                assert np.array_equal(rs.imread(content, mode="rgb"), rs.to_rgb(array))
                continue
            with pytest.raises(
                rs.DescriptorError, match=rf"{len(extra)} samples beside its (GRAY|RGB), which RGB would"
            ):
                rs.imread(content, mode="rgb")
    array = RNG.integers(0, 256, (*BRIEF, 4), np.uint8)
    assert np.array_equal(rs.imread(plain(array), mode="rgb"), array[..., :3])  # RGB and a sample that no tag names


def test_premultiplied_alpha_of_8_bits_is_divided_out_as_pillow_does():
    alpha = RNG.integers(0, 256, (*BRIEF, 1), np.uint8)
    alpha[0, :3, 0] = 0, 255, 1
    array = np.dstack([RNG.integers(0, 256, (*BRIEF, 3)) * alpha // 255, alpha]).astype(np.uint8)
    array[0, 0, :3] = 9  # more than alpha allows: Pillow makes it 0, and of grey keeps it
    content = written(array, photometric="rgb", extrasamples=["assocalpha"])
    assert np.array_equal(rs.imread(content), np.asarray(Image.open(BytesIO(content))))
    grey = written(array[..., 2:], photometric="minisblack", planarconfig="contig", extrasamples=["assocalpha"])
    assert np.array_equal(rs.imread(grey), np.asarray(Image.open(BytesIO(grey)).convert("LA")))
    for dtype in ("u2", "f4"):
        with pytest.warns(
            UserWarning, match="multiplied by alpha .premultiplied., and are kept as they are stored"
        ) as warned:
            result = rs.imread(written(array.astype(dtype), photometric="rgb", extrasamples=["assocalpha"]))
        assert np.array_equal(result, array.astype(dtype))
        assert warned[0].filename == __file__


def test_files_without_a_photometric_interpretation_are_what_libtiff_takes_them_for():
    grey, rgb = RNG.integers(0, 256, BRIEF, np.uint8), RNG.integers(0, 256, (*BRIEF, 3), np.uint8)
    assert np.array_equal(rs.imread(plain(grey, t262=None)), grey)
    assert np.array_equal(rs.imread(plain(rgb, t262=None)), rgb)
    with pytest.raises(rs.UnsupportedError, match="without a photometric interpretation for MinIsWhite"):
        rs.asarray(Image.open(BytesIO(plain(grey, t262=None))))


def test_jpeg_webp_and_fax_are_read_as_pillow_reads_them():
    y, x = np.mgrid[:64, :80]
    photo = np.stack([128 + 90 * np.sin(x / 7), 3 * y, 255 - 2 * x], 2).clip(0, 255).astype(np.uint8)
    for mode in ("L", "RGB", "YCbCr", "CMYK"):
        file = BytesIO()
        Image.fromarray(photo).convert(mode).save(file, "TIFF", compression="jpeg")
        content = file.getvalue()
        with Image.open(BytesIO(content)) as image:
            assert np.array_equal(rs.imread(content), np.asarray(image.convert("L" if mode == "L" else "RGB")))
    content = written(photo, photometric="rgb", compression="webp", compressionargs={"lossless": True})
    assert np.array_equal(rs.imread(content), photo)
    for kind in ("group3", "group4", "tiff_ccitt"):
        file = BytesIO()
        Image.fromarray(photo[..., 0] > 128).save(file, "TIFF", compression=kind)
        assert np.array_equal(rs.imread(file), np.where(photo[..., 0] > 128, 255, 0))


@pytest.mark.parametrize("turn", range(1, 9))
def test_pages_are_turned_upright_and_the_first_of_several_is_read(turn: int):
    array = RNG.integers(0, 256, (*BRIEF, 3), np.uint8)
    file = BytesIO()
    with tifffile.TiffWriter(file, bigtiff=turn % 2 == 0) as pages:
        named = {"photometric": "rgb", "metadata": None}
        pages.write(array, extratags=[(274, "H", 1, turn, True)], **named)
        pages.write(np.zeros((9, 9, 3), np.uint8), **named)
    assert np.array_equal(rs.imread(file), upright(array, turn))


def test_a_page_of_a_scanner_is_read_however_short_it_is():
    """A4 at 400 dots per inch, with a line: by G4 a row like the one before takes eight bits of it."""
    page = np.ones((4677, 3307), bool)
    page[2000:2010, 300:3000] = False
    file = BytesIO()
    Image.fromarray(page).save(file, "TIFF", compression="group4")
    assert len(file.getvalue()) < 4000
    assert np.array_equal(rs.imread(file), np.where(page, 255, 0))


@pytest.mark.parametrize("compression", ["lzw", "zstd", "lzma", "deflate", "packbits"])
def test_a_blank_page_is_read_by_every_compression(compression: str):
    """Each byte becomes as many as the compression allows."""
    page = np.full((3000, 4000), 7, np.uint16)
    assert np.array_equal(rs.imread(written(page, compression=compression, rowsperstrip=3000)), page)


def test_tiles_that_are_not_stored_are_zeros():
    page = np.zeros((32, 32), np.uint8)
    page[:16, :16] = 7
    file = bytearray(written(page, tile=(16, 16)))
    with tifffile.TiffFile(BytesIO(file)) as opened:
        for code in (324, 325):
            tag = opened.pages.first.tags[code]
            size = tag.valuebytecount // 4
            file[tag.valueoffset + 3 * size : tag.valueoffset + 4 * size] = bytes(size)
    assert np.array_equal(rs.imread(bytes(file)), page)


# Without imagecodecs.

WITHOUT = """
import sys
sys.modules["imagecodecs"] = None
import numpy as np, restride as rs
for path in sys.argv[1:]:
    try:
        print(rs.imread(path).sum())
    except rs.UnsupportedError as error:
        assert isinstance(error, ImportError)
        print(error)
"""


def test_without_imagecodecs_other_compressions_name_the_extra(tmp_path):
    array = RNG.integers(0, 256, (20, 30), np.uint8)
    plainly, others = ("none", "deflate", "packbits"), ("lzw", "zstd", "lzma", "jpeg", "webp")
    for name in (*plainly, *others):
        image = np.dstack([array] * 3) if name == "webp" else array
        (tmp_path / name).write_bytes(
            written(image, compression=None if name == "none" else name, photometric="rgb" if name == "webp" else None)
        )
    Image.fromarray(array > 99).save(tmp_path / "fax", "TIFF", compression="group4")
    (tmp_path / "12 bits").write_bytes(written(array.astype(np.uint16), bitspersample=12))
    large = zlib.compress(bytes(1 << 22))
    (tmp_path / "more").write_bytes(claimed(16, 16, 8, large))
    names = (*plainly, *others, "fax", "12 bits")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *(tmp_path / name for name in names)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[:3] == [str(array.sum())] * 3
    for name, line in zip(names[3:], lines[3:], strict=True):
        assert line.startswith(f"cannot read {tmp_path / name}: TIFF with ")
        assert line.endswith(" needs imagecodecs: pip install '.[codecs]' in a checkout")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, tmp_path / "more"], capture_output=True, text=True, check=False
    )
    assert "a strip or tile has more data than its pixels" in done.stderr


# Where Pillow makes other pixels.


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data:UserWarning")
def test_images_of_pillow_are_refused_where_pillow_makes_other_pixels():
    """Of every drawn file that Pillow opens, either the rule names a fault, or the pixels are the file's."""
    opened = right = 0
    for number in range(2000 if FULL else 400):
        file = drawn(f"{SEED} of Pillow {number}")
        try:
            image = Image.open(BytesIO(file.content))
            image.load()
        except (OSError, ValueError):
            continue
        opened += 1
        try:
            require_read_right(image)
        except rs.UnsupportedError:
            continue
        assert file.refusal is None, file.text
        pixels = file.pixels()
        if file.bits in (2, 4) and file.photometric != "palette":
            pixels = pixels * np.uint8(255 // ((1 << file.bits) - 1))
        assert np.array_equal(pixels_of(image), pixels), file.text
        right += 1
    assert right > opened // 3 > 10


WRONG = {
    "swaps the bytes": written(np.ones(BRIEF, np.int16), byteorder=">", compression="deflate"),
    "reads u32 as s32": written(np.full(BRIEF, 3 << 30, np.uint32)),
    "reads s8 as u8": written(np.ones(BRIEF, np.int8)),
    "does not invert MinIsWhite": written(np.ones(BRIEF, np.uint16), photometric="miniswhite"),
    "keeps 3 of 4 samples": written(np.ones((*BRIEF, 4), np.uint8), photometric="rgb", extrasamples=["unspecified"]),
    "keeps 1 of 2 samples": written(np.ones((*BRIEF, 2), np.uint8), photometric="minisblack", planarconfig="contig"),
    "makes black of a palette": plain(np.ones(BRIEF, np.uint8), t262=("H", [3]), t320=("H", [200] * 768)),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_pillow_misreads_is_refused_as_an_image_and_by_an_image_processor(fault: str, tmp_path):
    image = Image.open(BytesIO(WRONG[fault]))
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})
    (tmp_path / "x.tif").write_bytes(WRONG[fault])
    for call in (
        lambda: rs.asarray(image),
        lambda: rs.asarray([image]),
        lambda: rs.resize(image, (4, 4)),
        lambda: rs.to_rgb(image),
        lambda: rs.imwrite(tmp_path / "x.png", image),
        lambda: rs.compat.pil.resize(image, (4, 4)),
        lambda: clip(image),
        lambda: clip(str(tmp_path / "x.tif")),
    ):
        with pytest.raises(rs.UnsupportedError, match=f"from a TIFF that Pillow reads wrongly: it {fault}"):
            call()
    assert rs.imread(WRONG[fault]).any()


def test_colours_of_16_bits_are_refused_as_an_image_of_8_and_8_bits_for_an_image_processor(tmp_path):
    array = RNG.integers(0, 1 << 16, (8, 8, 3)).astype(np.uint16)
    (tmp_path / "x.tif").write_bytes(written(array, photometric="rgb"))
    assert np.array_equal(rs.imread(tmp_path / "x.tif"), array)
    assert np.array_equal(rs.imread(tmp_path / "x.tif", mode="rgb"), array >> 8)
    image = Image.open(BytesIO((tmp_path / "x.tif").read_bytes()))
    with pytest.raises(rs.UnsupportedError, match="keeps 8 of 16 bits of colours"):
        rs.asarray(image)
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})
    by_path, by_array = clip(str(tmp_path / "x.tif")), clip((array >> 8).astype(np.uint8))
    assert np.array_equal(by_path["pixel_values"], by_array["pixel_values"])


def test_an_image_processor_reads_a_compressed_file_without_imagecodecs(tmp_path):
    (tmp_path / "x.tif").write_bytes(
        written(RNG.integers(0, 256, (8, 8, 3), np.uint8), photometric="rgb", compression="lzw")
    )
    program = (
        "import sys\nsys.modules['imagecodecs'] = None\nimport restride as rs\n"
        "rs.vision.processor({'image_processor_type': 'CLIPImageProcessor'})(sys.argv[1])"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "x.tif"], check=True)


# Damaged and hostile files.


def jpeg_of(rows: int, columns: int) -> bytes:
    return codecs.jpeg_encode(RNG.integers(0, 256, (rows, columns), np.uint8))


def flat_j2k(rows: int, columns: int) -> bytes:
    content = codecs.jpeg2k_encode(np.zeros((16, 16), np.uint8), reversible=True)
    at = content.index(b"\xff\x4f\xff\x51") + 8
    return content[:at] + struct.pack(">II", columns, rows) + content[at + 8 :]


def boxed_j2k(content: bytes, other: bytes) -> bytes:
    """The codestream of a JPEG 2000, if it has one, behind a box that holds the codestream of another one."""

    def box(kind: bytes, held: bytes) -> bytes:
        return struct.pack(">I4s", 8 + len(held), kind) + held

    streams = [each[each.index(b"\xff\x4f\xff\x51") :] for each in (other, content) if each]
    head = box(b"jP  ", b"\r\n\x87\n")
    return head + b"".join(map(box, (b"xml ", b"jp2c"), streams))


def without(content: bytes, code: int) -> bytes:
    """The file with another number in the place of a tag's."""
    tag = struct.pack("<H", code)
    at = content.rindex(tag, 0, len(content))
    return content[:at] + struct.pack("<H", 60_000) + content[at + 2 :]


def shared(count: int) -> bytes:
    """A file with as many tags of 1,200 bytes that lie in one place."""
    head = plain(NOISE)
    (start,) = struct.unpack_from("<I", head, 4)
    (own,) = struct.unpack_from("<H", head, start)
    entries = head[start + 2 : start + 2 + 12 * own]
    entries += b"".join(struct.pack("<HHII", 40_000 + place, 1, 1200, 8) for place in range(count))
    return head[:start] + struct.pack("<H", own + count) + entries + bytes(4)


NOISE = RNG.integers(0, 256, (40, 40), np.uint8)
HOSTILE = {
    "LZW": (claimed(30_000, 30_000, 5, codecs.lzw_encode(bytes(99))), "MAX_IMAGE_PIXELS|bomb"),
    "LZW of fewer pixels": (
        claimed(13_000, 13_000, 5, codecs.lzw_encode(bytes(99))),
        r"\d+ bytes of compression LZW are read to at most 4194304 bytes of pixels, not 169000000",
    ),
    "no bytes": (claimed(13_000, 13_000, 5, b""), "its strip or tile 0 is at byte 8 and has 0 bytes"),
    "deflate": (claimed(9_000, 9_000, 8, zlib.compress(bytes(1 << 20))), "ADOBE_DEFLATE are read to at most"),
    "zstd": (claimed(13_000, 13_000, 50_000, codecs.zstd_encode(bytes(1 << 10))), "ZSTD are read to at most"),
    "fax": (claimed(13_000, 13_000, 4, bytes(99), bits=1), "CCITTFAX4 are read to at most"),
    "WebP": (claimed(13_000, 13_000, 50_001, bytes(99)), "WEBP are read to at most"),
    "a large tile": (claimed(16, 16, 8, zlib.compress(b""), tile=(1 << 15, 1 << 16)), "not 2147483648"),
    "a JPEG that is larger than its strip": (
        claimed(16, 16, 7, jpeg_of(64, 64)),
        "a strip or tile of 256 samples says that it has 4096",
    ),
    "a JPEG that says more than it has": (
        claimed(16, 16, 7, jpeg_of(16, 16).replace(b"\x08\0\x10\0\x10", b"\x08\x60\0\x60\0")),
        "bytes cannot hold the 24576 x 24576 pixels",
    ),
    "a JPEG that is cut": (claimed(64, 64, 7, jpeg_of(64, 64)[:-300]), "it ends before its end marker"),
    "a WebP that is larger": (
        claimed(16, 16, 50_001, codecs.webp_encode(np.zeros((500, 500, 3), np.uint8), lossless=True)),
        "says that it has 250000",
    ),
    "a lossy WebP that is larger": (
        claimed(16, 16, 50_001, codecs.webp_encode(np.zeros((500, 500, 3), np.uint8), level=50)),
        "says that it has 250000",
    ),
    "a PNG that is larger": (
        claimed(16, 16, 34_933, codecs.png_encode(np.zeros((500, 500), np.uint8))),
        "says that it has 250000",
    ),
    "a JPEG 2000 that is larger": (claimed(16, 16, 34_712, flat_j2k(30_000, 30_000)), "says that it has 900000000"),
    "a JPEG 2000 that is larger, behind a box that is not": (
        claimed(16, 16, 34_712, boxed_j2k(flat_j2k(30_000, 30_000), flat_j2k(8, 8))),
        "says that it has 900000000",
    ),
    "a PNG that is cut": (claimed(16, 16, 34_933, bytes(20)), "a strip or tile ends inside its own header"),
    "a WebP that is cut": (claimed(16, 16, 50_001, bytes(20)), "a strip or tile ends inside its own header"),
    "a JPEG 2000 that is cut": (
        claimed(16, 16, 34_712, flat_j2k(8, 8)[: flat_j2k(8, 8).index(b"\xff\x4f\xff\x51") + 20]),
        "a strip or tile ends inside its own header",
    ),
    "a JPEG 2000 without a codestream": (
        claimed(16, 16, 34_712, boxed_j2k(b"", flat_j2k(8, 8))),
        "has no codestream of JPEG 2000",
    ),
    "a WebP by its other number": (
        claimed(16, 16, 34_927, codecs.webp_encode(np.zeros((500, 500, 3), np.uint8), lossless=True)),
        "says that it has 250000",
    ),
    "LERC": (
        claimed(16, 16, 34_887, codecs.lerc_encode(np.zeros((500, 500), np.uint8))),
        "the compression LERC is not read",
    ),
    "JPEG XL": (claimed(16, 16, 50_002, bytes(99)), "the compression JPEGXL is not read"),
    "truncated": (written(NOISE)[:-1], "truncated|damaged"),
    "strips that are not listed": (
        claimed(40, 40, 5, codecs.lzw_encode(NOISE[:10].tobytes())).replace(
            struct.pack("<HHII", 278, 4, 1, 40), struct.pack("<HHII", 278, 4, 1, 10)
        ),
        "it lists 1 of 4 strips or tiles",
    ),
    "a strip that is too short": (claimed(40, 40, 5, codecs.lzw_encode(NOISE[:10].tobytes())), "corrupted strip"),
    "no strips": (without(plain(NOISE), 273), "strips or tiles|list index|missing"),
    "a palette that is too short": (
        plain(NOISE, t262=("H", [3]), t320=("H", [300] * 30)),
        "it has no palette of 256 colours",
    ),
    "no palette": (plain(NOISE, t262=("H", [3])), "it has no palette of 256 colours"),
    "no rows": (plain(NOISE, t257=("I", [0])), "its sizes are"),
    "planes": (plain(NOISE, t284=("H", [3])), "its planar configuration is 3, not 1 or 2"),
    "RGB of one sample": (plain(NOISE, t262=("H", [2])), "it has 1 samples a pixel, and RGB has 3"),
    "Lab": (plain(np.dstack([NOISE] * 3), t262=("H", [8])), "photometric interpretation CIELAB is not read"),
    "YCbCr": (plain(np.dstack([NOISE] * 3), t262=("H", [6])), "photometric interpretation YCBCR is not read"),
    "complex numbers": (written(np.zeros(BRIEF, np.complex64)), "elements of 64 bits and the sample format"),
    "bits that differ": (
        plain(np.dstack([NOISE] * 3), t258=("H", [8, 8, 4])),
        "elements of .8, 8, 4. bits|not all alike",
    ),
    "an orientation": (plain(NOISE, t274=("H", [9])), "the orientation 9, which is none of 1 to 8"),
    "a volume": (plain(NOISE, t32997=("I", [2])), "a volume of 2 slices in one page"),
    "a tag of another place": (
        plain(np.dstack([NOISE] * 3)).replace(struct.pack("<HHI", 258, 3, 3), struct.pack("<HHI", 258, 3, 1 << 20)),
        "it has the tag 258 with values that are not in the file",
    ),
    "a tag twice": (
        plain(NOISE).replace(struct.pack("<HHII", 278, 4, 1, 40), struct.pack("<HHII", 256, 4, 1, 40)),
        "it has the tag 256 twice",
    ),
    "tags that share their values": (shared(100), "its tags have 120030 bytes, and the file"),
    "too many tags": (
        plain(NOISE)[:4] + struct.pack("<I", 8) + b"\xff\xff" + bytes(99),
        "it lists 65535 tags, and has 8",
    ),
    "no list of tags": (b"II*\0\xff\xff\xff\x7f" + bytes(99), "it ends before or inside the list of its tags"),
    "no pages": (b"II*\0" + bytes(99), "damaged|no pages"),
    "bytes of its version swapped": (b"II\0*" + plain(NOISE)[4:], "it begins like TIFF, but is none"),
    "its head alone": (b"MM\0*", "it ends before or inside the list of its tags"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_before_memory_is_taken(name: str, tmp_path):
    content, message = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(
            (rs.DescriptorError, rs.UnsupportedError), match=rf"^cannot read {len(content)} bytes: .*({message})"
        ):
            rs.imread(content)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()
    (tmp_path / "x.tif").write_bytes(content)
    with pytest.raises((rs.DescriptorError, rs.UnsupportedError), match=r"^cannot read .*x\.tif: "):
        rs.imread(tmp_path / "x.tif")


@pytest.mark.parametrize("name", ["LZW", "LZW of fewer pixels", "no bytes", "a large tile", "a tag twice"])
def test_image_processors_refuse_hostile_files_by_the_same_rules(name: str, tmp_path):
    content, message = HOSTILE[name]
    (tmp_path / "photo.jpg").write_bytes(content)
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})
    with pytest.raises(rs.DescriptorError, match=message):
        clip(str(tmp_path / "photo.jpg"))


def test_the_number_of_pixels_is_bounded_as_pillow_bounds_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 799)
    with pytest.raises(rs.DescriptorError, match=r"40 x 40 pixels, and more than 1598 may be a .* bomb: .* rs.stream"):
        rs.imread(plain(NOISE))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert np.array_equal(rs.imread(plain(NOISE)), NOISE)


@pytest.mark.parametrize("name", ["strips", "raw", "jpeg", "deflate"])
def test_files_that_are_cut_are_refused_or_whole(name: str):
    compression = {"strips": "lzw", "raw": None}.get(name, name)
    content = written(NOISE, compression=compression, rowsperstrip=10, software=False)
    whole = rs.imread(content)
    refused = 0
    for size in range(0, len(content), 7):
        try:
            pixels = rs.imread(content[:size])
        except rs.DescriptorError:
            refused += 1
        else:
            assert np.array_equal(pixels, whole)
    assert refused > 20


def test_each_compression_says_what_it_is_read_by():
    assert set(tiff._PLAIN) < set(COMPRESSION_TAGS.values())
    assert set(tiff._COLORS) >= {each.upper() for each in PHOTOMETRIC}
