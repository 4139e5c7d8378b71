"""einops on tensors: its functions, its layers, its own tests; it is found whichever is imported first."""

from __future__ import annotations

import pickle
import subprocess
import sys

import einops
import numpy as np
import pytest
from support.einops_patterns import COPIES, IMAGES, PERMUTATIONS, lengths_of
from support.process import captured
from support.tensors import Costs, assert_equal

import restride as rs
from restride.interop import einops as einops_of_tensors


def test_einops_takes_tensors(device):
    tensor = rs.asarray(IMAGES, device=device)
    for pattern in PERMUTATIONS + COPIES:
        costs = Costs(device)
        result = einops.rearrange(tensor, pattern, **lengths_of(pattern))
        assert costs().dispatches == (pattern in COPIES), pattern
        assert_equal(result.numpy(), einops.rearrange(IMAGES, pattern, **lengths_of(pattern)))


@pytest.mark.parametrize(
    ("pattern", "lengths", "dispatches"),
    [
        ("b h w c -> b h w c n", {"n": 3}, 0),
        ("b h w c -> n b h w c", {"n": 3}, 0),
        ("b h w c -> b (h 2) (w 3) c", {}, 1),
        ("b h w c -> b h w (c n)", {"n": 2}, 1),
        ("b h w c -> c 2 (n b h) w", {"n": 2}, 1),
    ],
)
def test_repeat_is_by_strides(pattern, lengths, dispatches, device):
    costs = Costs(device)
    tensor = rs.asarray(IMAGES, device=device)
    result = einops.repeat(tensor, pattern, **lengths)
    assert costs().dispatches == dispatches
    assert (result.memory is tensor.memory) == (dispatches == 0)
    assert_equal(result.numpy(), einops.repeat(IMAGES, pattern, **lengths))


def test_pack_and_unpack(device):
    arrays = [IMAGES, IMAGES[:, 0], IMAGES[:, :, ::-1, :2].reshape(2, 4, 2, 6)[..., :3]]
    tensors = [rs.asarray(array, device=device) for array in arrays]
    costs = Costs(device)
    packed, shapes = einops.pack(tensors, "b * c")
    assert costs().dispatches <= 4
    expected, expected_shapes = einops.pack(arrays, "b * c")
    assert shapes == expected_shapes
    assert_equal(packed.numpy(), expected)
    costs = Costs(device)
    for part, array in zip(einops.unpack(packed, shapes, "b * c"), arrays, strict=True):
        assert part.memory is packed.memory
        assert_equal(part.numpy(), array)
    assert einops.parse_shape(tensors[0], "b _ w c") == {"b": 2, "w": 6, "c": 3}
    assert_equal(einops.rearrange(tensors[:1] * 3, "n b h w c -> b n h w c").numpy(), np.stack([IMAGES] * 3, axis=1))


@pytest.mark.parametrize("pattern", PERMUTATIONS + COPIES)
def test_a_layer_takes_tensors(pattern, device):
    layer = einops_of_tensors.Rearrange(pattern, **lengths_of(pattern))
    tensor = rs.asarray(IMAGES, device=device)
    for each in (layer, pickle.loads(pickle.dumps(layer))):
        costs = Costs(device)
        result = each(tensor)
        assert costs().dispatches == (pattern in COPIES)
        assert_equal(result.numpy(), einops.rearrange(IMAGES, pattern, **lengths_of(pattern)))


ARRAY_API = """
import sys
sys.modules["restride.interop.einops"] = None  # importing it raises ImportError
import numpy as np, restride as rs, einops.array_api
a = np.arange(2 * 4 * 6 * 3, dtype=np.int16).reshape(2, 4, 6, 3)
x = rs.asarray(a)
patches, lengths = "b (h p) (w q) c -> (b h w) (p q c)", {"p": 2, "q": 3}
packed, shapes = einops.array_api.pack([x, x[:, 0]], "b * c")
expected, _ = einops.pack([a, a[:, 0]], "b * c")
for ours, theirs in (
    (einops.array_api.rearrange(x, "b h w c -> b c h w"), a.transpose(0, 3, 1, 2)),
    (einops.array_api.rearrange(x, patches, **lengths), einops.rearrange(a, patches, **lengths)),
    (einops.array_api.repeat(x, "b h w c -> b (h 2) w c n", n=3), einops.repeat(a, "b h w c -> b (h 2) w c n", n=3)),
    (packed, expected),
    *zip(einops.array_api.unpack(packed, shapes, "b * c"), (a, a[:, 0])),
):
    assert isinstance(ours, rs.Tensor)
    np.testing.assert_array_equal(ours.numpy(), theirs)
"""


