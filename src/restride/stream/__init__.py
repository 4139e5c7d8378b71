"""Processing of arrays larger than device or host memory, chunk by chunk, with the same bits as one large call."""
