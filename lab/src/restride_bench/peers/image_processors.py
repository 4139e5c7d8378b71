"""transformers: image processors of its PIL backend, in one thread, from arrays to arrays."""

from __future__ import annotations

import json

from restride.dtypes import Array
from restride_measure.offer import Offer, Peer, installed, returning
from restride_measure.workloads import PixelValues, Workload


class Transformers(Peer):
    def __init__(self) -> None:
        installed("transformers.image_processing_backends", "transformers pillow")
        self._transformers = installed("transformers", "transformers pillow")
        self.version = f"{self._transformers.__version__}, Pillow {installed('PIL', 'pillow').__version__}, 1 thread"

    def offer(self, workload: Workload, source: Array) -> Offer | None:
        if not isinstance(workload.task, PixelValues):
            return None
        config = json.loads(workload.task.config)
        name = config.pop("image_processor_type")
        processor = getattr(self._transformers, f"{name}Pil")(**config)
        images = [[image] for image in source]
        return returning(lambda: processor(images, return_tensors="np")["pixel_values"])
