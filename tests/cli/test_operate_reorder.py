"""``restride reorder`` from type to type: scales, zero points, rounding, images, and what it refuses."""

import shlex
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import restride as rs
from restride.command.files import about_raw_elements, read_array, write_array
from restride.dtypes import DTYPES, as_dtype
from restride.reference.comparison import compare_limits, flush_limits

PIXELS = np.random.default_rng(8).integers(0, 256, (9, 14, 3), np.uint8)
PIXELS[:2] = np.arange(84, dtype=np.uint8).reshape(2, 14, 3) * 3  # a ramp, ends included
PIXELS[0, 0], PIXELS[0, 1] = 0, 255
NUMBERS = np.float32([[0.5, 1.5, -2.5, 300], [-1, 126.5, 1e10, np.nan]])


@pytest.fixture
def reorder(restride):
    return partial(restride, "reorder")


@pytest.fixture
def converted(reorder):
    """What the command makes of an array, once its own check has passed."""

    def run(array, *options, dtype=None):
        write_array(Path("in.npy"), array)
        code, out, err = reorder("in.npy", "out.npy", "--check", *options)
        result = read_array(Path("out.npy"), dtype).array
        notes = about_raw_elements(Path("out.npy"), as_dtype(result.dtype))
        assert (code, err) == (0, [f"restride: {note}" for note in notes]), err
        assert "check: largest difference 0 (allowed 0): OK" in out
        return result

    return run


@pytest.mark.usefixtures("vulkan_device")
def test_a_photograph_becomes_planes_of_0_to_1_and_comes_back(tmp_path, reorder):
    pytest.importorskip("PIL.Image")
    write_array(tmp_path / "photo.png", PIXELS)
    to_planes = ("--to", "f32", "--dst-scale", 255, "--layout", "HWC->CHW")
    code, out, err = reorder("photo.png", "planes.npy", *to_planes, "--check")
    assert (code, err) == (0, [])
    assert "planes.npy: f32[3,9,14]{2,1,0} from u8[9,14,3]{2,1,0}" in out
    planes = np.load(tmp_path / "planes.npy")
    assert planes.dtype == np.float32
    assert np.array_equal(planes, PIXELS.transpose(2, 0, 1).astype(np.float32) / np.float32(255))

    to_pixels = ("--to", "u8", "--src-scale", 255, "--layout", "CHW->HWC")
    assert reorder("planes.npy", "again.png", *to_pixels, "--check")[0] == 0
    assert np.array_equal(read_array(tmp_path / "again.png").array, PIXELS)


@pytest.mark.parametrize(
    ("options", "result"),
    [
        ((), [[0, 2, -2, 127], [-1, 126, 127, 0]]),
        (("--rounding", "half_away"), [[1, 2, -3, 127], [-1, 127, 127, 0]]),
        (("--no-saturate",), [[0, 2, -2, 44], [-1, 126, 0, 0]]),
        (("--src-scale", "2e0", "--dst-scale=-4e0"), [[0, -1, 1, -128], [0, -63, -128, 0]]),
        (("--src-zero-point", "-.5"), [[1, 2, -2, 127], [0, 127, 127, 0]]),
    ],
)
@pytest.mark.usefixtures("vulkan_device")
def test_options_reach_the_operation(options, result, converted):
    array = converted(NUMBERS, "--to", "s8", *options)
    assert array.dtype == np.int8
    assert array.tolist() == result


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.usefixtures("vulkan_device")
def test_every_type_from_bytes_and_back(name, converted):
    array = np.arange(2 if name == "pred" else 8, dtype=np.uint8).reshape(2, -1)
    there = converted(array, "--to", name, dtype=name)
    assert there.dtype == DTYPES[name].dtype
    assert np.array_equal(there.astype(np.uint8), array)
    raw = ("--dtype", name) if there.dtype.kind == "V" or name.startswith("f8") else ()
    assert np.array_equal(converted(there, "--to", "u8", *raw), array)


