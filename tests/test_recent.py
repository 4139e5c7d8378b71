"""Recent: what was used lately is found, what was not is forgotten, and there is a bound."""

from __future__ import annotations

from restride.lru import Recent


def test_what_is_used_stays() -> None:
    recent: Recent[int] = Recent(8)
    recent.keep("used", -1)
    for number in range(100):
        recent.keep(number, number)
        assert recent.get("used") == -1
        assert [recent.get(number - back) for back in range(min(number + 1, 3))] == [
            number - back for back in range(min(number + 1, 3))
        ]
    assert sum(recent.get(number) is not None for number in range(100)) <= 8


def test_everything_is_forgotten() -> None:
    recent: Recent[int] = Recent(8)
    for number in range(8):
        recent.keep(number, number)
    recent.clear()
    assert [recent.get(number) for number in range(8)] == [None] * 8
