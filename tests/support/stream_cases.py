"""Seeded cases of chunked work: a source, a chain of operations on it, the result of single calls, and its chunks."""

from __future__ import annotations

import itertools
import os
import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from support.sampled import FULL, SEED

import restride as rs
from restride.request import LIBRARIES, MODES

COUNT = int(os.environ.get("RESTRIDE_STREAM_CASES", "300" if FULL else "30"))
"""Number of cases of each test."""

TYPES = ("u8", "s8", "u16", "s16", "s32", "f16", "bf16", "f32")
MOVED = ("u8", "s64", "u64", "f64", "pred", "f8e4m3fn")

LIKE = [
    {"like": like, "mode": mode} | ({"antialias": True} if is_antialiased else {})
    for like, profile in LIBRARIES.items()
    for mode, known in profile.modes.items()
    for is_antialiased in ([False] if known.antialiased is None else [False, True])
]
"""Every mode of every library."""


@dataclass(frozen=True)
class Case:
    """One case: ``chain`` on a source of ``sizes`` and ``dtype``; ``chunks`` of the result, and of a chunked source."""

    seed: str
    sizes: tuple[int, ...]
    dtype: str
    chain: rs.Chain
    chunks: tuple[int, ...]
    source_chunks: tuple[int, ...]

    @property
    def work(self) -> rs.WindowedChain:
        """The chain for the source."""
        return self.chain.of(self.sizes, self.dtype)

    def __str__(self) -> str:
        return f"{self.seed}: {self.dtype}{list(self.sizes)} {self.chain} in {self.chunks}"

    @cached_property
    def source(self) -> np.ndarray:
        """Elements with all kinds of bits, but without NaN, because a window may change the sign of a NaN."""
        numbers = np.random.default_rng(abs(hash(self.sizes)) % 1000)
        dtype = rs.TensorDesc(self.dtype, self.sizes).dtype
        if dtype == "pred":
            return numbers.integers(0, 2, self.sizes).astype(bool)
        if dtype.is_float:
            return (numbers.normal(size=self.sizes) * 50).astype(dtype.dtype)
        info = np.iinfo(dtype.dtype)
        return numbers.integers(info.min, info.max, self.sizes, dtype=dtype.dtype, endpoint=True)

    def whole(self, device: rs.Device | None = None) -> np.ndarray:
        """The result of one call of each operation on the whole source."""
        x = rs.asarray(self.source, device=device)
        for operation in self.chain.operations:
            is_slice = operation.name == "slice"
            x = x[operation.arguments["key"]] if is_slice else getattr(rs, operation.name)(x, **operation.arguments)
        return x.numpy()


def windows(sizes, chunks):
    """The windows of all chunks."""
    starts = [range(0, size, chunk) for size, chunk in zip(sizes, chunks, strict=True)]
    for corner in itertools.product(*starts):
        ends = zip(corner, chunks, sizes, strict=True)
        yield tuple(slice(start, min(start + chunk, size)) for start, chunk, size in ends)


def cases(count: int = COUNT, salt: str = "") -> list[Case]:
    """The first cases; another salt gives others."""
    return [_case(f"{SEED}{salt}-{place}") for place in range(count)]


