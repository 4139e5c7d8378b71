"""One copy between two blocks by the device, in order with the dispatches."""

from __future__ import annotations

from restride.runtime.loader import struct
from restride.runtime.vk_memory import Block
from restride.runtime.vk_session import Session


def start_copy(
    session: Session, source: Block, source_offset: int, target: Block, target_offset: int, nbytes: int
) -> int:
    """Start a copy of ``nbytes`` > 0 bytes, at any offsets in two blocks; its ticket."""
    uses = [
        (source, source_offset, source_offset + nbytes, False),
        (target, target_offset, target_offset + nbytes, True),
    ]
    region = struct(
        "VkBufferCopy",
        srcOffset=source.offset + source_offset,
        dstOffset=target.offset + target_offset,
        size=nbytes,
    )
    session.make_room()
    with session.lock:
        session.enter()
        queue = session.queue
        slot = queue.begin(uses)
        try:
            if queue.hazards.conflict(uses):
                queue.barrier(slot)
            session.device.vk.vkCmdCopyBuffer(slot.command, source.chunk.buffer, target.chunk.buffer, 1, region)
            return queue.finish(slot, uses)
        except BaseException:
            queue.abandon(slot)
            raise
