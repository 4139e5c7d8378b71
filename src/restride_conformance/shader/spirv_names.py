"""Names of SPIR-V's numbers, those that messages are likely to need.

Source: SPIR-V specification 1.6, sections 3.3 (execution models), 3.7 (storage classes) and 3.31 (capabilities).
"""

STORAGE_CLASSES = {
    0: "UniformConstant", 1: "Input", 2: "Uniform", 3: "Output", 4: "Workgroup", 5: "CrossWorkgroup", 6: "Private",
    7: "Function", 8: "Generic", 9: "PushConstant", 10: "AtomicCounter", 11: "Image", 12: "StorageBuffer",
    5349: "PhysicalStorageBuffer",
}  # fmt: skip

CAPABILITIES = {
    0: "Matrix", 1: "Shader", 2: "Geometry", 3: "Tessellation", 4: "Addresses", 5: "Linkage", 6: "Kernel",
    9: "Float16", 10: "Float64", 11: "Int64", 12: "Int64Atomics", 22: "Int16", 39: "Int8", 61: "GroupNonUniform",
    62: "GroupNonUniformVote", 63: "GroupNonUniformArithmetic", 64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle", 4433: "StorageBuffer16BitAccess", 4441: "VariablePointersStorageBuffer",
    4442: "VariablePointers", 4448: "StorageBuffer8BitAccess", 5345: "VulkanMemoryModel",
    5347: "PhysicalStorageBufferAddresses",
}  # fmt: skip

EXECUTION_MODELS = {
    0: "Vertex", 1: "TessellationControl", 2: "TessellationEvaluation", 3: "Geometry", 4: "Fragment", 5: "GLCompute",
    6: "Kernel",
}  # fmt: skip
