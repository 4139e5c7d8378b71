"""Loads, stores and trips in the code of each maker's compiler."""

import pytest

from restride_bench.audit.assembly import accesses, counted, trips


@pytest.mark.parametrize(
    ("maker", "code", "found"),
    [
        (
            "AMD",
            "v4: %1 = buffer_load_dwordx4 %2\n buffer_store_b16 %1\n ds_read_b64 %9",
            "load 16, store 2, shared load 8",
        ),
        (
            "AMD",
            "v1: %4 = buffer_load_ubyte %2\n s4: %5 = s_load_dwordx4 %6\n s1: %7 = s_buffer_load_dword %5",
            "load 1, uniform load 4",
        ),
        (
            "NVIDIA",
            "r4..8 = ld.global.a64.b128 [r2]\n st.shared.b32 [r1]\n st.local.b32 [r1]",
            "load 16, shared store 4, scratch store 4",
        ),
        (
            "Intel",
            "ugm MsgDesc: ( load, a32, d32, V4\nslm MsgDesc: ( store, a2, d32,\nugm MsgDesc: ( load, a4, d8,transpose",
            "load 16, shared store 4, uniform load 1",
        ),
        (
            "Qualcomm",
            "isam.v.base0 (u32)(xyzw)r0.x, r1\nstib.b.untyped.1d.u32.4.imm r0\nldl.u32 r0.x, l[r1.x], 2",
            "load 16, store 16, shared load 8",
        ),
        (
            "Apple",
            "block0 {\n device_load i32 %1, xyzw\n local_store i32 %2, x\n stack_load i32 %1, xy",
            "load 16, shared store 4, scratch load 8",
        ),
        ("Arm", "LD_PKA.i128.slot0 @r0\nSTORE.i32.slot1 @r1", "load 16, store 4"),
        ("Imagination", "anything", ""),
    ],
)
def test_loads_and_stores_are_read_by_width(maker, code, found):
    assert ", ".join(f"{kind} {nbytes}" for kind, nbytes in accesses(maker, code)) == found


def test_a_trip_is_a_load_before_a_store():
    order = [("load", 4), ("load", 4), ("store", 4), ("load", 4), ("uniform load", 4), ("shared store", 4), ("load", 4)]
    assert trips(order) == 2
    assert counted(order) == {"load 4": 4, "shared store 4": 1, "store 4": 1, "uniform load 4": 1}
