"""Colours of image files: which count as sRGB, how others become sRGB, and what damaged or hostile profiles end in.

The judges are LittleCMS, given profiles that are made here, and the formulas of sRGB, gAMA and cHRM in f64.
"""

import struct
import warnings
import zlib
from io import BytesIO

import numpy as np
import pytest
from support.judges import judge

import restride as rs
from restride.tensor import colors

Image = judge("PIL.Image")
cms = judge("PIL.ImageCms")

RNG = np.random.default_rng(49)
PHOTO = RNG.integers(0, 256, (24, 32, 3), np.uint8)

SRGB_D50 = ((0.43607, 0.22249, 0.01392), (0.38515, 0.71687, 0.09708), (0.14307, 0.06061, 0.71410))
"""XYZ of red, green and blue, as in the profile of IEC 61966-2-1 by HP."""
P3_D50 = ((0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407))
ADOBE_D50 = ((0.60974, 0.31111, 0.01947), (0.20528, 0.62567, 0.06087), (0.14919, 0.06322, 0.74457))
PROPHOTO_D50 = ((0.79767, 0.28804, 0.0), (0.13519, 0.71188, 0.0), (0.03134, 0.00009, 0.82491))


def light_of(codes):
    """Light of sRGB, of codes from 0 to 1."""
    return np.where(codes <= 0.04045, codes / 12.92, ((codes + 0.055) / 1.055) ** 2.4)


def codes_of(light):
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def fixed(*numbers):
    return struct.pack(f">{len(numbers)}i", *(round(65536 * each) for each in numbers))


def sampled(count):
    """A curve of ICC of as many samples of sRGB."""
    samples = np.round(65535 * light_of(np.linspace(0, 1, count))).astype(">u2").tobytes()
    return struct.pack(">4s4xI", b"curv", count) + samples + bytes(len(samples) % 4)


def gamma_of(gamma):
    """A curve of ICC, of one number, in versions 2 and 4."""
    return struct.pack(">4s4xIH2x", b"curv", 1, round(256 * gamma))


PARAMETRIC = struct.pack(">4s4xH2x", b"para", 3) + fixed(2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)


def icc(space, tags, name=b"", *, kind=b"mntr", pcs=b"XYZ ", size=None, count=None, version=0x2100000):
    """An ICC profile of these tags, which calls itself ``name``."""
    if name:
        tags = {**tags, b"desc": struct.pack(">4s4xI", b"desc", len(name) + 1) + name + bytes(79 + -len(name) % 4)}
    at = 132 + 12 * len(tags)
    table = b""
    for tag, content in tags.items():
        table += struct.pack(">4sII", tag, at, len(content))
        at += len(content)
    length, tag_count = at if size is None else size, len(tags) if count is None else count
    header = struct.pack(">I4xI4s4s4s12x4s24xI", length, version, kind, space, pcs, b"acsp", 0)
    header += fixed(0.9642, 1, 0.8249) + bytes(48) + struct.pack(">I", tag_count)
    return header + table + b"".join(tags.values())


def rgb_profile(colorants, curve, name=b""):
    tags = {tag: b"XYZ \0\0\0\0" + fixed(*xyz) for tag, xyz in zip((b"rXYZ", b"gXYZ", b"bXYZ"), colorants, strict=True)}
    return icc(b"RGB ", {**tags, **dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)}, name)


def grey_profile(curve, name=b""):
    return icc(b"GRAY", {b"kTRC": curve}, name)


def cmyk_profile():
    """Lab of CMYK: a grid of 2 to the 4, lighter where there is less of each ink."""
    inks = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    lab = np.stack([1 - inks.mean(1), 0.5 + 0.2 * (inks[:, 1] - inks[:, 0]), 0.5 + 0.2 * inks[:, 2]], axis=1)
    ramp = struct.pack(">HH", 0, 65535)
    table = np.round(65280 * lab).astype(">u2").tobytes()
    head = b"mft2\0\0\0\0" + bytes((4, 3, 2, 0)) + fixed(1, 0, 0, 0, 1, 0, 0, 0, 1) + struct.pack(">HH", 2, 2)
    return icc(b"CMYK", {b"A2B0": head + ramp * 4 + table + ramp * 3}, kind=b"prtr", pcs=b"Lab ")


