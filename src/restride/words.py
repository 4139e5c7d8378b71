"""Words of other libraries and commands, and ours for the same things: what an error about an unknown name suggests."""

from __future__ import annotations

from collections.abc import Collection

from restride.errors import did_you_mean

_IMAGE_SIZES = ("sizes=(rows, columns)", "input_sizes=(rows, columns)")
_SCALES = ("scales",)
_FILL = ("fill", "extrapolation_value")

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "shape": ("sizes", "input_sizes"),
    **dict.fromkeys(("size", "output_size", "new_size", "target_size", "dsize", "crop_size"), _IMAGE_SIZES),
    **dict.fromkeys(("img_size", "image_size", "output_shape"), _IMAGE_SIZES),
    **dict.fromkeys(("scale_factor", "scale_factors", "scale", "zoom", "factor", "fx", "fy"), _SCALES),
    **dict.fromkeys(("interpolation", "resample", "method", "resampling", "order", "interp"), ("mode",)),
    "align_corners": ("coordinates='align_corners'",),
    "half_pixel_centers": ("coordinates='half_pixel'",),
    "coordinate_transformation_mode": ("coordinates",),
    "nearest_mode": ("nearest",),
    "cubic_coeff_a": ("cubic_a",),
    **dict.fromkeys(("anti_aliasing", "anti_alias", "antialiasing"), ("antialias",)),
    **dict.fromkeys(("dim", "dims", "axis"), ("axes", "axis")),
    **dict.fromkeys(("input", "img", "src", "array", "tensor", "input_tensor"), ("x", "image")),
    **dict.fromkeys(("image", "photo", "images"), ("x", "image", "images")),
    **dict.fromkeys(("data_format", "memory_format", "data_layout"), ("layout",)),
    **dict.fromkeys(("type", "out_dtype", "output_dtype", "out_type"), ("dtype",)),
    **dict.fromkeys(("cval", "fill_value", "pad_value", "padding_value", "border_value", "value", "color"), _FILL),
    **dict.fromkeys(("box", "bbox", "bboxes", "rois", "roi", "bounding_boxes"), ("boxes",)),
    **dict.fromkeys(("box_indices", "box_ind", "batch_indices"), ("images",)),
    **dict.fromkeys(
        ("keep_aspect_ratio", "keep_ratio", "preserve_aspect_ratio"),
        ("keep_aspect_ratio_policy", "fit=(rows, columns)", "letterbox='center'"),
    ),
    "image_mean": ("mean",),
    "image_std": ("std",),
    **dict.fromkeys(("dst", "output"), ("out",)),
    "device": ("devices=[rs.Device(0)]",),
    **dict.fromkeys(("gpu", "index", "device_id", "name"), ("selector",)),
    **dict.fromkeys(("backend", "api"), ("runtime",)),
    "starts": ("offsets",),
    "steps": ("strides",),
    **dict.fromkeys(("longest_edge", "long_side", "longest"), ("longer",)),
    **dict.fromkeys(("short_side", "shortest", "shortest_edge"), ("shorter",)),
    **dict.fromkeys(("color_space", "channel_order", "pixel_format"), ("input",)),
    **dict.fromkeys(("to_bgr", "bgr", "swap_rb", "swapRB"), ("input='bgr'",)),
}
"""Arguments of other libraries, and restride's arguments with the same meaning; a function may take one of these."""

FUNCTIONS = {
    **dict.fromkeys(("tensor", "array", "as_tensor", "from_numpy", "asanyarray", "to_tensor"), "rs.asarray"),
    **dict.fromkeys(("transpose", "permute", "moveaxis", "swapaxes"), "rs.reorder(x, 'NCHW->NHWC') or x.permute"),
    **dict.fromkeys(("interpolate", "zoom", "upsample", "rescale"), "rs.resample, and rs.resize for images"),
    **dict.fromkeys(("imresize", "thumbnail", "resize_image"), "rs.resize"),
    **dict.fromkeys(("cast", "convert", "astype"), "x.astype or rs.reorder(x, dtype=...)"),
    **dict.fromkeys(("roi_align", "crop_and_resize", "crop", "center_crop"), "rs.crop_resize"),
    **dict.fromkeys(("letterbox", "preprocess", "Compose", "transforms"), "rs.Preprocess"),
    **dict.fromkeys(("open", "load", "read", "read_image", "imdecode"), "rs.imread"),
    **dict.fromkeys(("save", "write", "write_image", "imencode", "imsave"), "rs.imwrite"),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), "rs.xp.concat or rs.xp.stack"),
    **dict.fromkeys(("flip", "fliplr", "flipud"), "x[::-1], along the axis that is to be flipped"),
    **dict.fromkeys(("slice", "narrow", "index_select"), "x[a:b:c] or rs.strided_slice"),
    **dict.fromkeys(("cvtColor", "convert_color"), "rs.to_rgb or rs.yuv_to_rgb"),
    **dict.fromkeys(("device", "set_device", "get_device"), "rs.Device, rs.default_device or rs.set_default_device"),
}
"""Functions of other libraries, and what to call in restride instead."""

