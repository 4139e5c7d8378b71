"""Files of the command line: what .npy, images and raw buffers hold, and hostile ones."""

import errno
import os
import sys

import numpy as np
import pytest

import restride as rs
from restride.command.files import (
    about_raw_elements,
    decoded_nbytes,
    named_errors,
    read_array,
    write_array,
)
from restride.command.process import UsageError, line_for, told_warnings
from restride.dtypes import DTYPES
from restride.runtime.vulkan.runtime import VulkanRuntime

Image = pytest.importorskip("PIL.Image")


def npy_bytes(header, data=b"", version=1, length=None):
    """A .npy file by hand; ``length`` is what it claims of its header."""
    text = header.encode()
    width = 2 if version == 1 else 4
    claimed = (len(text) if length is None else length).to_bytes(width, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + claimed + text + data


def header(descr="'<f4'", shape="(2,)", fortran_order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}"


@pytest.mark.parametrize("name", DTYPES)
def test_npy_keeps_every_bit_of_every_type(name, tmp_path):
    dtype = DTYPES[name].dtype
    raw = np.random.default_rng(5).integers(0, 2 if name == "pred" else 256, (3, 4 * dtype.itemsize), np.uint8)
    array = raw.view(dtype)
    path = tmp_path / "x.npy"
    write_array(path, array)
    again = read_array(path, dtype=name).array
    assert again.dtype == dtype
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["bf16", "f8e4m3fn", "f8e5m2"])
def test_npy_that_numpy_saved_raw_needs_its_type(name, tmp_path):
    path = tmp_path / "x.npy"
    array = np.arange(6).astype(DTYPES[name].dtype)
    np.save(path, array)
    with pytest.raises(UsageError, match=rf"raw elements of {array.itemsize} bytes.*{name}.*--dtype"):
        read_array(path)
    assert read_array(path, dtype=name).array.tolist() == array.tolist()


def test_npy_in_fortran_order_and_without_elements(tmp_path):
    path = tmp_path / "x.npy"
    for array in (np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)), np.zeros((0, 3)), np.array(7, np.int16)):
        np.save(path, array)
        assert np.array_equal(read_array(path).array, array)
        assert read_array(path).array.shape == array.shape


