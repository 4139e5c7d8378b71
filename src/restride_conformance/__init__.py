"""Conformance cases: one problem, one line of text, one verdict on a device.

>>> case = Case.parse("resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3")
>>> str(case)
'resample u8[2,19,30]{2,1,0} -> u8[2,45,60]{2,1,0} mode=linear seed=3'
"""

from restride_conformance.case import Case
from restride_conformance.check import run_case
from restride_conformance.record import Outcome, Verdict
from restride_conformance.selection import select
from restride_conformance.sweep import CATALOGUES, catalogue, read_cases

__all__ = ["CATALOGUES", "Case", "Outcome", "Verdict", "catalogue", "read_cases", "run_case", "select"]
