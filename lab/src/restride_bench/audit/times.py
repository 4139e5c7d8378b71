"""The times of workloads as the model predicts them, beside the times that ``restride bench`` measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restride.cli.process import UsageError
from restride.drawing.explain import columns
from restride_bench.audit.record import read_json, reading, require_alike
from restride_bench.audit.roofline import Device, predict
from restride_bench.audit.table import Model, Row, Subject
from restride_bench.report import FORMAT
from restride_conformance.report import printable
from restride_measure.own import COPY, OURS

_MAX = 80
"""Maximum number of characters of a device's name."""


def predictions(rows: Sequence[Row], devices: Sequence[Device]) -> Model:
    """The model's prediction for each subject on each device; only subjects whose dispatches were all traced."""
    of_subjects: dict[Subject, list[Row]] = {}
    for row in rows:
        of_subjects.setdefault(row.subject, []).append(row)
    return {
        subject: {
            device.name: predict(
                device,
                [row.work(device) for row in dispatches for _ in range(row.count)],
                subject.useful,
                subject.copied,
            )
            for device in devices
        }
        for subject, dispatches in of_subjects.items()
        if all(device.name in row.moved for row in dispatches for device in devices)
    }


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of a device.

    device: its name in the model, or None if the model does not have it. name: its name as the driver says it.
    times: by group and workload, seconds by the device's own clock, and the speed as a share of the device's copy.
    """

    device: str | None
    name: str
    times: Mapping[tuple[str, str], tuple[float, float]]


def read_benchmark(path: Path, devices: Collection[str], *, is_small: bool) -> Benchmark:
    """Read a benchmark.

    Args:
        path: its JSON file.
        devices: names of the model's devices.
        is_small: the sizes that are audited.

    Raises:
        UsageError: the file is no benchmark, is damaged, has other sizes, or lacks the measure kernel.
    """
    content = read_json(path, "benchmark of `restride bench --json`", format=FORMAT)
    require_alike(content, {"small": is_small}, path)
    with reading("benchmark", path):
        name = printable(str(content["device"]["name"]))[:_MAX]
        times = dict(filter(None, map(_times, content["results"])))
    if not times:
        raise UsageError(f"{path} has no times of the measure kernel: restride bench --measure kernel")
    return Benchmark(next((each for each in devices if _words(each) <= _words(name)), None), name, times)


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z0-9]+", name.casefold()))


def _times(result: Mapping[str, Any]) -> tuple[tuple[str, str], tuple[float, float]] | None:
    """The workload with its seconds and share of copy; None if it was not measured or did not use the device."""
    medians = [_seconds(result["measures"].get("kernel", {}).get(column)) for column in (OURS, COPY)]
    if not all(medians):
        return None
    ours, copied = medians
    return (str(result["group"]), str(result["name"])), (ours, copied / ours)


def _seconds(column: Any) -> float:
    seconds = 0.0 if column is None else float(column["median"])
    if not 0 <= seconds < 1e9:
        raise ValueError(f"a median of {seconds} s")
    return seconds


def predicted_text(model: Model, devices: Sequence[Device], benchmark: Benchmark | None) -> str:
    """A table of the model's prediction for each subject, beside the times of a benchmark where it has them."""
    title = "by the model, not measured: see docs/benchmarks/audit.md"
    heads = ["workload"]
    for device in devices:
        heads += [device.name, "us", "of copy", "limit"]
    has_ratio = benchmark is not None and benchmark.device is not None
    if benchmark is not None:
        title += f"; measured: on {benchmark.name}{'' if has_ratio else ', which the model does not have'}"
        heads += ["measured us", "of copy", *(["model / measured"] if has_ratio else [])]
    cells = [heads]
    for subject, by_device in model.items():
        cells.append([subject.name])
        for device in devices:
            seconds, share, limit = by_device[device.name]
            cells[-1] += ["model", f"{1e6 * seconds:.1f}", f"{share:.2f}", limit]
        if benchmark is not None and (subject.group, subject.name) in benchmark.times:
            seconds, share = benchmark.times[subject.group, subject.name]
            cells[-1] += [f"{1e6 * seconds:.1f}", f"{share:.2f}"]
            if benchmark.device is not None:
                cells[-1].append(f"{by_device[benchmark.device].seconds / seconds:.2f}")
    right = [place for place, head in enumerate(heads) if head in {"us", "of copy", "measured us", "model / measured"}]
    return "\n".join([title, *columns(cells, right=right)])
