"""Records of audits of one kernel with given figures on an RTX 3090."""

from restride_bench.audit.compiler import Figures, Key
from restride_bench.audit.kernels import Kernel
from restride_bench.audit.table import record_of
from restride_conformance.report import Record

GOOD = Figures(100, 16, 32, 0, 0, 700, 1, {"load 16": 4, "store 16": 4})


def audit_of(
    figures: Figures | str,
    shader: str = "strided_copy_128",
    *,
    gpu: str = "ampere",
    version: str = "Mesa 1",
    for_gpus: bool = True,
) -> Record:
    kernel = Kernel(Key(shader, (1,), 3), "a workload", for_gpus)
    return record_of([kernel], {gpu: ({"name": "a GPU", "driver": "a driver", "version": version}, [figures])})
