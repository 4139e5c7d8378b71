"""The direct runtime: dependent kernels run in order, with barriers between them only."""

import random
from dataclasses import replace

import numpy as np
import pytest
from support import vulkan_kernels
from support.vulkan_kernels import affine, barriers, bump, table, upload

from restride.kernel import Binding
from restride.runtime.vulkan.queue import MAX_WINDOWS, Hazards
from restride.runtime.vulkan.runtime import VulkanRuntime

modules, runtime, in_place = vulkan_kernels.FIXTURES


def test_barriers_stand_between_dependent_dispatches_only(in_place):
    words = 64
    a, b, c = (in_place.allocate(4 * words) for _ in range(3))
    assert barriers(in_place, [affine(words)], [a, b]) == 0
    assert barriers(in_place, [affine(words)], [a, c]) == 0, "two reads"
    assert barriers(in_place, [affine(words)], [b, c]) == 1, "read after write, write after write"
    assert barriers(in_place, [affine(words)], [b, a]) == 0, "a was last read before the barrier, b is read again"
    assert barriers(in_place, [bump(words)], [b]) == 1, "write after read"
    assert barriers(in_place, [bump(words)], [b]) == 1, "write after write, across submissions"
    assert barriers(in_place, [bump(words)] * 5, [b]) == 5, "within a submission too"
    d, e = in_place.allocate(4 * words), in_place.allocate(4 * words)
    assert barriers(in_place, [affine(words)], [d, e]) == 0, "nothing in common"
    in_place.wait()
    assert barriers(in_place, [table(words, [1, 2, 3, 4])], [in_place.allocate(4 * words)]) == 0


def test_windows_that_do_not_meet_need_no_barrier(in_place):
    memory, source = in_place.allocate(64 * 1024), in_place.allocate(64 * 1024)
    boxes = [affine(256, source=offset, target=offset) for offset in range(0, 64 * 1024, 1024)]
    assert barriers(in_place, boxes, [source, memory]) == 0, "the boxes of a split copy"
    assert barriers(in_place, boxes[::-1], [source, memory]) == 1, "all of them again: one orders them all"
    assert barriers(in_place, boxes, [memory, source]) == 1, "and back"
    third = in_place.allocate(64 * 1024)
    in_place.submit([bump(16)], [third])
    assert barriers(in_place, [affine(4, source=64, target=0)], [third, memory]) == 1, "memory was read"
    assert barriers(in_place, [replace(bump(4), bindings=(Binding(16, 16, writes=True),))], [memory]) == 0, "beside it"
    assert barriers(in_place, [replace(bump(4), bindings=(Binding(0, 4, writes=True),))], [memory]) == 1, "first word"


def test_boxes_that_share_a_word_keep_their_barrier(in_place):
    # Windows are whole words: two boxes of bytes that meet within a word both have it in theirs.
    memory = in_place.allocate(64)
    boxes = [replace(bump(4), bindings=(Binding(16 * box, 20, writes=True),)) for box in range(3)]
    assert barriers(in_place, boxes, [memory]) == 2


def test_a_write_between_reads_is_ordered_against_both(in_place):
    a, b, c = (in_place.allocate(4096) for _ in range(3))
    in_place.submit([affine(64)], [a, b])
    in_place.submit([affine(64, source=1024)], [a, c])
    assert barriers(in_place, [replace(bump(4), bindings=(Binding(1024, 16, writes=True),))], [a]) == 1, "read before"
    assert barriers(in_place, [affine(4, source=1024, target=2048)], [a, b]) == 1, "written before"
    assert barriers(in_place, [affine(4, source=512, target=3072)], [a, b]) == 0, "elsewhere"


class Everything:
    """Hazards as a list of every use since the last barrier, compared one with all."""

    def __init__(self):
        self.uses = []

    def conflict(self, uses):
        needed = any(
            old[0] is new[0] and (old[3] or new[3]) and old[1] < new[2] and new[1] < old[2]
            for old in self.uses
            for new in uses
        )
        self.uses = [*([] if needed else self.uses), *uses]
        return needed


@pytest.mark.parametrize(("words", "exact"), [(64, True), (2, False)])
def test_hazards_are_those_of_all_windows(in_place, words, exact):
    rng = random.Random(11)
    blocks = [in_place.allocate(4096).block for _ in range(3)]
    for block in blocks:
        block.renew()
    hazards, truth = Hazards(), Everything()
    barriers_found = 0
    for _ in range(3000):
        uses = []
        for _ in range(rng.randrange(1, 4)):
            start = 4 * rng.randrange(1000)
            uses.append((rng.choice(blocks), start, start + 4 * rng.randrange(1, 1 + words), rng.random() < 0.1))
        found, expected = hazards.conflict(uses), truth.conflict(uses)
        assert found == expected or (found and not exact)
        if found:
            barriers_found += 1
            truth.uses = uses
        assert all(len(block.reads) <= MAX_WINDOWS and len(block.writes) <= MAX_WINDOWS for block in blocks)
    assert 100 < barriers_found < 2500


def test_past_64_windows_the_whole_block_counts(in_place):
    hazards, block = Hazards(), in_place.allocate(1 << 16).block
    block.renew()
    for number in range(MAX_WINDOWS):
        assert not hazards.conflict([(block, 64 * number, 64 * number + 16, True)])
    assert not hazards.conflict([(block, 32, 36, False)]), "still exact"
    assert not hazards.conflict([(block, 60000, 60016, True)]), "one more"
    assert hazards.conflict([(block, 36, 40, False)]), "not exact any more, and safe"


def test_copies_through_staging_are_ordered_by_their_bytes(modules):
    staged = VulkanRuntime(0, staging=True, module_source=modules)
    memory = upload(staged, np.zeros(4096, np.uint32))
    staged.submit([replace(bump(64), bindings=(Binding(8192, 256, writes=True),))], [memory])
    before = staged.counters().barriers
    staged.read(memory, 0, memoryview(bytearray(4096)))
    assert staged.counters().barriers == before, "the kernel wrote elsewhere"
    out = np.empty(64, np.uint32)
    staged.read(memory, 8192, memoryview(out))
    assert staged.counters().barriers == before + 1
    assert (out == 1).all()
    staged.close()
