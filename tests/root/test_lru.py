"""LRU: what was used lately is found, what was not is forgotten, and there is a bound; and attributes kept."""

from __future__ import annotations

from dataclasses import dataclass

from restride.lru import LRU, cached_property


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


@dataclass(frozen=True)
class Square:
    side: int
    computed = 0

    @cached_property
    def area(self) -> int:
        """Its area."""
        type(self).computed += 1
        return self.side**2


def test_it_is_computed_at_the_first_use_of_each_object_and_kept() -> None:
    Square.computed = 0
    small, large = Square(2), Square(3)
    assert Square.computed == 0
    assert [small.area, small.area, large.area, small.area] == [4, 4, 9, 4]
    assert Square.computed == 2
    assert Square.area.__doc__ == "Its area."
    assert small == Square(2), "what is kept is no field"
