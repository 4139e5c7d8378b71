"""docs/beside.md: its C is that of the two programs, and its Python runs them, both ways."""

from __future__ import annotations

import re
import subprocess
import threading
from ctypes import CDLL
from pathlib import Path

import numpy as np
import pytest
from support.beside import FOLDER, SHARING, built, your_device

import restride as rs

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "beside.md").read_text(encoding="utf-8")
FIRST, SECOND, LOCK = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def default_device():
    """A device that shares memory, as the default one."""
    with rs.Device(runtime="vulkan") as device:
        try:
            rs.empty("u8[1]", device, shareable=True)
        except rs.UnsupportedError as error:
            pytest.skip(str(error))
        rs.set_default_device(device)
        yield device
        rs.set_default_device(None)


def test_the_c_of_the_page_is_that_of_the_programs():
    programs = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.c"))
    blocks = re.findall(r"```c\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    assert [block for block in blocks if block not in programs] == []
    for path in (*FOLDER.glob("*.c"), *FOLDER.glob("*.py")):
        assert f"docs/beside/{path.name}" in PAGE


def test_a_program_reads_and_writes_a_tensors_memory():
    exec(compile(FIRST, "docs/beside.md", "exec"), {"program": built("import_tensor")})


def test_a_program_goes_on_on_its_own_device(default_device):
    with your_device(default_device.info.name, (SHARING,)) as yours:
        exec(compile(SECOND, "docs/beside.md", "exec"), {"yours": yours})


def test_a_lock_by_two_functions(default_device):
    """A submission waits for the mutex of the library while Python runs on."""
    made = {"library": CDLL(str(built("your_device")))}
    exec(compile(LOCK, "docs/beside.md", "exec"), made)
    results = []
    with (
        your_device(default_device.info.name, ()) as yours,
        rs.Device(**yours.handles, lock=made["QueueLock"]()) as device,
    ):
        x = rs.asarray(np.arange(5), device=device)
        work = threading.Thread(target=lambda: results.append(rs.reorder(x[::-1], "A->A").tolist()))
        with made["QueueLock"]():
            work.start()
            work.join(0.2)
            assert work.is_alive()
        work.join()
    assert results == [[4, 3, 2, 1, 0]]


def run_import(exported, count, **changed):
    fields = exported.fields() | changed
    names = ("nbytes", "offset", "allocation_bytes", "memory_type", "dedicated", "device_uuid", "driver_uuid")
    facts = [str(int(fields[name]) if name == "dedicated" else fields[name]) for name in names]
    command = [built("import_tensor"), str(exported.fd), *facts, str(count)]
    return subprocess.run(command, pass_fds=[exported.fd], capture_output=True, text=True, check=False)


def test_the_program_notices_a_wrong_number_and_another_device():
    x = rs.empty("f32[3,7]", shareable=True)
    numbers = np.arange(21, dtype=np.float32).reshape(3, 7)
    numbers[1, 2] = -5
    x[...] = numbers
    with x.export() as exported:
        done = run_import(exported, 21)
        assert (done.returncode, done.stdout) == (1, "number 9 is -5\n")
        for uuid in ("device_uuid", "driver_uuid"):
            assert run_import(exported, 21, **{uuid: "0" * 32}).returncode == 77
        done = run_import(exported, 25)
        assert (done.returncode, done.stderr) == (1, "25 numbers are more than 96 bytes have\n")
    assert np.array_equal(x.numpy(), numbers)
