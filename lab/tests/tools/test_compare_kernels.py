"""lab/tools/compare_kernels.py compares the kernels of two versions."""

from dataclasses import replace
from itertools import islice

import compare_kernels as tool

from restride_bench.audit.recording import record_case
from restride_conformance.case import Case


def test_a_checkout_is_digested_as_this_one(tmp_path):
    cases = [str(case) for case in islice(tool.random_cases(1), 24)]
    assert {case.split()[0] for case in cases} == {"reorder", "resample", "resample_backward"}
    lines = tmp_path / "cases.txt"
    lines.write_text("".join(f"{case}\n" for case in cases))
    here = [tool.digest(case, limits) for case in cases for limits in tool.LIMITS.values()]
    assert tool.digests_of(tool.ROOT, lines) == here


def test_each_part_of_a_kernel_counts(monkeypatch):
    case = "reorder f32[5,7]{0,1} -> f32[5,7]"
    (spec,) = record_case(Case.parse(case))
    binding = spec.bindings[0]
    others = [
        replace(spec, shader="strided_fill"),
        replace(spec, constants=(*spec.constants, 9)),
        replace(spec, push=(*spec.push, 9)),
        replace(spec, parameters=b"0123"),
        replace(spec, groups=(9, 9, 9)),
        *(
            replace(spec, bindings=(binding._replace(**change), *spec.bindings[1:]))
            for change in ({"offset": 256}, {"nbytes": 256}, {"writes": not binding.writes})
        ),
    ]
    digests = set()
    for each in (spec, *others):
        monkeypatch.setattr(tool, "record_case", lambda *_, each=each: [each])
        digests.add(tool.digest(case, tool.LIMITS["gpu"]))
    assert len(digests) == 1 + len(others)
