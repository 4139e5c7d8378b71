"""Image files of every kind, read and written by the library and the command; damaged ones are refused."""

from __future__ import annotations

import base64
import itertools
import re
import struct
import sys
import zlib
from io import BytesIO

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.cli import main
from restride.tensor import image_files

Image = judge("PIL.Image")

RNG = np.random.default_rng(11)
SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
KINDS = (*((0, bits) for bits in (1, 2, 4, 8, 16)), *((3, bits) for bits in (1, 2, 4, 8)))
KINDS += tuple((color, bits) for color in (2, 4, 6) for bits in (8, 16))
"""Every color type of PNG with every number of bits that it may have."""
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))

FLAT = base64.b64decode(  # cjpeg -grayscale -arithmetic, of 512 x 512 pixels of 128
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgy"
    "PC4zNDL/yQALCAIAAgABAREA/8wABgAQEAX/2gAIAQEAAD8AHreA/9k="
)
COLOURED = base64.b64decode(  # cjpeg -arithmetic, of 16 x 24 pixels of (10 x, 15 y, 5 (x + y)), as the next one
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgy"
    "PC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjL/yQARCAAQABgDASIA"
    "AhEBAxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/ALshU140Fr1DL8ok6cJSjEGbOJw3RrsU45oN0f03PLm1Q1f4IurSZK5dQzSlIf/Z"
)
PROGRESSIVE = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgy"
    "PC4zNDL/2wBDAQkJCQwLDBgNDRgyIRwhMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjL/ygARCAAQABgDASIA"
    "AhEBAxEB/8wABgAQARD/2gAMAwEAAhADEAAAAf8AdnPP5CxBJQz+aZRqoP/MAAQQBf/aAAgBAQABBQIekXl2wvWNdP/MAAQRBf/aAAgBAwEBPwEVa2h0"
    "vRD/zAAEEQX/2gAIAQIBAT8BD1Uw/8wABBAF/9oACAEBAAY/AsD/zAAEEAX/2gAIAQEAAT8hpjHd0P/aAAwDAQACAAMAAAAQt3D/zAAEEQX/2gAIAQMB"
    "AT8Q1R6H/8wABBEF/9oACAECAQE/ENGY/8wABBAF/9oACAEBAAE/EKpf8cb/2Q=="
)


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_of(header, *chunks):
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", *header)) + b"".join(chunks) + chunk(b"IEND", b"")


def packed(samples, bits):
    """Rows of samples as a PNG without filters has them: a zero, and the bits of the row."""
    if bits == 16:
        rows = samples.astype(">u2").reshape(len(samples), -1).view(np.uint8)
    else:
        row = (samples.reshape(len(samples), -1, 1) >> np.arange(bits)[::-1]) & 1
        rows = np.packbits(row.reshape(len(samples), -1).astype(np.uint8), axis=1)
    return np.pad(rows, ((0, 0), (1, 0))).tobytes()


def png(samples, color, bits, *, interlaced=False, key=None, palette=None):
    """A PNG file of these samples, in two IDAT chunks; ``key`` is the content of tRNS."""
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    parts = (samples[y::step_y, x::step_x] for x, y, step_x, step_y in passes)
    data = zlib.compress(b"".join(packed(part, bits) for part in parts if part.size))
    chunks = [chunk(b"PLTE", palette.tobytes())] if palette is not None else []
    chunks += [chunk(b"tRNS", key)] if key is not None else []
    chunks += [chunk(b"IDAT", part) for part in (data[:9], data[9:])]
    return png_of((samples.shape[1], samples.shape[0], bits, color, 0, 0, interlaced), *chunks)


