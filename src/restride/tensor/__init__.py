"""Tensors: device buffers with descriptors, and how host arrays and images become tensors and the reverse."""
