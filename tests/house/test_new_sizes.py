"""New sizes: what is kept of one call serves the next, whatever its size, its thread, and the room of the caches."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import restride as rs
from restride.lru import LRU
from restride.ops import perform
from restride.weights import rows

LRUS = ((perform, "_plans"), (rows, "_cache"))
"""The caches with a limit, by module and name."""

CACHED = type(cache(lambda: None))
"""The type of functions that keep their results."""

Call = Callable[[rs.Tensor], rs.Tensor]

CALLS: tuple[Call, ...] = (
    lambda x: rs.resize(x, (22, 24)),
    lambda x: rs.resize(x, shorter=9, mode="cubic"),
    lambda x: rs.resize(x, (13, 40), like="pillow"),
    lambda x: rs.resample(x, (11, 50), axes=(0, 1), mode="nearest"),
    lambda x: rs.reorder(x, "HWC->CHW"),
    lambda x: rs.reorder(x[::-1, ::2], "HWC->WCH", dtype="f32"),
    lambda x: rs.crop_resize(x, [(0, 0, 5.5, 7)], (6, 6), axes=(0, 1), mean=0.5, std=0.25),
)


def forget() -> None:
    """Empty every cache of the library, but keep what the runtimes have loaded, which open devices use."""
    for owner, name in LRUS:
        getattr(owner, name).clear()
    for name, module in list(sys.modules.items()):
        if re.match(r"restride\.(?!runtime)", name):
            for value in vars(module).values():
                if isinstance(value, CACHED):
                    value.cache_clear()


def image(device: rs.Device, height: int, width: int) -> rs.Tensor:
    values = np.random.default_rng(height * 1000 + width).integers(0, 256, (height, width, 3), np.uint8)
    return rs.asarray(values, device=device)


def problems(count: int, seed: int) -> list[tuple[int, tuple[int, int]]]:
    rng = Random(seed)
    return [(rng.randrange(len(CALLS)), (rng.randrange(8, 70), rng.randrange(8, 90))) for _ in range(count)]


def alone(device: rs.Device, many: list[tuple[int, tuple[int, int]]]) -> Iterator[np.ndarray[Any, Any]]:
    """The results, each computed as the first call of all."""
    for call, sizes in many:
        forget()
        yield CALLS[call](image(device, *sizes)).numpy()


def test_random_sizes_from_eight_threads_equal_those_computed_alone(vulkan_device: rs.Device) -> None:
    many = problems(48, seed=1)
    expected = list(alone(vulkan_device, many))
    forget()

    def run(order: int) -> list[tuple[int, np.ndarray[Any, Any]]]:
        places = list(range(len(many)))
        Random(order).shuffle(places)
        return [(place, CALLS[many[place][0]](image(vulkan_device, *many[place][1])).numpy()) for place in places]

    with ThreadPoolExecutor(8) as pool:
        for results in pool.map(run, range(8)):
            for place, result in results:
                np.testing.assert_array_equal(result, expected[place], err_msg=str(many[place]))


@pytest.mark.parametrize("most", [0, 1, 1 << 20])
def test_results_do_not_depend_on_the_room_of_the_caches(
    most: int, monkeypatch: pytest.MonkeyPatch, vulkan_device: rs.Device
) -> None:
    many = problems(12, seed=2)
    expected = list(alone(vulkan_device, many))
    caches = [LRU[Any](most) for _ in LRUS]
    for (module, name), kept in zip(LRUS, caches, strict=True):
        monkeypatch.setattr(module, name, kept)
    for place, (call, sizes) in enumerate([*many, *many]):
        result = CALLS[call](image(vulkan_device, *sizes)).numpy()
        np.testing.assert_array_equal(result, expected[place % len(many)], err_msg=str(many[place % len(many)]))
    counts = [len(kept._young) + len(kept._old) for kept in caches]
    assert all(count > 2 for count in counts) if most > 1 else max(counts) <= 2, counts


WRONG: tuple[tuple[Call, Call], ...] = (
    (lambda x: rs.resize(x, (22, 24)), lambda x: rs.resize(x, (22, -24))),
    (lambda x: rs.resize(x, (22, 24)), lambda x: rs.resize(x, (22.0, 24))),
    (
        lambda x: rs.resample(x, (5, 6), axes=(0, 1), antialias=True),
        lambda x: rs.resample(x, (5, 6), axes=(0, 1), antialias=1),
    ),
    (lambda x: rs.resize(x, (22, 24), mode="linear"), lambda x: rs.resize(x, (22, 24), mode="linaer")),
    (lambda x: rs.resize(x, (22, 24), axes=(0, 1)), lambda x: rs.resize(x, (22, 24), axes=(0, 3))),
    (lambda x: rs.resize(x, (22, 24), like="pillow"), lambda x: rs.resize(x, (22, 24), like=["pillow"])),
    (
        lambda x: rs.resample(x, (5, 5), axes=(0, 1), mode="cubic", cubic_a=-0.5),
        lambda x: rs.resample(x, (5, 5), axes=(0, 1), mode="linear", cubic_a=-0.5),
    ),
    (
        lambda x: rs.resample(x, (5,), axes=(0,), coordinates="tf_crop_and_resize", roi=(0, 1)),
        lambda x: rs.resample(x, (5,), axes=(0,), coordinates="tf_crop_and_resize", roi=(False, 1)),
    ),
    (
        lambda x: rs.resample(x, (5,), axes=(0,), exclude_outside=False),
        lambda x: rs.resample(x, (5,), axes=(0,), exclude_outside=0),
    ),
    (lambda x: rs.reorder(x, "HWC->CHW"), lambda x: rs.reorder(x, "HWC->CHH")),
    (lambda x: rs.reorder(x, dtype="f32"), lambda x: rs.reorder(x, dtype="f33")),
)


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_wrong_arguments_give_the_same_error_before_and_after_right_ones(
    right: Call, wrong: Call, vulkan_device: rs.Device
) -> None:
    x, other = image(vulkan_device, 20, 30), image(vulkan_device, 21, 33)

    def error(tensor: rs.Tensor) -> tuple[type[BaseException], str]:
        with pytest.raises((rs.DescriptorError, rs.UnsupportedError)) as caught:
            wrong(tensor)
        return caught.type, str(caught.value)

    forget()
    expected = right(x).numpy()
    forget()
    first = error(x)
    np.testing.assert_array_equal(right(x).numpy(), expected)
    right(other)
    assert error(x) == first
    np.testing.assert_array_equal(right(x).numpy(), expected)


def test_a_device_counts_the_plans_that_were_made_for_it_and_those_that_were_kept() -> None:
    forget()
    with rs.Device(runtime="vulkan") as device, rs.Device(runtime="vulkan") as other:

        def counted() -> tuple[int, int]:
            return device.counters().plans_made, device.counters().plans_kept

        for calls, (height, width) in enumerate([(20, 30), (21, 30), (20, 30), (20, 30)], 1):
            rs.resize(image(device, height, width), (5, 6))
            assert counted() == (min(calls, 2), max(calls - 2, 0))
        rs.xp.tile(image(device, 20, 30), (1, 2, 1))
        assert counted() == (3, 2)
        with pytest.raises(rs.DescriptorError):
            rs.resize(image(device, 20, 30), (5, -6))
        assert counted() == (3, 2), "nothing was planned"
        rs.resize(image(other, 20, 30), (5, 6))
        assert (other.counters().plans_made, other.counters().plans_kept) == (0, 1), "plans are of the process"
        assert counted() == (3, 2)