def every_png():
    """Name, file and pixels of each color type and number of bits: interlaced or not, with tRNS or without."""
    for (color, bits), interlaced, keyed in itertools.product(KINDS, (False, True), (False, True)):
        if keyed and color in (4, 6):
            continue
        samples = RNG.integers(0, 1 << bits, (11, 13, CHANNELS[color])).astype(np.uint16)
        samples[5:7, 2:9] = samples[0, 0]
        samples[9, 9] = samples[0, 0] ^ 1  # 16 bits differ in the low byte alone
        palette, key = None, None
        unit = 255 // ((1 << bits) - 1) if bits < 8 else 1
        pixels = (samples * unit).astype(np.uint16 if bits == 16 else np.uint8)
        if color == 3:
            palette = RNG.integers(0, 256, (1 << bits, 3), np.uint8)
            pixels = palette[samples[..., 0]]
        if keyed and color == 3:
            alpha = RNG.integers(0, 256, 1 << bits, np.uint8)
            key, pixels = alpha.tobytes(), np.dstack([pixels, alpha[samples[..., 0]]])
        elif keyed:
            key = samples[0, 0].astype(">u2").tobytes()
            most = np.iinfo(pixels.dtype).max
            alpha = np.where((samples == samples[0, 0]).all(2), 0, most).astype(pixels.dtype)
            pixels = np.dstack([pixels, alpha])
        name = f"color{color}-{bits}bits{'-interlaced' * interlaced}{'-tRNS' * keyed}"
        file = png(samples, color, bits, interlaced=interlaced, key=key, palette=palette)
        yield name, file, pixels.squeeze(2) if pixels.shape[2] == 1 else pixels


PNGS = {name: (file, pixels) for name, file, pixels in every_png()}


@pytest.mark.parametrize("name", PNGS)
def test_every_kind_of_png_keeps_its_pixels_and_its_transparency(name, tmp_path):
    content, pixels = PNGS[name]
    result = rs.imread(content)
    assert result.dtype == pixels.dtype
    assert np.array_equal(result, pixels)
    (tmp_path / "in.png").write_bytes(content)
    sizes = ("--sizes", *map(str, pixels.shape[:2]))
    assert main(["resample", str(tmp_path / "in.png"), str(tmp_path / "out.png"), *sizes, "--mode", "nearest"]) == 0
    assert np.array_equal(rs.imread(tmp_path / "out.png"), pixels)
    bits, channels = pixels.dtype.itemsize * 8, 1 if pixels.ndim == 2 else pixels.shape[2]
    assert tuple((tmp_path / "out.png").read_bytes()[24:26]) == (bits, (0, 4, 2, 6)[channels - 1])


@pytest.mark.parametrize("name", [name for name in PNGS if "tRNS" not in name or "color3" in name])
def test_pillow_reads_the_same_of_png(name):
    content, pixels = PNGS[name]
    image = Image.open(BytesIO(content))
    if pixels.dtype == np.uint16 and pixels.ndim == 3:  # Pillow keeps the high bytes alone, of grey three times
        assert np.array_equal(np.asarray(image)[..., 2 * name.startswith("color4") :], pixels >> 8)
        return
    image = image.convert("RGBA" if "tRNS" in name else "RGB") if image.mode == "P" else image
    assert np.array_equal(np.asarray(image.convert("L") if image.mode == "1" else image), pixels)


@pytest.mark.parametrize("name", [name for name in PNGS if name.startswith("color2") and "tRNS" in name])
def test_opencv_finds_the_same_transparent_colour(name):
    content, pixels = PNGS[name]
    cv2 = judge("cv2")
    image = cv2.cvtColor(cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED), cv2.COLOR_BGRA2RGBA)
    assert image.dtype == pixels.dtype
    assert np.array_equal(image, pixels)


DEEP = [name for name in PNGS if name.startswith(("color2-16bits", "color6-16bits"))]


@pytest.mark.parametrize("name", [name for name in DEEP if "tRNS" not in name])
def test_opencv_reads_the_same_colours_of_16_bits(name):
    content, pixels = PNGS[name]
    cv2 = judge("cv2")
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    assert np.array_equal(image[..., [2, 1, 0, 3][: image.shape[2]]], pixels)


