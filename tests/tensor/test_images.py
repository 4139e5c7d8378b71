"""rs.imread and rs.imwrite: which pixels become which elements, what is refused, and files that stay whole."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zlib
from io import BytesIO, StringIO, TextIOWrapper

import numpy as np
import pytest
from support.judges import judge

import restride as rs

Image = judge("PIL.Image")

RNG = np.random.default_rng(3)
PHOTO = RNG.integers(0, 256, (5, 7, 3), np.uint8)


def test_grey_of_16_bits_is_written_whole(tmp_path):
    pixels = RNG.integers(0, 1 << 16, (5, 7, 2)).astype(np.uint16)
    for image in (pixels[..., :1], pixels):
        rs.imwrite(tmp_path / "x.png", image)
        assert np.array_equal(rs.imread(tmp_path / "x.png"), image.squeeze())
    opened = np.asarray(Image.open(tmp_path / "x.png"))  # of grey with alpha Pillow reads the high bytes, as RGBA
    assert np.array_equal(opened[..., [0, 3]], pixels >> 8)


@pytest.mark.parametrize("channels", [3, 4])
def test_colours_of_16_bits_are_written_whole(channels, tmp_path):
    pixels = RNG.integers(0, 1 << 16, (5, 7, channels)).astype(np.uint16)
    for image in (pixels, pixels[::-1, ::2], pixels[:1, :1]):
        rs.imwrite(tmp_path / "x.png", image)
        assert np.array_equal(rs.imread(tmp_path / "x.png"), image)
        read = judge("cv2").imread(str(tmp_path / "x.png"), judge("cv2").IMREAD_UNCHANGED)
        assert np.array_equal(read[..., [2, 1, 0, 3][:channels]], image)


def test_tensors_and_images_of_pillow_are_written(vulkan_device, tmp_path):
    flipped = rs.asarray(PHOTO, device=vulkan_device)[:, ::-1]
    rs.imwrite(tmp_path / "x.png", flipped)
    assert np.array_equal(rs.imread(tmp_path / "x.png"), PHOTO[:, ::-1])
    rs.imwrite(tmp_path / "x.png", Image.fromarray(PHOTO).convert("P"))
    assert np.array_equal(rs.imread(tmp_path / "x.png"), np.asarray(Image.fromarray(PHOTO).convert("P").convert("RGB")))


@pytest.mark.parametrize("turn", range(1, 9))
def test_pictures_are_turned_as_the_camera_was_held(turn, tmp_path):
    """Against numpy: what each of the eight orientations of EXIF means."""
    exif = Image.Exif()
    exif[0x0112] = turn
    Image.fromarray(PHOTO).save(tmp_path / "x.png", exif=exif)
    x = PHOTO
    held = (x, x[:, ::-1], x[::-1, ::-1], x[::-1], x.swapaxes(0, 1), np.rot90(x, -1), np.rot90(x, 2).swapaxes(0, 1))
    assert np.array_equal(rs.imread(tmp_path / "x.png"), (*held, np.rot90(x))[turn - 1])


def png_header(width, height):
    data = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + data + struct.pack(">II", zlib.crc32(data), 9) + b"IDAT"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"not an image", "cannot identify image file; PNG, JPEG, WEBP, BMP, TIFF, GIF are read"),
        (b"GIF89a" + b"\0" * 40, "it is damaged, it begins like GIF, but is none"),
        (png_header(8000, 8000), "bytes cannot hold the 8000 x 8000 pixels of its header"),
        (png_header(60000, 60000), "decompression bomb"),
    ],
    ids=["empty", "text", "GIF", "too short", "bomb"],
)
def test_hostile_files_are_refused(content, message, tmp_path):
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(rs.DescriptorError, match=rf"cannot read .*x\.png: .*{message}"):
        rs.imread(tmp_path / "x.png")


@pytest.mark.parametrize("kind", ["PPM", "TGA", "ICO", "PCX", "SGI"])
def test_other_formats_are_refused_by_name_of_those_that_are_read(kind):
    file = BytesIO()
    Image.fromarray(PHOTO).save(file, kind)
    with pytest.raises(rs.DescriptorError, match=r"cannot read .*; PNG, JPEG, WEBP, BMP, TIFF, GIF are read"):
        rs.imread(file)


@pytest.mark.parametrize("path", [BytesIO(), 7, None, b"x.png"], ids=["file", "number", "None", "bytes"])
def test_images_are_written_to_paths_alone(path):
    with pytest.raises(rs.DescriptorError, match="path must be the name of a file, got "):
        rs.imwrite(path, PHOTO)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        rs.imread(tmp_path / "none.png")
    with pytest.raises(rs.DescriptorError, match=r"cannot read .*: not a file"):
        rs.imread(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.png")
        with pytest.raises(rs.DescriptorError, match=r"pipe\.png: not a file"):
            rs.imread(tmp_path / "pipe.png")
    with pytest.raises(FileNotFoundError, match=r"none/x\.png'$"):
        rs.imwrite(tmp_path / "none" / "x.png", PHOTO)


@pytest.mark.parametrize(
    ("name", "image", "message"),
    [
        ("x.gif", PHOTO, r"the name of an image must end in \.png, \.jpg, \.jpeg, got '.*x\.gif'"),
        ("x.png", PHOTO.astype(np.float32), r"u8 or u16 elements, not f32 of sizes \[5, 7, 3\]"),
        ("x.jpg", PHOTO.astype(np.uint16), r"u8 elements, not u16 of sizes \[5, 7, 3\]: \(image >> 8\)"),
        ("x.jpg", np.zeros((4, 4, 4), np.uint8), r"with 1 or 3 channels, not \[4, 4, 4\]: rs\.to_rgb\(image\) leaves"),
        ("x.png", np.zeros(4, np.uint8), r"1 to 4 channels, not \[4\]"),
        ("x.jpg", np.zeros((1, 65501), np.uint8), "at most 65500 pixels a side"),
        ("x.png", np.zeros((1, 1_000_001, 3), np.uint16), "16-bit colours has at most 1000000 pixels a side"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_and_the_old_one_stays(name, image, message, tmp_path):
    (tmp_path / name).write_bytes(b"before")
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imwrite(tmp_path / name, image)
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [(name, b"before")]


def test_bytes_and_file_objects_are_read(tmp_path):
    rs.imwrite(tmp_path / "x.png", PHOTO)
    content = (tmp_path / "x.png").read_bytes()
    written = BytesIO()
    written.write(content)  # and stands at its end
    for file in (content, bytearray(content), memoryview(content), BytesIO(content), written):
        assert np.array_equal(rs.imread(file), PHOTO)
        assert rs.imread(file).flags.writeable
    with (tmp_path / "x.png").open("rb") as file:
        for _ in range(2):
            assert np.array_equal(rs.imread(file), PHOTO)
        assert not file.closed
    read, write = os.pipe()
    os.write(write, content)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert np.array_equal(rs.imread(pipe), PHOTO)


def closed_file() -> BytesIO:
    file = BytesIO()
    file.close()
    return file


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (BytesIO(png_header(8000, 8000)), "cannot read BytesIO: 41 bytes cannot hold the 8000 x 8000 pixels"),
        (StringIO("text"), r"opened for reading bytes, such as open\(path, 'rb'\); StringIO reads str"),
        (None, "file must be a path, bytes, or a file object opened for reading bytes, got NoneType"),
        (7, "file must be a path, bytes, or a file object opened for reading bytes, got int"),
        (PHOTO, "file must be a path, bytes, or a file object opened for reading bytes, got ndarray"),
        ("a\0b.png", "file must be a path, .*, got str: embedded null byte"),
        (memoryview(bytes(8))[::2], "cannot read 4 bytes: cannot identify image file"),
        (TextIOWrapper(BytesIO(png_header(8, 8))), r"open\(path, 'rb'\): 'utf-8' codec can't decode"),
        (closed_file(), r"open\(path, 'rb'\): I/O operation on closed file"),
    ],
    ids=["too large", "text", "None", "7", "array", "null byte", "view", "not UTF-8", "closed"],
)
def test_what_is_neither_path_nor_bytes_nor_file_is_refused(file, message):
    with pytest.raises(rs.DescriptorError, match=message):
        rs.imread(file)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"])
def test_any_image_becomes_red_green_and_blue(mode):
    """Gray is repeated, alpha left out, and no bit is lost; of an array and of an image of Pillow."""
    gray = Image.fromarray(RNG.integers(0, 1 << 16, (5, 7), np.uint16))
    image = Image.fromarray(PHOTO).convert(mode) if mode not in ("I;16", "I", "F") else gray
    image = image.convert(mode) if mode in ("I", "F") else image
    result = rs.to_rgb(image)
    if mode in ("I;16", "I", "F"):
        assert np.array_equal(result, np.repeat(np.asarray(image)[..., None], 3, 2))
        assert result.dtype == np.asarray(image).dtype
    else:
        assert np.array_equal(result, np.asarray(image.convert("RGB")))
    assert np.array_equal(rs.to_rgb(rs.to_rgb(image)), result)


def test_the_channels_of_a_file_become_red_green_and_blue(tmp_path):
    for sizes in ((5, 7), (5, 7, 1), (5, 7, 2), (5, 7, 3), (5, 7, 4)):
        pixels = RNG.integers(0, 256, sizes, np.uint8)
        rs.imwrite(tmp_path / "x.png", pixels)
        expected = np.atleast_3d(pixels)[..., [0, 0, 0] if sizes[2:] in ((), (1,), (2,)) else [0, 1, 2]]
        assert np.array_equal(rs.imread(tmp_path / "x.png", mode="rgb"), expected)
    with pytest.raises(rs.DescriptorError, match=r"mode must be one of None, 'rgb'.*, not 'RBG'"):
        rs.imread(tmp_path / "x.png", mode="RBG")
    for sizes in ((5,), (3, 5, 7), (2, 5, 7, 3)):
        with pytest.raises(
            rs.DescriptorError, match=re.escape(f"1 to 4 channels after them if any, not shape {sizes}: np")
        ):
            rs.to_rgb(np.zeros(sizes, np.uint8))


@pytest.mark.parametrize(
    ("call", "package", "message"),
    [
        ("rs.imread('x.png')", "PIL", "reading and writing images needs Pillow: pip install '.[images]'"),
        (
            "rs.imwrite('x.png', np.zeros((2, 2), np.uint8))",
            "PIL",
            "reading and writing images needs Pillow: pip install '.[images]'",
        ),
        ("import restride.interop.einops", "einops", "restride.interop.einops needs einops: pip install '.[ein"),
        ("import restride.interop.torch", "torch", "restride.interop.torch needs torch: pip install '.[torch]'"),
        ("import restride.interop.jax", "jax", "restride.interop.jax needs jax: pip install '.[jax]'"),
        ("import restride.interop.video", "av", "restride.interop.video needs PyAV: pip install '.[video]'"),
    ],
    ids=["imread", "imwrite", "einops", "torch", "jax", "video"],
)
def test_without_a_package_the_extra_is_named(call, package, message):
    program = (
        f"import sys\nsys.modules[{package!r}] = None\nimport numpy as np\nimport restride as rs\n"
        f"try:\n    {call}\nexcept ImportError as error:\n"
        "    assert isinstance(error, rs.UnsupportedError)\n    print(error.name, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{package} {message}"), done.stdout