@pytest.mark.usefixtures("vulkan_device")
def test_several_numbers_lie_along_an_axis_of_in(converted):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    of_four, of_three = np.float32([1, 2, 4, 8]), np.float32([1, -2, 0.5]).reshape(3, 1)
    assert np.array_equal(converted(x, "--src-scale", 1, 2, 4, 8), x * of_four)
    assert np.array_equal(converted(x, "--src-scale", 1, -2, 0.5, "--axis", 1), x * of_three)
    # Also those of the result, whose axes are others.
    moved = converted(x, "--dst-scale", 1, -2, 0.5, "--dst-zero-point", 7, "--axis", -2, "--layout", "ABC->CAB")
    assert np.array_equal(moved, (x / of_three + 7).transpose(2, 0, 1))


@pytest.mark.usefixtures("vulkan_device")
def test_the_mean_and_std_of_the_page_are_normalize(tmp_path, reorder):
    np.save(tmp_path / "photo.npy", PIXELS)
    page = (Path(__file__).parents[2] / "docs" / "reorder.md").read_text(encoding="utf-8")
    recipe = page[page.index("restride reorder photo.png planes.npy --to f32 --layout 'HWC->CHW' --dst-scale 58") :]
    _, _, _, _, *options = shlex.split(recipe.split("```")[0].replace("\\\n", " "))
    assert reorder("photo.npy", "planes.npy", *options)[0] == 0
    expected = rs.normalize(PIXELS, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), layout="HWC->CHW")
    assert np.load(tmp_path / "planes.npy").tobytes() == expected.numpy().tobytes()


@pytest.mark.usefixtures("vulkan_device")
def test_bin_files_on_either_side(tmp_path, reorder):
    blocked, bytes_of_it = rs.TensorDesc.parse("f32[2,20,3,5]:nChw16c"), rs.TensorDesc.parse("u8[2,20,3,5]:acdb")
    array = np.random.default_rng(9).uniform(-1, 2, blocked.sizes).astype(np.float32)
    write_array(tmp_path / "x.npy", array)
    assert reorder("x.npy", "x.bin", "--layout", "nChw16c", "--check")[0] == 0
    to_bytes = ("--desc", blocked, "--to", "u8", "--src-scale", 200, "--dst-zero-point", 30)
    code, out, err = reorder("x.bin", "y.bin", *to_bytes, "--layout", "acdb", "--check")
    assert (code, err) == (0, [])
    assert out.splitlines()[-1] == f"y.bin: {bytes_of_it}, 600 bytes"
    expected = np.clip(np.rint(np.float32(200) * array + np.float32(30)), 0, 255).astype(np.uint8)
    assert (tmp_path / "y.bin").read_bytes() == expected.transpose(0, 2, 3, 1).tobytes()
    # In the same blocks, whose padding is zeros of the new type.
    out = reorder("x.bin", "y.bin", "--desc", blocked, "--to", "f16", "--layout", "any", "--check")[1]
    assert out.splitlines()[-1] == "y.bin: f16[2,20,3,5]:nChw16c, 1920 bytes"


LINE = (
    "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32:p:blocked:aBcd16b::f0 "
    "dst:f32::blocked:acdb::f0,,,2x20x3x5,0.02"
)


@pytest.mark.parametrize("name", ["dump", "dump.raw", "dump.F32", "dump.0001"])
@pytest.mark.usefixtures("vulkan_device")
def test_a_dump_of_any_name_is_described_by_its_line(name, tmp_path, reorder):
    array = np.random.default_rng(9).uniform(-1, 2, (2, 20, 3, 5)).astype(np.float32)
    rs.reorder(array, "nChw16c").buffer().tofile(tmp_path / name)
    for desc in ("f32[2,20,3,5]:nChw16c", LINE, "src:f32:p:blocked:aBcd16b::f0 2x20x3x5"):
        code, out, err = reorder(name, "y.npy", "--desc", desc, "--check")
        assert (code, err) == (0, [])
        assert "check: largest difference 0" in out
        assert np.array_equal(np.load(tmp_path / "y.npy"), array)
    code, out, err = reorder(name, f"to_{name}", "--desc", LINE, "--layout", LINE)
    assert (code, err) == (0, [])
    assert (tmp_path / f"to_{name}").read_bytes() == array.transpose(0, 2, 3, 1).tobytes()
    (tmp_path / "dumps").mkdir()
    (tmp_path / name).rename(tmp_path / "dumps" / name)
    assert reorder("dumps", "results", "--desc", LINE, "--layout", "nchw")[0] == 0
    assert (tmp_path / "results" / name).read_bytes() == array.tobytes()


