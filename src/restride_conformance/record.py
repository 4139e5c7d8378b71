"""Frozen values that describe a run, for messages between processes and for reports.

``Target``: the driver, device, runtime and shader under test that the user asked for. ``Host``: the device and the
versions in use. ``Outcome``: the verdict on one case.
"""

from __future__ import annotations

import shlex
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, Self

from restride.kernel import Choices, Limits
from restride.runtime import DEFAULT_TIMEOUT, RUNTIMES
from restride_conformance.case import Case

FLUSHED = "as on a device that takes denormals of f32 for zeros"
"""The text in the message of a passed case with flushed elements; both answers are right."""

ONE_SIZE = "no work groups to vary"
"""The beginning of a line in the message of a case that ``--groups`` runs once; the reason follows."""

ValidationProfile = Literal["core", "sync", "practices", "gpu"]
RunMode = Literal["correctness", "perf"]
SmallDevice = Literal["mobile"]


@dataclass(frozen=True)
class ShaderUnderTest:
    """A user's kernel that replaces one of restride's modules.

    source: the path of the GLSL or SPIR-V file as the user wrote it.
    module: the name of the module it replaces, such as ``"strided_copy_32"``.
    spirv: the absolute path of the checked SPIR-V file.
    """

    source: str
    module: str
    spirv: str


@dataclass(frozen=True)
class Target:
    """Everything a worker process must know besides the cases: options of ``restride test`` of the same names.

    device: index or part of a name; None: ``RESTRIDE_DEVICE`` if it is set, otherwise the best device.
    timeout: seconds that a case may take on the device.
    driver: absolute path of the ICD manifest that the Vulkan loader is to use; None: the drivers that it finds.
    validate: a profile of the Khronos validation layer; a case with messages of the layer fails.
    limits: the small device to whose limits the device is narrowed; None: the device's own limits.
    groups: a case runs in work groups of each shape that the device takes; see ``run.groups``.
    repeat: how many times a case runs, in two processes in turn. replay: how many times its command buffers are
        submitted. under_load, in_batch: it runs while the device has other work; also in one batch with other work.
    """

    device: str | None = None
    runtime: str = RUNTIMES[0]
    timeout: float = DEFAULT_TIMEOUT
    driver: str | None = None
    validate: ValidationProfile | None = None
    limits: SmallDevice | None = None
    shader: ShaderUnderTest | None = None
    groups: bool = False
    repeat: int = 1
    replay: int = 1
    under_load: bool = False
    in_batch: bool = False

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Restore a target from its ``asdict``, which may have been through JSON, with other members beside its own.

        Members that are missing, as in reports of older versions, have their defaults.
        """
        shader = record.get("shader")
        own = {each.name: record[each.name] for each in fields(cls) if each.name in record}
        return cls(**{**own, "shader": None if shader is None else ShaderUnderTest(**shader)})

    def repro(self, case: Case | str, mode: RunMode = "correctness") -> str:
        """The shell command that runs ``case`` alone on this target, in the mode of the run."""
        words = ["restride", "test", "--repro", str(case), "--runtime", self.runtime]
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default and each.name not in ("runtime", "shader"):
                text = f"{value:g}" if isinstance(value, float) else str(value)
                words += [f"--{each.name.replace('_', '-')}", *([] if value is True else [text])]
        words += ["--mode", mode] if mode != "correctness" else []
        if self.shader is not None:
            words += ["--shader", self.shader.source, "--as", self.shader.module]
        return shlex.join(words)


@dataclass(frozen=True)
class Host:
    """The device and software of a worker, which it reports once its device is open.

    device: the ``DeviceInfo`` as a JSON object, with the device's own limits.
    limits: the limits that plans respect, after those of the runtime are applied.
    versions: of Python and of packages, by name.
    """

    device: Mapping[str, Any]
    limits: Limits
    runtime: str
    versions: Mapping[str, str]

    @classmethod
    def from_hello(cls, hello: Mapping[str, Any]) -> Self:
        """Read the first answer of a worker."""
        limits_record = hello["limits"]
        counts, choices = tuple(limits_record["max_group_count"]), Choices.parse(limits_record["choices"])
        limits = Limits(**{**limits_record, "max_group_count": counts, "choices": choices})
        return cls(hello["device"], limits, hello["runtime"], hello["versions"])

    def __str__(self) -> str:
        device = self.device
        return f"{device['name']}, {device['driver']} {device['driver_version']}, runtime {self.runtime}"


class Verdict(StrEnum):
    """The verdict on a case, from the mildest to the worst; the worst of a run is the run's verdict.

    SKIPPED: not run, for the reason in the message. MISTRUSTED: right, but the data prove nothing. UNIMPLEMENTED: the
    library refused it with UnsupportedError. FLAKY: several runs of it were not alike. TIMEOUT, CRASHED: the driver
    hung, or its process died.
    """

    PASSED = "PASSED"
    SKIPPED = "SKIPPED"
    MISTRUSTED = "MISTRUSTED"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    FLAKY = "FLAKY"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"

    @property
    def severity(self) -> int:
        """0 for PASSED, up to 7 for CRASHED."""
        return list(Verdict).index(self)

    @property
    def is_good(self) -> bool:
        """True if nothing needs fixing: PASSED and SKIPPED."""
        return self in (Verdict.PASSED, Verdict.SKIPPED)

    @property
    def is_right(self) -> bool:
        """True if the case ran and every byte was right: PASSED and MISTRUSTED."""
        return self in (Verdict.PASSED, Verdict.MISTRUSTED)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of at least one verdict."""
    return max(verdicts, key=lambda verdict: verdict.severity)