@pytest.mark.parametrize("name", DEEP)
def test_colours_of_16_bits_are_turned_as_pillow_turns_them(name):
    content, pixels = PNGS[name]
    for turn in range(10):
        exif = chunk(b"eXIf", exif_of(turn).tobytes()[6:])
        for turned in (content[:33] + exif + content[33:], content[:-12] + exif + content[-12:]):
            expected = judge("PIL.ImageOps").exif_transpose(Image.open(BytesIO(turned)))
            result = rs.imread(turned)
            assert np.array_equal(result[..., :3] >> 8, np.asarray(expected)[..., :3])
            assert np.array_equal(np.sort(result, axis=None), np.sort(pixels, axis=None))


@pytest.mark.parametrize("name", DEEP)
def test_three_channels_of_the_file_keep_the_high_bits(name):
    content, pixels = PNGS[name]
    for mode in ("rgb", "srgb"):
        result = rs.imread(content, mode=mode)
        assert result.dtype == np.uint8
        assert np.array_equal(result, pixels[..., :3] >> 8)


def test_colours_of_16_bits_need_a_package(tmp_path, monkeypatch, capsys):
    content, pixels = PNGS["color6-16bits"]
    (tmp_path / "deep.png").write_bytes(content)
    monkeypatch.setitem(sys.modules, "imagecodecs", None)
    missing = r"needs imagecodecs: pip install '\.\[codecs\]'"
    with pytest.raises(rs.UnsupportedError, match=rf"deep\.png: .*rs\.imread\(file, mode='rgb'\) reads 8, {missing}"):
        rs.imread(tmp_path / "deep.png")
    assert np.array_equal(rs.imread(content, mode="rgb"), pixels[..., :3] >> 8)
    with pytest.raises(ImportError, match=f"writing colours of 16 bits {missing}"):
        rs.imwrite(tmp_path / "out.png", pixels)
    np.save(tmp_path / "deep.npy", pixels)
    for source in ("deep.png", "deep.npy"):
        assert main(["slice", str(tmp_path / source), str(tmp_path / "out.png"), "[1:]"]) == 2
        assert re.search(missing, capsys.readouterr().err)
    assert not (tmp_path / "out.png").exists()
    assert rs.imread(PNGS["color4-16bits"][0]).dtype == np.uint16  # grey needs none


def test_of_a_file_of_16_bits_other_chunks_are_left_out(caplog):
    """The library of PNG logs what it finds odd in them, with texts of the file."""
    content, pixels = PNGS["color2-16bits"]
    for odd in (chunk(b"iCCP", b"x\0\0" + zlib.compress(bytes(99))), chunk(b"pHYs", b"x" * 9)):
        assert np.array_equal(rs.imread(content[:33] + odd + content[33:]), pixels)
    assert caplog.records == []


@pytest.mark.parametrize(("bits", "pixels"), [(1, (0, 255)), (2, (85, 255)), (4, (17, 34)), (8, (1, 2)), (16, (1, 2))])
def test_a_transparent_grey_becomes_alpha(bits, pixels):
    samples = np.array(pixels, np.uint16)[None, :, None] // (255 // ((1 << bits) - 1) if bits < 8 else 1)
    result = rs.imread(png(samples, 0, bits, key=struct.pack(">H", samples[0, 0, 0])))
    most = np.iinfo(result.dtype).max
    assert result.tolist() == [[[pixels[0], 0], [pixels[1], most]]]


def test_of_a_transparent_colour_only_the_bits_of_a_sample_count():
    """As the specification says of tRNS, for writers that leave something in the others."""
    samples = np.array([[[1, 2, 3], [4, 5, 6]]], np.uint16)
    content = png(samples, 2, 8, key=struct.pack(">3H", 0x101, 0xFF02, 3))
    assert rs.imread(content)[..., 3].tolist() == [[0, 255]]


