"""docs/vision.md: the recipes run, with results that the processors give alone."""

import queue
import re
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from support.judges import judge
from support.process import captured

import restride as rs

pytestmark = pytest.mark.usefixtures("vulkan_device")

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "vision.md").read_text(encoding="utf-8")

RECIPES = {
    part.splitlines()[0]: "\n\n".join(re.findall(r"```python\n(.*?)```", part, re.DOTALL))
    for part in PAGE.partition("\n## Recipes\n")[2].split("\n### ")[1:]
}

PROCESSORS = """
import numpy as np
import restride as rs

clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "size": 32, "crop_size": 32})
qwen = rs.vision.processor({"image_processor_type": "Qwen2VLImageProcessor", "max_pixels": 20_000})
"""

RNG = np.random.default_rng(5)
IMAGES = [RNG.integers(0, 256, (*RNG.integers(30, 90, 2), 3), np.uint8) for _ in range(9)]


def recipe(title):
    """The names that a recipe and the processors make."""
    made = {}
    exec(compile(PROCESSORS + RECIPES[title], f"docs/vision.md, {title}", "exec"), made)
    return made


@pytest.fixture
def paths(tmp_path):
    """Files of the images."""
    pytest.importorskip("PIL.Image")
    written = [tmp_path / f"{place}.png" for place in range(len(IMAGES))]
    for path, image in zip(written, IMAGES, strict=True):
        rs.imwrite(path, image)
    return written


def test_photographs_of_any_kind_are_a_batch(tmp_path, paths):
    pillow = pytest.importorskip("PIL.Image")
    photo = pillow.fromarray(IMAGES[0])
    for mode in ("L", "LA", "P", "RGBA", "CMYK", "1"):
        paths.append(tmp_path / f"photo {mode}.{'jpg' if mode == 'CMYK' else 'png'}")
        photo.convert(mode).save(paths[-1])
    deep = IMAGES[1][..., 0].astype(np.uint16) << 8
    paths.append(tmp_path / "deep.png")
    pillow.fromarray(deep).save(paths[-1])
    made = recipe("Photographs of any kind")
    batch = made["batch"](paths)
    assert batch.shape == (len(paths), 3, 32, 32)
    assert np.array_equal(batch[:9], made["clip"](IMAGES)["pixel_values"])
    assert np.array_equal(batch[-1:], made["clip"](np.repeat(IMAGES[1][..., :1], 3, axis=2))["pixel_values"])


def test_a_server_answers_each_request_with_its_own_rows():
    judge("torch")
    made = recipe("A server")
    requests = queue.Queue()
    wrong = np.zeros((1, 999, 3), np.uint8)  # of a ratio that Qwen refuses
    futures = []
    for image in (*IMAGES[:4], wrong, *IMAGES[4:]):
        futures.append(Future())
        requests.put((image, futures[-1]))
    calls = []
    process = made["qwen"]
    made["qwen"] = lambda images, **others: calls.append(len(images)) or process(images, **others)
    server = threading.Thread(target=made["serve"], args=(requests, 4))
    server.start()
    requests.put(None)
    server.join(60)
    assert not server.is_alive()
    assert calls == [4, 4, 1, 1, 1, 1, 2]
    with pytest.raises(rs.DescriptorError):
        futures.pop(4).result(0)
    for image, future in zip(IMAGES, futures, strict=True):
        patches, grid = future.result(0)
        alone = process(image)
        assert np.array_equal(patches, alone["pixel_values"])
        assert np.array_equal(grid[None], alone["image_grid_thw"])


LOADER = """
if __name__ == "__main__":
    import sys

    paths, start = sys.argv[2:], sys.argv[1]
    workers = [batch["pixel_values"] for batch in computed_by_workers(paths, start)]
    ahead = [batch.numpy() for batch in batches(paths, start)]
    alone = clip([photograph(path) for path in paths])["pixel_values"]
    assert [len(batch) for batch in ahead] == [4, 4, 2]
    assert np.array_equal(np.concatenate(ahead), alone)
    assert np.array_equal(torch.cat(workers), alone)
"""


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_loaders_give_batches_of_the_device(start, tmp_path, paths):
    judge("torch")
    paths.append(tmp_path / "deep.png")
    rs.imwrite(paths[-1], IMAGES[1][..., 0].astype(np.uint16) << 8)
    script = tmp_path / "script.py"
    script.write_text(PROCESSORS + RECIPES["Photographs of any kind"] + RECIPES["torch's DataLoader"] + LOADER)
    ended = captured([sys.executable, str(script), start, *map(str, paths)], timeout=240)
    assert ended.returncode == 0, ended.stderr


class Rows:
    """A dataset with the ``map`` of datasets: batches of columns as lists go in, columns come out."""

    def __init__(self, columns):
        self.columns = columns

    def map(self, function, batched, batch_size, remove_columns):
        assert batched
        length = len(self.columns["image"])
        rows = [slice(start, start + batch_size) for start in range(0, length, batch_size)]
        made = [function({name: column[part] for name, column in self.columns.items()}) for part in rows]
        for part, columns in zip(rows, made, strict=True):
            assert {len(column) for column in columns.values()} == {len(self.columns["image"][part])}
        kept = {name: column for name, column in self.columns.items() if name != remove_columns}
        return Rows(kept | {name: [row for columns in made for row in columns[name]] for name in made[0]})


def test_a_dataset_is_mapped_batch_by_batch():
    made = recipe("datasets.map")
    columns = {"image": IMAGES * 8, "label": list(range(len(IMAGES) * 8))}
    mapped = made["mapped"](Rows(columns)).columns
    assert set(mapped) == {"label", "pixel_values"}
    assert np.array_equal(mapped["pixel_values"], made["clip"](columns["image"])["pixel_values"])
    patches = Rows(columns).map(made["preprocess_patches"], True, 5, None).columns
    for image, values, grid in zip(IMAGES, patches["pixel_values"], patches["image_grid_thw"], strict=False):
        alone = made["qwen"](image)
        assert np.array_equal(values, alone["pixel_values"])
        assert np.array_equal(grid[None], alone["image_grid_thw"])
