"""LRU: what was used lately is found, what was not is forgotten, and there is a bound."""

from __future__ import annotations

from restride.lru import LRU


def test_what_is_used_stays() -> None:
    lru: LRU[int] = LRU(8)
    lru.put("used", -1)
    for number in range(100):
        lru.put(number, number)
        assert lru.get("used") == -1
        assert [lru.get(number - back) for back in range(min(number + 1, 3))] == [
            number - back for back in range(min(number + 1, 3))
        ]
    assert sum(lru.get(number) is not None for number in range(100)) <= 8


def test_everything_is_forgotten() -> None:
    lru: LRU[int] = LRU(8)
    for number in range(8):
        lru.put(number, number)
    lru.clear()
    assert [lru.get(number) for number in range(8)] == [None] * 8
