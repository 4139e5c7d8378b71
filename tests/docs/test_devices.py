"""docs/devices.md: its table is that of the stored selftests, which are read as what anyone may have sent."""

from __future__ import annotations

import pytest
from support.selftest_examples import DOCS, FILES

from restride.cli import main
from restride_measure.selftest.nameless import NAME, PATH
from restride_measure.selftest.parts import GRACE, PARTS, TOTAL
from restride_measure.selftest.table import SHARES, read

PAGE = DOCS / "devices.md"


def test_the_page_has_the_table_of_the_files(capsys):
    _, _, rest = PAGE.read_text().partition("<!-- devices: restride selftest --table docs/devices/*.json -->\n\n")
    shown, end, _ = rest.partition("\n\n<!-- end of devices -->")
    assert end
    assert main(["selftest", "--table", *map(str, FILES)]) == 0
    assert shown == capsys.readouterr().out.rstrip("\n"), "put this table into docs/devices.md"
    devices = "".join(line.split("|")[1] for line in shown.splitlines())
    assert "llvmpipe" in devices
    assert "SwiftShader" in devices


def test_the_page_names_the_workloads_of_its_columns():
    text = " ".join(PAGE.read_text().split())
    assert all(f"`{name}`" in text for name in SHARES.values())
    for row in PARTS:
        assert f"`{row.name}`" in text
    table_of_parts = PAGE.read_text().partition("| part |")[2].partition("\n\n")[0]
    seconds = [line.split(" | ")[1] for line in table_of_parts.splitlines()[2:]]
    assert ", ".join(seconds) == ", ".join(f"{row.seconds}" for row in PARTS)
    assert f"at most {TOTAL:.0f} s" in text
    assert f"killed {GRACE:.0f} s after" in text
    assert PATH in text
    assert NAME in text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_file_is_whole_small_and_nameless(path):
    record = read(path)
    assert not record.options["small"]
    assert record.device is not None
    assert {"installed", "smoke", "copy", "kernels", "speed"} <= {outcome.group for outcome in record.outcomes}
    assert path.stat().st_size < 32 << 10
    text = path.read_text()
    assert not [word for word in ("/home", "/usr", "/root", "/tmp", "uuid") if word in text]
