"""What is found on a machine: missing packages, hidden layers, old drivers, and drivers that crash."""

import json
from importlib import metadata

import pytest

from restride.cli import main
from restride.command import findings
from restride.command.findings import Finding
from restride.runtime import DeviceInfo
from restride.runtime.kompute.device import INSTALL_KP
from restride.runtime.manifests import read_driver


def test_doctor_names_what_installs_the_packages_that_are_missing(capsys, monkeypatch):
    def version(name):
        if name in {"kp", "dask", "h5py"}:
            raise metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(findings.metadata, "version", version)
    monkeypatch.setattr(findings, "try_runtime", lambda runtime, _: doctor_attempt(runtime))
    main(["doctor"])
    out = capsys.readouterr().out
    assert "optional  kp                not installed, only needed for the runtime kompute" in out
    assert out.count("fix: run `python tools/build_kp.py`") == 1
    assert "fix: as for runtime kompute\n" in out.split("optional  kp ")[1]
    words = [line.split()[0] for line in out.splitlines()[:-1] if line[0] != " "]
    assert words[-3:] == ["optional"] * 3, "what is optional comes behind what matters"
    for name, fix in (("dask", "'.[dask]' in a checkout"), ("h5py", "h5py")):
        assert f"fix: pip install {fix}\n" in out.split(f"optional  {name} ")[1]
    for name in ("einops", "zarr", "xarray", "matplotlib", "tifffile", "imagecodecs"):
        assert f"ok        {name:<18}1.2.3\n" in out
    assert out.count("1.2.3\n") == len(findings._PACKAGES) - 3
    last = out.splitlines()[-1]
    assert last.startswith("restride: the default runtime, vulkan, works; ")
    assert last.endswith("; not installed, but optional: runtime kompute, kp, dask, h5py")


def doctor_attempt(runtime):
    """What doctor's other process would find without kp."""
    if runtime == "vulkan":
        return Finding("ok", "runtime vulkan", "a small reorder is right")
    return Finding("optional", f"runtime {runtime}", "it needs the Python package `kp`", INSTALL_KP)


def test_doctor_names_the_variable_that_hides_the_validation_layer(monkeypatch):
    monkeypatch.setattr(findings, "layer_names", set)
    monkeypatch.setenv("VK_LOADER_LAYERS_DISABLE", "~all~")
    hidden = findings._validation_layer()
    assert hidden.status == "optional"
    assert hidden.detail.endswith("VK_LOADER_LAYERS_DISABLE is '~all~'")
    monkeypatch.delenv("VK_LOADER_LAYERS_DISABLE")
    monkeypatch.setenv("VK_LAYER_PATH", "/mine")
    hidden = findings._validation_layer()
    assert hidden.detail.endswith("it is not in VK_LAYER_PATH ('/mine'), and the loader looks nowhere else")
    assert hidden.fix.startswith("use VK_ADD_LAYER_PATH, or install it")
    monkeypatch.delenv("VK_LAYER_PATH")
    assert "install it" in findings._validation_layer().fix


@pytest.mark.parametrize(
    ("driver", "version", "system", "said", "fix"),
    [
        ("llvmpipe", "Mesa 22.3.6 (LLVM 15.0.6)", "debian 12", "Mesa 22.3.6: ", "bookworm-backp"),
        ("llvmpipe", "Mesa 23.2.1-1ubuntu3.1 (LLVM 15.0.7)", "ubuntu 22.04", "23.2.1: ", "24.04"),
        ("llvmpipe", "Mesa 24.0.5", "fedora 39", "Mesa 24.0.5: ", "dnf upgrade"),
        ("llvmpipe", "Mesa 24.3.4-arch1.1 (LLVM 18.1.8)", "arch", "Mesa 24.3.4: ", "pacman -Syu"),
        ("llvmpipe", "Mesa 22.3.6", "debian 11", "Mesa 22.3.6: ", "install Mesa 25 or newer"),
        ("llvmpipe", "Mesa 22.3.6", None, "Mesa 22.3.6: ", "install Mesa 25 or newer"),
        ("llvmpipe", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)", "debian 12", "", ""),
        ("llvmpipe", "0.0.1", "debian 12", "", ""),
        ("radv", "Mesa 22.3.6", "debian 12", "", ""),
    ],
)
def test_a_finding_says_where_lavapipe_is_old_and_how_this_system_gets_a_newer(
    monkeypatch, driver, version, system, said, fix
):
    def os_release():
        if system is None:
            raise OSError("no os-release")
        return dict(zip(("ID", "VERSION_ID"), system.split(), strict=False))

    name = "llvmpipe (LLVM 15.0.6, 256 bits)"
    info = DeviceInfo(0, name, "cpu", 65541, 0, driver, version, "1.3.230", "0" * 32, 1 << 31)
    monkeypatch.setattr(findings, "list_devices", lambda: [info])
    monkeypatch.setattr(findings.platform, "freedesktop_os_release", os_release)
    old = [each for each in findings._devices() if each.status == "old"]
    assert [each.subject for each in old] == (["device 0's driver"] if said else [])
    assert all(said in each.detail and fix in each.fix for each in old)


def test_a_driver_that_cannot_be_loaded_is_broken(tmp_path):
    """A manifest is right by itself, but no linker finds the library it names."""
    path = tmp_path / "none_icd.json"
    path.write_text(json.dumps({"ICD": {"library_path": "libvulkan_none.so", "api_version": "1.1.0"}}))
    finding = findings._manifest("driver", read_driver(path))
    assert (finding.status, finding.subject) == ("BROKEN", "driver")
    assert finding.detail.startswith(f"{path}: its library does not load: libvulkan_none.so")
    assert finding.fix == "install that driver again, or remove the file"


def test_each_driver_is_said_with_the_devices_it_has(vulkan_device):
    """The driver of a device that is here is listed with that device's name, by itself."""
    found = list(findings._manifests())
    assert {each.status for each in found if each.subject == "driver"} <= {"ok"}
    assert any(vulkan_device.info.name in each.detail for each in found)


def test_doctor_survives_a_driver_that_crashes(monkeypatch):
    monkeypatch.setattr(findings.sys, "executable", "/bin/false")
    finding = findings.try_runtime("vulkan")
    assert (finding.status, "exit code 1" in finding.detail) == ("BROKEN", True)
