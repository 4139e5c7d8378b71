"""Streaming: how much is started, and what an image that is wrong costs the ones before it. No device."""

from __future__ import annotations

import weakref

import pytest

from restride.errors import DescriptorError, OutOfDeviceMemory
from restride.ops.preprocess import streamed


def run(images, *, together=1, depth=2, wrong=(), unmade=()):
    """What was taken, and the steps in order: r3 read, m3 made from image 3 on, t3 taken."""
    steps, taken = [], []

    def read(image):
        if image in wrong:
            raise DescriptorError(f"{image} is wrong")
        steps.append(f"r{image}")
        return image

    def make(group):
        if set(group) & set(unmade):
            raise OutOfDeviceMemory(f"no room for {group}")
        steps.append(f"m{group[0]}")
        return list(group)

    failure = None
    counted = []
    source = streamed(images, read, make, together=together, depth=depth, step=lambda: counted.append(1))
    try:
        for made in source:
            steps.append(f"t{made[0]}")
            taken.append(made)
    except (DescriptorError, OutOfDeviceMemory, ValueError) as error:
        failure = error
    assert len(counted) == sum(map(len, taken))
    return taken, steps, failure


@pytest.mark.parametrize(
    ("depth", "order"),
    [
        (1, "r0 m0 t0 r1 m1 t1 r2 m2 t2"),
        (2, "r0 m0 r1 m1 t0 r2 m2 t1 t2"),
        (9, "r0 m0 r1 m1 r2 m2 t0 t1 t2"),
    ],
)
def test_so_many_are_started_before_one_is_taken(depth, order):
    assert run(range(3), depth=depth) == ([[0], [1], [2]], order.split(), None)


@pytest.mark.parametrize("depth", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("together", "before"), [(1, [[0], [1], [2], [3], [4]]), (2, [[0, 1], [2, 3], [4]]), (8, [[0, 1, 2, 3, 4]])]
)
def test_what_was_before_a_wrong_image_is_taken_first(depth, together, before):
    taken, _, failure = run(range(9), together=together, depth=depth, wrong=[5])
    assert taken == before
    assert type(failure) is DescriptorError
    assert str(failure) == "image 5 of the stream: 5 is wrong"
    assert failure.__cause__ is None, "it is the error of the image itself: one traceback"


def test_what_cannot_be_made_is_named_by_its_images():
    taken, _, failure = run(range(9), together=3, depth=3, unmade=[4])
    assert taken == [[0, 1, 2]]
    assert type(failure) is OutOfDeviceMemory
    assert str(failure) == "images 3 to 5 of the stream: no room for [3, 4, 5]"
    assert str(run(range(9), unmade=[0])[2]) == "image 0 of the stream: no room for [0]"
    # A wrong image comes behind those that it was to be with, which cannot be made either.
    assert str(run(range(9), together=3, unmade=[4], wrong=[5])[2]).startswith("images 3 to 4 of the stream: no room")


def test_an_error_of_the_iterable_itself_comes_as_it_is():
    def images():
        yield from range(3)
        raise ValueError("the camera is gone")

    taken, _, failure = run(images(), together=2, depth=4)
    assert taken == [[0, 1], [2]]
    assert (type(failure), str(failure)) == (ValueError, "the camera is gone")


def test_none_and_endless_ones():
    assert run([]) == ([], [], None)
    endless = iter(int, 1)
    source = streamed(endless, lambda image: image, len, together=3, depth=2, step=lambda: None)
    assert [next(source) for _ in range(4)] == [3] * 4
    source.close()


def test_nothing_read_is_kept_while_the_caller_has_a_result():
    class Image: ...

    alive = []

    def read(_):
        image = Image()
        alive.append(weakref.ref(image))
        return image

    for _ in streamed(range(5), read, len, together=2, depth=1, step=lambda: None):
        assert [ref() for ref in alive] == [None] * len(alive)
