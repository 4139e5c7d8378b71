"""docs/vision.md: the recipes run, with results that the processors give alone."""

import io
import queue
import re
import sys
import threading
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from support import bad_images
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


def made(name, **config):
    judge("PIL.Image")
    ending = "Processor" if name.endswith("Video") else "ImageProcessor"
    return rs.vision.processor({"image_processor_type": f"{name}{ending}", **config})


def accelerated(name, **config):
    from support.vision_judge import judged

    return rs.compat.transformers.accelerate(judged(name, {"do_convert_rgb": True, **config}))


@pytest.mark.parametrize(("count", "text", "megabytes"), [(16, "that is 159 MB", 159), (1, "time takes 10.9 MB", 10.9)])
def test_the_memory_of_a_call_is_what_the_page_says(vulkan_device, count, text, megabytes):
    """All that a call allocates is kept for the next one, so it is what the call took; on a GPU transfers take more."""
    clip = rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "size": 224, "crop_size": 224})
    said = " ".join(PAGE[PAGE.index("## Memory and threads") : PAGE.index("## Families")].split())
    assert text in said
    with rs.Device() as device:
        (pixels,) = clip([np.zeros((1080, 1920, 3), np.uint8)] * count, device=device).values()
        taken = device.counters().bytes_allocated / 1e6
    assert taken == pytest.approx(megabytes, rel=0.005) if vulkan_device.info.kind == "cpu" else taken >= megabytes
    assert count == 1 or f"{pixels.nbytes / 1e6:.1f} MB of results" in said


IMAGE = RNG.integers(0, 256, (60, 50, 3), np.uint8)
FLOATS = IMAGE / np.float32(255)
WHOLE = {"do_resize": False, "do_center_crop": False}

REFUSED = {
    "two or four channels that are to stay": [lambda: made("ViT")(np.zeros((60, 50, 4), np.uint8))],
    "floats of 0 to 1 that are not resized, or resized twice": [
        lambda: made("CLIP", **WHOLE)(FLOATS),
        lambda: made("Idefics3")(FLOATS),
        lambda: made("CLIP", do_resize=False)(FLOATS),
    ],
    "floats of 0 to 1 that are padded with a colour, as by Janus, DeepseekVL and DeepseekOcr2": [
        lambda: made("Janus")(FLOATS),
        lambda: made("DeepseekVL")(FLOATS),
        lambda: made("DeepseekOcr2")(FLOATS),
        lambda: accelerated("Janus")(FLOATS),
    ],
    "elements below 0 or above 255, or floats above 1 with fractions, that are not resized": [
        lambda: made("CLIP", **WHOLE)(FLOATS - 1),
        lambda: made("CLIP", **WHOLE)(IMAGE.astype(np.int32) - 300),
        lambda: made("CLIP", **WHOLE)(IMAGE.astype(np.int32) + 300),
        lambda: made("CLIP", **WHOLE)(FLOATS + np.float32(0.5)),
    ],
    "other types than u8 that are neither resized, rescaled nor normalized; "
    "f16 and f64 that are neither resized nor rescaled": [
        lambda: made("CLIP", **WHOLE, do_rescale=False, do_normalize=False)(IMAGE.astype(np.int32)),
        lambda: made("CLIP", **WHOLE, do_rescale=False)(IMAGE.astype(np.float64)),
    ],
    "images of bool": [lambda: made("CLIP")(IMAGE > 99)],
    "images of one call, or parts of one image, that end in different sizes and are not padded": [
        lambda: made("CLIP", do_center_crop=False)([IMAGE, IMAGE[:40]]),
        lambda: made("GLPN")([IMAGE, IMAGE.repeat(2, axis=1)]),
        lambda: made("LlavaNext", do_pad=False)([IMAGE, np.zeros((900, 300, 3), np.uint8)]),
        lambda: made("VideoMAE")([[IMAGE, IMAGE], [IMAGE]]),
        lambda: made("Idefics2", do_pad=False, do_image_splitting=True)(np.zeros((901, 300, 3), np.uint8)),
    ],
    "an empty part: a quarter of an image of one column": [
        lambda: made("Idefics2", do_image_splitting=True, do_convert_rgb=None)(np.zeros((60, 1, 3), np.uint8)),
    ],
    "a side of more than 2,097,152 pixels that is resized": [
        lambda: made("Mllama")(np.zeros((2_097_153, 1, 3), np.uint8)),
    ],
    "addresses of the network, in `rs.vision`": [lambda: made("CLIP")("https://example.org/a.png")],
    "segmentation maps, annotations, `prompt_depth=` and other keywords that are no keys": [
        lambda: accelerated("PromptDepthAnything")(IMAGE, prompt_depth=np.ones((60, 50), np.float32)),
        lambda: accelerated("Beit")(IMAGE, segmentation_maps=np.zeros((60, 50))),
        lambda: accelerated("Beit")(IMAGE, np.zeros((60, 50))),
        lambda: accelerated("Detr")(IMAGE, annotations={"image_id": 1, "annotations": []}),
    ],
    '`device="cuda"` of an accelerated processor': [lambda: accelerated("CLIP")(IMAGE, device="cuda")],
    '`return_tensors` "tf" and "jax"': [
        lambda: made("CLIP")(IMAGE, return_tensors="tf"),
        lambda: accelerated("CLIP")(IMAGE, return_tensors="jax"),
    ],
    "a std of 0, and a factor, mean or std that gives infinities": [
        lambda: made("CLIP", image_std=0),
        lambda: made("CLIP", rescale_factor=1e300)(IMAGE),
    ],
    "numbers above the [bounds of configurations](security.md)": [
        lambda: made("GotOcr2", max_patches=1000),
        lambda: made("ViT", size={"height": 30_000, "width": 30_000}).plan((60, 50)),
        lambda: made("LlavaNext", crop_size=[2, 2], image_grid_pinpoints=[[400, 400]]).plan((60, 50)),
        lambda: made("LlavaNext", image_grid_pinpoints=[[1, 1]] * 2000),
    ],
    "Donut with `do_align_long_axis`": [lambda: accelerated("Donut")(IMAGE, do_align_long_axis=True)],
    "Flava with `return_image_mask`": [lambda: accelerated("Flava")(IMAGE, return_image_mask=True)],
    "Flava with `codebook_do_map_pixels` of bytes; Llama4 without rescaling or normalizing": [
        lambda: made("Flava", return_codebook_pixels=True, codebook_do_rescale=False, codebook_do_normalize=False)(
            IMAGE
        ),
        lambda: made("Llama4", do_normalize=False)(IMAGE),
    ],
    "Fuyu with another `padding_mode` than constant": [lambda: made("Fuyu", padding_mode="edge")],
    "Mllama with a size that is no square, in a call": [
        lambda: accelerated("Mllama")(IMAGE, size={"height": 30, "width": 40})
    ],
    "videos with `do_sample_frames`, `fps`, `num_frames` or `cap_pixels_per_frame`": [
        lambda: made("Qwen2VLVideo", do_sample_frames=True),
        lambda: made("Qwen2VLVideo", fps=2),
    ],
    "`resample` 6 and 7": [lambda: made("CLIP", resample=6), lambda: made("CLIP", resample=7)],
}
"""The rows of the table of refusals, with calls that are refused."""

