"""Descriptors: the layout of a buffer as a value and as a text, and the arithmetic that locates each element."""

from restride.layout.tensor_desc import TensorDesc, as_desc

__all__ = ["TensorDesc", "as_desc"]