def test_transparency_is_turned_with_the_picture():
    samples = RNG.integers(0, 4, (5, 7, 3)).astype(np.uint16) * 257
    exif = Image.Exif()
    exif[0x0112] = 6
    content = png(samples, 2, 16, key=samples[1, 2].astype(">u2").tobytes())
    turned = content[:-12] + chunk(b"eXIf", exif.tobytes()[6:]) + content[-12:]
    assert np.array_equal(rs.imread(turned), np.rot90(rs.imread(content), -1))


def saved(mode, kind, sizes=(40, 33), **options):
    """A file of Pillow's: a photograph of soft colours, converted to ``mode``."""
    rows, columns = sizes
    y, x = np.mgrid[:rows, :columns]
    pixels = np.stack([128 + 90 * np.sin(x / 7), 3 * y, 255 - 2 * x], 2).clip(0, 255).astype(np.uint8)
    image = Image.fromarray(pixels)
    if mode == "P":
        image = image.quantize(options.pop("colours", 16))
    elif mode == "I;16":
        image = Image.fromarray(pixels[..., 0].astype(np.uint16) * 257)
    else:
        image = image.convert(mode)
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def exif_of(turn):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = turn, "held upright"
    return exif


FILES = {
    **{f"PNG {mode}": saved(mode, "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")},
    **{f"PNG palette of {bits} bits": saved("P", "PNG", bits=bits, colours=1 << bits) for bits in (1, 2, 4)},
    **{f"PNG level {level}": saved("RGB", "PNG", compress_level=level) for level in (0, 1, 9)},
    "PNG palette with alpha": saved("P", "PNG", transparency=bytes(range(16))),
    "PNG palette with a transparent colour": saved("P", "PNG", transparency=3),
    "PNG optimized": saved("RGBA", "PNG", optimize=True),
    "PNG turned": saved("RGB", "PNG", exif=exif_of(6)),
    "PNG profile and resolution": saved("RGB", "PNG", icc_profile=bytes(200), dpi=(72, 72)),
    "PNG animated": saved("RGB", "PNG", save_all=True, append_images=[Image.new("RGB", (33, 40))]),
    **{f"JPEG {mode}": saved(mode, "JPEG") for mode in ("L", "RGB", "CMYK")},
    **{f"JPEG {mode} progressive": saved(mode, "JPEG", progressive=True) for mode in ("L", "RGB", "CMYK")},
    **{f"JPEG quality {quality}": saved("RGB", "JPEG", quality=quality) for quality in (1, 50, 100)},
    **{f"JPEG subsampling {kind}": saved("RGB", "JPEG", subsampling=kind) for kind in (0, 1, 2)},
    "JPEG optimized": saved("RGB", "JPEG", optimize=True),
    "JPEG optimized and progressive": saved("RGB", "JPEG", optimize=True, progressive=True, quality=30),
    "JPEG turned": saved("RGB", "JPEG", exif=exif_of(8)),
    "JPEG profile and comment": saved("RGB", "JPEG", icc_profile=bytes(70_000), comment=b"a comment", dpi=(72, 72)),
    "JPEG restarts": saved("RGB", "JPEG", restart_marker_blocks=1),
    "JPEG of several pictures": saved("RGB", "MPO", save_all=True, append_images=[Image.new("RGB", (9, 7))]),
    "JPEG of one pixel": saved("L", "JPEG", sizes=(1, 1)),
    "JPEG and what follows it": saved("L", "JPEG") + bytes(100),
    "JPEG arithmetic": FLAT,
    "JPEG arithmetic, RGB": COLOURED,
    "JPEG arithmetic, progressive": PROGRESSIVE,
}


# Damaged files.