@pytest.mark.usefixtures("vulkan_device")
def test_a_reorder_from_or_to_a_buffer_needs_no_other_option(tmp_path, reorder):
    array = np.arange(15, dtype=np.float32).reshape(3, 5)
    write_array(tmp_path / "x.npy", array)
    assert reorder("x.npy", "x.bin")[0] == 0
    assert (tmp_path / "x.bin").read_bytes() == array.tobytes()
    for line in ("memref<3x5xf32>", "%a = f32[3,5]{1,0} parameter(0)"):
        assert reorder("x.bin", "y.npy", "--desc", line)[0] == 0
        assert np.array_equal(np.load(tmp_path / "y.npy"), array)
    code, _, err = reorder("x.npy", "y.npy")
    assert (code, err[0].partition(": ")[2].split(" (")[0]) == (
        2,
        "one of these is required: --layout, --to, a scale or a zero point",
    )


def test_what_numpy_cannot_name_is_said(tmp_path, reorder, vulkan_device):
    rs.asarray(np.ones((2, 3), np.float32), device=vulkan_device)
    write_array(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    code, _, err = reorder("x.npy", "y.npy", "--to", "bf16")
    note = "restride: warning: numpy has no name for bf16: .npy files have it as V2, and --dtype bf16 reads them"
    assert (code, err) == (0, [note])
    assert np.load(tmp_path / "y.npy").dtype == "V2"
    assert reorder("y.npy", "z.npy", "--to", "f32", "--dtype", "bf16")[::2] == (0, [])
    assert reorder("x.npy", "y.bin", "--to", "bf16")[::2] == (0, [])


@pytest.mark.usefixtures("vulkan_device")
def test_a_layout_that_is_a_text_says_the_type(tmp_path, reorder):
    write_array(tmp_path / "x.npy", NUMBERS)
    out = reorder("x.npy", "y.bin", "--layout", "s8[2,4]{0,1}", "--check")[1]
    assert out.splitlines()[-1] == "y.bin: s8[2,4]{0,1}, 8 bytes"
    assert np.fromfile(tmp_path / "y.bin", np.int8).tolist() == [0, -1, 2, 126, -2, 127, 127, 0]
    assert reorder("x.npy", "y.bin", "--layout", "{0,1:T(2,2)}", "--check")[0] == 0


@pytest.mark.usefixtures("vulkan_device")
def test_an_integer_that_float64_has_not_is_taken_as_it_is(converted):
    x = np.int64([0, 5])
    assert converted(x, "--src-zero-point", 2**63 - 1).tolist() == [-(2**63)] * 2
    both = ("--dst-zero-point", 2**64 - 1, 0)
    assert converted(np.zeros(2, np.uint64), *both).tolist() == [2**64 - 1, 0]


def test_what_flushed_denormals_and_nans_allow():
    answer = np.uint32([0x7FC00000, 0x00000003, 0x3F800000, 0x80000000]).view(np.float32)
    flushed = np.uint32([0x7FC00000, 0x00000000, 0x3F800000, 0x80000000]).view(np.float32)
    limits = flush_limits(answer, flushed)
    assert compare_limits(answer, answer, *limits).passed
    assert compare_limits(flushed, answer, *limits).passed
    for position, bits, wrong in [
        (0, 0xFFC12345, 0),  # any NaN for a NaN
        (0, 0x7F800000, 1),
        (1, 0x00000001, 0),  # flushed in one step, not in another
        (1, 0x00000004, 1),
        (1, 0x7FC00000, 1),
        (2, 0x3F800001, 1),  # denormals make no difference here
        (3, 0x00000000, 1),  # nor to the sign of this zero
    ]:
        actual = answer.copy()
        actual.view(np.uint32)[position] = bits
        assert compare_limits(actual, answer, *limits).wrong == wrong, (position, hex(bits))
    # float64 cannot tell these two integers apart.
    large = np.int64([2**63 - 1])
    assert compare_limits(large - 1, large, large, large).wrong == 1
