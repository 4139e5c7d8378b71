"""Streaming: results of many images one after the other, the next ones started before the first is taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from restride.errors import RestrideError

_Read = TypeVar("_Read")
_Made = TypeVar("_Made")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Errors of restride inside begin with what they are about: ``images[2]: ...``."""
    try:
        yield
    except RestrideError as error:
        raise type(error)(f"{what}: {error}") from error


def streamed(
    images: Iterable[Any],
    read: Callable[[Any], _Read],
    make: Callable[[list[_Read]], _Made],
    *,
    together: int,
    depth: int,
    step: Callable[[], None],
) -> Iterator[_Made]:
    """Results of ``together`` images each, the last of fewer; ``depth`` are started when the first is taken.

    What fails, ``images``, ``read`` or ``make``, is raised once everything before it was made and taken: of 7 images in
    pairs the sixth of which is wrong, that is two pairs and the fifth alone. Errors of restride say which image it was.

    Args:
        images: what is read.
        read: the image as ``make`` takes it.
        make: starts the result of some.
        together: images of a result.
        depth: results that may be started and not taken.
        step: called after each image whose result is started.
    """
    started: deque[_Made] = deque()
    source = enumerate(images)
    done = 0
    failure: Exception | None = None
    try:
        while failure is None:
            group, failure = _group(source, read, together)
            if not group:
                break
            last = done + len(group) - 1
            try:
                with naming(
                    f"image {last} of the stream" if last == done else f"images {done} to {last} of the stream"
                ):
                    started.append(make(group))
            except Exception as error:  # noqa: BLE001 - whatever it is, what was started comes first
                failure = error
                break
            group.clear()  # what was uploaded is free again while the caller has a result
            for _ in range(done, last + 1):
                step()
            done = last + 1
            if len(started) == depth:
                yield started.popleft()
        while started:
            yield started.popleft()
        if failure is not None:
            raise failure
    finally:
        failure = None  # it knows this frame, and this frame it


def _group(
    source: Iterator[tuple[int, Any]], read: Callable[[Any], _Read], together: int
) -> tuple[list[_Read], Exception | None]:
    """The next images, as many as there are, and why there are no more of them if that is an error."""
    group: list[_Read] = []
    try:
        while len(group) < together:
            place, image = next(source, (None, None))
            if place is None:
                break
            with naming(f"image {place} of the stream"):
                group.append(read(image))
    except Exception as error:  # noqa: BLE001 - raised by the caller, when its time has come
        return group, error
    return group, None
