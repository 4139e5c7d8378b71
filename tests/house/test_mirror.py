"""tests/ mirrors src/: each module has the test file of its name, and each test file its module."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "src/restride": "tests",
    "src/restride_conformance": "tests/conformance",
    "src/restride_measure": "tests/measure",
    "tools": "tests/tools",
    "lab/src/restride_bench": "lab/tests/bench",
    "lab/src/restride_like_check": "lab/tests/like_check",
    "lab/reliability": "lab/tests/reliability",
    "lab/tools": "lab/tests/tools",
}
"""Folders of modules, and where their tests lie. The tests of modules at the root of restride are in tests/root."""
ACROSS = {"docs", "house", "judges", "support"}
"""Folders of tests/ and lab/tests/ that are about no one module."""
PACKAGES = ("src/restride", "src/restride_conformance", "src/restride_measure")
"""Each module of these has its test file."""

ELSEWHERE = {
    "a short name of the module in interop/": ("dask.py", "ome.py", "xarray.py"),
    "the command as a whole, in tests/cli/test_operate.py": (
        "reference/comparison.py",
        "cli/devices.py",
        "cli/doctor.py",
        "command/options.py",
    ),
    "its commands, in tests/cli/test_operate_*.py and tests/cli/test_preprocess.py": ("cli/operations.py",),
    "scripts that shells run, in tests/command/test_parser.py": ("cli/completion.py",),
    "the command and the function together, in tests/interop/test_ome.py": ("cli/pyramid.py", "stream/levels.py"),
    "made by a tool, in tests/tools/test_make_binding.py": ("runtime/vulkan/generated.py",),
    "the drawings of a page, in tests/docs/test_resample.py": ("drawing/resampling.py",),
    "a table that most tests read; its names are in tests/layout/test_text.py": ("dtypes/dtype.py",),
    "gradients of two libraries, in tests/interop/test_torch.py and tests/interop/test_jax.py": ("interop/linear.py",),
    "arguments and parts of crop_resize, in tests/ops/test_crop_resize.py": (
        "ops/images.py",
        "ops/letterbox.py",
        "plan/boxes.py",
        "request/boxes.py",
        "weights/boxes.py",
    ),
    "boxes like a library, in tests/ops/test_crop_resize_like.py": ("ops/one_by_one.py",),
    "every operation by windows, in tests/stream/test_chain.py": ("ops/operation.py",),
    "plans of copies, in tests/plan/test_copy.py": ("plan/problem.py", "plan/transpose.py"),
    "copies that tiles do not allow as walks, in tests/plan/test_tiles.py": ("plan/general.py",),
    "plans that run on tensors, in tests/ops/test_perform.py": ("plan/steps.py",),
    "words and sizes of frames, in tests/ops/test_yuv.py": ("request/yuv.py",),
    "axes that must be named, in tests/ops/test_resample_channels.py": ("request/channels.py",),
    "libraries side by side, in tests/judges/test_profiles.py": (
        "reference/like.py",
        "request/libraries.py",
        "weights/like/opencv.py",
        "weights/like/pillow.py",
        "weights/like/scikit_image.py",
        "weights/like/torch.py",
    ),
    "values of reports, in tests/conformance/report/test_file.py": ("conformance/record.py",),
    "reports that are read, in tests/conformance/report/test_compare.py": ("conformance/report/commands.py",),
    "in the order of a library's own operations, in tests/ops/test_lookup.py": ("ops/normalized.py",),
    "words in messages, in tests/root/test_arguments.py": ("words.py",),
    "what options choose, in tests/conformance/test_commands.py": ("conformance/choice.py", "conformance/options.py"),
    "cases as text, in tests/conformance/test_case.py": ("conformance/spelling.py",),
    "worker processes that die, in tests/conformance/run/test_runner.py": ("conformance/run/parallel.py",),
    "offers in rounds, in tests/measure/test_run.py": ("measure/offer.py",),
    "a selftest as a whole, in tests/measure/selftest/test_commands.py": (
        "measure/selftest/parts.py",
        "measure/selftest/worker.py",
    ),
    "processors as a whole, in tests/vision/test_image_processor.py and tests/judges/test_vision.py": (
        "vision/execution.py",
        "vision/families/pads.py",
        "vision/families/plain.py",
        "vision/families/qwen.py",
        "vision/families/tiles.py",
        "vision/families/torchvision_only.py",
        "vision/family.py",
        "vision/grids.py",
        "vision/images.py",
        "vision/options.py",
        "vision/picture.py",
        "vision/recipe.py",
        "vision/sizes.py",
        "vision/values.py",
        "vision/work.py",
    ),
}
"""Why modules have no test file of their name, with the file that tests them."""


def folder_of_tests(folder: str, path: Path) -> Path:
    """Where the test of a module of ``folder`` lies: of src/restride/plan/copy.py in tests/plan."""
    inside = path.parent.relative_to(ROOT / folder)
    return ROOT / ROOMS[folder] / ("root" if folder == "src/restride" and inside == Path() else inside)


def is_compared(path: Path) -> bool:
    """True for the reference of an operation, such as reference/yuv.py: the cases of smoke compare both."""
    return path.parent.name == "reference" and (ROOT / "tests" / "ops" / f"test_{path.name}").exists()


def modules(folder: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if not path.name.startswith("__")]


def short_name(folder: str, path: Path) -> str:
    """The module as ELSEWHERE has it, without src/ and without the name of the package restride."""
    return (Path(ROOMS[folder]) / path.relative_to(ROOT / folder)).relative_to("tests").as_posix()


def test_each_module_has_the_test_file_of_its_name():
    listed = [name for names in ELSEWHERE.values() for name in names]
    assert len(listed) == len(set(listed))
    missing, without = [], set()
    for folder in PACKAGES:
        for path in modules(folder):
            test = folder_of_tests(folder, path) / f"test_{path.name}"
            if not test.exists() and not is_compared(path):
                without.add(short_name(folder, path))
                if short_name(folder, path) not in listed:
                    missing.append(f"{path.relative_to(ROOT)} has no {test.relative_to(ROOT)}")
    assert not missing, "\n".join(
        [*missing, "write it, or say in ELSEWHERE which test file has the tests of the module"]
    )
    assert set(listed) <= without, f"ELSEWHERE lists what has a test file or is gone: {sorted(set(listed) - without)}"


def test_the_files_that_stand_in_for_others_exist():
    named = re.findall(r"\S+/test_\w+\.py", " ".join(ELSEWHERE))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_test_file_has_its_module():
    """test_copy_runs.py is about copy.py too: a module with many tests has more than one file."""
    allowed = {}
    for folder in ROOMS:
        for path in [*modules(folder), *(path for path in (ROOT / folder).rglob("*") if path.is_dir())]:
            allowed.setdefault(folder_of_tests(folder, path), set()).add(path.stem)
    strays = []
    for tests in (ROOT / "tests", ROOT / "lab" / "tests"):
        for file in sorted(tests.rglob("test_*.py")):
            if file.relative_to(tests).parts[0] not in ACROSS:
                about = file.stem.removeprefix("test_")
                if not any(f"{about}_".startswith(f"{name}_") for name in allowed.get(file.parent, ())):
                    strays.append(f"{file.relative_to(ROOT)} is named after no module of {file.parent.name}/")
    assert not strays, "\n".join(strays)
