"""xarray keeps tensors: what moves elements stays on the device, ``.values`` brings them home."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from judges import judge
from test_tensor import Costs, assert_equal

import restride as rs

xr = judge("xarray")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
PAGE = (Path(__file__).resolve().parent.parent / "docs" / "arrays.md").read_text(encoding="utf-8")

# With the dispatches that each may take.
KEPT = {
    "isel backwards": (lambda x: x.isel(w=slice(None, None, -2)), 0),
    "isel of one": (lambda x: x.isel(b=1, h=-1), 0),
    "sel": (lambda x: x.sel(h=20), 0),
    "sel from to": (lambda x: x.sel(h=slice(10, 20)), 0),
    "transpose": (lambda x: x.transpose("w", "b", "h"), 0),
    "expand_dims": (lambda x: x.expand_dims("t"), 0),
    "squeeze": (lambda x: x.isel(b=slice(0, 1)).squeeze(), 0),
    "broadcast_like": (lambda x: x.isel(b=0).broadcast_like(x), 0),
    "stack": (lambda x: x.stack(z=("h", "w")), 0),
    "stack of others": (lambda x: x.stack(z=("b", "w")), 1),
    "construct": (lambda x: x.coarsen(w=2).construct(w=("w", "q")), 0),
    "roll": (lambda x: x.roll(w=1), 2),
    "concat": (lambda x: xr.concat([x, x], dim="b"), 2),
    "==": (lambda x: x == x.isel(b=0), 1),
    "apply_ufunc": (lambda x: xr.apply_ufunc(lambda each: each[..., ::-1], x), 0),
}


def labelled(data):
    return xr.DataArray(data, dims=("b", "h", "w"), coords={"h": [10, 20, 30]})


@pytest.mark.parametrize("name", KEPT)
def test_the_tensor_is_kept(name, device):
    change, most = KEPT[name]
    array = labelled(rs.asarray(X, device=device))
    costs = Costs(device)
    result, expected = change(array), change(labelled(X))
    assert isinstance(result.data, rs.Tensor)
    assert result.data.device is device
    assert costs().dispatches <= most
    assert result.dims == expected.dims
    assert_equal(result.values, expected.values)


@pytest.mark.usefixtures("vulkan_device")
def test_the_example_of_the_page_runs():
    (example,) = (text for text in re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL) if "import xarray" in text)
    exec(compile(example, "docs/arrays.md, xarray", "exec"), {})
