"""How time grows with size
========================

From the stored run ``docs/benchmarks/growth-llvmpipe.json``, on a CPU: a call costs some 0.1 ms at least, and then as
much as its bytes.
"""

import json

from gallery import ROOT, plt, save

record = json.loads((ROOT / "docs/benchmarks/growth-llvmpipe.json").read_text())
figure, axes = plt.subplots(figsize=(8, 3.8))
points = {}
for result in record["results"]:
    resident = result["measures"].get("resident", {}).get("restride")
    if resident and result["group"] != "axes reversed":
        points.setdefault(result["group"], []).append((result["useful_bytes"], min(resident["seconds"])))
for group, line in points.items():
    axes.loglog(*zip(*sorted(line), strict=True), "s-", markersize=3, label=group)
axes.set(xlabel="bytes read and written", ylabel="seconds of a call", title=record["device"]["driver_version"])
axes.legend()
save(figure)
