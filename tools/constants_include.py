"""Make shaders/include/shared_constants.glsl from src/restride/kernel/shared_constants.py."""

from __future__ import annotations

import runpy
from pathlib import Path

HEAD = """\
// Numbers that plans and kernels share. Made by tools/compile_shaders.py from
// src/restride/kernel/shared_constants.py, which says what they mean.

#ifndef SHARED_CONSTANTS_GLSL
#define SHARED_CONSTANTS_GLSL

"""


def constants_include(source: Path) -> str:
    """The GLSL of the constants in ``source``.

    Raises:
        ValueError: a constant is not a number of 32 bits without sign.
    """
    constants = {name: value for name, value in runpy.run_path(str(source)).items() if name.isupper()}
    for name, value in constants.items():
        if type(value) is not int or not 0 <= value < 1 << 32:
            raise ValueError(f"{source} has {name} = {value!r}, which is not a uint")
    return HEAD + "".join(f"const uint {name} = {value}u;\n" for name, value in constants.items()) + "\n#endif\n"