SRGB = {
    "LittleCMS": cms.ImageCmsProfile(cms.createProfile("sRGB")).tobytes(),
    "1024 samples": rgb_profile(SRGB_D50, sampled(1024), b"sRGB IEC61966-2.1"),
    "4096 samples, another name": rgb_profile(SRGB_D50, sampled(4096), b"Display"),
    "64 samples, without a name": rgb_profile(SRGB_D50, sampled(64)),
    "parametric": rgb_profile(SRGB_D50, PARAMETRIC, b"skcms"),
    "coarse colorants": rgb_profile(np.round(SRGB_D50, 4), PARAMETRIC),
}
OTHERS = {
    "linear, called sRGB": rgb_profile(SRGB_D50, gamma_of(1), b"GIMP built-in Linear sRGB"),
    "gamma 2.2, called sRGB": rgb_profile(SRGB_D50, gamma_of(2.2), b"sRGB"),
    "Display P3": rgb_profile(P3_D50, PARAMETRIC, b"Display P3"),
    "Display P3, called sRGB": rgb_profile(P3_D50, sampled(1024), b"sRGB IEC61966-2.1"),
    "Adobe RGB": rgb_profile(ADOBE_D50, gamma_of(563 / 256), b"Adobe RGB (1998)"),
    "ProPhoto": rgb_profile(PROPHOTO_D50, gamma_of(1.8), b"ProPhoto"),
    "red and blue exchanged": rgb_profile(SRGB_D50[::-1], sampled(1024), b"sRGB IEC61966-2.1"),
}
GREYS = {
    "gamma 2.2": grey_profile(gamma_of(2.2), b"sRGB"),
    "linear": grey_profile(gamma_of(1)),
    "dot gain": grey_profile(
        struct.pack(">4s4xI", b"curv", 256) + np.round(65535 * np.linspace(0, 1, 256) ** 1.75).astype(">u2").tobytes(),
        b"Dot Gain 20%",
    ),
}


def saved(pixels, kind="PNG", **options):
    image = pixels if hasattr(pixels, "getbands") else Image.fromarray(pixels)
    file = BytesIO()
    image.save(file, kind, **({"lossless": True} if kind == "WEBP" else {}), **options)
    return file.getvalue()


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunks(content, *chunks):
    """A PNG file with these chunks after its header."""
    return content[:33] + b"".join(chunk(*each) for each in chunks) + content[33:]


def converted(image, profile):
    """What LittleCMS makes of an image, by the intent that the profile names; of greys without a table in between."""
    source = cms.ImageCmsProfile(BytesIO(profile))
    flags = 0x100 if image.mode == "L" else 0
    intent = cms.getDefaultIntent(source)
    return np.asarray(cms.profileToProfile(image, source, cms.createProfile("sRGB"), intent, "RGB", flags=flags))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP", "JPEG"])
@pytest.mark.parametrize("name", SRGB)
def test_a_profile_of_srgb_changes_nothing_whatever_its_name(kind, name):
    content = saved(PHOTO, kind, icc_profile=SRGB[name])
    plain = rs.imread(content)
    for mode in ("rgb", "srgb"):  # a warning would be an error
        assert np.array_equal(rs.imread(content, mode=mode), plain)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP", "JPEG"])
@pytest.mark.parametrize("name", OTHERS)
def test_another_profile_is_converted_or_warned_of_whatever_its_name(kind, name, tmp_path):
    content = saved(PHOTO, kind, icc_profile=OTHERS[name])
    plain = rs.imread(content)
    (tmp_path / "other.img").write_bytes(content)
    with pytest.warns(
        UserWarning, match=r"other\.img has an ICC profile of other colours than sRGB.*mode='srgb'\) converts them"
    ):
        assert np.array_equal(rs.imread(tmp_path / "other.img", mode="rgb"), plain)
    expected = converted(Image.fromarray(plain), OTHERS[name])
    result = rs.imread(content, mode="srgb")
    assert np.array_equal(result, expected)
    assert np.abs(result.astype(int) - plain).max() > 8


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "1-bit tRNS"])
def test_every_kind_of_colours_is_converted(mode):
    profile = OTHERS["Display P3"]
    if mode == "1-bit tRNS":
        content = saved(PHOTO, icc_profile=profile, transparency=tuple(PHOTO[0, 0].tolist()))
    else:
        image = Image.fromarray(PHOTO)
        content = saved(image.quantize(16) if mode == "P" else image.convert(mode), icc_profile=profile)
    with pytest.warns(UserWarning, match="other colours than sRGB"):
        plain = rs.imread(content, mode="rgb")
    assert np.array_equal(rs.imread(content, mode="srgb"), converted(Image.fromarray(plain), profile))


