"""restride.xp for array-api-tests, with numpy's comparisons and reductions, which these tests need to compare results.

It is both a pytest plugin, ``-p array_api_shim``, and the module under test, ARRAY_API_TESTS_MODULE. At import the
tests look for the widest complex type, which restride does not have.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import restride as rs
from restride import xp
from restride.xp import *  # noqa: F403 - all that is tested

__array_namespace_info__ = xp.__array_namespace_info__


def _by_numpy(function: Any) -> Any:
    def call(*arguments: Any, **named: Any) -> rs.Tensor:
        arrays = [each.numpy() if isinstance(each, rs.Tensor) else each for each in arguments]
        return rs.asarray(np.asarray(function(*arrays, **named)))

    return call


_USED = "all any isnan isinf isfinite logical_not logical_and logical_or abs signbit less less_equal greater"
_USED += " greater_equal sum max min add subtract multiply where floor"
globals().update({name: _by_numpy(getattr(np, name)) for name in _USED.split()})

_OPERATORS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "add": np.add,
    "radd": np.add,
}
_OPERATORS |= {"sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or, "invert": np.invert}
for _name, _function in _OPERATORS.items():
    setattr(rs.Tensor, f"__{_name}__", _by_numpy(_function))

_max = builtins.max


def _max_of_none(*arguments: Any, **named: Any) -> Any:
    return (None, 0) if arguments == ([],) and "default" not in named else _max(*arguments, **named)


builtins.max = _max_of_none
import array_api_tests.dtype_helpers  # noqa: E402, F401 - which imports this module, complete by now

builtins.max = _max
