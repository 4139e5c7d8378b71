"""A shader of somebody else in the place of one of ours: compiled, checked against the contract, put to the cases.

The contract is ``shaders/README.md``; ``contract.py`` holds what of it can be checked before a driver sees the shader.
"""

from restride_conformance.shader.contract import CONTRACT, module_named
from restride_conformance.shader.door import module_source, shader_under_test
from restride_conformance.shader.part import RuntimeUnderTest, TakesNoPart, put_to_test

__all__ = [
    "CONTRACT",
    "RuntimeUnderTest",
    "TakesNoPart",
    "module_named",
    "module_source",
    "put_to_test",
    "shader_under_test",
]