def test_colours_are_turned_and_converted():
    exif = Image.Exif()
    exif[0x0112] = 6
    for pixels, profile in ((PHOTO, OTHERS["Adobe RGB"]), (PHOTO[..., 0], GREYS["linear"])):
        upright = rs.imread(saved(pixels, icc_profile=profile), mode="srgb")
        turned = rs.imread(saved(pixels, icc_profile=profile, exif=exif), mode="srgb")
        assert np.array_equal(turned, np.rot90(upright, -1))


@pytest.mark.parametrize("name", GREYS)
@pytest.mark.parametrize("mode", ["L", "LA", "1", "2 bits"])
def test_greys_become_those_of_srgb(name, mode):
    """The bound is 1: a half where LittleCMS rounds, a half for its curves of 16 bits."""
    image = Image.fromarray(np.arange(256, dtype=np.uint8).reshape(8, 32))
    content = saved(image.convert("1" if mode == "1" else "LA" if mode == "LA" else "L"), icc_profile=GREYS[name])
    with pytest.warns(UserWarning, match="an ICC profile of other colours than sRGB"):
        plain = rs.imread(content, mode="rgb")
    result = rs.imread(content, mode="srgb")
    assert (result == result[..., :1]).all()
    assert np.array_equal(result, converted(Image.fromarray(plain[..., 0]), GREYS[name]))
    exponent = {"gamma 2.2": round(2.2 * 256) / 256, "linear": 1, "dot gain": 1.75}[name]
    assert np.abs(result - 255 * codes_of((plain / 255) ** exponent)).max() <= 1


@pytest.mark.parametrize("curve", [sampled(1024), PARAMETRIC])
def test_a_grey_profile_of_the_curve_of_srgb_is_one(curve):
    content = saved(PHOTO[..., 0], icc_profile=grey_profile(curve, b"Dot Gain 20%"))
    assert np.array_equal(rs.imread(content, mode="srgb"), rs.to_rgb(PHOTO[..., 0]))
    assert np.array_equal(rs.imread(content, mode="rgb"), rs.to_rgb(PHOTO[..., 0]))


def test_cmyk_is_converted_by_its_profile():
    image = Image.fromarray(PHOTO).convert("CMYK")
    content = saved(image, "TIFF", icc_profile=cmyk_profile())
    assert np.array_equal(rs.imread(content, mode="srgb"), converted(image, cmyk_profile()))
    with pytest.warns(UserWarning, match="an ICC profile of other colours than sRGB"):
        assert np.array_equal(rs.imread(content, mode="rgb"), np.asarray(image.convert("RGB")))


@pytest.mark.parametrize(
    ("mode", "kind", "profile", "spaces"),
    [
        ("RGB", "PNG", GREYS["gamma 2.2"], ("RGB", "GRAY")),
        ("RGB", "JPEG", GREYS["linear"], ("RGB", "GRAY")),
        ("P", "PNG", GREYS["linear"], ("RGB", "GRAY")),
        ("RGB", "JPEG", cmyk_profile(), ("RGB", "CMYK")),
        ("L", "PNG", OTHERS["Display P3"], ("GRAY", "RGB")),
        ("LA", "PNG", OTHERS["Display P3"], ("GRAY", "RGB")),
        ("1", "PNG", SRGB["parametric"], ("GRAY", "RGB")),
        ("L", "JPEG", SRGB["parametric"], ("GRAY", "RGB")),
        ("I;16", "PNG", OTHERS["Display P3"], ("GRAY", "RGB")),
        ("CMYK", "JPEG", OTHERS["Display P3"], ("CMYK", "RGB")),
        ("CMYK", "TIFF", GREYS["linear"], ("CMYK", "GRAY")),
        ("RGB", "TIFF", cms.ImageCmsProfile(cms.createProfile("LAB")).tobytes(), ("RGB", "Lab")),
    ],
)
def test_a_profile_of_another_space_is_left_out_with_a_warning(mode, kind, profile, spaces, tmp_path):
    image = Image.fromarray(PHOTO)
    if mode == "I;16":
        image = Image.fromarray(PHOTO[..., 0].astype(np.uint16) * 257)
    else:
        image = image.quantize(16) if mode == "P" else image.convert(mode)
    if spaces[1] == "Lab":
        profile = profile[:12] + b"spac" + profile[16:]
    (tmp_path / "x.img").write_bytes(saved(image, kind, icc_profile=profile))
    plain = rs.to_rgb(rs.imread(saved(image, kind)))
    for asked in ("rgb", "srgb"):
        with pytest.warns(UserWarning, match=rf"x\.img has pixels of {spaces[0]} and an ICC profile of {spaces[1]}, "):
            assert np.array_equal(rs.imread(tmp_path / "x.img", mode=asked), plain)


