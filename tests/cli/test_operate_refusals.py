"""Commands from file to file: what each refuses in one line, before a device opens and before anything is written."""

import numpy as np
import pytest

import restride as rs
from restride.cli import operate

PIXELS = np.random.default_rng(3).integers(0, 256, (20, 30, 4), np.uint8)
FRAMES = np.zeros((2, 12, 10), np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files of every kind, in which no device may be opened."""
    pytest.importorskip("PIL.Image")
    for name, array in (
        ("x", np.zeros((2, 6, 9), np.float32)),
        ("one", np.float32(1)),
        ("boxes", np.array([(1, 2, 9, 12), (-3, 4, 6, 20)])),
        ("frames", FRAMES),
    ):
        np.save(tmp_path / f"{name}.npy", array)
    for name in ("x.bin", "x.txt", "x.f32"):
        (tmp_path / name).write_bytes(bytes(7))
    FRAMES.tofile(tmp_path / "frames.bin")
    rs.imwrite(tmp_path / "photo.png", np.ascontiguousarray(PIXELS[..., :3]))
    rs.imwrite(tmp_path / "drawing.png", PIXELS)
    monkeypatch.setattr(operate, "open_device", lambda _: pytest.fail("a device is opened"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # Files.
        ("resample x.npy y.gif --sizes 4", "must end in .npy, .png, .jpg, .jpeg, .bin"),
        ("resample x.txt y.npy --sizes 4", "must end in .npy, .png, .jpg, .jpeg, .webp, .bmp, .tif, "),
        ("resample none.npy y.npy --sizes 4", "cannot read none.npy: no such file"),
        ("resample x.npy none/y.npy --sizes 4", "cannot write none/y.npy: no such folder"),
        ("resample x.npy y.npy --sizes 4 --dtype f64", "--dtype f64 has 8 bytes"),
        ("slice x.bin y.npy [0]", "x.bin holds bytes alone: say what they are, such as --desc"),
        ("reorder x.f32 y.npy", "x.f32: the name must end in .npy, "),
        ("reorder x.npy y.f32 --to f16", "y.f32: the name must end in .npy, "),
        ("reorder x.bin y.npy --desc 'memref<3x?xf32>'", "the size of axis 1 is known at run time alone (?)"),
        (
            "reorder x.npy y.npy --to u8 --axis 1",
            "--axis 1 has no effect without several numbers for one of",
        ),
        ("resample x.npy y.npy --sizes 4 --axis 0 --dst-scale 2", "--axis 0 has no effect without several numbers"),
        ("slice x.bin y.npy [0] --desc u8[6]", "x.bin has 7 bytes; u8[6]{0} needs exactly 6"),
        ("slice x.bin y.npy [0] --desc u8[7", "--desc 'u8[7': expected ',' or ']'"),
        ("slice x.bin y.npy [0] --desc u8[7] --dtype s8", "--dtype says what the bytes of a .npy file are; x.bin"),
        ("slice none.bin y.npy [0] --desc u8[7]", "cannot read none.bin: no such file"),
        ("slice x.npy y.npy [0] --desc u8[7]", "--desc says what the bytes of a .bin file are; x.npy"),
        ("slice photo.png y.npy [0] --desc u8[7]", "--desc says what the bytes of a .bin file are; photo.png"),
        ("slice x.bin none/y.bin [:3] --desc u8[7]", "cannot write none/y.bin: no such folder"),
        # Images that cannot be.
        ("slice x.bin y.png [:3] --desc u8[7]", "not [3]: give y.npy as the output"),
        ("slice photo.png y.png '[0, 0]'", "not [3]"),
        ("resample photo.png y.png --sizes 8 --axes 2", "1 to 4 channels, not [20, 30, 8]"),
        ("reorder x.npy y.png --layout 'f16[2,6,9]{0,1,2}'", "u8 or u16 elements, not f16"),
        ("yuv frames.npy y.png", "a PNG image has sizes [height, width]"),
        ("crop photo.png y.png --boxes boxes.npy --sizes 8 9", "an image holds one box, not 2: give y.npy as"),
        # Options.
        ("slice x.npy", "required: OUT"),
        ("slice x.npy y.npy", "needs an index"),
        ("slice x.npy y.npy [::2] --sizes 1", "not both"),
        ("slice x.npy y.npy [2]", "index 2 is out of range for axis 0"),
        ("slice x.npy y.npy [::2 --check", "has one bracket; it must have both or none"),
        ("slice x.npy y.npy --offsets a --sizes 1", "invalid int value: 'a'"),
        ("reorder x.npy y.npy", "one of these is required: --layout, --to, a scale or a zero point"),
        ("reorder x.npy y.npy --rounding truncate --no-saturate", "one of these is required"),
        ("reorder x.npy y.npy --layout NWHQ", "unknown layout 'NWHQ'"),
        ("reorder x.npy y.npy --src-scale 1 2", "has 2 numbers, and axis 2 of f32[2,6,9]{2,1,0} has 9: give one, one"),
        ("reorder x.npy y.npy --src-scale 1 2 --axis 3", "--axis 3 is outside [-3, 3) of f32[2,6,9]{2,1,0}"),
        ("reorder one.npy y.npy --src-scale 1 2", "--axis -1 is outside [-0, 0) of f32[]"),
        ("resample x.npy y.npy", "one of these is required: --sizes, --scales (see `restride resample --help`)"),
        ("resample x.npy y.npy --sizes 0.5", "invalid int value: '0.5'"),
        ("resample x.npy y.npy --scales 1/2", "argument --scales: '1/2' is no number"),
        ("resample x.npy y.npy --sizes 4 --mode bicubic", "cubic, area, area_weighted); it is 'cubic' here"),
        ("resample x.npy y.npy --sizes 4 --mode area --like pillow", "mode 'area' of like 'pillow' is not one of"),
        ("resample x.npy y.npy --sizes 4 --window 4", "'4' is no part of an axis, such as 0:10 or :"),
        ("resample x.npy y.npy --sizes 4 --src-scale 1 2", "has 2 numbers, and axis 2 of f32[2,6,4]{2,1,0} has 4"),
        ("resample photo.png y.png --sizes 8", "an image is resized along height and width: give 2 sizes, not 1, or"),
        ("resample photo.png y.png --scales 1 2 3", "give 2 scales, not 3, or name other axes by --axes"),
        ("resize photo.png y.png", "one of these is required: --sizes, --shorter, --longer, --fit, --cover (see"),
        ("resize photo.png y.png --sizes 256", "argument --sizes: expected 2 arguments"),
        ("resize drawing.png y.png --shorter 8 --linear-light --mode nearest", "linear_light True has no effect"),
        ("resize photo.png y.png --shorter 8 --mode bicubic", "it is 'cubic' here"),
        ("resize photo.png y.png --shorter 8 --layout HWC->CHW", "unrecognized arguments: --layout HWC->CHW"),
        ("crop x.npy y.npy --sizes 4 4 --box 1,2,3", "argument --box: '1,2,3' is no box of four numbers, Y0,X0,Y1,X1"),
        ("crop x.npy y.npy --sizes 4 4 --box 1,2,3,a", "argument --box: 'a' is no number"),
        ("crop x.npy y.npy --sizes 4 4 --box 1,2,3,4 --box 1.0,2,3,4", "a --box of integers is a slice, one with"),
        ("crop x.npy y.npy --sizes 4 4 --box 1,2,3,4 --boxes boxes.npy", "argument --boxes: not allowed with argument"),
        ("crop x.npy y.npy --sizes 4 4 --boxes 0.1,0,10,10", "'0.1,0,10,10' is no .npy file: give a box by --box"),
        ("crop x.npy y.npy --sizes 4 4 --boxes none.npy", "cannot read none.npy: no such file"),
        ("yuv frames.bin y.npy", "frames.bin holds bytes alone: say rows and columns of a frame, --sizes 1080 1920"),
        ("yuv frames.bin y.npy --sizes 8 12", "frames.bin has 240 bytes; frames of 8 x 12 have 144 each"),
        ("yuv frames.bin y.npy --sizes 7 12", "--sizes of a frame must be even and 2 or more, got 7 12"),
        ("yuv none.bin y.npy --sizes 8 12", "cannot read none.bin: no such file"),
        (
            "yuv frames.npy y.npy --sizes 8 10",
            "--sizes 8 10 says how frames lie in a .bin file: leave it out, frames.npy says itself",
        ),
        (
            "yuv frames.bin y.npy --sizes 8 10 --desc u8[24,10]",
            "frames lie in a .bin file: leave it out, --desc says that already",
        ),
    ],
)
def test_what_is_refused_before_a_device_opens(words, message, folder, restride):
    before = sorted(folder.iterdir())
    code, out, err = restride(words)
    assert (code, out, len(err)) == (2, "", 1), (code, err)
    assert message in err[0]
    assert sorted(folder.iterdir()) == before
