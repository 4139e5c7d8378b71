"""Hostile texts and files: each is read or refused with a typed error; lab/reliability/fuzz.py tries far more."""

from __future__ import annotations

import itertools
import struct
import warnings
from random import Random

import fuzz
import numpy as np
import pytest
import readers
from support.judges import judge

from restride.command.files import read_array
from restride.command.process import UsageError
from restride.errors import DescriptorError, DeviceError
from restride.kernel import modules
from restride.runtime.specialization import specialized

Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

NAMES = fuzz.names()


@pytest.fixture(scope="module")
def every_reader(tmp_path_factory):
    return {reader.name: reader for reader in readers.readers(tmp_path_factory.mktemp("readers"))}


@pytest.fixture(params=NAMES)
def reader(request, every_reader):
    if "HDF5" in request.param:
        judge("h5py")
    with warnings.catch_warnings(action="ignore"):
        yield every_reader[request.param]


def test_inputs_are_read_or_refused_with_a_typed_error(reader):
    session = fuzz.Session(reader)
    for data in readers.corpus(reader.name):
        session.take(data)
    session.fuzz(reader.small, seed=1)
    assert session.failures == {}
    assert session.seconds <= fuzz.SECONDS


def test_a_seed_gives_the_same_inputs_again_and_another_seed_others(reader):
    first, again, other = (list(itertools.islice(fuzz.inputs(reader, Random(seed)), 60)) for seed in (3, 3, 4))
    assert first == again != other
    assert max(map(len, first)) <= fuzz.longest(reader)


def test_an_input_without_mistakes_is_read(reader):
    fuzz.Session(reader).take(reader.inputs[0])
    reader.read(reader.inputs[0])


def reader_that(read):
    return readers.Reader("a reader", read, (b"good",), (b"t",))


def test_an_untyped_error_is_a_failure():
    def read(data):
        if b"t" in data:
            raise KeyError(data)
        if data != b"good":
            raise DescriptorError(data)

    session = fuzz.Session(reader_that(read))
    session.fuzz(200, seed=0)
    assert len(session.failures) == 1
    assert next(iter(session.failures)).startswith("KeyError at test_fuzz.py:")
    assert session.count == 200
    assert min(session.read, session.refused, session.failed) > 0


def test_each_reader_has_a_process_and_a_figure(monkeypatch, capsys):
    monkeypatch.setattr(fuzz, "names", lambda: ["tags", "no such reader"])
    tags, absent = fuzz.measure(small=True, seed=1)
    assert tags.met
    assert tags.measured.startswith("0, ")
    assert not absent.met
    assert "the process ended with" in absent.measured
    assert "no such reader" in capsys.readouterr().err


# Defects that fuzzing found, with one test for each.


def test_a_header_of_blanks_is_refused_without_being_tokenized(tmp_path, monkeypatch):
    # numpy's repair of it takes 17 seconds.
    header = b"{'descr': '<f2', 'fortran_order': False, 'shape': (), }" + b" " * 9900 + b"\2"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    repaired = []
    with monkeypatch.context() as patched:
        patched.setattr("tokenize.generate_tokens", lambda _line: repaired.append("by tokens") or iter(()))
        with pytest.raises(UsageError, match=r"a\.npy is not a \.npy file, or its header is damaged"):
            read_array(tmp_path / "a.npy")
    assert repaired == []


@pytest.mark.parametrize(
    ("mode", "kind", "options"),
    [
        *((mode, "PNG", {"optimize": True}) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
        ("P", "PNG", {"bits": 1, "optimize": True}),
        *((mode, "JPEG", {"progressive": True, "optimize": True, "quality": 1}) for mode in ("L", "RGB", "CMYK")),
    ],
)
def test_the_shortest_files_that_hold_their_pixels_are_read(tmp_path, mode, kind, options):
    path = tmp_path / ("a.png" if kind == "PNG" else "a.jpg")
    Image.new(mode, (1900, 1000)).save(path, kind, **options)
    assert read_array(path).array.shape[:2] == (1000, 1900)


@pytest.mark.parametrize("error", [IndexError("no such thing"), AttributeError(), struct.error("short")])
def test_every_error_of_pillow_names_the_file(tmp_path, monkeypatch, error):
    def fail(_image):
        raise error

    Image.new("RGB", (9, 7)).save(tmp_path / "a.png")
    monkeypatch.setattr(ImageOps, "exif_transpose", fail)
    with pytest.raises(UsageError, match=f"cannot read .*a.png: {str(error) or 'AttributeError'}"):
        read_array(tmp_path / "a.png")


@pytest.mark.parametrize("damage", ["operands", "bytes", "operation"])
def test_a_module_whose_instructions_lack_operands_is_refused(damage):
    words = np.frombuffer(modules.load_module("run_copy_32"), "<u4").copy()
    position = 5
    while words[position] != 3 << 16 | 71:  # OpDecorate, without a literal
        position += int(words[position]) >> 16
    if damage == "operands":
        words[position : position + 3] = [1 << 16 | 71] * 3
    if damage == "operation":
        words[position : position + 3] = [3 << 16 | 52, 1, 1]  # OpSpecConstantOp without its operation
    code = words.tobytes()
    with pytest.raises(DeviceError, match="no well-formed SPIR-V"):
        specialized(code[:-1] if damage == "bytes" else code, (1,))