def test_grey_with_alpha_of_16_bits_is_grey():
    """Pillow opens it as RGBA."""
    samples = RNG.integers(0, 1 << 16, (4, 5, 2)).astype(">u2")
    rows = b"".join(b"\0" + row.tobytes() for row in samples)
    profile = chunk(b"iCCP", b"x\0\0" + zlib.compress(GREYS["linear"]))
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 4, 16, 4, 0, 0, 0)) + profile
    content += chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    with pytest.warns(UserWarning, match="an ICC profile of other colours"):
        assert np.array_equal(rs.imread(content, mode="rgb"), rs.to_rgb(samples))
    with pytest.raises(rs.DescriptorError, match="only colours of 8 bits are converted to sRGB: mode='rgb' reads them"):
        rs.imread(content, mode="srgb")


def test_colours_of_16_bits_are_not_converted(tmp_path):
    pixels = RNG.integers(0, 1 << 16, (4, 5, 3)).astype(np.uint16)
    rs.imwrite(tmp_path / "x.png", pixels)
    content = with_chunks((tmp_path / "x.png").read_bytes(), (b"gAMA", struct.pack(">I", 100_000)))
    assert np.array_equal(rs.imread(content), pixels)
    with pytest.raises(rs.DescriptorError, match="only colours of 8 bits are converted to sRGB: mode='rgb' reads them"):
        rs.imread(content, mode="srgb")
    with pytest.warns(UserWarning, match="other colours than sRGB"):
        assert np.array_equal(rs.imread(content, mode="rgb"), pixels >> 8)


# The chunks of PNG.

SRGB_POINTS = (31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000)
P3_POINTS = (31_270, 32_900, 68_000, 32_000, 26_500, 69_000, 15_000, 6_000)
WIDE_POINTS = (34_567, 35_850, 73_470, 26_530, 15_960, 84_040, 3_660, 10)
"""ProPhoto's, of white D50."""


def gama(value):
    return b"gAMA", struct.pack(">I", value)


def chrm(points):
    return b"cHRM", struct.pack(">8I", *points)


def by_formula(pixels, gamma, points):
    """Codes of sRGB, 0 to 255 and not rounded, of pixels whose light is code^(1 / gamma)."""
    bradford = np.array(((0.8951, 0.2664, -0.1614), (-0.7502, 1.7135, 0.0367), (0.0389, -0.0685, 1.0296)))

    def to_xyz(points):
        x, y = np.array(points).reshape(4, 2).T / 100_000
        xyz = np.stack([x / np.maximum(y, 1e-9), np.ones(4), (1 - x - y) / np.maximum(y, 1e-9)])
        return xyz[:, 0], xyz[:, 1:] * np.linalg.solve(xyz[:, 1:], xyz[:, 0])

    white, matrix = to_xyz(points)
    srgb_white, srgb_matrix = to_xyz(SRGB_POINTS)
    adapt = np.linalg.inv(bradford) @ np.diag((bradford @ srgb_white) / (bradford @ white)) @ bradford
    light = light_of(pixels / 255) if gamma is None else (pixels / 255) ** (100_000 / gamma)
    return 255 * codes_of(light @ (np.linalg.inv(srgb_matrix) @ adapt @ matrix).T)


