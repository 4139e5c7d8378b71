"""Records for tests: every verdict, hostile texts, speeds and pictures."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime

import numpy as np

from restride.command.parser import parse
from restride_conformance.case import Case
from restride_conformance.record import Outcome, Speed, Target, Verdict
from restride_conformance.report import Record
from restride_conformance.report import commands as report_command
from restride_conformance.report.pictures import draw

HOSTILE = "</script><script>document.title = 'owned'</script> <img src=x onerror=\"document.title='owned'\"> \"'&\u2028"
DEVICE = {
    "index": 0,
    "name": "llvmpipe (LLVM 15.0.6, 256 bits)",
    "kind": "cpu",
    "vendor_id": 65541,
    "device_id": 0,
    "driver": "llvmpipe",
    "driver_version": "Mesa 22.3.6 (LLVM 15.0.6)",
    "api_version": "1.3.230",
    "uuid": "0" * 32,
    "heap_bytes": 16 << 30,
    "limits": {
        "max_buffer_range": 128 << 20,
        "offset_alignment": 16,
        "max_group_count": [65535, 65535, 65535],
        "choices": {"elements": "neighbours", "transpose": "registers"},
    },
}
PICTURE = Case.parse("resample u8[2,19,30]{2,1,0} -> u8[3,45,60]{2,1,0} mode=linear axes=(1,2)")


def wrong_picture():
    """A picture of three channels with a wrong corner, and the outcome of its case."""
    rows, columns = np.mgrid[0:45, 0:60]
    expected = np.stack([rows * 5, columns * 4, (rows + columns) * 2]).astype(np.uint8)
    actual = expected.copy()
    actual[:, 20:, 40:] -= 3
    return Outcome(
        str(PICTURE),
        Verdict.FAILED,
        "1500 of 8100 elements are wrong\nelement (0, 20, 40) is 97 (0x61), expected 100 (0x64)",
        0.0521,
        pictures=draw(PICTURE, expected, actual),
    )


def example(**changes):
    """A record with every verdict; ``changes`` replaces fields, and ``mode`` and ``target`` of its options."""
    mode, target = ({"mode": changes.pop("mode")} if "mode" in changes else {}), changes.pop("target", None)
    options = {**_EXAMPLE.options, **mode, **(asdict(target) if target else {})}
    return replace(_EXAMPLE, **{"options": options, **changes})


def passed(*lines, seconds=0.01):
    """Passed outcomes of these lines."""
    return tuple(Outcome(line, Verdict.PASSED, "", seconds) for line in lines)


def outcome(verdict, line="reorder u8[2,3]{1,0} -> u8[2,3]{0,1}", message="", seconds=0.01):
    return Outcome(line, Verdict(verdict), message, seconds)


def many(count):
    """Outcomes of different cases of every operation, one in a hundred of them not right."""
    shapes = (
        "reorder {0}[{1},7]{{1,0}} -> {0}[{1},7]{{0,1}}",
        "slice {0}[{1},9]{{1,0}} -> {0}[{1},4]{{strides=(6,1)}} offsets=(0,1) sizes=({1},4) strides=(1,1)",
        "resample {0}[{1},5]{{1,0}} -> {0}[{1},11]{{strides=(-11,1),offset=%d}} mode=nearest",
    )
    dtypes = ("u8", "f16", "f32", "f64", "bf16", "s32", "pred")
    found = []
    for number in range(count):
        dtype, size = dtypes[number % len(dtypes)], number // 21 + 2
        line = shapes[number // 7 % 3].format(dtype, size).replace("%d", str(11 * (size - 1)))
        verdict = list(Verdict)[1 + number // 100 % 6] if number % 100 == 99 else Verdict.PASSED
        message = "" if verdict is Verdict.PASSED else f"reason {number // 100 % 6}\nand more of it"
        found.append(Outcome(line, verdict, message, (number * 7919 % 1000) / 5000))
    return tuple(found)


_EXAMPLE = Record(
    kind="test",
    started=datetime(2025, 3, 4, 5, 6, 7, 250000, UTC),
    seconds=12.5,
    command="restride test smoke --json report.json",
    options={
        "mode": "correctness",
        "catalogues": ["smoke", "mine.txt"],
        **asdict(Target(device="llvmpipe", validate="sync")),
    },
    selected=10,
    device=DEVICE,
    versions={"restride": "0.1.0", "python": "3.11.2", "numpy": "2.4.0"},
    platform="Linux-6.1-x86_64",
    outcomes=(
        *passed(
            "reorder f32[1,3,5,7]{3,2,1,0} -> f32[1,5,7,3]{3,2,1,0} permute=NCHW->NHWC",
            "reorder bf16[3,4]{1,0} -> bf16[3,4]{strides=(-1,7),offset=5}",
            "slice u8[4,4]{1,0} -> u8[4,2]{1,0} offsets=(0,1) sizes=(4,3) strides=(1,2)",
        ),
        wrong_picture(),
        outcome("SKIPPED", "reorder f64[2,3] -> f64[2,3]", "strided_copy_32 takes no part in it"),
        outcome("MISTRUSTED", "reorder u16[2,3] -> u16[2,3]", "all elements of the answer are equal"),
        outcome("UNIMPLEMENTED", "resample f64[9]{0} -> f64[4]{0} mode=linear", "f64 is not resampled"),
        outcome("TIMEOUT", "reorder u8[8,3]{1,0} -> u8[8,3]{0,1}", "no answer in 10 s", 10.0),
        outcome("CRASHED", message=f"the process ended by SIGSEGV; its last words:\n\x1b[31m{HOSTILE}\x00\ufffe"),
        outcome("FAILED", "slice u8[4]{0} -> u8[2]{0} offsets=(0) sizes=(2) strides=(1)", f"wrong {HOSTILE}"),
    ),
)

PERF = example(
    mode="perf",
    selected=3,
    outcomes=tuple(
        Outcome(f"reorder u8[{size},64]{{1,0}} -> u8[{size},64]{{0,1}}", Verdict.PASSED, "", 0.1, figures=asdict(speed))
        for size, speed in ((64, Speed(1e-4, 0.08, 0.4)), (128, Speed(2e-4, 0.09, 0.5)), (256, Speed(3e-4, 0.1, 0.6)))
    ),
)

ALL_OPERATIONS = (
    "resample_backward f32[4,12]{1,0} -> f32[9,5]{1,0} mode=cubic axes=(0,1)",
    "crop_resize u8[20,30,3]{2,1,0} -> f32[1,7,9,3]{3,2,1,0} boxes=(2,3,10,12) axes=(0,1) mode=linear",
    "yuv_to_rgb u8[6,8]{1,0} -> u8[4,8,3]{2,1,0} format=nv12",
    "slice u8[4,4] -> u8[4,2] offsets=(0,1) sizes=(4,3) strides=(1,2)",
    "pad f32[4,5] -> f32[7,6] before=(1,0) behind=(2,1) mode=reflect",
    "roll f32[5,7] -> f32[5,7] shift=(4)",
    "concat f16[6,5] -> f16[9,5] axes=(0) parts=(2:,1:3,:3)",
    "stack s16[3,5,4] -> s16[5,3,4] axes=(1)",
    "tile f32[3,5] -> f32[2,3,15] repetitions=(2,1,3)",
    "rearrange u8[6,4] -> f32[3,8] pattern=(h,s),w->h,(s,w) lengths=s=2 dst_scale=255",
    "lookup u8[4,6,3] -> f32[3,4,6] axes=(2) permute=HWC->CHW",
    "equal s64[3,5] -> pred[3,5] other=f64[5] negated=yes",
)


A, B, C, D = (f"reorder u8[{size},3]{{1,0}} -> u8[{size},3]{{0,1}}" for size in (2, 3, 4, 5))


def run(*words):
    arguments = parse([report_command], ["report", *map(str, words)])
    return arguments.run(arguments)