def interrupted(salt: str) -> list[Case]:
    """Other cases, a tenth as many but at least 3, that have elements to read and to write."""
    count = max(COUNT // 10, 3)
    some = (case for case in cases(2 * count, salt) if 0 not in (*case.sizes, *case.work.sizes))
    return list(itertools.islice(some, count))


def _case(seed: str) -> Case:
    draw = random.Random(seed)
    while True:
        rank = draw.choice((2, 2, 3, 3, 4))
        most = {2: 70, 3: 34, 4: 14}[rank]
        sizes = tuple(draw.choice((1, draw.randint(2, most), draw.randint(2, most))) for _ in range(rank))
        if draw.random() < 0.04:
            sizes = (*sizes[:-1], 0)
        dtype = draw.choice(TYPES)
        chain = _chain(draw, sizes, dtype)
        if chain is None:
            dtype = draw.choice(MOVED)
            chain = _moves(draw, sizes)
        try:
            work = chain.of(sizes, dtype)
        except rs.RestrideError:
            continue  # a library that has no such mode of the type, or a chain that does not fit the sizes
        chunks = tuple(draw.choice((max(size, 1), size + 3, draw.randint(1, max(size, 1)))) for size in work.sizes)
        most = {1: 40, 2: 8, 3: 4}.get(len(chunks), 3)  # chunks along an axis
        chunks = tuple(max(chunk, -(-size // most), 1) for chunk, size in zip(chunks, work.sizes, strict=True))
        source_chunks = tuple(draw.randint(1, max(size, 1)) for size in sizes)
        return Case(seed, sizes, dtype, chain, chunks, source_chunks)


def _chain(draw: random.Random, sizes: tuple[int, ...], dtype: str) -> rs.Chain | None:
    if draw.random() < 0.15 or 0 in sizes:
        return None
    chain = rs.Chain()
    if draw.random() < 0.3:
        chain = chain[_index(draw, sizes)]
        sizes = chain.of(sizes, dtype).sizes
    if draw.random() < 0.8 and sizes:
        chain = _resampled(draw, chain, sizes)
    then = draw.choice(("none", "none", "quantize", "reorder", "normalize", "groups"))
    rank = len(chain.of((2,) * 8, dtype).sizes) if not sizes else len(sizes)
    letters = "ABCDEFGH"[:rank]
    order = "".join(draw.sample(letters, rank))
    layout = None if draw.random() < 0.4 else f"{letters}->{order}"
    if then == "quantize":
        return chain.quantize(draw.choice((0.5, 3.0)), draw.randint(0, 9), dtype="u8", layout=layout)
    if then == "reorder":
        return chain.reorder(layout, draw.choice(("f32", "bf16", "u8", "s16", "f8e5m2")))
    if then == "normalize":
        return chain.normalize(0.25, 0.5, layout=layout)
    if then == "groups":
        return _grouped(draw, chain, sizes, layout)
    return chain


def _grouped(draw: random.Random, chain: rs.Chain, sizes: tuple[int, ...], layout: str | None) -> rs.Chain:
    """Add scales in groups along an axis. Some are 1, so that chunks differ in the steps that they need."""
    out = [operation for operation in chain.operations if operation.name == "resample"]
    axis = draw.randrange(len(sizes)) if sizes else 0
    if out or not sizes:
        return chain.reorder(layout, "f16", src_scale=2.0)
    group = draw.randint(1, 5)
    shape = [1] * len(sizes)
    shape[axis] = -(-sizes[axis] // group)
    scales = np.random.default_rng(group).choice([1.0, 0.5, 3.0], shape)
    groups = [group if place == axis else 1 for place in range(len(sizes))]
    return chain.reorder(layout, "f16", src_scale=scales, group_sizes=groups)


def _resampled(draw: random.Random, chain: rs.Chain, sizes: tuple[int, ...]) -> rs.Chain:
    count = draw.randint(1, min(len(sizes), 3))
    axes = tuple(sorted(draw.sample(range(len(sizes)), count)))
    asked: dict[str, object]
    if len(sizes) >= 2 and draw.random() < 0.3:
        asked = dict(draw.choice(LIKE))
        axes = tuple(sorted(draw.sample(range(len(sizes)), 2)))
        if draw.random() < 0.7:
            axes = (0, 1)
    else:
        asked = {"mode": draw.choice(MODES)}
        if asked["mode"] in ("linear", "cubic"):
            asked["antialias"] = draw.random() < 0.5
            asked["coordinates"] = draw.choice(("half_pixel", "align_corners", "asymmetric"))
            if draw.random() < 0.2:
                crop = [0.2] * len(axes) + [draw.choice((0.7, 1.4))] * len(axes)
                asked |= {"coordinates": "tf_crop_and_resize", "roi": crop, "extrapolation_value": 3.0}
    if draw.random() < 0.3 and "like" not in asked:
        return chain.resample(scales=tuple(draw.choice((0.5, 2.0, 0.3)) for _ in axes), axes=axes, **asked)
    new = tuple(draw.choice((1, draw.randint(1, 60), max(sizes[axis] // 2, 1))) for axis in axes)
    if draw.random() < 0.3:
        asked["dtype"] = draw.choice(("f32", "f16", "u8"))
    return chain.resample(new, axes=axes, **asked)


def _moves(draw: random.Random, sizes: tuple[int, ...]) -> rs.Chain:
    letters = "ABCDEFGH"[: len(sizes)]
    chain = rs.Chain().reorder(f"{letters}->{''.join(draw.sample(letters, len(sizes)))}")
    return chain if 0 in sizes else rs.Chain().resample((5,), axes=(0,), mode="nearest").reorder(
        chain.operations[0].arguments["layout"]
    )  # fmt: skip


def _index(draw: random.Random, sizes: tuple[int, ...]) -> tuple[object, ...]:
    key: list[object] = []
    for size in sizes:
        kinds = ("all", "part", "step", "back", "new") if key else ("all", "part", "step", "back", "index")
        kind = draw.choice(kinds)
        if kind == "index" and len(sizes) > 2:
            key.append(draw.randrange(-size, size))
        elif kind == "part":
            start = draw.randrange(size)
            key.append(slice(start, draw.randint(start + 1, size)))
        elif kind == "step":
            key.append(slice(None, None, draw.randint(1, 4)))
        elif kind == "back":
            key.append(slice(None, None, -draw.randint(1, 3)))
        else:
            key.append(slice(None))
            if kind == "new" and len(sizes) < 4:
                key.append(None)
    return tuple(key)


def require_all_windows(chain: rs.Chain, x: np.ndarray, whole: np.ndarray, axis: int, device: rs.Device) -> None:
    """Require that every window along an axis equals that part of the whole, and reads what ``source_window`` says."""
    work = chain.of(x.shape, x.dtype)
    for start in range(work.sizes[axis] + 1):
        for stop in range(start, work.sizes[axis] + 1):
            window = tuple(slice(start, stop) if at == axis else slice(None) for at in range(len(work.sizes)))
            part = work.compute(x[work.source_window(window)], window, device)
            assert part.tobytes() == whole[window].tobytes(), window
