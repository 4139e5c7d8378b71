"""A list of living objects does not mind new ones."""

from restride.runtime.live_objects import LiveObjects


def test_a_list_of_the_living_does_not_mind_new_ones():
    class Thing:
        pass

    living, kept = LiveObjects(), [Thing()]
    living.add(kept[0])
    for _ in living:
        kept.append(Thing())
        living.add(kept[-1])
    assert list(living) == kept
    living.discard(kept[0])
    living.discard(kept[0])
    del kept[1]
    assert list(living) == []