EXPECTED = {
    Verdict.MISTRUSTED: "Fail",
    Verdict.UNIMPLEMENTED: "Fail",
    Verdict.FAILED: "Fail",
    Verdict.TIMEOUT: "Timeout",
    Verdict.CRASHED: "Crash",
}
"""The word of deqp-runner for how a case fails, by verdict; FLAKY has ``FLAKE``."""

FLAKE = "Flake"


@dataclass(frozen=True)
class Speed:
    """The speed of a case with its tensors resident on the device; medians of several batches of calls.

    seconds: of one call. gigabytes_per_second: useful bytes read and written, in 10^9 bytes per second. share_of_copy:
    that rate divided by the rate of the device's own buffer copy, measured in the same process.
    """

    seconds: float
    gigabytes_per_second: float
    share_of_copy: float


@dataclass(frozen=True)
class Pictures:
    """PNG files of an image-like case: the expected image, the actual one, and their difference times ``gain``."""

    expected: bytes
    actual: bytes
    difference: bytes
    gain: int


@dataclass(frozen=True)
class Outcome:
    """A row of a run: the verdict on one case, and its figures.

    case: the line of a conformance case, or another name of what was looked at or measured.
    verdict: PASSED if the row is only measured.
    message: the reason in one or more lines, the first a summary; empty if the case passed, unless its speed could not
        be measured, denormals came out as zeros (``FLUSHED``), or its groups have one size alone (``ONE_SIZE``).
    seconds: wall time of the case in its worker, including filling and judging.
    group: the heading that the row stands under; "" for a conformance case.
    figures: JSON values by name. Under the name of a measure (``MEASURES`` in ``report.table``): the seconds of this
        library and of each that it is compared with, for every round or as their median. ``bytes``: those that the work
        must read and write.
    wrong: a PNG file that shows which elements are wrong; empty if none are.
    exported: the name of the folder with the case's reproducer; empty if it was not exported.
    reduced: the line of the simplest case found that has this verdict too; empty if none was sought or none simpler.
    expected: how the case is known to fail: a word of ``EXPECTED``, or ``FLAKE``; empty if it is not known to.
    groups: the shape of the work groups in which it went wrong, such as ``8x8``; empty if that is the usual one.
    """

    case: str
    verdict: Verdict
    message: str = ""
    seconds: float = 0.0
    group: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    pictures: Pictures | None = None
    wrong: bytes = b""
    exported: str = ""
    reduced: str = ""
    expected: str = ""
    groups: str = ""

    @property
    def is_good(self) -> bool:
        """True if nothing needs attention: it is right, or fails as expected; False if it passes unexpectedly."""
        if self.verdict is Verdict.SKIPPED or not self.expected:
            return self.verdict.is_good
        return self.expected in (FLAKE, EXPECTED.get(self.verdict))

    @property
    def is_known(self) -> bool:
        """True if it fails, as expected."""
        return self.is_good and not self.verdict.is_good

    @property
    def state(self) -> str:
        """The verdict, or ``UNEXPECTED_PASS`` of a case that passes though it is expected to fail."""
        return "UNEXPECTED_PASS" if self.verdict is Verdict.PASSED and not self.is_good else str(self.verdict)

    @property
    def reason(self) -> str:
        """The message, after what was expected if that is not what happened."""
        surprise = "" if self.is_good or not self.expected else f"expected: {self.expected}"
        return "\n".join(filter(None, (surprise, self.message)))

    def record(self) -> dict[str, Any]:
        """The outcome as a JSON object; absent values are left out."""
        own = {name: value for name, value in vars(self).items() if value}
        if self.pictures is not None:
            shown = self.pictures
            files = {name: b64encode(getattr(shown, name)).decode() for name in ("expected", "actual", "difference")}
            own["pictures"] = {**files, "gain": shown.gain}
        return own | ({"wrong": b64encode(self.wrong).decode()} if self.wrong else {})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Restore an outcome from its ``record()``, unchecked; ``read_record`` checks records of files first."""
        own = {**record, "verdict": Verdict(record["verdict"]), "wrong": b64decode(record.get("wrong", ""))}
        if "pictures" in own:
            files = {name: b64decode(own["pictures"][name]) for name in ("expected", "actual", "difference")}
            own["pictures"] = Pictures(**files, gain=own["pictures"]["gain"])
        return cls(**own)


@dataclass(frozen=True)
class Aftermath:
    """A fault that showed after a case had its outcome: messages of the validation layer, or a worker that died.

    case: the last case before the fault; None: no case had run yet.
    """

    case: str | None
    verdict: Verdict
    message: str

    def __str__(self) -> str:
        return f"after {self.case or 'the device was open'}: {self.message}"


def add_aftermath(outcomes: list[Outcome], aftermath: Sequence[Aftermath]) -> None:
    """Add faults that showed after a case had its verdict, such as on closing the device, to the case's outcome.

    A fault of an unknown case goes to the last outcome.
    """
    for late in aftermath:
        ran = [number for number, outcome in enumerate(outcomes) if outcome.case == late.case]
        if outcomes:
            number = ran[-1] if ran else len(outcomes) - 1
            outcome = outcomes[number]
            parts = [outcome.message, f"found after it had its verdict: {late.message}"]
            verdict = worst((late.verdict, outcome.verdict))
            outcomes[number] = replace(outcome, verdict=verdict, message="\n".join(filter(None, parts)))
