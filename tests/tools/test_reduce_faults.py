"""What ``restride test --reduce`` leaves of the case that shows a planted fault, for a sample of the faults."""

from __future__ import annotations

from hashlib import sha256

import faults
import pytest
import reduce_faults
from support.devices import open_device

COUNT = 20


@pytest.mark.slow
def test_what_is_left_of_a_case_fails_with_its_fault_alone_and_is_no_larger() -> None:
    open_device("vulkan").close()
    known = reduce_faults.reducible(faults.read_faults(), reduce_faults.known_cases())
    sample = sorted(
        (fault for fault in known if not fault.options), key=lambda fault: sha256(fault.name.encode()).digest()
    )
    tried = list(reduce_faults.try_reductions(sample[:COUNT]))
    found = [each for each in tried if isinstance(each, reduce_faults.Reduction)]
    assert len(found) > COUNT * 3 // 4, "a case that passes with its fault: python tools/mutate.py --only NAME --write"
    assert [str(each) for each in found if each.problem] == []
    assert sum(each.found.case.elements < each.before.elements for each in found) > COUNT // 2
