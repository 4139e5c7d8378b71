"""The name of the processor, by what Linux says of it."""

import pytest

from restride.command import processor
from restride.command.processor import cpu_model


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("processor\t: 0\nmodel name\t: Zen 3 @ 3 GHz\nflags\t: fpu avx avx2\n\n", "Zen 3 @ 3 GHz, AVX2, "),
        ("model name\t: Zen 5\nflags\t\t: fpu avx2 avx512vl\nmodel name\t: Zen 5\n", "Zen 5, AVX-512, "),
        ("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n", "arm, "),
        (None, "arm, "),
    ],
)
def test_the_processor_is_named(monkeypatch, tmp_path, text, named):
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(processor.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(processor.platform, "processor", lambda: "arm")
    assert cpu_model() == f"{named}2 cores"
