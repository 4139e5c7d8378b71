"""restride's own columns: the cases of the benchmark are right by the rules of `restride test`."""

import pytest
from support.workloads import SMALL

import restride as rs
from restride_conformance import run_case
from restride_conformance.record import Verdict
from restride_measure import own
from restride_measure.workloads import images

CASES = [each for each in SMALL if each.case is not None]


@pytest.mark.parametrize("name", [each.name for each in CASES])
def test_a_row_of_the_benchmark_passes_as_a_case(name, vulkan_device):
    (workload,) = (each for each in CASES if each.name == name)
    outcome = run_case(workload.case, vulkan_device)
    assert outcome.verdict is Verdict.PASSED, outcome.message


def test_every_way_of_calling_is_used():
    assert {each.how for row in SMALL for each in (row, row.rival) if each is not None} == {"", *own.HOW}


@pytest.mark.parametrize("how", [how for how in own.HOW if how.startswith("new ")])
def test_calls_with_new_sizes_have_them(how, vulkan_device, monkeypatch):
    """And the work that it is compared with has one size."""
    (workload,) = (each for each in SMALL if each.how == how)
    met = []
    for name in ("reorder", "resample", "crop_resize"):
        function = getattr(rs, name)

        def noting(x, *arguments, function=function, **named):
            met.append(x.sizes)
            return function(x, *arguments, **named)

        monkeypatch.setattr(rs, name, noting)
    rows = workload.desc.sizes[0]  # after so many calls the sizes repeat
    for each, count in ((workload, min(2 * workload.times, rows)), (workload.rival, 1)):
        offer = own.offer(each, each.source(), vulkan_device)
        met.clear()
        offer.resident()
        offer.resident()
        assert len(set(met)) == count


def test_an_image_processor_makes_the_result_that_is_expected(vulkan_device):
    for workload in images(is_small=True):
        offer = own.offer(workload, workload.source(), vulkan_device)
        offer.resident()
        assert (offer.result().shape, offer.result().dtype) == (workload.result_sizes, "float32")