METHODS = {
    **dict.fromkeys(
        ("transpose", "swapaxes", "movedim", "moveaxis"), "x.permute with all axes, as x.permute(2, 0, 1), or x.mT"
    ),
    **dict.fromkeys(("cuda", "vulkan", "xpu", "mps"), "x.to(device), with a rs.Device"),
    **dict.fromkeys(("cpu", "to_numpy", "get", "asnumpy"), "x.numpy()"),
    **dict.fromkeys(("view", "flatten", "ravel", "view_as"), "x.reshape, as x.reshape(-1)"),
    **dict.fromkeys(("unsqueeze", "expand_dims"), "x[None] or x[..., None]"),
    "squeeze": "x[0], or x.reshape",
    **dict.fromkeys(("expand", "expand_as"), "x.broadcast_to"),
    **dict.fromkeys(("contiguous", "clone"), "x.copy()"),
    **{
        name: f"x.astype('{dtype}')"
        for name, dtype in (
            ("float", "f32"),
            ("half", "f16"),
            ("bfloat16", "bf16"),
            ("double", "f64"),
            ("byte", "u8"),
            ("char", "s8"),
            ("short", "s16"),
            ("int", "s32"),
            ("long", "s64"),
            ("bool", "pred"),
            ("type", "f32"),
            ("cast", "f32"),
        )
    },
    **dict.fromkeys(("flip", "fliplr", "flipud"), "x[::-1], along the axis that is to be flipped"),
    **dict.fromkeys(("numel", "nelement"), "x.size"),
    "dim": "x.ndim",
    **dict.fromkeys(("stride", "strides"), "x.desc.strides"),
    **dict.fromkeys(("itemsize", "element_size"), "x.dtype.itemsize"),
    **dict.fromkeys(("resize", "interpolate"), "rs.resize or rs.resample"),
    **dict.fromkeys(("save", "show", "tofile"), "rs.imwrite(path, x), or np.save(path, x.numpy())"),
}
"""Methods of other libraries' arrays, and what to write with a Tensor instead."""

COMMANDS = {
    **dict.fromkeys(("convert", "cast", "astype"), "reorder x.npy y.npy --to f16"),
    **dict.fromkeys(("transpose", "permute", "layout"), "reorder x.npy y.npy --layout 'NCHW->NHWC'"),
    **dict.fromkeys(("rescale", "zoom", "interpolate", "upsample"), "resample x.npy y.npy --scales 2 2"),
    **dict.fromkeys(("scale", "thumbnail", "mogrify"), "resize photo.jpg small.jpg --shorter 256"),
    **dict.fromkeys(("flip", "flop", "mirror"), "slice photo.png flipped.png '[:, ::-1]'"),
    **dict.fromkeys(("draw", "print", "describe"), "show LAYOUT"),
    **dict.fromkeys(("info", "list", "gpus"), "devices"),
    **dict.fromkeys(("check", "verify", "validate"), "test smoke"),
    **dict.fromkeys(("benchmark", "speed"), "bench"),
}
"""Commands of other programs, and restride's commands for the same task, with the arguments that they need."""

KEYS = {"image_size": "size", "input_size": "size", "mean": "image_mean", "std": "image_std"}
"""Keys of other programs' configurations, and an image processor's keys for the same; a family may lack some."""

OPTIONS = dict.fromkeys(
    ("--limit", "--max", "--count", "--first", "--sample"),
    ("--shard", "--shard 1/100 runs a hundredth of the cases, -k those that match"),
)
"""Options of other programs: for each, an option of ours and a hint, which is given if the command has that option."""


def option_here(name: str, known: Collection[str]) -> str:
    """The end of an error about an option that is not among the ``known`` ones of a command; may be empty."""
    ours, hint = OPTIONS.get(name, ("", ""))
    return f"; {hint}" if ours in known else did_you_mean(name, known)


def key_here(name: str, known: Collection[str]) -> str:
    """The end of an error about a key that is not among the ``known`` ones of a configuration; may be empty."""
    return f"; it is {KEYS[name]} here" if KEYS.get(name) in known else did_you_mean(name, known)


def argument_here(name: str, known: Collection[str]) -> str:
    """The end of an error about an argument that is not among the ``known`` ones of a function; may be empty.

    For a name in ``ARGUMENTS``, only its counterparts are suggested: a name that merely looks alike would mislead.
    """
    for ours in ARGUMENTS.get(name, ()):
        if ours.partition("=")[0] in known:
            return f"; it is {ours} here"
    return "" if name in ARGUMENTS else did_you_mean(name, known)