@pytest.mark.parametrize(
    ("chunks", "gamma", "points"),
    [
        ((gama(100_000), chrm(SRGB_POINTS)), 100_000, SRGB_POINTS),
        ((gama(100_000),), 100_000, SRGB_POINTS),
        ((gama(55_556), chrm(SRGB_POINTS)), 55_556, SRGB_POINTS),
        ((gama(45_455), chrm(P3_POINTS)), 45_455, P3_POINTS),
        ((gama(55_556), chrm(WIDE_POINTS)), 55_556, WIDE_POINTS),
        ((chrm(P3_POINTS),), None, P3_POINTS),
        ((gama(38_462),), 38_462, SRGB_POINTS),
    ],
)
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "LA"])
def test_gamma_and_chromaticities_are_converted(chunks, gamma, points, mode):
    """The bound is 1 of 255: a half where LittleCMS rounds, a half for its tables of 16 bits and numbers of 1/65536."""
    image = Image.fromarray(PHOTO)
    content = with_chunks(saved(image.quantize(64) if mode == "P" else image.convert(mode)), *chunks)
    if gamma in (None, 45_455) and mode in ("L", "LA"):  # greys have no primaries
        assert np.array_equal(rs.imread(content, mode="srgb"), rs.imread(content, mode="rgb"))
        return
    names = ", ".join(name.decode() for name, _ in chunks)
    with pytest.warns(UserWarning, match=rf"\({names}\) of other colours than sRGB.*mode='srgb'\) converts them"):
        plain = rs.imread(content, mode="rgb")
    result = rs.imread(content, mode="srgb")
    points = SRGB_POINTS if mode in ("L", "LA") else points
    assert np.abs(result - by_formula(plain, gamma, points)).max() <= 1


@pytest.mark.parametrize(
    "chunks",
    [
        (gama(45_455), chrm(SRGB_POINTS)),
        (gama(45_455),),
        (gama(45_000),),
        (gama(45_450), chrm([each + 50 for each in SRGB_POINTS])),
        (chrm(SRGB_POINTS),),
        ((b"sRGB", b"\0"), gama(100_000), chrm(P3_POINTS)),
        ((b"cICP", bytes((1, 13, 0, 1))), gama(100_000)),
        ((b"cICP", bytes((1, 13, 0, 1))), (b"iCCP", b"x\0\0" + zlib.compress(OTHERS["Display P3"]))),
        ((b"iCCP", b"x\0\0" + zlib.compress(SRGB["parametric"])), gama(100_000)),
    ],
)
def test_chunks_that_say_srgb_change_nothing(chunks):
    content = with_chunks(saved(PHOTO), *chunks)
    for mode in ("rgb", "srgb"):
        assert np.array_equal(rs.imread(content, mode=mode), PHOTO)


def test_gammas_that_count_as_that_of_srgb_are_within_1():
    codes = np.arange(256) / 255
    for gamma in (45_000, 45_910):
        assert np.abs(255 * (codes ** (100_000 / gamma) - codes ** (100_000 / 45_455))).max() < 1


def test_the_first_of_the_chunks_counts():
    profile = b"iCCP", b"x\0\0" + zlib.compress(OTHERS["Display P3"])
    expected = converted(Image.fromarray(PHOTO), OTHERS["Display P3"])
    for others in ((b"sRGB", b"\0"),), (gama(45_455), chrm(SRGB_POINTS)):
        assert np.array_equal(rs.imread(with_chunks(saved(PHOTO), profile, *others), mode="srgb"), expected)
    grey = b"iCCP", b"x\0\0" + zlib.compress(GREYS["linear"])
    with pytest.warns(UserWarning, match="has pixels of RGB and an ICC profile of GRAY, which is left out"):
        result = rs.imread(with_chunks(saved(PHOTO), grey, gama(100_000)), mode="srgb")
    assert np.abs(result - by_formula(PHOTO, 100_000, SRGB_POINTS)).max() <= 1


def test_chunks_after_the_pixels_say_nothing():
    content = saved(PHOTO)
    behind = content[:-12] + chunk(*gama(100_000)) + chunk(b"cICP", bytes((9, 16, 0, 1))) + content[-12:]
    assert np.array_equal(rs.imread(behind, mode="srgb"), PHOTO)


@pytest.mark.parametrize("codes", [(9, 16, 0, 1), (9, 18, 0, 1), (12, 13, 0, 1), (1, 13, 0, 0), (1, 1, 0, 1)])
@pytest.mark.parametrize("more", [(), ((b"sRGB", b"\0"),), (gama(45_455),)])
def test_other_code_points_are_refused_by_name(codes, more):
    content = with_chunks(saved(PHOTO), (b"cICP", bytes(codes)), *more)
    assert np.array_equal(rs.imread(content), PHOTO)
    named = rf"cICP chunk has the code points {', '.join(map(str, codes))}, of which only 1, 13, 0, 1 \(sRGB\)"
    with pytest.raises(rs.DescriptorError, match=named):
        rs.imread(content, mode="srgb")
    with pytest.warns(UserWarning, match=f"may have other colours than sRGB, and is read with these: its {named}"):
        assert np.array_equal(rs.imread(content, mode="rgb"), PHOTO)


