"""A new commit has a subject of at most 72 characters and a body that says why."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SINCE = "2026-11-28T00:00:00Z"
"""When the rule began: earlier commits are as they are."""


def faults_of(message: str) -> list[str]:
    subject, _, body = message.strip().partition("\n")
    return [
        fault
        for fault, holds in (
            (f"its subject has {len(subject)} characters, more than 72", len(subject) > 72),
            ("its subject ends with a full stop", subject.endswith(".")),
            ("it has no body that says why", not body.strip()),
        )
        if holds
    ]


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_new_commits_say_what_and_why():
    if shutil.which("git") is None or git("rev-parse", "--verify", "HEAD").returncode != 0:
        pytest.skip("this is no checkout of git")
    log = git("log", "--no-merges", f"--since={SINCE}", "--format=%h%n%B%x00").stdout
    commits = [commit.strip().partition("\n") for commit in log.split("\0") if commit.strip()]
    assert [f"{name} {message[:72]!r}: {fault}" for name, _, message in commits for fault in faults_of(message)] == []


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        ("Read sizes of 0\n\nThey were refused, though numpy takes them.", []),
        ("Read sizes of 0", ["it has no body that says why"]),
        ("Read sizes of 0.\n\nBecause.", ["its subject ends with a full stop"]),
        ("x" * 73 + "\n\nBecause.", ["its subject has 73 characters, more than 72"]),
    ],
)
def test_a_commit_that_says_too_little_is_named(message, faults):
    assert faults_of(message) == faults
