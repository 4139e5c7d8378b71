"""Files that an input names are read if they lie in its folder, or if that is asked for, and pipes never."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.judges import judge

from restride.cli import main

SECRET = np.full((16, 16), 77, np.uint8)

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes are of POSIX here"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the input, which is the current one; its neighbour holds what nobody shall read."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    return tmp_path / "in"


def storage(named: str) -> None:
    SECRET.tofile(named)
    with judge("h5py").File("a.h5", "w") as file:
        file.create_dataset("x", shape=SECRET.shape, dtype="u1", external=[(named, 0, SECRET.size)])


def other(named: str) -> None:
    with judge("h5py").File(named, "w") as file:
        file["there"] = SECRET


def external_link(named: str) -> None:
    h5py = judge("h5py")
    other(named)
    with h5py.File("a.h5", "w") as file:
        file["x"] = h5py.ExternalLink(named, "/there")


def link_to_a_link(named: str) -> None:
    h5py = judge("h5py")
    other(named)
    with h5py.File("between.h5", "w") as file:
        file["g/y"] = h5py.ExternalLink(named, "/there")
        file["soft"] = h5py.SoftLink("/g/y")
    with h5py.File("a.h5", "w") as file:
        file["e"] = h5py.ExternalLink("between.h5", "/soft")
        file["x"] = h5py.SoftLink("e")


def group_link(named: str) -> None:
    h5py = judge("h5py")
    with h5py.File(named, "w") as file:
        file["there/x"] = SECRET
    with h5py.File("a.h5", "w") as file:
        file["g"] = h5py.ExternalLink(named, "/there")
        file["x"] = h5py.SoftLink("/g/x")


def virtual(named: str, *, maxshape: Any = None) -> None:
    h5py = judge("h5py")
    with h5py.File(named, "w") as file:
        file.create_dataset("there", data=SECRET, maxshape=maxshape, chunks=(4, 4) if maxshape else None)
    layout = h5py.VirtualLayout(SECRET.shape, "u1", maxshape=maxshape)
    layout[:] = h5py.VirtualSource(named, "there", shape=SECRET.shape, maxshape=maxshape)
    with h5py.File("a.h5", "w") as file:
        file.create_virtual_dataset("x", layout)


def virtual_of_a_virtual(named: str) -> None:
    virtual(named)
    h5py = judge("h5py")
    Path("a.h5").rename("between.h5")
    layout = h5py.VirtualLayout(SECRET.shape, "u1")
    layout[:] = h5py.VirtualSource("between.h5", "x", shape=SECRET.shape)
    with h5py.File("a.h5", "w") as file:
        file.create_virtual_dataset("x", layout)


def virtual_of_storage(named: str) -> None:
    storage(named)
    h5py = judge("h5py")
    with h5py.File("a.h5", "r+") as file:
        file.move("x", "stored")
        layout = h5py.VirtualLayout(SECRET.shape, "u1")
        layout[:] = h5py.VirtualSource(".", "stored", shape=SECRET.shape)
        file.create_virtual_dataset("x", layout)


def ome(named: str) -> None:
    tifffile = judge("tifffile")
    tifffile.imwrite(named, SECRET)
    tifffile.imwrite("a.ome.tif", np.zeros((2, 16, 16), np.uint8), metadata={"axes": "ZYX"})
    text = tifffile.tiffcomment("a.ome.tif")
    own, other = (f"urn:uuid:{number:032x}" for number in (1, 2))
    text = text.replace("<OME ", f'<OME UUID="{own}" ', 1) if "UUID=" not in text else text
    data = '<TiffData IFD="0" FirstZ="{0}" PlaneCount="1"><UUID FileName="{1}">{2}</UUID></TiffData>'
    both = data.format(0, "a.ome.tif", own) + data.format(1, named, other)
    text = re.sub(r"<OME ([^>]*)UUID=\"[^\"]*\"", rf'<OME \1UUID="{own}"', text)
    text = re.sub(r"<TiffData[^>]*/>|<TiffData.*</TiffData>", both, text)
    tifffile.tiffcomment("a.ome.tif", text.encode())


SOURCES: dict[str, tuple[str, Callable[[str], None]]] = {
    "external storage": ("a.h5/x", storage),
    "external link": ("a.h5/x", external_link),
    "link to a link": ("a.h5/x", link_to_a_link),
    "link to a group": ("a.h5/x", group_link),
    "virtual dataset": ("a.h5/x", virtual),
    "unlimited virtual dataset": ("a.h5/x", lambda named: virtual(named, maxshape=(None, 16))),
    "virtual dataset of one": ("a.h5/x", virtual_of_a_virtual),
    "virtual dataset of storage": ("a.h5/x", virtual_of_storage),
    "OME-TIFF": ("a.ome.tif", ome),
}


def pyramid(source: str, *words: str, out: str = "out.zarr") -> int:
    judge("zarr", "3")
    return main(["pyramid", source, out, "--levels", "1", *words])


def elements(out: str = "out.zarr") -> np.ndarray:
    return judge("zarr", "3").open_group(out, mode="r")["0"][:]


@pytest.mark.parametrize("place", ["../secret/b.bin", "{}/secret/b.bin", "link/b.bin", "link.bin"])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_elsewhere_is_read_only_if_asked_for(folder: Path, kind: str, place: str, capsys):
    source, write = SOURCES[kind]
    (folder / "link").symlink_to(folder.parent / "secret")
    (folder / "link.bin").symlink_to(folder.parent / "secret" / "b.bin")
    write(named := place.format(folder.parent))
    assert pyramid(source) == 2
    said = capsys.readouterr().err
    assert f"names {named!r}, which does not lie in its folder: --follow-files reads it all the same" in said
    assert not Path("out.zarr").exists()
    if source.endswith("/x"):
        assert pyramid("a.h5", out="whole.zarr") == 2  # found without its name, or no array at all
    assert pyramid(source, "--follow-files") == 0
    assert (elements() == 77).any()


@pytest.mark.parametrize("kind", SOURCES)
def test_a_file_in_the_folder_is_read(folder: Path, kind: str, monkeypatch):
    source, write = SOURCES[kind]
    (folder / "sub").mkdir()
    write("sub/b.bin")
    assert pyramid(source) == 0
    assert (elements() == 77).any()
    if kind not in ("external storage", "virtual dataset of storage"):  # which HDF5 finds from the current folder
        monkeypatch.chdir(folder.parent)
        Path("link.zarr").mkdir()
        assert main(["pyramid", f"in/{source}", "other.zarr", "--levels", "1"]) == 0


@pytest.mark.parametrize("follow", [[], ["--follow-files"]])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_pipe_is_never_waited_for(folder: Path, kind: str, follow: list[str], capsys):
    source, write = SOURCES[kind]
    write("b.bin")
    (folder / "b.bin").unlink()
    os.mkfifo(folder / "b.bin")
    assert pyramid(source, *follow) == 2
    assert "names 'b.bin', which is no regular file: it is never read" in capsys.readouterr().err


def test_a_device_is_never_read(capsys):
    with judge("h5py").File("a.h5", "w") as file:
        file["x"] = judge("h5py").ExternalLink("/dev/null", "/x")
    assert pyramid("a.h5/x", "--follow-files") == 2
    assert "names '/dev/null', which is no regular file: it is never read" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "OME-TIFF"])
def test_a_file_that_is_gone_is_no_zeros(folder: Path, kind: str, capsys):
    source, write = SOURCES[kind]
    write("b.bin")
    (folder / "b.bin").unlink()
    assert pyramid(source) == 2
    assert "names 'b.bin', which is not there" in capsys.readouterr().err


def test_a_soft_link_is_followed_and_a_loop_is_named(capsys):
    h5py = judge("h5py")
    with h5py.File("a.h5", "w") as file:
        file["g/y"] = SECRET
        file["x"] = h5py.SoftLink("g/y")
        file["loop"] = h5py.SoftLink("/loop")
        file["e"] = h5py.ExternalLink("a.h5", "/e")
    assert pyramid("a.h5/x") == 0
    assert (elements() == 77).all()
    assert pyramid("a.h5/loop", out="loop.zarr") == 2
    assert "has a loop of links at 'loop'" in capsys.readouterr().err
    assert pyramid("a.h5/e", out="loop.zarr") == 2


@pytest.mark.parametrize("kind", ["link", "source"])
def test_files_beside_the_one_that_a_link_leads_to_are_found_as_hdf5_finds_them(kind: str, folder: Path):
    h5py = judge("h5py")
    other = folder.parent / "other"
    other.mkdir()
    with h5py.File(other / "b.h5", "w") as file:
        file["x"] = SECRET
    with h5py.File(other / "a.h5", "w") as file:
        if kind == "link":
            file["x"] = h5py.ExternalLink("b.h5", "/x")
        else:
            layout = h5py.VirtualLayout(SECRET.shape, "u1")
            layout[:] = h5py.VirtualSource("b.h5", "x", shape=SECRET.shape)
            file.create_virtual_dataset("x", layout)
    Path("a.h5").symlink_to(other / "a.h5")
    assert pyramid("a.h5/x") == 0
    assert (elements() == 77).all()


@pytest.mark.parametrize("named", ["a.h5", ".", "b.h5"])
def test_a_virtual_dataset_of_itself_is_refused(named: str, capsys):
    h5py = judge("h5py")
    for name, other in (("a.h5", named), ("b.h5", "a.h5")):
        layout = h5py.VirtualLayout(SECRET.shape, "u1")
        layout[:] = h5py.VirtualSource(other, "x", shape=SECRET.shape)
        with h5py.File(name, "w") as file:
            file.create_virtual_dataset("x", layout)
    assert pyramid("a.h5") == 2
    assert "has a virtual dataset that is made of itself, 'x'" in capsys.readouterr().err


def test_a_pattern_of_names_is_read_only_if_asked_for(capsys):
    h5py = judge("h5py")
    with h5py.File("../secret/0.h5", "w") as file:
        file["x"] = SECRET
    (rows, columns), many = SECRET.shape, h5py.h5s.UNLIMITED
    space = h5py.h5s.create_simple((rows, columns), (many, columns))
    space.select_hyperslab((0, 0), (many, 1), (rows, 1), (rows, columns))
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_virtual(space, b"../secret/%b.h5", b"x", h5py.h5s.create_simple((rows, columns)))
    with h5py.File("a.h5", "w") as file:
        h5py.h5d.create(file.id, b"x", h5py.h5t.STD_U8LE, space, settings)
    assert pyramid("a.h5") == 2
    assert "names files by the pattern '../secret/%b.h5': --follow-files" in capsys.readouterr().err


def test_an_index_of_other_tiffs_is_checked(monkeypatch, capsys):
    tifffile = judge("tifffile")
    tifffile.imwrite("a.tif", SECRET)
    tifffile.imwrite("../secret/b.tif", SECRET)
    Path("NDTiff.index").touch()
    monkeypatch.setattr(tifffile.TiffFile, "is_ndtiff", True)
    monkeypatch.setattr(tifffile, "read_ndtiff_index", lambda _: iter([({}, "../secret/b.tif", *range(8))]))
    assert pyramid("a.tif") == 2
    assert "names '../secret/b.tif', which does not lie in its folder" in capsys.readouterr().err
    Path("NDTiff.index").unlink()
    os.mkfifo("NDTiff.index")
    assert pyramid("a.tif") == 2
    assert "names 'NDTiff.index', which is no regular file" in capsys.readouterr().err


def test_the_stacks_beside_a_stack_are_checked(monkeypatch, capsys):
    tifffile = judge("tifffile")
    tifffile.imwrite("a_MMStack.tif", SECRET)
    monkeypatch.setattr(tifffile.TiffFile, "is_mmstack", True)
    os.mkfifo("a_MMStack_1.tif")
    assert pyramid("a_MMStack.tif") == 2
    assert "names 'a_MMStack_1.tif', which is no regular file" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["x/c", "x/c/0", "x/c/0/0", "x/zarr.json", "zarr.json", "x"])
def test_a_link_out_of_a_store_is_read_only_if_asked_for(folder: Path, place: str, capsys):
    zarr = judge("zarr", "3")
    zarr.open_group("a.zarr", mode="w").create_array("x", data=SECRET)
    (folder / "a.zarr" / place).rename(folder.parent / "secret" / "b")
    (folder / "a.zarr" / place).symlink_to(folder.parent / "secret" / "b")
    for source in ("a.zarr", "a.zarr/x"):
        assert pyramid(source) == 2
        assert f"/{place}', which does not lie in its folder: --follow-files" in capsys.readouterr().err
    assert pyramid("a.zarr", "--follow-files") == 0
    assert (elements() == 77).all()
    (folder / "a.zarr" / place).unlink()
    os.mkfifo(folder / "a.zarr" / place)
    for words in ([], ["--follow-files"]):
        assert pyramid("a.zarr", *words, out="pipe.zarr") == 2
        assert "no regular file" in capsys.readouterr().err


def test_links_inside_a_store_and_a_link_to_it_are_followed(folder: Path):
    zarr = judge("zarr", "3")
    zarr.open_group("a.zarr", mode="w").create_array("x", data=SECRET)
    (folder / "a.zarr" / "y").symlink_to("x")
    (folder / "a.zarr" / "x" / "loop").symlink_to(".")
    (folder / "b.zarr").symlink_to("a.zarr")
    assert pyramid("b.zarr/x") == 0
    assert (elements() == 77).all()


@pytest.mark.parametrize("name", ["../secret/x.zarr", "/etc", "x/../../secret/x.zarr"])
def test_names_of_consolidated_metadata_lead_nowhere(name: str):
    zarr = judge("zarr", "3")
    zarr.create_array("../secret/x.zarr", data=SECRET)
    group = zarr.open_group("a.zarr", mode="w")
    group.create_array("x", data=SECRET)
    zarr.consolidate_metadata("a.zarr")
    metadata = json.loads(Path("a.zarr/zarr.json").read_text())
    inner = metadata["consolidated_metadata"]["metadata"]
    inner[name] = inner.pop("x")
    Path("a.zarr/zarr.json").write_text(json.dumps(metadata))
    assert pyramid("a.zarr") == 2


def test_an_address_is_no_store(capsys):
    for name in ("http://localhost:1/x.zarr", "memory::x.zarr"):
        assert pyramid(name) == 2
        assert "No such file" in capsys.readouterr().err