@pytest.mark.usefixtures("vulkan_device")
def test_the_array_api_of_einops_needs_no_backend():
    done = captured([sys.executable, "-c", ARRAY_API])
    assert done.returncode == 0, done.stderr


def test_reductions_say_what_to_do(device):
    with pytest.raises(
        rs.UnsupportedError, match=r"restride has no sum over axes \(\d,\): reduce x\.numpy\(\), for s16"
    ):
        einops.reduce(rs.asarray(IMAGES, device=device), "b h w c -> b w c", "sum")


IMPORTED = """
import sys
sys.modules["_cffi_backend"] = sys.modules["kp"] = None
{first}
from einops import _backends
names = [backend.framework_name for backend in _backends.AbstractBackend.__subclasses__()]
raise SystemExit("restride" not in names)
"""


@pytest.mark.parametrize(
    "first",
    [
        "import einops, restride",
        "import restride, einops",
        "import restride; restride.interop.einops.Rearrange",
    ],
)
def test_einops_knows_tensors_whichever_is_imported_first(first):
    assert subprocess.run([sys.executable, "-c", IMPORTED.format(first=first)], check=False).returncode == 0


@pytest.mark.parametrize("state", ["None", "types.ModuleType('einops')"])
def test_an_einops_that_is_no_einops_does_no_harm(state):
    program = f"import sys, types\nsys.modules['einops'] = {state}\nimport restride"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_einops_brings_no_other_library_along():
    others = {"torch", "jax", "tensorflow", "dask", "zarr", "xarray", "pandas", "PIL"}
    program = f"import sys, restride\nraise SystemExit(sorted({others} & set(sys.modules)) or 0)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


OWN_TESTS = [
    "test_ops.test_ellipsis_ops_imperative",
    "test_ops.test_reduction_imperatives",
    "test_ops.test_reduction_stress_imperatives",
    "test_ops.test_enumerating_directions",
    "test_ops.test_concatenations_and_stacking",
    "test_ops.test_tiling_imperatives",
    "test_ops.test_repeat_imperatives",
    "test_ops.test_reduction_imperatives_booleans",
    "test_packing.test_pack_unpack_against_numpy",
    "test_examples.test_rearrange_examples",
    "test_other.test_parse_shape_imperative",
    "test_other.test_is_float_type",
]
OWN = """
import sys, warnings
import numpy as np, einops, einops.tests, restride as rs
from einops import _backends
from restride.interop.einops import RestrideBackend

class Reducing(RestrideBackend):
    # Their stress test goes to 7 axes for this name, to 11 for others. Reductions are numpy's: they are not ours.
    framework_name = "restride as oneflow"
    def reduce(self, x, operation, axes):
        return rs.asarray(np.asarray(getattr(x.numpy(), operation)(axis=axes)))

backend = Reducing()
_backends._type2backend[rs.Tensor] = backend
asked = []
def collect(symbolic=False, layers=False):
    return asked if symbolic or layers else [backend]
einops.tests.collect_test_backends = collect
module, name = sys.argv[1].split(".")
# An example adds two results.
rs.Tensor.__add__ = lambda a, b: rs.asarray(a.numpy() + np.asarray(b))
import importlib
tests = importlib.import_module("einops.tests." + module)
# This one compares, and drops the answer: here it counts.
if hasattr(tests, "check_op_against_numpy"):
    check, equal = tests.check_op_against_numpy, np.array_equal
    def counted(a, b):
        assert equal(a, b)
    def checked(*arguments, **named):
        np.array_equal = counted
        try:
            check(*arguments, **named)
        finally:
            np.array_equal = equal
    tests.check_op_against_numpy = checked
getattr(tests, name)()
"""


@pytest.mark.usefixtures("vulkan_device")
@pytest.mark.parametrize("name", OWN_TESTS)
def test_einops_own_tests_pass(name, monkeypatch):
    monkeypatch.setenv("EINOPS_TEST_BACKENDS", "numpy")
    done = captured([sys.executable, "-c", OWN, name])
    assert done.returncode == 0, done.stderr