TABLE = PAGE.partition("### Refused, where")[2].partition("\n## ")[0]
ROWS = {
    row.split(" | ")[0].lstrip("| "): row.split(" | ")[1] for row in re.findall(r"^\| .*\|$", TABLE, re.MULTILINE)[2:]
}


def test_the_table_of_refusals_has_these_rows():
    assert list(REFUSED) == list(ROWS)


@pytest.mark.parametrize("row", REFUSED)
def test_what_the_table_says_is_refused_with_its_text(row):
    texts = re.findall(r"`(.*?)`", ROWS[row])
    found = set()
    for call in REFUSED[row]:
        with pytest.raises(rs.RestrideError) as error:
            call()
        said = [text for text in texts if text in str(error.value)]
        assert said, f"{error.value} says none of {texts}"
        found.update(said)
    assert found == set(texts)


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
    for image in (*IMAGES[:4], wrong, IMAGES[4], wrong, *IMAGES[5:]):
        futures.append(Future())
        requests.put((image, futures[-1]))
    futures[6].cancel()
    calls = []
    process = made["qwen"]
    made["qwen"] = lambda images, **others: calls.append(len(images)) or process(images, **others)
    server = threading.Thread(target=made["serve"], args=(requests, 4))
    server.start()
    requests.put(None)
    server.join(60)
    assert not server.is_alive()
    assert calls == [4, 3, 1, 1, 1, 3]
    with pytest.raises(rs.DescriptorError):
        futures.pop(4).result(0)
    assert futures.pop(5).cancelled()
    for image, future in zip(IMAGES, futures, strict=True):
        patches, grid = future.result(0)
        alone = process(image)
        assert np.array_equal(patches, alone["pixel_values"])
        assert np.array_equal(grid[None], alone["image_grid_thw"])


@pytest.mark.filterwarnings("ignore:.*(nested tensors|quantized tensor|Sparse CSR).*:UserWarning")
def test_a_server_survives_every_bad_request(paths):
    made = recipe("A server")
    requests = queue.Queue()
    values = bad_images.values() | bad_images.out_of_range()
    values |= bad_images.of_torch(judge("torch"))
    none, two = np.stack(IMAGES[:1])[:0], np.stack(IMAGES[:1] * 2)
    values |= {"no image": lambda: none, "two images": lambda: two, "a list": lambda: IMAGES[:2], "an empty list": list}
    good = [IMAGES[0], paths[0], paths[0].read_bytes(), io.BytesIO(paths[0].read_bytes())]
    waiting = []
    for place, (name, make) in enumerate(values.items()):
        for image, is_good in ((make(), False), (good[place % len(good)], True)):
            waiting.append((name, is_good, Future()))
            requests.put((image, waiting[-1][-1]))
    requests.put(None)
    server = threading.Thread(target=made["serve"], args=(requests, 4), daemon=True)
    server.start()
    server.join(120)
    assert not server.is_alive()
    right = made["qwen"](IMAGES[0]).pixel_values
    for name, is_good, future in waiting:
        if is_good:
            assert np.array_equal(future.result(0)[0], right), name
        else:
            assert isinstance(future.exception(0), ValueError | NotImplementedError), name


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
