"""What a GPU would make of the kernels
====================================

The model of the stored audit: each point is a workload, its time on two GPUs beside that of a copy of as many bytes. A
model is no measurement; ``docs/benchmarks/audit.md`` derives it.
"""

import json

from gallery import INK, ROOT, plt, save

model = json.loads((ROOT / "docs/benchmarks/audit.json").read_text())["model"]
devices = list(dict.fromkeys(each["device"] for each in model))
figure, axes = plt.subplots(1, len(devices), sharey=True, sharex=True, figsize=(8, 3.6))
for place, device in zip(axes, devices, strict=True):
    for limit in dict.fromkeys(each["limit"] for each in model):
        some = [each for each in model if (each["device"], each["limit"]) == (device, limit)]
        copies = [1e6 * each["seconds"] * each["share"] for each in some]
        place.loglog(copies, [1e6 * each["seconds"] for each in some], "o", markersize=3, label=limit)
    place.plot((1, 1000), (1, 1000), color=INK, linestyle=":", linewidth=1, zorder=0)
    place.set(title=f"{device} (model)", xlabel="us of the copy")
axes[0].set_ylabel("us of the workload")
axes[0].legend(title="limited by")
save(figure)
