"""rs.compat.transformers: accelerated processors beside transformers' own: results, attributes, keywords, and back."""

import copy
import importlib.util
import inspect
import io
import pickle
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from support import bad_images
from support.judges import judge
from support.process import captured
from support.vision_cases import CONFIGS, drawn_config, drawn_images, pixels, square
from support.vision_judge import judged

import restride as rs
from restride.compat.transformers import accelerate, restore

torch = judge("torch")
transformers = judge("transformers")

pytestmark = [
    pytest.mark.usefixtures("vulkan_device"),
    pytest.mark.filterwarnings("ignore:Passing `min_pixels`:FutureWarning"),
    pytest.mark.filterwarnings("ignore:an image of Pillow has 16 bits"),
    pytest.mark.filterwarnings("ignore:images have floats of 0 to 1"),
]


def endless():
    value = []
    value.append(value)
    return value


IMAGES = [pixels(90, 130), pixels(64, 70), pixels(64, 70, seed=1)]


def require_same(results, expected):
    assert isinstance(results, type(expected))
    assert list(results) == list(expected)
    for key, value in expected.items():
        assert type(results[key]) is type(value), key
        ours, theirs = np.asarray(results[key]), np.asarray(value)
        assert (key, ours.dtype, ours.shape) == (key, theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes(), f"{key} differs"


def require_alike(ours, theirs, where):
    """The same lists in lists, of the same numbers, arrays or tensors."""
    if isinstance(theirs, list | tuple):
        assert isinstance(ours, list), where
        assert len(ours) == len(theirs), where
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            require_alike(one, other, f"{where}[{place}]")
    elif hasattr(theirs, "shape"):
        assert type(ours) is type(theirs), where
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), where
        assert np.array_equal(ours, theirs), where
    else:
        assert (type(ours), ours) == (type(theirs), theirs), where


