"""Write tests/vision/vectors.txt: what transformers' PIL backend gives for small images, as hashes.

    python tools/make_vision_vectors.py

It needs transformers and Pillow of the versions that the file names. Images are ``pixels`` of
tests/support/vision_cases.py and configurations those of ``vectors`` there. A line has the name of a case and its
results, null for a refusal. Every run writes the same file.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

VECTORS = ROOT / "tests" / "vision" / "vectors.txt"


def fingerprint(results: Any) -> dict[str, Any]:
    """The type, sizes and hash of each array; other results, such as lists of numbers, as JSON."""
    return {
        key: [value.dtype.name, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()[:16]]
        if isinstance(value, np.ndarray)
        else json.loads(json.dumps(value, default=int))
        for key, value in results.items()
    }


def main() -> None:
    import PIL
    from support.vision_cases import VECTOR_SIZES, pixels, vectors
    from support.vision_judge import judged, transformers

    images = [pixels(height, width, seed=place) for place, (height, width) in enumerate(VECTOR_SIZES)]
    found = {}
    for name, family, config in vectors():
        try:
            found[name] = fingerprint(judged(family, config)(images, return_tensors="np"))
        except Exception as error:  # noqa: BLE001 - whatever transformers raises is a refusal
            print(f"{name}: {error}", file=sys.stderr)
            found[name] = None
    lines = [f"# transformers {transformers.__version__}, Pillow {PIL.__version__}: python tools/{Path(__file__).name}"]
    lines += [f"{name}: {json.dumps(results)}" for name, results in found.items()]
    VECTORS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