@pytest.mark.parametrize("descr", [">u1", ">i2", ">f2", ">u4", ">f4", ">f8", "<i8", ">i8"])
def test_npy_of_either_byte_order(descr, tmp_path):
    path = tmp_path / "x.npy"
    array = np.arange(-3, 21).astype(descr).reshape(2, 3, 4)
    for x in (array, np.asfortranarray(array), array[:0]):
        np.save(path, x)
        again = read_array(path).array
        assert again.dtype.isnative
        assert np.array_equal(again, x)
    np.save(path, np.array([1, 0x3F80], ">u2"))
    assert read_array(path, dtype="bf16").array.view(np.uint16).tolist() == [1, 0x3F80]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a .npy file.*EOF: reading magic string"),
        (b"PK\x03\x04 a zip archive", "not a .npy file.*magic string is not correct"),
        (npy_bytes(header(), version=9), r"version 9\.0"),
        (npy_bytes(header(), b"\0" * 7), r"truncated.*8 bytes, and 7 follow"),
        (npy_bytes(header(), length=2000), "EOF: reading array header, expected 2000 bytes"),
        (npy_bytes(header(), version=2, length=0xFFFFFFF0), "header, expected 4294967280 bytes"),
        (npy_bytes(header(shape="(4611686018427387904, 4)")), "truncated"),
        (npy_bytes(header(shape=f"({10**30},)")), "truncated"),
        (npy_bytes(header(shape=f"(0, {10**30})")), "sizes"),
        (npy_bytes(header(shape="(-1,)"), b"\0" * 8), "shape is"),
        (npy_bytes(header(shape="(2.5,)"), b"\0" * 8), r"shape is not valid: \(2\.5,\)"),
        (npy_bytes(header(shape="(True,)"), b"\0" * 8), "shape is"),
        (npy_bytes(header(shape="[2]"), b"\0" * 8), r"shape is not valid: \[2\]"),
        (npy_bytes(header(fortran_order="1"), b"\0" * 8), "fortran_order is not a valid bool: 1"),
        (npy_bytes(header(descr="'spam'"), b"\0" * 8), "descr is not a valid dtype descriptor: 'spam'"),
        (npy_bytes(header(descr="5"), b"\0" * 8), "descr is not a valid dtype descriptor: 5"),
        (npy_bytes(header(descr="[('a', '<f4')]"), b"\0" * 8), "named fields"),
        (npy_bytes(header(descr="'|O'"), b"\x80\x04N." * 4), "pickled Python objects"),
        (npy_bytes(header(descr="'<c8'"), b"\0" * 16), "unknown element type 'complex64'"),
        (npy_bytes(header(descr="'<U3'"), b"\0" * 24), "unknown element type"),
        (npy_bytes(header(descr="'>c8'"), b"\0" * 16), "unknown element type 'complex64'"),
        (npy_bytes(header(descr="'>f4'"), b"\0" * 7), "truncated"),
        (npy_bytes(header(descr="'|V3'"), b"\0" * 6), "raw elements of 3 bytes"),
        (npy_bytes("__import__('os').abort()"), "header is damaged: malformed node"),
        (npy_bytes("(" * 5000), "header is damaged"),
        (npy_bytes(header(descr="',U1'")), "header is damaged"),
        (npy_bytes(header(descr="'\u2200'")), "header is damaged"),
        (npy_bytes(header(descr="'\u2200'"), version=3), "header is damaged"),
        (npy_bytes(header(shape="(2L,)"), b"\0" * 8), "header is damaged: Reading .* created on Python 2"),
        (npy_bytes(header() + " " * 12_000, b"\0" * 8), r"header, expected 120\d\d bytes"),
        (npy_bytes("{'descr': '<f4'}"), "does not contain the correct keys"),
        (npy_bytes("[1, 2]"), "not a dictionary"),
    ],
)
def test_hostile_npy_is_refused(content, message, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message) as caught:
        read_array(path)
    assert str(path) in str(caught.value)


def test_dtype_of_another_width_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(4, np.float32))
    with pytest.raises(UsageError, match=r"--dtype bf16 has 2 bytes an element, those of .* have 4"):
        read_array(path, dtype="bf16")


def test_images_are_those_of_imread_and_imwrite(tmp_path):
    path = tmp_path / "x.png"
    for pixels in (np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8), np.uint16([[1, 1800]])):
        write_array(path, pixels)
        assert np.array_equal(read_array(path).array, pixels)
        assert read_array(path).is_image
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"cannot read .*x\.png"):
        read_array(path)


@pytest.mark.filterwarnings("default::PIL.Image.DecompressionBombWarning")
def test_a_warning_about_a_file_is_a_line_with_its_name(tmp_path, monkeypatch, capsys):
    write_array(tmp_path / "x.png", np.zeros((20, 30), np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 400)
    with told_warnings():
        for _ in range(2):
            assert read_array(tmp_path / "x.png").array.shape == (20, 30)
            said = f"restride: warning: {tmp_path}/x.png: Image size (600 pixels) exceeds"
            assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    ("name", "pixels", "nbytes"),
    [
        ("x.png", np.zeros((20, 30, 3), np.uint8), 2400),
        ("x.jpg", np.zeros((20, 30), np.uint8), 2400),
        ("deep.png", np.zeros((20, 30), np.uint16), 4800),
        ("x.npy", np.zeros((20, 30), np.float32), 2400 + 128),
    ],
)
def test_a_header_says_what_a_file_takes_once_it_is_read(name, pixels, nbytes, tmp_path):
    write_array(tmp_path / name, pixels)
    assert decoded_nbytes(tmp_path / name) == nbytes