def both(processor, *arguments, **keywords):
    """The results of transformers, then those of the same object accelerated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = restore(processor)(*arguments, **keywords)
    return accelerate(processor)(*arguments, **keywords), expected


@pytest.mark.parametrize("name", CONFIGS)
def test_results_are_those_of_transformers(name):
    draw = random.Random(name)
    equal = 0
    for kind in ("np", "pt", "np", "pt"):
        config, images = {"do_convert_rgb": True, **drawn_config(draw, name)}, drawn_images(draw)
        try:
            require_same(*both(judged(name, config), images, return_tensors=kind))
            equal += 1
        except rs.RestrideError:  # tests/judges/test_vision.py compares refusals
            continue
        except (ValueError, TypeError, IndexError, ZeroDivisionError):
            continue  # of transformers, for an image
    require_same(*both(judged(name, {}), IMAGES[0], return_tensors="pt"))
    assert equal, "all are refused"


def tokenizer(*special):
    """A tokenizer of a few words."""
    tokenizers = judge("tokenizers")
    words = ["<unk>", "<pad>", "a", "photo", "of", *special]
    table = {word: number for number, word in enumerate(words)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", additional_special_tokens=list(special) or None
    )


def clip():
    return transformers.CLIPProcessor(judged("CLIP", {}), tokenizer())


def qwen():
    class WithoutVideos(transformers.Qwen2VLProcessor):
        def check_argument_for_proper_class(self, name, argument):  # there is no video processor without torchvision
            return super().check_argument_for_proper_class(name, argument) if argument is not None else None

    special = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")
    return WithoutVideos(judged("Qwen2VL", {"max_pixels": 50_000}), tokenizer(*special), None)


def test_a_processor_of_images_and_text():
    text = ["a photo", "photo of", "a"]
    require_same(*both(clip(), images=IMAGES, text=text, padding=True, return_tensors="pt"))


@pytest.mark.parametrize(
    "keywords", [{}, {"size": {"shortest_edge": 3136, "longest_edge": 9000}}, {"patch_size": 16}, {"max_pixels": 9000}]
)
def test_a_processor_that_counts_patches_in_its_text(keywords):
    text = ["a <|image_pad|> photo", "of <|image_pad|>", "<|image_pad|>"]
    results, expected = both(qwen(), images=IMAGES, text=text, padding=True, return_tensors="pt", **keywords)
    require_same(results, expected)


@pytest.mark.parametrize(
    ("name", "keywords"),
    [
        ("CLIP", {"do_resize": False}),
        ("CLIP", {"do_center_crop": None}),
        ("CLIP", {"size": 40, "crop_size": {"height": 30, "width": 20}}),
        ("CLIP", {"size": (40, 50), "do_center_crop": False, "resample": 2}),
        ("CLIP", {"image_mean": (0.5, 0.4, 0.3), "image_std": 0.2, "rescale_factor": 0.01}),
        ("CLIP", {"do_normalize": False, "do_rescale": False, "input_data_format": "channels_last"}),
        ("CLIP", {"image_mean": list(np.float64([0.5, 0.4, 0.3])), "rescale_factor": np.float64(0.01)}),
        ("CLIP", {"data_format": "channels_last", "device": "cpu"}),
        ("ViT", {"size": 60}),
        ("Qwen2VL", {"min_pixels": 3136, "max_pixels": 9000}),
        ("Qwen2VL", {"merge_size": 1, "temporal_patch_size": 1}),
        ("Idefics3", {"return_row_col_info": True}),
        ("Idefics3", {"do_image_splitting": False}),
        ("Flava", {"return_codebook_pixels": True}),
        ("GotOcr2", {"crop_to_patches": True, "max_patches": 3}),
        ("Pixtral", {"patch_size": {"height": 8, "width": 8}}),
        ("Beit", {"segmentation_maps": None}),
        ("Janus", {"image_mean": [0.1, 0.2, 0.3], "do_pad": False}),
    ],
)
def test_keywords_of_one_call_mean_what_they_do_in_transformers(name, keywords):
    processor = judged(name, {"do_convert_rgb": True})
    images = [IMAGES[1]] * 2 if keywords.get("do_resize") is False else IMAGES[1:]
    require_same(*both(processor, images, return_tensors="np", **keywords))
    require_same(*both(processor, images, return_tensors="np"))  # and nothing of them stays


def test_attributes_that_are_changed_later_count():
    processor = accelerate(judged("Qwen2VL", {}))
    processor.merge_size = 1
    processor.size = {"shortest_edge": 3136, "longest_edge": 20_000}
    require_same(*both(processor, IMAGES, return_tensors="pt"))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("CLIP", {"image_mean": np.array([0.1, 0.2, 0.3]), "image_std": np.float32([0.3, 0.2, 0.1])}),
        ("CLIP", {"image_mean": torch.tensor([0.1, 0.2, 0.3])}),
        ("CLIP", {"rescale_factor": np.float32(1 / 255)}),
        ("CLIP", {"size": {"shortest_edge": np.int64(60)}, "resample": np.int64(2)}),
        ("CLIP", {"size": (60, 50), "do_center_crop": np.bool_(False)}),
        ("CLIP", {"do_normalize": None}),
        ("CLIP", {"note": "x", "kind": object()}),  # transformers reads neither
        ("Qwen2VL", {"patch_size": np.int32(16)}),
    ],
)
def test_attributes_are_what_transformers_takes(name, attributes):
    processor = judged(name, {"do_convert_rgb": True})
    for key, value in attributes.items():
        setattr(processor, key, value)
    require_same(*both(processor, IMAGES, return_tensors="np"))


def test_a_class_derived_from_an_accelerated_one():
    processor = accelerate(judged("CLIP", {}))
    own = type("Own", (type(processor),), {"__module__": __name__})()
    require_same(own(IMAGES, return_tensors="np"), processor(IMAGES, return_tensors="np"))
    assert type(copy.deepcopy(own)).__bases__ == type(processor).__bases__
    with pytest.raises(rs.UnsupportedError, match=r"Own of .*test_transformers is no class of transformers"):
        accelerate(own)
    assert type(restore(own)) is type(judged("CLIP", {}))


@pytest.mark.parametrize("name", CONFIGS)
def test_without_return_tensors_results_are_the_same_lists(name):
    compared = 0
    for config in CONFIGS[name][:3]:
        for images in (IMAGES[1:], [pixels(64, 70), pixels(50, 200)]):
            try:
                results, expected = both(judged(name, {"do_convert_rgb": True, **config}), images)
            except (ValueError, TypeError):
                continue  # of transformers, or a configuration that is refused
            assert list(results) == list(expected)
            for key, value in expected.items():
                require_alike(results[key], value, key)
            compared += 1
    assert compared, "all are refused"


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("CLIP", {"do_center_crop": False}),
        ("Siglip", {"size": {"shortest_edge": 60}}),
        ("GLPN", {}),
        ("TextNet", {"size": 50}),
        ("Sam", {"do_pad": False}),
        ("Pixtral", {"do_pad": False}),
        ("Detr", {"do_pad": False, "size": {"shortest_edge": 60, "longest_edge": 100}}),
        ("Janus", {"do_pad": False, "size": square(48)}),
        ("Idefics2", {"do_pad": False}),
        ("VideoMAE", {"do_center_crop": False}),
        ("Flava", {"return_codebook_pixels": True, "do_resize": False, "do_center_crop": False}),
        ("LlavaNext", {"do_pad": False, "size": square(40), "crop_size": square(40)}),
    ],
)
def test_lists_may_have_images_of_several_sizes(name, config):
    images = [pixels(64, 70), pixels(50, 200), pixels(900, 40)]
    results, expected = both(judged(name, {"do_convert_rgb": True, **config}), images)
    for key, value in expected.items():
        require_alike(results[key], value, key)
    assert len({each.shape for each in flat(results["pixel_values"])}) > 1
    with pytest.raises(rs.DescriptorError):
        accelerate(judged(name, {"do_convert_rgb": True, **config}))(images, return_tensors="np")


def flat(value):
    return [each for part in value for each in flat(part)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("name", ["Idefics2", "Idefics3", "VideoMAE", "LlavaOnevision", "Mllama", "Fuyu"])
def test_lists_of_samples(name):
    images = [[pixels(64, 70), pixels(50, 200)], [pixels(64, 70)]] if name != "Fuyu" else [[pixels(64, 70)]] * 2
    for config in ({}, {"do_pad": False}, {"return_row_col_info": True}):
        try:
            results, expected = both(judged(name, {"do_convert_rgb": True, **CONFIGS[name][0], **config}), images)
        except (ValueError, TypeError):
            continue  # a key of another family
        for key, value in expected.items():
            require_alike(results[key], value, key)


LISTS_OF_TORCHVISION = """
import sys, warnings, numpy as np, restride as rs
sys.path.insert(0, sys.argv[1])
from support.judges import judge_of_images
judge_of_images("torchvision")
import transformers
from support.vision_cases import pixels