# Damaged and hostile files.


def table_of(kind, inputs, outputs, grid):
    """A tag that says it tabulates so many colours, and holds none."""
    if kind in (b"mft1", b"mft2"):
        return kind + bytes(4) + bytes((inputs, outputs, grid, 0)) + bytes(60)
    return (
        kind
        + bytes(4)
        + bytes((inputs, outputs, 0, 0))
        + struct.pack(">5I", 0, 0, 0, 32, 0)
        + bytes([grid] * 16)
        + bytes(8)
    )


WHOLE = OTHERS["Display P3"]
HOSTILE = {
    "zeros": (bytes(300), "its 300 bytes do not begin as one"),
    "a short header": (WHOLE[:131], "its 131 bytes do not begin as one"),
    "cut in the table": (WHOLE[:200], f"its 200 bytes are said to be {len(WHOLE)}"),
    "cut": (WHOLE[:-1], f"its {len(WHOLE) - 1} bytes are said to be {len(WHOLE)}, with 7 tags"),
    "100 MB": (icc(b"RGB ", {}, size=100_000_000), "132 bytes are said to be 100000000, with 0 tags"),
    "no size": (icc(b"RGB ", {}, size=0), "132 bytes are said to be 0"),
    "2^32 tags": (icc(b"RGB ", {}, count=(1 << 32) - 1), "with 4294967295 tags"),
    "tags that are missing": (icc(b"RGB ", {}, count=9), "with 9 tags"),
    "no tags": (icc(b"RGB ", {}), "its ICC profile cannot be used: cannot build transform"),
    "a tag behind the end": (
        WHOLE[:136] + struct.pack(">II", 1 << 31, 1 << 31) + WHOLE[144:],
        "its tag b'rXYZ' is shorter than what it claims",
    ),
    "a class without colours": (icc(b"RGB ", {}, kind=b"link"), "the class b'link', which says no colours"),
    "another version": (WHOLE[:8] + b"\x09" + WHOLE[9:], "cannot be used: cannot open profile"),
    "a curve of 2^31": (rgb_profile(SRGB_D50, struct.pack(">4s4xI", b"curv", 1 << 31)), "cannot build transform"),
    **{
        f"{kind.decode()} of {grid}^{inputs}": (
            icc(space, {b"A2B0": table_of(kind, inputs, 3, grid)}, pcs=b"Lab "),
            "its tag b'A2B0' is shorter than what it claims to hold",
        )
        for kind in (b"mft1", b"mft2", b"mAB ")
        for space, inputs, grid in ((b"RGB ", 3, 255), (b"CMYK", 4, 90), (b"RGB ", 15, 255))
    },
    "multi-process elements": (icc(b"RGB ", {b"D2B0": b"mpet" + bytes(99)}), r"\(mpet\), which are not read"),
    "no primaries": (rgb_profile(((0.0, 0.0, 0.0),) * 3, PARAMETRIC), None),
    "extreme numbers": (
        rgb_profile(((32767, -32768, 32767),) * 3, struct.pack(">4s4xHHi", b"para", 0, 0, -(1 << 31))),
        None,
    ),
}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_profiles_end_in_an_error_or_a_warning(name, kind):
    profile, message = HOSTILE[name]
    image = Image.fromarray(PHOTO).convert("CMYK" if profile[16:20] == b"CMYK" else "RGB")
    content = saved(image, "JPEG" if image.mode == "CMYK" else kind, icc_profile=profile)
    plain = rs.imread(content)  # where nothing is asked of colours
    with pytest.warns(UserWarning, match="other colours than sRGB, and is read with these"):
        assert np.array_equal(rs.imread(content, mode="rgb"), plain)
    if message is None:
        assert rs.imread(content, mode="srgb").shape == plain.shape
        return
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imread(content, mode="srgb")


