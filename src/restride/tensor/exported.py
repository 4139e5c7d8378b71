"""Exported: the memory of a tensor for another program, as a file descriptor and the facts that its import needs."""

from __future__ import annotations

from types import TracebackType
from typing import NoReturn, Self

from restride.errors import DescriptorError
from restride.layout import TensorDesc
from restride.runtime import ExternalMemory
from restride.runtime.open_file import OpenFile


class Exported(ExternalMemory):
    """A tensor's memory for another program: an open file descriptor, which this object owns, and the facts about it.

    ``tensor.export()`` makes it. The descriptor is closed by ``close()``, at the end of a ``with``, and at the latest
    when nothing refers to the object any more; the tensor does not need it, and an import keeps one of its own. Until
    all of them are gone, the memory stays. ``fields()`` has all but the descriptor.

    Attributes:
        nbytes: size of the buffer; whoever binds a buffer of Vulkan to the memory creates it with exactly this size.
        offset: the byte of the allocation at which the buffer begins; 0 in what ``tensor.export()`` makes.
        allocation_bytes, memory_type: of the allocation, as ``VkMemoryAllocateInfo`` has them.
        dedicated: whether the allocation is of this one buffer, as ``VkMemoryDedicatedAllocateInfo`` says it; True in
            what ``tensor.export()`` makes.
        device_uuid, driver_uuid: 32 hexadecimal digits each, as ``VkPhysicalDeviceIDProperties`` has them.
        desc: the text of the tensor's descriptor: where its elements are in the buffer.
    """

    desc: str
    _file: OpenFile

    def __init__(self, file: OpenFile, memory: ExternalMemory, desc: TensorDesc) -> None:
        super().__init__(**vars(memory))
        self.desc = str(desc)
        self._file = file

    @property
    def fd(self) -> int:
        """The open file descriptor; programs that this one starts inherit it only if told to, by ``pass_fds=``.

        Raises:
            DescriptorError: it was closed.
        """
        fd = self._file.fd
        if fd < 0:
            raise DescriptorError(f"this export was closed; tensor.export() makes another, for {self.desc}")
        return fd

    def fields(self) -> dict[str, str | int | bool]:
        """All but the descriptor, as JSON can hold it; ``rs.import_memory(fd=fd, **fields)`` is the way back.

        >>> with rs.empty("s32[2,3]", shareable=True).export() as exported:
        ...     fields = exported.fields()
        >>> fields["nbytes"], fields["offset"], fields["dedicated"], fields["desc"]
        (32, 0, True, 's32[2,3]{1,0}')
        """
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} has a file descriptor of this process and is neither copied nor pickled; send the descriptor by "
            "socket.send_fds, and fields() as JSON"
        )

    def __repr__(self) -> str:
        return f"<restride.Exported {self.desc}, {'closed' if self._file.fd < 0 else f'fd {self._file.fd}'}>"
