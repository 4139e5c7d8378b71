"""Work on arrays larger than a device or the host, chunk by chunk of the result, with the bits of one large call."""
