"""restride as the array library of xarray's own tests of duck arrays: a plugin of pytest, ``-p support.xarray_shim``.

Some of these tests import array_api_strict; the others have a parameter that names the library.
"""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import restride as rs
from restride import xp

strict = ModuleType("array_api_strict")
vars(strict).update(vars(xp) | {"__name__": "array_api_strict"})
sys.modules["array_api_strict"] = strict
sys.modules["array_api_strict._array_object"] = arrays = ModuleType("array_api_strict._array_object")
vars(arrays)["Array"] = rs.Tensor

import xarray.tests.test_duck_array_wrapping as wrapping  # noqa: E402 - which imports what is set above

wrapping.NAMESPACE_ARRAYS["restride"] = {"attrs": {"array": "Tensor", "constructor": "asarray"}, "xfails": {}}
for tests in (wrapping.TestTopLevelMethods, wrapping.TestDataArrayMethods):
    tests.pytestmark = [pytest.mark.parametrize("namespace", ["restride"]).mark]