def form(value):
    if isinstance(value, (list, tuple)):
        return [form(each) for each in value]
    return (type(value).__name__, tuple(value.shape), str(value.dtype)) if hasattr(value, "shape") else value

warnings.simplefilter("ignore")
images, compared = [pixels(64, 70), pixels(50, 200)], 0
names = "CLIP Detr Fuyu GotOcr2 Kimi_K25 LlavaNext Llama4 MaskFormer Pixtral Qwen2VL RTDetr Sam2 Siglip2 TextNet"
for name in sys.argv[2:] or [*names.split(), "VideoMAE"]:
    processor = getattr(transformers, f"{name}ImageProcessor")()
    expected = processor(images)
    found = rs.compat.transformers.accelerate(processor, bits="pil")(images)
    for key, value in expected.items():
        assert form(found[key]) == form(value), (name, key, form(found[key]), form(value))
    compared += 1
print(compared)
"""


def test_lists_of_torchvisions_processors_have_tensors():
    if importlib.util.find_spec("torchvision") is None:
        judge("torchvision")
    ended = captured([sys.executable, "-c", LISTS_OF_TORCHVISION, str(Path(__file__).parents[1])])
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) == 15


@pytest.mark.parametrize(
    ("name", "attributes", "keywords"),
    [
        *((name, {"resample": own}, {"resample": 0}) for name in ("Janus", "DeepseekVL") for own in (1, 3, 0)),
        ("CLIP", {}, {"resample": 0}),
        ("ViT", {}, {"resample": 0}),
        ("Pixtral", {"patch_size": square(8)}, {"patch_size": 0}),
        *(("Mllama", {}, {key: value}) for key in ("do_pad", "do_resize") for value in (False, None)),
        ("GLPN", {}, {"resample": None}),
        ("MiniCPMV4_6", {}, {"resample": None}),
        ("GLPN", {}, {"do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": 0.5}),
        *(
            (name, {}, {"image_mean": mean})
            for name in ("Janus", "DeepseekVL", "LlavaOnevision")
            for mean in (0.5, [0.1, 0.2, 0.3], [0.7, 300.0, 0.5])
        ),
        ("Janus", {"image_mean": (0.1, 0.2, 0.3)}, {}),
        ("LlavaOnevision", {"image_mean": (0.1, 0.2, 0.3)}, {}),
    ],
)
def test_attributes_that_a_class_takes_in_place_of_keywords(name, attributes, keywords):
    processor = judged(name, {"do_convert_rgb": True})
    for key, value in attributes.items():
        setattr(processor, key, value)
    images = [IMAGES[1:]] if name == "LlavaOnevision" else IMAGES[1:]
    require_same(*both(processor, images, return_tensors="np", **keywords))


def test_results_may_stay_on_the_device(vulkan_device):
    processor = accelerate(judged("CLIP", {}), device=vulkan_device)
    resident = processor(IMAGES, return_tensors="restride")["pixel_values"]
    assert (type(resident), resident.device) == (rs.Tensor, vulkan_device)
    assert np.array_equal(resident.numpy(), processor(IMAGES, return_tensors="np")["pixel_values"])


def test_a_refused_change_leaves_the_processor_as_it_was():
    processor = accelerate(judged("CLIP", {}))
    before = type(processor)
    processor.resample = 7
    with pytest.raises(rs.UnsupportedError, match="resample 7"):
        accelerate(processor)
    assert type(processor) is before


def test_the_object_stays_what_it_is(tmp_path):
    processor, own = clip(), clip()
    images, before = processor.image_processor, type(processor.image_processor)
    assert accelerate(processor) is processor
    assert accelerate(processor).image_processor is images
    assert isinstance(images, before)
    assert (type(images).__name__, type(images).__module__) == (before.__name__, before.__module__)
    assert repr(processor) == repr(own)
    assert (images.to_dict(), vars(images)) == (own.image_processor.to_dict(), vars(own.image_processor))
    assert images.model_input_names == ["pixel_values"]
    assert inspect.signature(images.preprocess) == inspect.signature(own.image_processor.preprocess)
    processor.save_pretrained(tmp_path)
    assert repr(rs.vision.processor(tmp_path)) == repr(rs.vision.processor(own.image_processor.to_dict()))
    for again in (pickle.loads(pickle.dumps(images)), copy.deepcopy(images)):
        assert (type(again) is not before, vars(again)) == (True, vars(images))
        require_same(again(IMAGES, return_tensors="np"), images(IMAGES, return_tensors="np"))
    assert restore(processor) is processor
    assert type(images) is before
    assert type(restore(images)) is before


def test_torch_reads_the_memory_of_a_cpu(vulkan_device):
    processor = accelerate(judged("CLIP", {}), device=vulkan_device)
    processor(IMAGES, return_tensors="pt")
    before = vulkan_device.counters()
    pixel_values = processor(IMAGES, return_tensors="pt")["pixel_values"]
    after = vulkan_device.counters()
    assert after.submissions - before.submissions == 1
    copied = after.downloaded - before.downloaded
    assert copied == (0 if vulkan_device.info.kind == "cpu" else pixel_values.nbytes)
    kept = pixel_values.clone()
    processor(IMAGES[::-1], return_tensors="pt")
    assert torch.equal(pixel_values, kept)


WITH_TORCHVISION = """
import sys, numpy as np, restride as rs
sys.path.insert(0, sys.argv[1])
from support.judges import judge_of_images
judge_of_images("torchvision")
from transformers import CLIPImageProcessor, CLIPImageProcessorPil
fast, image = CLIPImageProcessor(), np.repeat(np.eye(64, dtype=np.uint8)[..., None] * 255, 3, axis=2)
try: rs.compat.transformers.accelerate(fast)
except rs.UnsupportedError as error: print(error)
rs.compat.transformers.accelerate(fast, bits="pil")
ours, right = (each(image, return_tensors="pt")["pixel_values"] for each in (fast, CLIPImageProcessorPil()))
print(type(ours).__name__, ours.equal(right))
"""


def test_bits_of_torchvision_are_not_changed_unasked():
    if importlib.util.find_spec("torchvision") is None:
        judge("torchvision")
    ended = captured([sys.executable, "-c", WITH_TORCHVISION, str(Path(__file__).parents[1])])
    assert ended.returncode == 0, ended.stderr
    refusal, result = ended.stdout.splitlines()
    assert refusal == (
        "CLIPImageProcessor has transformers' torchvision backend, which resizes to other bits than Pillow: pass "
        'bits="pil" to have Pillow\'s, or load it with backend="pil"'
    )
    assert result == "Tensor True"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: accelerate({}),
            rs.DescriptorError,
            "processor must be an image processor of transformers 5.24.0, or ",
        ),
        (lambda: restore(3), rs.DescriptorError, "processor must be an image processor of transformers"),
        (lambda: accelerate(judged("CLIP", {}), bits="fast"), rs.DescriptorError, "bits must be one of None, 'pil'"),
        (lambda: accelerate(judged("Owlv2", {})), rs.UnsupportedError, "'Owlv2ImageProcessorPil' is not done"),
        (lambda: accelerate(judged("ViT", {"resample": 7})), rs.UnsupportedError, "resample 7, MKS2013 or MKS2021"),
        (
            lambda: accelerate(type("Own", (type(judged("CLIP", {})),), {})()),
            rs.UnsupportedError,
            "Own of .*test_transformers is no class of transformers",
        ),
        (
            lambda: accelerate(judged("Beit", {}))(IMAGES[0], segmentation_maps=np.zeros((90, 130))),
            rs.UnsupportedError,
            "keywords such as segmentation_maps= are not done by rs.vision: rs.compat.transformers.restore",
        ),
        (
            lambda: accelerate(judged("Beit", {}))(IMAGES[0], np.zeros((90, 130))),
            rs.UnsupportedError,
            "annotations and segmentation maps are not done",
        ),
        (
            lambda: accelerate(judged("CLIP", {}))(IMAGES[0], size=10**400),
            rs.DescriptorError,
            "size.shortest_edge must be",
        ),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], size=endless()), rs.DescriptorError, "'size' of a configur"),
        (
            lambda: accelerate(judged("CLIP", {}))(IMAGES[0], size={(1, 2): 3}),
            rs.DescriptorError,
            "that JSON has: keys",
        ),
        (
            lambda: accelerate(judged("Mllama", {}))(IMAGES[0], max_image_tiles=10**4),
            rs.DescriptorError,
            "max_image_tiles must be at most 256, got 10000",
        ),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], do_resiz=False), rs.UnsupportedError, "do_resiz="),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], device="cuda:1"), rs.UnsupportedError, "device='cuda:1'"),
        (lambda: accelerate(judged("CLIP", {}), device="cuda"), rs.DescriptorError, "device must be a restride.Device"),
        (lambda: accelerate(judged("CLIP", {}), device=("nvidia", 0, 1)), rs.DescriptorError, "device must be a"),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], size="large"), rs.DescriptorError, "size must be"),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], resample=object()), rs.DescriptorError, "resample must be"),
        (lambda: accelerate(judged("CLIP", {}))(IMAGES[0], return_tensors="tf"), rs.DescriptorError, "return_tensors"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.filterwarnings("ignore:.*(nested tensors|quantized tensor|Sparse CSR).*:UserWarning")
def test_what_is_no_image_is_refused_by_its_number():
    clip = accelerate(judged("CLIP", {"size": {"shortest_edge": 32}, "crop_size": 32}))
    values = bad_images.values() | bad_images.out_of_range() | bad_images.of_torch(torch)
    for name, make in values.items():
        with pytest.raises((rs.DescriptorError, rs.UnsupportedError), match=r"^images\[1\]: ") as error:
            clip([IMAGES[0], make()])
        assert not name.startswith(("no file", "long path")) or "transformers cannot load" in str(error.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [("", "it is a folder"), ("none.jpg", "there is no such file, and it is neither an address nor base64")],
)
def test_a_path_that_is_no_file_is_an_error_of_one_line(name, why, tmp_path):
    with pytest.raises(rs.DescriptorError, match=rf"^images\[0\]: transformers cannot load '.*: {why}") as error:
        accelerate(judged("CLIP", {}))(str(tmp_path / name))
    assert "Incorrect" not in str(error.value)


def test_files_in_any_form_are_images(tmp_path):
    clip = accelerate(judged("CLIP", {"size": {"shortest_edge": 32}, "crop_size": 32}))
    path = tmp_path / "cat.png"
    rs.imwrite(path, IMAGES[0])
    expected = clip(IMAGES[0])["pixel_values"]
    for file in (str(path), path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        assert np.array_equal(clip([[file]])["pixel_values"], expected)


def test_another_version_is_named(monkeypatch):
    monkeypatch.setattr(transformers, "__version__", "5.99.0")
    with pytest.warns(UserWarning, match=r"transformers 5\.99\.0 was not compared with rs\.vision, 5\.24\.0 was"):
        accelerate(judged("CLIP", {}))
