"""Memory traffic of a transpose
=============================

Sectors of 32 bytes that move for 4096 x 4096 f32. Element by element, each store of 4 bytes moves a sector of its own,
if no cache helps. The kernel with tiles in shared memory moves what the stored audit has counted: the fewest.
"""

import json

from gallery import ROOT, plt, save

rows = json.loads((ROOT / "docs/benchmarks/audit.json").read_text())["rows"]
traffic = next(row["traffic"] for row in rows if row["workload"] == "transpose f32 4096x4096")
share = 4096 * 4096 * 4 / traffic["load"]["needed"]  # the audit counts some of the work groups
tiled = [share * traffic[way]["sectors"] * 32 / 2**20 for way in ("load", "store")]
naive = [4096 * 4096 * 4 / 2**20, 4096 * 4096 * 32 / 2**20]
figure, axes = plt.subplots(figsize=(8, 2.4))
for row, (load, store) in enumerate((naive, tiled)):
    axes.barh(row, load, color="C0", label=None if row else "loads")
    bars = axes.barh(row, store, left=load, color="C1", label=None if row else "stores")
    axes.bar_label(bars, [f"{load:.0f} + {store:.0f} MiB"], padding=4)
axes.set(
    yticks=(0, 1), yticklabels=("element by element", "tiles in shared memory"), ylim=(1.6, -0.6), xlabel="MiB moved"
)
axes.legend(loc="lower right")
save(figure)