def chunks_of(content):
    """The chunks of a PNG file: whole, with lengths and checksums."""
    position = len(SIGNATURE)
    while position < len(content):
        end = position + 12 + struct.unpack_from(">I", content, position)[0]
        yield content[position:end]
        position = end


def segments_of(content):
    """The parts of a JPEG file: a marker, its segment, and the compressed data after it."""
    position = 0
    while position < len(content):
        found = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]").search(content, position + 2)
        end = found.start() if found else len(content)
        if content[position + 1] not in (0xD8, 0xD9, 0xDA):
            end = position + 2 + struct.unpack_from(">H", content, position + 2)[0]
        if content[position + 1] == 0xD9:
            yield content[position : position + 2]
            return
        yield content[position:end]
        position = end


def damaged(content):
    """Name and content of damaged files: a wrong header, a part that is missing, a part that comes twice."""
    is_png = content.startswith(SIGNATURE)
    first, split = (SIGNATURE, chunks_of) if is_png else (b"", segments_of)
    parts = list(split(content))
    whole = first + b"".join(parts)  # of a JPEG file its first picture
    for size in (len(whole) // 2, len(whole) - 1):
        yield f"{size} bytes", whole[:size]
    for i, part in enumerate(parts):
        before, after = first + b"".join(parts[:i]), b"".join(parts[i + 1 :])
        kind = part[4:8] if is_png else part[1:2]
        if is_png:
            yield f"{kind} with a wrong checksum", before + part[:-1] + bytes([part[-1] ^ 1]) + after
        # Pictures and their pixels are whole without the other parts, and JPEG may repeat its tables.
        if kind in (b"IHDR", b"IDAT", b"IEND", b"PLTE", b"\xd8", b"\xc0", b"\xc2", b"\xc9", b"\xca", b"\xda", b"\xd9"):
            is_refined = kind == b"\xda" and any(mark in whole for mark in (b"\xff\xc2", b"\xff\xca"))
            if not (is_refined and b"\xff\xda" in before):  # a progression may stop early
                yield f"without {kind}", before + after
            if kind not in (b"IEND", b"\xd9"):
                yield f"{kind} twice", before + part + part + after
        if kind == b"IHDR":
            for at, value in ((11, 1), (15, 1), (16, 3), (17, 1), (18, 1), (19, 1), (20, 2)):
                header = bytearray(part[8:-4])
                header[at - 8] ^= value
                yield f"IHDR with byte {at - 8} changed", before + chunk(b"IHDR", bytes(header)) + after
        if kind in (b"\xc0", b"\xc2", b"\xc9", b"\xca"):
            for at in (3, 4, 9):  # length, bits of a sample, components
                yield f"SOF with byte {at} changed", before + part[:at] + bytes([part[at] ^ 7]) + part[at + 1 :] + after
        if kind == b"tRNS":
            yield "tRNS twice", before + part + part + after


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_refused_and_nothing_is_written(name, tmp_path, capsys):
    path = tmp_path / ("x.png" if name.startswith("PNG") else "x.jpg")
    count = 0
    for what, content in damaged(FILES[name]):
        with pytest.raises(rs.DescriptorError, match="cannot read"):
            print(what, rs.imread(content).shape)
        count += 1
    assert count >= 8
    path.write_bytes(content)
    assert main(["resample", str(path), str(tmp_path / "out.png"), "--sizes", "4", "4"]) == 2
    assert f"cannot read {path}: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


DATA = chunk(b"IDAT", zlib.compress(bytes(5 * 4)))
HEADER = (4, 4, 8, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            png_of(HEADER, chunk(b"IDAT", zlib.compress(bytes(5 * 3)))),
            "IDAT chunks hold 15 of 20 bytes of its 4 x 4 pix",
        ),
        (
            png_of(HEADER, chunk(b"IDAT", zlib.compress(bytes(5 * 5)))),
            "IDAT chunks have more data than the pixels of it",
        ),
        (png_of(HEADER, chunk(b"IDAT", zlib.compress(bytes(20))[:-4])), "IDAT chunks hold 20 of 20 bytes"),
        (SIGNATURE + chunk(b"tEXt", b"a\0b") + png_of(HEADER, DATA)[8:], "a PNG image begins with its IHDR, not tEXt"),
        (png_of(HEADER, DATA, chunk(b"tEXt", b"a\0b"), DATA), "its IDAT chunk comes after its IDAT chunks"),
        (png_of(HEADER, DATA, chunk(b"tRNS", b"\0\0")), "its tRNS chunk comes after its IDAT chunks"),
        (
            png_of(HEADER, chunk(b"tRNS", b"\0"), DATA),
            "Truncated tRNS|tRNS chunk has 1 bytes, not 2|it begins like PNG, but is none",
        ),
        (png_of(HEADER, chunk(b"tRNS", bytes(3)), DATA), "its tRNS chunk has 3 bytes, not 2"),
        (png_of((4, 4, 8, 3, 0, 0, 0), DATA), "no palette of red, green and blue"),
        (png_of((4, 4, 8, 3, 0, 0, 0), chunk(b"PLTE", bytes(4)), DATA), "no palette of red, green and blue"),
        (png_of((4, 4, 8, 3, 0, 0, 0), DATA, chunk(b"PLTE", bytes(6))), "its PLTE chunk comes after its IDAT"),
        (png_of((4, 4, 8, 3, 0, 0, 0), chunk(b"tRNS", b"\0"), chunk(b"PLTE", bytes(6)), DATA), "before its palette"),
        (png_of(HEADER, chunk(b"ABCD", b""), DATA), "has a chunk ABCD, without which its pixels cannot be read"),
        (png_of(HEADER, chunk(b"gAMA", bytes(4)), chunk(b"gAMA", bytes(4)), DATA), "has two gAMA chunks"),
        (
            png_of(HEADER, chunk(b"acTL", b"\0\0\0\2\0\0\0\0"), chunk(b"fcTL", bytes(7) + b"\2" + bytes(18)), DATA),
            "first frame of its animation has not the size|tile cannot",
        ),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_a_png_that_pillow_would_read_in_part_is_refused(content, message):
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imread(content)


def patched(content, height, width):
    """The JPEG file with other sizes in its frame header."""
    at = re.search(rb"\xff[\xc0-\xc2\xc9\xca]", content).start() + 5
    return content[:at] + struct.pack(">HH", height, width) + content[at + 4 :]


def test_flat_pictures_with_arithmetic_coding_are_read():
    assert len(FLAT) == 125
    assert np.array_equal(rs.imread(FLAT), np.full((512, 512), 128, np.uint8))
    most = image_files.MAX_FREE_SAMPLES
    assert rs.imread(patched(FLAT, most // 4096, 4096)).shape == (most // 4096, 4096)
    for content, samples in ((FLAT, most), (COLOURED, most // 3), (PROGRESSIVE, most // 3)):
        with pytest.raises(rs.DescriptorError, match=rf"{len(content)} bytes of arithmetic coding are read to at most"):
            rs.imread(
                patched(content, 1, samples + 1) if samples < 1 << 16 else patched(content, samples // 4096 + 1, 4096)
            )
    with pytest.raises(rs.DescriptorError, match="decompression bomb"):
        rs.imread(patched(FLAT, 65_000, 65_000))


def test_arithmetic_coding_is_read_across_the_blocks_of_the_file():
    """libjpeg cannot stop inside it, and Pillow feeds it 64 KiB at once."""
    for content in (COLOURED, PROGRESSIVE):
        comment = b"\xff\xfe" + struct.pack(">H", 40_000) + bytes(39_998)
        for shift in range(0, 60, 7):
            rest = (1 << 16) - len(comment) - content.index(b"\xff\xda") - 14 - shift
            padding = comment + b"\xff\xfe" + struct.pack(">H", rest - 2) + bytes(rest - 4)
            assert np.array_equal(rs.imread(content[:2] + padding + content[2:]), rs.imread(content))


def test_scans_are_limited():
    """Each is work for every pixel, however short it is."""
    content = saved("L", "JPEG", progressive=True)
    start = content.index(b"\xff\xda")
    scans = b"".join(b"\xff\xda\0\x08\1\1\0" + bytes([k, k, 0]) + b"\0" for k in range(1, 64))
    with pytest.raises(rs.DescriptorError, match="more than 100 scans"):
        rs.imread(content[:start] + scans * 2 + content[start:])


# Other formats: read by Pillow alone, as many pixels as their bytes may hold.

COMPRESSIONS = ("tiff_lzw", "tiff_adobe_deflate", "packbits")
OTHERS = {
    "WebP": saved("RGB", "WEBP"),
    "WebP lossless": saved("RGB", "WEBP", lossless=True),
    "WebP with alpha": saved("RGBA", "WEBP", lossless=True),
    "WebP turned": saved("RGB", "WEBP", exif=exif_of(6)),
    "WebP animated": saved("RGB", "WEBP", save_all=True, append_images=[Image.new("RGB", (33, 40))]),
    **{f"BMP {mode}": saved(mode, "BMP") for mode in ("1", "L", "P", "RGB", "RGBA")},
    **{f"GIF {mode}": saved(mode, "GIF") for mode in ("1", "L", "P", "RGB")},
    "GIF with a transparent colour": saved("P", "GIF", transparency=3),
    "GIF animated": saved("P", "GIF", save_all=True, append_images=[Image.new("P", (33, 40))]),
    **{f"TIFF {mode}": saved(mode, "TIFF") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16")},
    **{f"TIFF {kind}": saved("RGB", "TIFF", compression=kind) for kind in COMPRESSIONS},
    "TIFF group4": saved("1", "TIFF", compression="group4"),
    "TIFF turned": saved("RGB", "TIFF", exif=exif_of(8)),
    "TIFF of two pages": saved("RGB", "TIFF", save_all=True, append_images=[Image.new("RGB", (9, 7))]),
}


@pytest.mark.parametrize("name", [*FILES, *OTHERS])
@pytest.mark.filterwarnings("ignore:.* may have other colours than sRGB:UserWarning")
def test_files_are_read_as_pillow_reads_them(name):
    content = FILES.get(name) or OTHERS[name]
    image = judge("PIL.ImageOps").exif_transpose(Image.open(BytesIO(content)))
    if image.mode in ("P", "CMYK", "1"):
        image = image.convert({"1": "L"}.get(image.mode, "RGBA" if "transparency" in image.info else "RGB"))
    result = rs.imread(content)
    assert result.dtype == (np.uint16 if name.endswith("I;16") else np.uint8)
    assert np.array_equal(result, np.asarray(image))
    assert np.array_equal(rs.imread(content, mode="rgb"), rs.to_rgb(image))


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore::UserWarning:PIL.TiffImagePlugin")
def test_other_formats_that_are_cut_are_refused_or_whole(name):
    whole, content = rs.imread(OTHERS[name]), OTHERS[name]
    refused = 0
    for size in {*range(0, len(content), max(1, len(content) // 60)), *range(len(content) - 8, len(content))}:
        try:
            pixels = rs.imread(content[:size])
        except rs.DescriptorError:
            refused += 1
        else:
            assert np.array_equal(pixels, whole)  # what is missing is another picture, or no pixel
    assert refused > 20


def runs_of(rows, bits):
    """Rows of numbers as run lengths: in turn runs, numbers one by one."""
    data = b""
    for place, row in enumerate(rows[::-1]):
        numbers = [int(number) for number in row]
        if place % 2:
            count = len(numbers)
            each = (
                bytes(numbers)
                if bits == 8
                else bytes(a << 4 | b for a, b in zip(numbers[::2], numbers[1::2], strict=True))
            )
            data += bytes([0, count]) + each + bytes(len(each) % 2)
        else:
            for number, group in itertools.groupby(numbers):
                data += bytes([len(list(group)), number if bits == 8 else number * 17])
        data += b"\0\0"
    return data + b"\0\1"


@pytest.mark.parametrize("bits", [4, 8])
def test_run_lengths_of_bmp_are_read_as_opencv_reads_them(bits):
    numbers = np.repeat(RNG.integers(0, 1 << bits, (9, 10)), 2, 1).astype(np.uint8)
    table = RNG.integers(0, 256, (1 << bits, 4), np.uint8)
    data = runs_of(numbers, bits)
    sizes = (40, 20, 9, 1, bits, 3 - bits // 4, len(data), 0, 0, 1 << bits, 0)
    start = 54 + 4 * len(table)
    content = struct.pack("<2sIII", b"BM", start + len(data), 0, start) + struct.pack("<IiiHHIIiiII", *sizes)
    content += table.tobytes() + data
    colors = table[numbers][..., [2, 1, 0]]
    assert np.array_equal(rs.imread(content), colors)
    cv2 = judge("cv2")
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert np.array_equal(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), colors)


def gif_of(width, height, data=b"\2\2\x44\1\0"):
    header = struct.pack("<6sHH3s", b"GIF89a", width, height, b"\x80\0\0") + bytes(6)
    return header + struct.pack("<cHHHHB", b",", 0, 0, 1, 1, 0) + data + b";"


def bmp_of(width, height, compression, data):
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, compression, len(data), 0, 0, 2, 0)
    return struct.pack("<2sIII", b"BM", 62 + len(data), 0, 62) + header + bytes(8) + data


def flat_webp(side):
    file = BytesIO()
    Image.new("RGB", (side, side)).save(file, "WEBP", lossless=True)
    return file.getvalue()


MAX = 1 << 22
HOSTILE = {
    "WebP": (flat_webp(4097), r"bytes are read to at most \d+ pixels, not 4097 x 4097"),
    "WebP that is too large": (
        b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + b"\xff\xff\xff" * 2,
        "it is damaged|bomb",
    ),
    "GIF": (gif_of(9_000, 9_000), rf"{len(gif_of(1, 1))} bytes are read to at most {MAX} pixels, not 9000 x 9000"),
    "GIF that is too large": (gif_of(65_535, 65_535), "decompression bomb"),
    "GIF that ends early": (gif_of(1, 1, b"\2\1\x2c\0"), "it is damaged, image file is truncated"),
    "WebP that ends early": (flat_webp(40)[:-4], "it is damaged, "),
    "BMP of run lengths": (bmp_of(MAX, 1, 1, b"\0\2\0\xff\0\1"), "run lengths is read to a width of 65536 pixels, not"),
    "BMP of long runs": (bmp_of(9_000, 9_000, 1, b"\0\2\0\xff\0\1"), "are read to at most 4194304 pixels"),
    "BMP of run lengths, cut": (bmp_of(40, 40, 1, b"\5\1\0\0"), "it is damaged, not enough image data"),
    "EPS": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "cannot identify"),
    "BMP cut": (bmp_of(40, 40, 0, bytes(1599)), "it is damaged, image file is truncated"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_of_other_formats_are_refused(name):
    content, message = HOSTILE[name]
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imread(content)


@pytest.mark.parametrize("name", ["GIF", "EPS"])
def test_image_processors_read_files_by_the_same_rules(name, tmp_path):
    """Of an EPS, Pillow would start Ghostscript, whatever the name of the file says."""
    content, message = HOSTILE[name]
    (tmp_path / "photo.jpg").write_bytes(content)
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})
    with pytest.raises(rs.DescriptorError, match=message):
        clip(str(tmp_path / "photo.jpg"))