@pytest.mark.parametrize("content", [b"no image", None])
def test_a_file_of_which_no_header_tells_takes_all_there_is(content, tmp_path):
    if content is not None:
        (tmp_path / "x.png").write_bytes(content)
    assert decoded_nbytes(tmp_path / "x.png") == sys.maxsize


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x.png", np.zeros((4, 4, 3), np.float32), r"not f32 of sizes \[4, 4, 3\]: give x\.npy as the output$"),
        ("x.png", np.zeros((3, 4, 5), np.uint8), r"give x\.npy as the output, or name the axes of rows and columns$"),
        ("x.png", np.zeros((0, 4), np.uint8), r"not \[0, 4\]: it is empty, as of a window outside the image$"),
        ("x.jpg", np.zeros((4, 4, 4), np.uint8), r"1 or 3 channels, not \[4, 4, 4\]: give x\.png as the output$"),
        ("x.jpg", np.zeros((4, 4), np.uint16), r"u8 elements, not u16 of sizes \[4, 4\]: give x\.png as the output$"),
        ("x.gif", np.zeros((4, 4), np.uint8), r"must end in \.npy, \.png"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(name, array, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        write_array(tmp_path / name, array)
    assert not list(tmp_path.iterdir())


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read_array(tmp_path / "none.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        read_array(tmp_path / "folder.npy")
    with pytest.raises(UsageError, match="No such file or directory"):
        write_array(tmp_path / "none" / "x.npy", np.zeros(3))


CHANNELS_20 = "f32[2,20,3,5]:nChw16c"
TILED = "bf16[9,200]{1,0:T(8,128)(2,1)}"
PADDED = "s16[3,5]{0,1:T(2,2)pad(4,8)=-7}"
STRIDED = "u8[3,5]{strides=(8,1),offset=2}"
VIEW = "f32[2,3]{at=(1+2a,3-b),in=[4,4]{1,0:T(2,2)}}"


def elements_of(text):
    """Every element of ``text`` another one, as far as its type goes, and none of them 0."""
    desc = rs.TensorDesc.parse(text)
    return (1 + np.arange(desc.numel) % 120).astype(desc.dtype.dtype).reshape(desc.sizes)


@pytest.mark.parametrize("text", [CHANNELS_20, TILED, PADDED, STRIDED, VIEW, "f32[2,3]{0,1}", "f32[]", "f32[0,3]{0,1}"])
@pytest.mark.usefixtures("vulkan_device")
def test_a_bin_file_holds_the_buffer_and_gives_it_back(text, tmp_path, restride):
    array, desc = elements_of(text), rs.TensorDesc.parse(text)
    write_array(tmp_path / "x.npy", array)
    typed = ("--dtype", desc.dtype) if desc.dtype.name == "bf16" else ()
    code, out, err = restride("reorder", "x.npy", "x.bin", "--layout", text, "--check", *typed)
    assert (code, err) == (0, [])
    assert out.splitlines()[-1] == f"x.bin: {text}, {desc.nbytes} bytes"
    # By offset_of, one element after the other: neither the plan nor the reference.
    image = np.zeros(desc.extent, desc.dtype.dtype)
    if text == PADDED:
        for index in np.ndindex(4, 8):
            image[rs.TensorDesc.parse("s16[4,8]{0,1:T(2,2)}").offset_of(index)] = -7
    for index in np.ndindex(*desc.sizes):
        image[desc.offset_of(index)] = array[index]
    assert (tmp_path / "x.bin").read_bytes() == image.tobytes()

    code, out, err = restride("reorder", "x.bin", "y.npy", "--desc", text, "--check")
    assert (code, err) == (0, [f"restride: {note}" for note in about_raw_elements(tmp_path / "y.npy", desc.dtype)])
    assert out.splitlines()[-1].endswith(f" from {text}")
    again = read_array(tmp_path / "y.npy", str(desc.dtype)).array
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


@pytest.mark.usefixtures("vulkan_device")
def test_what_lies_between_strides_is_zero_whatever_memory_held(tmp_path, restride, monkeypatch):
    allocate = VulkanRuntime.allocate

    def used_before(runtime, nbytes, shareable=False):
        memory = allocate(runtime, nbytes, shareable)
        runtime.write(memory, 0, memoryview(bytes([0xA5]) * nbytes))
        return memory

    monkeypatch.setattr(VulkanRuntime, "allocate", used_before)
    write_array(tmp_path / "x.npy", elements_of(STRIDED))
    arguments = ("reorder", "x.npy", "x.bin", "--layout", STRIDED, "--runtime", "vulkan", "--check")
    assert restride(*arguments)[0] == 0
    assert (tmp_path / "x.bin").read_bytes().count(0xA5) == 0


@pytest.mark.usefixtures("vulkan_device")
def test_slice_of_a_bin_file_is_packed(tmp_path, restride):
    array = elements_of(CHANNELS_20)
    (tmp_path / "x.bin").write_bytes(rs.reference.to_buffer(array, rs.TensorDesc.parse(CHANNELS_20)).tobytes())
    for index in ("[1, 3:18:2, ::-1]", "[...]"):
        expected = eval(f"array{index}")
        desc = rs.TensorDesc("f32", expected.shape)
        code, out, err = restride("slice", "x.bin", "y.bin", index, "--desc", CHANNELS_20, "--check")
        assert (code, err) == (0, [])
        assert out.splitlines()[-1] == f"y.bin: {desc}, {expected.nbytes} bytes"
        assert (tmp_path / "y.bin").read_bytes() == expected.tobytes()
        assert restride("slice", "x.bin", "y.npy", index, "--desc", CHANNELS_20, "--check")[0] == 0
        assert np.array_equal(np.load(tmp_path / "y.npy"), expected)


@pytest.mark.usefixtures("vulkan_device")
def test_only_files_in_logical_order_get_the_note(tmp_path, restride):
    write_array(tmp_path / "x.npy", elements_of(CHANNELS_20))
    assert "changes memory only" in restride("reorder", "x.npy", "y.npy", "--layout", "nChw16c")[2][0]
    assert restride("reorder", "x.npy", "x.bin", "--layout", "nChw16c")[2] == []
    assert restride("reorder", "x.bin", "y.npy", "--layout", "nchw", "--desc", CHANNELS_20)[2] == []


@pytest.mark.parametrize(
    ("offset", "report"),
    [
        ((1, 19, 2, 4), "check: largest difference 8 (allowed 0): FAILED, 1 of 600 elements are wrong"),
        (None, "check of the padding: largest difference 2 (allowed 0): FAILED, 1 of 360 elements are wrong"),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_check_catches_one_wrong_element_and_one_of_the_padding(offset, report, tmp_path, restride, monkeypatch):
    desc = rs.TensorDesc.parse(CHANNELS_20)
    at = desc.extent - 1 if offset is None else desc.offset_of(offset)
    assert (desc.index_of(at) is None) == (offset is None)
    honest = rs.Tensor.buffer

    def damaged(tensor):
        data = honest(tensor)
        line = data.view(np.float32)
        line[at] = 2 if offset is None else line[at] + 8
        return data

    monkeypatch.setattr(rs.Tensor, "buffer", damaged)
    write_array(tmp_path / "x.npy", elements_of(CHANNELS_20))
    code, out, err = restride("reorder", "x.npy", "x.bin", "--layout", "nChw16c", "--check")
    assert code == 1
    assert sorted("FAILED" in line for line in out.splitlines()) == [False, True]
    assert report in out
    assert err == ["restride: x.bin is not written"]
    assert not (tmp_path / "x.bin").exists()


def test_a_bin_file_is_no_array(tmp_path):
    for refused in (read_array, lambda path: write_array(path, np.zeros(3))):
        with pytest.raises(
            UsageError, match=r"x\.bin is a \.bin file of raw bytes, where an array or an image is needed"
        ):
            refused(tmp_path / "x.bin")


def test_what_was_noted_about_an_error_of_the_system_is_said_with_the_file(tmp_path):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error.add_note("the same call continues the work")
    with pytest.raises(UsageError) as caught, named_errors("write", tmp_path / "x.zarr"):
        raise error
    assert line_for(caught.value).endswith("x.zarr: No space left on device; the same call continues the work")
