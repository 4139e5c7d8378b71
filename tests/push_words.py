"""The push constants of each module by name, as the plans have them."""

from types import SimpleNamespace

from restride.kernel import KernelSpec
from restride.plan.convert import Channels, Last, Planes, Scales
from restride.plan.problem import BlockPush, ChunkPush, FillPush, Push
from restride_conformance.shader.contract import INTERFACES


def words_of(module: str) -> tuple[str, ...]:
    """The names of a module's push constants; () for those whose plan has no names for them."""
    if module.startswith(("transpose", "yuv")):
        return ()
    if module == "digit_copy":  # one module, told by a constant whether it copies or fills
        return ("src_base_or_low", "dst_base", "pieces", "first_word", "high")
    if "fill" in module:
        return FillPush._fields
    if module in ("pixels_to_planes", "planes_to_pixels", "element_rows"):
        return ChunkPush._fields
    if INTERFACES[module].push_words == len(Push._fields):
        return Push._fields
    by_blocks = module.startswith(("resample_rows", "resample_runs", "resample_along", "resample_across"))
    unused = tuple(f"unused_{word}" for word in range(12, 17))
    lanes = Channels._fields if "crop" in module else Planes._fields if "convert_" in module else unused
    return ((BlockPush if by_blocks else Push)._fields) + Scales._fields + lanes + Last._fields


def push_of(kernel: KernelSpec) -> SimpleNamespace:
    """The push constants of a dispatch, by name."""
    return SimpleNamespace(**dict(zip(words_of(kernel.shader), kernel.push, strict=True)))
