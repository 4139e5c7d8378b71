"""Selftests for tests: the stored files, a part's job, and parts that newer files have and stored ones lack."""

from pathlib import Path

from restride_measure.selftest.part import Job

NEWER = {
    "ci": {"seed": 1, "selected": 9, "validation": None, "counts": {"PASSED": 7, "FAILED": 1}, "bad": []},
    "transfers": {
        "rounds": 5,
        "in_place": "the device has memory of its own",
        "arrays": [
            {"bytes": 10**6, "seconds": {"upload": 1, "download": 1}},
            {"bytes": 10**9, "seconds": {"upload": 0.5, "download": 0.25}},
        ],
    },
    "calls": {"rounds": 50, "calls": [{"name": "a plan", "started": 15e-6, "done": 20e-6, "one": 31.2e-6}]},
    "ttc57": {
        "measure": "kernel",
        "rounds": 5,
        "selected": 57,
        "transpositions": [
            {"name": "102", "bytes": 10**9, "seconds": 1, "share": share, "right": share < 1}
            for share in (0.5, 0.8, 1.5)
        ],
    },
    "large": {"bytes": 1 << 33, "wrong": {"filled": 0, "halved": 2}},
    "cuda": {"torch": "2", "claims": {"a": True, "b": False}},
}
"""Parts that no stored file has, by name."""


def job(**changes):
    return Job(**{"selector": None, "seconds": 60.0, "is_small": True, "seed": 0, **changes})


DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = sorted((DOCS / "devices").glob("*.json"))
