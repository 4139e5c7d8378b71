"""cached_property: computed once, at the first use, also of frozen values."""

from __future__ import annotations

from dataclasses import dataclass

from restride.cached import cached_property


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
