"""Tables of one kernel with given figures on an RTX 3090."""

from restride_bench.audit.compiler import Figures, Key
from restride_bench.audit.kernels import Kernel
from restride_bench.audit.table import Table

GOOD = Figures(100, 16, 32, 0, 0, 700, 1, {"load 16": 4, "store 16": 4})


def table_of(
    figures: Figures | str, shader: str = "strided_copy_128", *, version: str = "Mesa 1", for_gpus: bool = True
) -> Table:
    kernel = Kernel(Key(shader, (1,), 3), "a workload", for_gpus)
    return Table.of([kernel], {"ampere": ({"name": "a GPU", "driver": "a driver", "version": version}, [figures])})
