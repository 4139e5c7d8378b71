"""DLPack: every host producer becomes a numpy array over its memory, and its deleter runs once, at the end."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.judges import judge

from restride.errors import DescriptorError
from restride.tensor import dlpack
from restride.tensor.dlpack import array_from_dlpack

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Producer:
    """A tensor library of one tensor: it owns bytes, hands out one capsule and counts the calls of its deleter."""

    def __init__(
        self, data: np.ndarray, code: int, bits: int, *, sizes: Any = None, strides: Any = None, byte_offset: int = 0,
        lanes: int = 1, device: int = 1, versioned: bool = True, major: int = 1, has_data: bool = True,
    ) -> None:  # fmt: skip
        self.data, self.device, self.versioned, self.deleted = data, device, versioned, 0
        sizes = (data.size,) if sizes is None else sizes
        self.shape = (ctypes.c_int64 * len(sizes))(*sizes)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.deleter = dlpack._Deleter(self._delete)
        self.managed = (dlpack._DLManagedTensorVersioned if versioned else dlpack._DLManagedTensor)()
        if versioned:
            self.managed.major, self.managed.minor = major, 1
        self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        tensor = self.managed.tensor
        tensor.data = data.ctypes.data if has_data else None
        tensor.device_type, tensor.ndim, tensor.byte_offset = device, len(sizes), byte_offset
        tensor.code, tensor.bits, tensor.lanes = code, bits, lanes
        tensor.shape = ctypes.cast(self.shape, type(tensor.shape))
        if self.strides is not None:
            tensor.strides = ctypes.cast(self.strides, type(tensor.strides))

    def _delete(self, address: int) -> None:
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument")
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        self.capsule = _new_capsule(ctypes.addressof(self.managed), name, None)
        return self.capsule


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        np.arange(24, dtype=np.int16).reshape(2, 3, 4)[:, ::-1, ::2],
        np.arange(24, dtype=np.uint64).reshape(2, 3, 4).T,
        np.broadcast_to(np.float64(3), (3, 4)),
        np.array([True, False, True]),
        np.array(5, np.int8),
        np.zeros((0, 3), np.float16),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}{array.strides}",
)
def test_numpy_arrays_keep_type_sizes_strides_and_memory(array: np.ndarray) -> None:
    if not array.flags.writeable and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        array = np.lib.stride_tricks.as_strided(array.base, array.shape, array.strides)
    view = array_from_dlpack(array)
    assert view.dtype == array.dtype
    assert view.shape == array.shape
    np.testing.assert_array_equal(view, array)
    if array.size:
        assert view.ctypes.data == array.ctypes.data
        assert view.strides == array.strides
        assert not view.flags.writeable


NARROW = [
    (4, 16, ml_dtypes.bfloat16),
    (10, 8, ml_dtypes.float8_e4m3fn),
    (12, 8, ml_dtypes.float8_e5m2),
    (6, 8, np.bool_),
    (2, 16, np.float16),
]


@pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "unversioned"])
@pytest.mark.parametrize(("code", "bits", "dtype"), NARROW, ids=str)
def test_types_that_numpy_does_not_take(code: int, bits: int, dtype: Any, versioned: bool) -> None:
    data = np.array([0, 1, 0, 1, 1, 0, 1, 1]).astype(dtype)
    view = array_from_dlpack(Producer(data, code, bits, sizes=(2, 4), versioned=versioned))
    assert view.dtype == dtype
    assert view.tobytes() == data.tobytes()
    assert view.shape == (2, 4)


def test_the_producer_lives_as_long_as_the_last_view_and_is_deleted_once() -> None:
    producer = Producer(np.arange(6).astype(ml_dtypes.bfloat16), 4, 16)
    view = array_from_dlpack(producer)
    part = view[::2]
    assert producer.deleted == 0
    del view
    gc.collect()
    assert producer.deleted == 0
    assert part.astype(np.float32).tolist() == [0, 2, 4]
    del part
    gc.collect()
    assert producer.deleted == 1


def test_a_producer_that_nothing_else_holds() -> None:
    data = np.arange(1000, dtype=np.int32)
    view = array_from_dlpack(data[::-1])
    expected = data[::-1].tolist()
    del data
    gc.collect()
    assert view.tolist() == expected


def test_byte_offsets_and_strides_of_every_sign() -> None:
    data = np.arange(24).astype(ml_dtypes.bfloat16)
    view = array_from_dlpack(Producer(data, 4, 16, sizes=(3, 2, 4), strides=(-8, 0, 2), byte_offset=34))
    expected = np.lib.stride_tricks.as_strided(data.view(np.uint16)[17:], (3, 2, 4), (-16, 0, 4))
    np.testing.assert_array_equal(view.view(np.uint16), expected)


def test_a_scalar_and_an_empty_tensor() -> None:
    scalar = Producer(np.array([3]).astype(ml_dtypes.bfloat16), 4, 16, sizes=())
    assert float(array_from_dlpack(scalar)) == 3
    empty = Producer(np.zeros(1, np.uint16), 4, 16, sizes=(2, 0), has_data=False)
    view = array_from_dlpack(empty)
    assert view.shape == (2, 0)
    assert view.dtype == ml_dtypes.bfloat16
    assert empty.deleted == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"device": 2}, r"device type 2 \(CUDA\); only host memory can be read"),
        ({"device": 99}, r"device type 99 \(unknown\)"),
        ({"lanes": 4}, "elements of 4 lanes"),
        ({"code": 5, "bits": 64}, "element type complex of 64 bits is not one of restride's"),
        ({"code": 2, "bits": 128}, "element type float of 128 bits"),
        ({"code": 17, "bits": 4}, "element type float4_e2m1fn of 4 bits"),
        ({"code": 200}, "element type type code 200 of 16 bits"),
        ({"sizes": (1,) * 9}, "9 dimensions; 0 to 8"),
        ({"sizes": (2, -1)}, r"negative size: \[2, -1\]"),
        ({"has_data": False}, r"of sizes \[4\] has no data"),
        ({"major": 2}, r"version 2.1 is newer than 1.x"),
    ],
)
def test_what_is_refused_is_named_and_released(changes: dict[str, Any], message: str) -> None:
    producer = Producer(np.zeros(4, np.uint16), **{"code": 4, "bits": 16, **changes})
    with pytest.raises(DescriptorError, match=message):
        array_from_dlpack(producer)
    gc.collect()
    assert producer.deleted == ("device" not in changes)


def test_a_capsule_is_used_once() -> None:
    producer = Producer(np.zeros(4, np.uint16), 4, 16)
    view = array_from_dlpack(producer)
    capsule = producer.capsule
    producer.__dlpack__ = None
    with pytest.raises(DescriptorError, match="not an unused capsule named dltensor"):
        dlpack._array_of(capsule)
    assert view.size == 4


def test_objects_that_are_no_tensors_or_refuse() -> None:
    with pytest.raises(DescriptorError, match="list has no __dlpack_device__"):
        array_from_dlpack([1, 2])
    with pytest.raises(DescriptorError, match="ndarray refuses to hand out its memory"):
        array_from_dlpack(np.zeros(3, ">f4"))


def test_torch() -> None:
    torch: Any = judge("torch")
    tensor = torch.arange(12).reshape(3, 4).to(torch.bfloat16).T
    view = array_from_dlpack(tensor)
    assert view.dtype == ml_dtypes.bfloat16
    assert view.tolist() == tensor.tolist()
    assert view.ctypes.data == tensor.data_ptr()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_torch_does_not_hand_out() -> None:
    """The memory of a negated view holds other numbers than the view; torch's own errors become ours."""
    torch: Any = judge("torch")
    z = torch.complex(torch.arange(3.0), torch.arange(3.0))
    for negated in (z.conj().imag, torch._neg_view(torch.nn.Parameter(torch.arange(3.0)).detach())):
        with pytest.raises(DescriptorError, match=r"negative bit set.*resolve_neg\(\), for sizes \(3,\)"):
            array_from_dlpack(negated)
        assert array_from_dlpack(negated.resolve_neg()).tolist() == [0, -1, -2]
    assert array_from_dlpack(z.imag).tolist() == [0, 1, 2]
    for refused in (
        z.conj(),
        torch.eye(3).to_sparse(),
        torch.empty(3, device="meta"),
        torch.ones(1, 1, 2, 2).to_mkldnn(),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    ):
        with pytest.raises(DescriptorError, match=r"Tensor refuses to (hand out its memory|say where its memory is)"):
            array_from_dlpack(refused)