def test_a_pillow_without_littlecms_says_so(monkeypatch):
    def missing(*_, **__):
        raise ImportError("The _imagingcms C module is not installed")

    content = saved(PHOTO, icc_profile=WHOLE)
    monkeypatch.setattr(cms, "profileToProfile", missing)
    with pytest.warns(UserWarning, match="its ICC profile cannot be used: The _imagingcms C module is not installed"):
        rs.imread(content, mode="rgb")
    with pytest.raises(rs.DescriptorError, match="its ICC profile cannot be used: The _imagingcms C module"):
        rs.imread(content, mode="srgb")


def test_profiles_have_a_limit():
    long = WHOLE + bytes(colors.MAX_PROFILE + 1 - len(WHOLE))
    content = saved(PHOTO, "WEBP", icc_profile=long)
    with pytest.raises(
        rs.DescriptorError, match=rf"its ICC profile has {len(long)} bytes, and at most {len(long) - 1} are"
    ):
        rs.imread(content, mode="srgb")
    assert colors.other_colors("x", "RGB", long[:-1], {}).profile == long[:-1]


def test_a_profile_that_cannot_be_put_together_is_said():
    """Pillow takes it for none: of a JPEG one part of three is missing; the data of a PNG are no deflate stream."""
    jpeg = saved(PHOTO, "JPEG", icc_profile=WHOLE + bytes(150_000)).replace(b"ICC_PROFILE\0\2\3", b"XCC_PROFILE\0\2\3")
    png = with_chunks(saved(PHOTO), (b"iCCP", b"x\0\0" + b"no stream"))
    for content in (jpeg, png):
        with pytest.warns(UserWarning, match="its ICC profile is damaged: its 0 bytes"):
            rs.imread(content, mode="rgb")
        with pytest.raises(rs.DescriptorError, match="its ICC profile is damaged: its 0 bytes"):
            rs.imread(content, mode="srgb")


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ((gama(0),), "its gAMA chunk must be 1,000 to 10,000,000 in 4 bytes, is 0 in 4"),
        ((gama((1 << 32) - 1),), "its gAMA chunk must be .*, is 4294967295 in 4"),
        (((b"gAMA", b"\xff" * 5000),), "its gAMA chunk must be .*, is 4294967295 in 5000"),
        (((b"cHRM", bytes(33)),), "its cHRM chunk is damaged: it has 33 bytes, not 32"),
        ((chrm((0,) * 8),), "its cHRM chunk is damaged: no colours have white"),
        ((chrm((31_270, 0, *SRGB_POINTS[2:])),), "its cHRM chunk is damaged"),
        ((chrm((31_270, 32_900, *(64_000, 33_000) * 3)),), "its cHRM chunk is damaged"),
        ((chrm((70_000, 29_000, *SRGB_POINTS[2:])),), "its cHRM chunk is damaged"),
        ((chrm(((1 << 32) - 1,) * 8),), "its cHRM chunk is damaged"),
        (((b"cICP", b""),), "its cICP chunk has the code points , of which"),
        (((b"cICP", bytes((1, 13, 0))),), "its cICP chunk has the code points 1, 13, 0, of which"),
        (((b"cICP", bytes(5000)),), "its cICP chunk has the code points 0, 0, 0, 0, 0, 0, 0, 0, of which"),
    ],
)
def test_damaged_chunks_end_in_an_error_or_a_warning(chunks, message):
    content = with_chunks(saved(PHOTO), *chunks)
    assert np.array_equal(rs.imread(content), PHOTO)
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imread(content, mode="srgb")
    with pytest.warns(UserWarning, match=f"may have other colours than sRGB, and is read with these: {message}"):
        assert np.array_equal(rs.imread(content, mode="rgb"), PHOTO)


def test_changed_profiles_end_in_pixels_or_an_error():
    generator = np.random.default_rng(3)
    whole = [*SRGB.values(), *OTHERS.values(), cmyk_profile(), *GREYS.values()]
    refused = 0
    for _ in range(300):
        profile = bytearray(whole[generator.integers(len(whole))])
        for at in generator.integers(0, min(len(profile), 400), 3):
            profile[at] = generator.integers(256)
        space = {b"GRAY": "GRAY", b"CMYK": "CMYK"}.get(bytes(profile[16:20]), "RGB")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = colors.other_colors("x", space, bytes(profile), {})
                if found is not None:
                    assert colors.in_srgb(space, PHOTO[:2, :2].repeat(2, axis=2), found.profile).shape == (2, 2, 3)
            except ValueError:
                refused += 1
    assert 50 < refused < 250
