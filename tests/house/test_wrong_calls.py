"""Calls that a newcomer gets wrong, and what the errors say: our word for another library's, the nearest, a way on."""

from __future__ import annotations

import numpy as np
import pytest
from support.judges import judge

import restride as rs

TABLE = r"""
rs.resample(photo, size=(24, 32))
    TypeError: resample() got an unexpected keyword argument 'size'; it is sizes=(rows, columns) here
rs.resize(photo, size=(32, 24))
    TypeError: resize() got an unexpected keyword argument 'size'; it is sizes=(rows, columns) here
rs.crop_resize(photo, [(0, 0, 9, 9)], target_size=(32, 24))
    TypeError: crop_resize() got an unexpected keyword argument 'target_size'; it is sizes=(rows, columns) here
rs.Preprocess(output_size=(32, 24))
    TypeError: Preprocess() got an unexpected keyword argument 'output_size'; it is sizes=(rows, columns) here
rs.strided_slice(x, (0, 0, 0), shape=(1, 1, 1), strides=(1, 1, 1))
    TypeError: strided_slice() got an unexpected keyword argument 'shape'; it is sizes here
rs.resample(photo, scale_factor=0.5)
    TypeError: resample() got an unexpected keyword argument 'scale_factor'; it is scales here
rs.resample(photo, dsize=(32, 24))
    TypeError: resample() got an unexpected keyword argument 'dsize'; it is sizes=(rows, columns) here
rs.resample(photo, (24, 32), axes=(0, 1), align_corners=True)
    TypeError: resample() got an unexpected keyword argument 'align_corners'; it is coordinates='align_corners' here
rs.resample(photo, (24, 32), axes=(0, 1), interpolation="linear")
    TypeError: resample() got an unexpected keyword argument 'interpolation'; it is mode here
rs.resample(photo, (24, 32), axis=(0, 1))
    TypeError: resample() got an unexpected keyword argument 'axis'; it is axes here
rs.resample(photo, (24, 32), axes=(0, 1), anti_aliasing=True)
    TypeError: resample() got an unexpected keyword argument 'anti_aliasing'; it is antialias here
rs.resample(photo, (24, 32), axes=(0, 1), half_pixel_centers=True)
    TypeError: resample() got an unexpected keyword argument 'half ... _centers'; it is coordinates='half_pixel' here
rs.resample(photo, (24, 32), axes=(0, 1), coordinate_transformation_mode="asymmetric")
    TypeError: resample() got an unexpected keyword argument 'coor ... e_transformation_mode'; it is coordinates here
rs.resample(photo, (24, 32), axes=(0, 1), nearest_mode="floor")
    TypeError: resample() got an unexpected keyword argument 'nearest_mode'; it is nearest here
rs.resample(photo, (24, 32), axes=(0, 1), cubic_coeff_a=-0.5)
    TypeError: resample() got an unexpected keyword argument 'cubic_coeff_a'; it is cubic_a here
rs.resample(photo, (24, 32), axes=(0, 1), data_format="NHWC")
    TypeError: resample() got an unexpected keyword argument 'data_format'; it is layout here
rs.resample(photo, (24, 32), axes=(0, 1), out_dtype="f32")
    TypeError: resample() got an unexpected keyword argument 'out_dtype'; it is dtype here
rs.resample(photo, (24, 32), axes=(0, 1), mdoe="linear")
    TypeError: resample() got an unexpected keyword argument 'mdoe'. Did you mean 'mode'?
rs.resample(photo, (24, 32), axes=(0, 1), colour="red")
    TypeError: resample() got an unexpected keyword argument 'colour'
rs.resample(photo, 24)
    DescriptorError: sizes must be a sequence of integers, one per ... e.g. (24, 24), got 24, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24.5, 32), axes=(0, 1))
    DescriptorError: sizes[0] must be an integer, got 24.5 (float), for u8[48,64,3]{2,1,0}
rs.resample(photo, "24x32", axes=(0, 1))
    DescriptorError: sizes must be a sequence of integers, got '24x32' (str), for u8[48,64,3]{2,1,0}
rs.resample(photo)
    DescriptorError: resample needs sizes or scales, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), mode="linaer")
    DescriptorError: mode 'linaer' is not one of 'nearest', ... , for u8[48,64,3]{2,1,0}. Did you mean 'linear'?
rs.resample(photo, (24, 32), axes=(0, 1), mode="bilinear")
    DescriptorError: mode 'bilinear' is not one of 'nearest', ... ; it is 'linear' here, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), mode="lanczos")
    DescriptorError: mode 'lanczos' is not one of 'nearest', ... s4' with like='opencv', for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), mode="nearest-exact")
    DescriptorError: mode 'nearest-exact' is not one of 'nearest', ... ; it is 'nearest' here, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), like="pytorh")
    DescriptorError: like 'pytorh' is not one of 'torch', ... , for u8[48,64,3]{2,1,0}. Did you mean 'torch'?
rs.resample(photo, (24, 32), axes=(0, 1), mode="bilinaer", like="pillow")
    DescriptorError: mode 'bilinaer' of like 'pillow' is not one o ... r u8[48,64,3]{2,1,0}. Did you mean 'bilinear'?
rs.resample(photo, (24, 32), axes=(0, 1), coordinates="half-pixel")
    DescriptorError: coordinates 'half-pixel' is not one of 'half_ ... t is 'half_pixel' here, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), coordinates="align_corner")
    DescriptorError: coordinates 'align_corner' is not one of 'hal ... 48,64,3]{2,1,0}. Did you mean 'align_corners'?
rs.resample(photo, (24, 32), axes=(0, 1), nearest="flor", mode="nearest")
    DescriptorError: nearest 'flor' is not one of 'half_up', 'roun ... for u8[48,64,3]{2,1,0}. Did you mean 'floor'?
rs.resample(photo, (24, 32), axes=(0, 1), keep_aspect_ratio_policy="not_biger")
    DescriptorError: keep_aspect_ratio_policy 'not_biger' is not o ... u8[48,64,3]{2,1,0}. Did you mean 'not_larger'?
rs.resample(photo, (24, 32), axes=(0, 1), dtype="fp16")
    DescriptorError: dtype: unknown element type 'fp16'; ... ; it is 'f16' here, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), dtype="F32")
    DescriptorError: dtype: unknown element type 'F32'; ... ; it is 'f32' here, for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), dtype="float")
    DescriptorError: dtype: element type 'float' is float64 in numpy: say 'f64' or 'f32', for u8[48,64,3]{2,1,0}
rs.resample(photo, (24, 32), axes=(0, 1), dtype="float23")
    DescriptorError: dtype: unknown element type 'float23'; ... , for u8[48,64,3]{2,1,0}. Did you mean 'float32'?
rs.resample(photo, (24, 32), axes=(0, 1), dtype="e4m3")
    DescriptorError: dtype: unknown element type 'e4m3'; ... ; it is 'f8e4m3fn' here, for u8[48,64,3]{2,1,0}
rs.resample("photo.jpg", (24, 32))
    DescriptorError: array is the text photo.jpg, not an array: rs ... .open(path)) has its pixels as they are stored
rs.resample(None, (24, 32))
    DescriptorError: array is None (cv2.imread returns None for a file it cannot read)
rs.resample(b"bytes", (24, 32))
    DescriptorError: array is 5 bytes, not an array: np.frombuffer ... rame of video .reshape(rows * 3 // 2, columns)
rs.resample(photo, (24, 32), axes=(0, 1), out=np.zeros((24, 32, 3), np.uint8))
    DescriptorError: out must be a restride.Tensor, got ndarray; rs.empty(desc) makes one
rs.resize([photo, photo[:20]], (10, 10))
    DescriptorError: array of type list ... its arrays have several shapes: pass them one by one, or to rs.Preprocess
rs.resize(photo, 256)
    DescriptorError: sizes must be rows and columns, got 256: shor ... es=(256, 256) a square, for u8[48,64,3]{2,1,0}
rs.resize(photo, np.int64(256))
    DescriptorError: sizes must be rows and columns, got 256: shor ... es=(256, 256) a square, for u8[48,64,3]{2,1,0}
rs.resize(photo)
    DescriptorError: resize needs one of sizes=(rows, columns), shorter, longer, fit, cover, got none, for u8[48,64,3]
rs.resize(photo, (24, 32), shorter=24)
    DescriptorError: resize needs one of sizes=(rows, columns), sh ... 24, 32) and shorter=24, for u8[48,64,3]{2,1,0}
rs.resize(photo, shorter=0)
    DescriptorError: shorter must be 1 or more, got 0, for u8[48,64,3]{2,1,0}
rs.resize(photo, shorter=2.5)
    DescriptorError: shorter must be an integer, got 2.5 (float), for u8[48,64,3]{2,1,0}
rs.resize(photo, fit=24)
    DescriptorError: fit must be a sequence of integers, got 24 (int), for u8[48,64,3]{2,1,0}
rs.resize(photo, fit=(24, 0))
    DescriptorError: fit must be rows and columns, both 1 or more, got (24, 0), for u8[48,64,3]{2,1,0}
rs.resize(photo, cover=(24, 32, 3))
    DescriptorError: cover must be rows and columns, both 1 or more, got (24, 32, 3), for u8[48,64,3]{2,1,0}
rs.resize(photo, (24, 32), dtype="f32")
    TypeError: resize() got an unexpected keyword argument 'dtype'; rs.resample has it
rs.resize(photo, scale=0.5)
    TypeError: resize() got an unexpected keyword argument 'scale' ... scales=(0.5, 0.5), with axes=(0, 1) for rows and
rs.resize(photo, fx=0.5, fy=0.5)
    TypeError: resize() got an unexpected keyword argument 'fx' ... scales=(0.5, 0.5), with axes=(0, 1) for rows and
rs.resize(photo, (24, 32), device=other)
    TypeError: resize() got an unexpected keyword argument 'device'; rs.asarray(array, device=...) puts an array
rs.resize(photo, longest_edge=24)
    TypeError: resize() got an unexpected keyword argument 'longest_edge'; it is longer here
rs.resize(photo, shortest_edge=24)
    TypeError: resize() got an unexpected keyword argument 'shortest_edge'; it is shorter here
rs.resize(photo, (24, 32), keep_aspect_ratio=True)
    TypeError: resize() got an unexpected keyword argument 'keep_aspect_ratio'; it is fit=(rows, columns) here
rs.resize(np.zeros((3, 100, 3), np.uint8), shorter=256)
    DescriptorError: resize takes images ... : axes=(0, 1) if the last has the channels, and axes=(1, 2) if it does not
rs.resize(np.zeros((2, 50, 60, 5), np.uint8), shorter=256)
    DescriptorError: resize takes images ... : axes=(1, 2) if the last has the channels, and axes=(2, 3) if it does not
rs.resample(photo, (24, 32))
    DescriptorError: the last axes of x look like columns and channels ... say axes=(0, 1), or call rs.resize, or axes=
rs.crop_resize(photo, bboxes=[(0, 0, 9, 9)], sizes=(4, 4))
    TypeError: crop_resize() got an unexpected keyword argument 'bboxes'; it is boxes here
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4), box_indices=[0])
    TypeError: crop_resize() got an unexpected keyword argument 'box_indices'; it is images here
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4))
    DescriptorError: the last axes of x u8[48,64,3]{2,1,0} look li ... ay axes=(0, 1), or axes=(1, 2) if they are not
rs.crop_resize(photo, [(0, 0, 9, 9)], 4, axes=(0, 1))
    DescriptorError: sizes must be a height and a width, such as (4, 4), got 4, for u8[48,64,3]{2,1,0}
rs.crop_resize(photo, (0, 0, 9, 9), (4, 4), axes=(0, 1))
    DescriptorError: boxes must be an array of (boxes, 4) numbers, ... ot int64 of shape (4,), for u8[48,64,3]{2,1,0}
rs.crop_resize(photo, [(9, 9, 0, 0)], (4, 4), axes=(0, 1))
    DescriptorError: boxes[0] must be of integers with y0 < y1 and ... those without a pixel, for u8[48,64,3]{2,1,0}
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4), axes=(0, 1), units="normalised")
    DescriptorError: units must be one of 'pixels', 'normalized', ... u8[48,64,3]{2,1,0}. Did you mean 'normalized'?
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4), axes=(0, 1), flip="horizontaly")
    DescriptorError: flip must be one of None, 'none', 'vertical', ... u8[48,64,3]{2,1,0}. Did you mean 'horizontal'?
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4), axes=(0, 1), letterbox="centre")
    DescriptorError: letterbox must be one of None, 'center', 'top ... for u8[48,64,3]{2,1,0}. Did you mean 'center'?
rs.crop_resize(photo, [(0, 0, 9, 9)], (4, 4), axes=(0, 1), image_mean=0.5)
    TypeError: crop_resize() got an unexpected keyword argument 'image_mean'; it is mean here
rs.Preprocess(256)
    DescriptorError: sizes must be a height and a width, such as (256, 256), got 256
rs.Preprocess((24, 32), input="BGR")
    DescriptorError: input must be one of 'rgb', 'bgr', 'nv12', 'n ... 'i420', 'yv12', not 'BGR'. Did you mean 'bgr'?
rs.Preprocess((24, 32), bgr=True)
    TypeError: Preprocess() got an unexpected keyword argument 'bgr'; it is input='bgr' here
rs.Preprocess((24, 32), layout="nchw")
    DescriptorError: layout must be one of 'NCHW', 'NHWC', not 'nchw'. Did you mean 'NCHW'?
rs.Preprocess((24, 32), mean=123.675, std=58.4)(photo)
    DescriptorError: mean must be within -1 and 1, because element ... 255 and std / 255, for u8[1,48,64,3]{3,2,1,0}
rs.Preprocess("imagenet")
    DescriptorError: sizes must be a height and a width, got 'imagenet': rs.Preprocess.preset takes the name of a recipe
rs.Preprocess.preset("imagnet")
    DescriptorError: preset must be one of 'imagenet', 'clip', 'yolo', not 'imagnet'. Did you mean 'imagenet'?
rs.Preprocess.preset("imagenet")(photo[..., 0])
    DescriptorError: an image must have rows, columns and channels ... els is given as np.stack([image] * 3, axis=-1)
rs.Preprocess.preset("imagenet")(planes)
    DescriptorError: an image must have 3 channels, its last axis, ... mage, -3, -1), of torch image.moveaxis(-3, -1)
rs.Preprocess.preset("imagenet")([photo, photo[..., 0]])
    DescriptorError: images[1]: an image must have rows, columns a ... els is given as np.stack([image] * 3, axis=-1)
rs.Preprocess.preset("imagenet")(iter([photo]))
    DescriptorError: images must be an image, a list of them or a ... s what is iterated, and list(images) is a list
rs.plan_resample("u8[48,64,3]", (24, 32))
    DescriptorError: dst is the layout of the result, and (24, 32) is none: sizes=(24, 32)
rs.plan_resample(photo, None, (24, 32))
    DescriptorError: src: desc must be a TensorDesc or its text, s ... s 'f32[2,3]', got ndarray of shape (48, 64, 3)
rs.Chain()(photo)
    TypeError: a chain is not called: rs.LazyArray(x, chain)[:] ... rs.stream(x, destination, chain) writes it in chunks
rs.dask.resample(photo, size=(24, 32))
    TypeError: resample() got an unexpected keyword argument 'size'; it is sizes=(rows, columns) here
rs.xarray.resample(labelled, size={"y": 24})
    TypeError: resample() got an unexpected keyword argument 'size'; it is a dict here: sizes={'y': ...}
rs.tensor([1, 2])
    AttributeError: module 'restride' has no attribute 'tensor'; it is rs.asarray here
rs.zeros((2, 3))
    AttributeError: module 'restride' has no attribute 'zeros'; rs.xp.zeros is the array API's
rs.float32
    AttributeError: module 'restride' has no attribute 'float32'; element types are texts here: 'f32'
rs.interpolate(photo)
    AttributeError: module 'restride' has no attribute 'interpolat ... is rs.resample, and rs.resize for images here
rs.xarray.resample(labelled, y=2)
    TypeError: resample() got an unexpected keyword argument 'y'; dimensions go into a dict: sizes={'y': ...}
rs.resize(torch.ones(4, 4, requires_grad=True), (2, 2))
    DescriptorError: Tensor refuses to hand out its memory: ... ; rs.interop.torch has operations with gradients
rs.interop.tortch
    AttributeError: module 'restride.interop' has no attribute 'tortch'. Did you mean 'torch'?
x.transpose(2, 0, 1)
    AttributeError: restride.Tensor has no transpose; it is x.permute with all axes, as x.permute(2, 0, 1), or x.mT here
x.half()
    AttributeError: restride.Tensor has no half; it is x.astype('f16') here
rs.concatenate([x, x])
    AttributeError: module 'restride' has no attribute 'concatenate' ... rs.xp.concat or rs.xp.stack here
rs.flip(x)
    AttributeError: module 'restride' has no attribute 'flip' ... x[::-1], along the axis that is to be flipped here
rs.transpose(photo)
    AttributeError: module 'restride' has no attribute 'transpose' ... rs.reorder(x, 'NCHW->NHWC') or x.permute here
rs.imresize(photo)
    AttributeError: module 'restride' has no attribute 'imresize'; it is rs.resize here
rs.open("photo.jpg")
    AttributeError: module 'restride' has no attribute 'open'; it is rs.imread here
rs.resampel(photo)
    AttributeError: module 'restride' has no attribute 'resampel'. Did you mean 'resample'?
rs.asarray(photo, device="radeon")
    DescriptorError: device must be a restride.Device, got 'radeon'; rs.Device('radeon') opens one, and rs.
rs.set_default_device(0)
    DescriptorError: the default device is a restride.Device or None, not 0; rs.Device(0) opens one, and rs.devices()
rs.stream(photo, np.zeros_like(photo), rs.Chain(), device=other)
    TypeError: stream() got an unexpected keyword argument 'device'; it is devices=[rs.Device(0)] here
rs.resample(photo, (24, 32), axes=(0, 1), like="torch", antialias=True)
    DescriptorError: antialias True contradicts like 'torch', whic ... 'nearest', the default: say mode='bilinear', for
rs.asarray(x, device=other)
    DescriptorError: <restride.Tensor u8[48,64,3]{2,1,0} on ... lies on another device than ... pass tensor.numpy()
rs.Device(memory_limit="1 gigabyte")
    DescriptorError: memory_limit must be bytes such as 1000000, '512MiB' or '2 GB', got '1 gigabyte'
rs.imread("photo.jpg", mod="rgb")
    TypeError: imread() got an unexpected keyword argument 'mod'. Did you mean 'mode'?
rs.imread(b"no image")
    DescriptorError: cannot read 8 bytes: cannot identify image fi ... rs.asarray takes what PIL.Image.open has read
rs.imread("photo.jpg", mode="RGB")
    DescriptorError: mode must be one of None, 'rgb', 'srgb', not 'RGB'. Did you mean 'rgb'?
rs.imread("no such file.png")
    FileNotFoundError: [Errno 2] No such file or directory: 'no such file.png'
rs.to_rgb(planes)
    DescriptorError: an image must have rows, columns, and 1 to 4 ... ge, 0, -1) puts channels that stand first last
rs.yuv_to_rgb(photo, "nv16")
    DescriptorError: format must be one of 'nv12', 'nv21', 'i420', 'yv12', not 'nv16'. Did you mean 'nv21'?
rs.reorder(x, rounding="nearest")
    DescriptorError: rounding must be one of 'nearest_even', 'trun ... [48,64,3]{2,1,0}. Did you mean 'nearest_even'?
rs.reorder(x, dtyp="f16")
    TypeError: reorder() got an unexpected keyword argument 'dtyp'. Did you mean 'dtype'?
rs.reorder(x, data_format="NHWC")
    TypeError: reorder() got an unexpected keyword argument 'data_format'; it is layout here
rs.normalize(photo, image_mean=0.5, std=0.5)
    TypeError: normalize() got an unexpected keyword argument 'image_mean'; it is mean here
rs.quantize(x, 0.5, zero_pont=3)
    TypeError: quantize() got an unexpected keyword argument 'zero_pont'. Did you mean 'zero_point'?
rs.dequantize(x, 0.5, dim=0)
    TypeError: dequantize() got an unexpected keyword argument 'dim'; it is axis here
rs.lookup(photo, np.arange(256), tabel=3)
    TypeError: lookup() got an unexpected keyword argument 'tabel'. Did you mean 'table'?
rs.yuv_to_rgb(photo, fmt="nv12")
    TypeError: yuv_to_rgb() got an unexpected keyword argument 'fmt'. Did you mean 'format'?
rs.strided_slice(x, (0, 0, 0), (1, 1, 1), steps=(1, 1, 1))
    TypeError: strided_slice() got an unexpected keyword argument 'steps'; it is strides here
rs.strided_slice(x, starts=(0, 0, 0), sizes=(1, 1, 1), strides=(1, 1, 1))
    TypeError: strided_slice() got an unexpected keyword argument 'starts'; it is offsets here
rs.compat.torch.interpolate(photo, sizes=(4, 4))
    TypeError: interpolate() got an unexpected keyword argument 'sizes'. Did you mean 'size'?
rs.compat.cv2.resize(photo, (4, 4), interpolaton=1)
    TypeError: resize() got an unexpected keyword argument 'interpolaton'. Did you mean 'interpolation'?
rs.compat.pil.resize(photo, (4, 4), resampl=2)
    TypeError: resize() got an unexpected keyword argument 'resampl'. Did you mean 'resample'?
rs.TensorDesc.parse("bf16[8,256]:T(8,128)(2,1)")
    DescriptorError: XLA's tiles and other parts stand in braces after an order, as in '{1,0:T(8,128)(2,1)}', at
rs.TensorDesc.parse("bf16[8,256]{T(8,128)(2,1)}")
    DescriptorError: an order of axes comes before ':' and other parts, as in '{1,0:T(8,128)(2,1)}', at character 13
rs.stream(photo, np.zeros_like(photo), rs.Chain(), memory=1)
    DescriptorError: memory of 1 bytes is too little for the chunk ... more: give memory= ... or more
rs.stream(photo, np.zeros_like(photo), rs.Chain(), memry="1GB")
    TypeError: stream() got an unexpected keyword argument 'memry'. Did you mean 'memory'?
rs.resample(photo.astype(np.float64), (24, 32), axes=(0, 1))
    UnsupportedError: elements of type f64 are ... .astype('float32') converts, or dtype='f32' computes in f32, and
rs.resample(photo.astype(np.int64), (24, 32), axes=(0, 1))
    UnsupportedError: elements of type s64 are not interpolated, t ... are; x.astype('float32') converts, and ... every
rs.resize(photo.astype(np.float64), (24, 32))
    UnsupportedError: elements of type f64 are not interpolated, t ... are; x.astype('float32') converts, and ... every
rs.resize(photo.astype(np.int64), (24, 32))
    UnsupportedError: elements of type s64 are not interpolated, t ... are; x.astype('float32') converts, and ... every
rs.crop_resize(photo.astype(np.int64), [(0, 0, 9, 9)], (4, 4), axes=(0, 1))
    UnsupportedError: mode 'linear' of crop_resize takes the element ... not s64; x.astype('float32') converts, for s64
rs.resample_backward(photo.astype(np.float64), (24, 32), axes=(0, 1))
    UnsupportedError: grad must be f32, f16, bf16, not f64; grad.astype('float32') converts, for f64[48,64,3]{2,1,0}
rs.compat.cv2.resize(photo.astype(np.int64), (4, 4))
    UnsupportedError: src s64[48,64,3]{2,1,0} has elements of type ... src.astype('float32') converts, and INTER_NEAREST
rs.resample_backward(photo, size=(24, 32))
    TypeError: resample_backward() got an unexpected keyword argum ... 'size'; it is input_sizes=(rows, columns) here
rs.quantize(photo, 0.5, dtype="int7")
    DescriptorError: dtype: unknown element type 'int7'; ... , for u8[48,64,3]{2,1,0}. Did you mean 'int8'?
rs.yuv_to_rgb(photo)
    DescriptorError: a frame must have sizes [..., 3/2 rows, colum ... olumns, and at most 7 axes: u8[48,64,3]{2,1,0}
rs.empty((4, 4))
    DescriptorError: desc must be a TensorDesc or its text, such as 'f32[2,3]', got (4, 4)
x.export()
    UnsupportedError: a memory of 9216 bytes was not allocated as shareable: use rs.empty(desc, shareable=True)
rs.import_memory(photo)
    DescriptorError: exported must be what tensor.export() makes, got ndarray of shape (48, 64, 3)
rs.import_memory(fd=3)
    DescriptorError: import_memory needs an Exported, or all of fd, nbytes, desc, ... ; without: ['nbytes', 'desc', 'all
rs.Device(device=0)
    DescriptorError: a VkDevice of yours needs all of ... rs.Device(selector) chooses a device by number or name
rs.Device(lock=other)
    DescriptorError: lock is of the queue of a VkDevice of yours, and no VkDevice is given
rs.asarray([[1, 2], [3]])
    DescriptorError: array of type list is not one that numpy takes: setting an array element with a sequence
rs.imwrite("x.png", np.zeros((4, 4, 3), np.float32))
    DescriptorError: a PNG image holds u8 or u16 el ... [4, 4, 3]: rs.reorder(image, dtype='u8', dst_scale=1 / 255)
rs.imwrite("x.jpg", np.zeros((4, 4, 3), np.uint16))
    DescriptorError: a JPEG image holds u8 elements, not u16 of si ... [4, 4, 3]: (image >> 8).astype(np.uint8) makes
rs.imwrite("x.png", planes)
    DescriptorError: a PNG image has sizes [height, width] or [he ... [3, 48, 64]: np.moveaxis(image, 0, -1) puts
rs.Letterboxed.of([(0, 0, 4, 4), (1, 1, 3, 3)], (24, 24)).to_output([(0, 0, 2, 2)])
    DescriptorError: index must say which of 2 outputs each point or box is in, got none
rs.Letterboxed.of([(0, 0, 4, 4)], (24, 24)).to_output([(0, 0, 2, 2)], 0, order="xyxy")
    DescriptorError: order must be one of 'yx', 'xy', not 'xyxy'. Did you mean 'yx'?
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"}, size=336)
    TypeError: processor() got an unexpected keyword argument 'size'; a configuration has it as a key: rs.vision
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"}, device=other)
    TypeError: processor() got an unexpected keyword argument 'device'; the processor takes it: rs.vision.processor(
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})(photo, size=100)
    TypeError: Processor() got an unexpected keyword argument 'size'; a configuration has it as a key: rs.vision
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})(images=photo, text="a cat")
    TypeError: Processor() got an unexpected keyword argument 'text' ... rs.compat.transformers.accelerate(processor)
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})(photo, padding=True)
    TypeError: Processor() got an unexpected keyword argument 'padding' ... rs.compat.transformers.accelerate(processor)
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"}).preprocess(photo)
    AttributeError: an image processor has no preprocess: call it, as processor(images)
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"}).plna((48, 64))
    AttributeError: an image processor has no plna. Did you mean 'plan'?
rs.vision.processor({"image_processor_type": "CLIPImageProcessor"})(photo[..., 0])
    DescriptorError: images[0]: an image must have 3 axes, got sizes (48, 64): image[..., None] has one channel
rs.vision.processor({"image_processor_type": "CLIPImageProcessor", "image_mean": [0.5, 0.5]})
    DescriptorError: image_mean must have 3 values where do_convert_rgb is true, got (0.5, 0.5)
rs.asarray(photo, dtype="f16")
    TypeError: asarray() got an unexpected keyword argument 'dtype'; the type stays: ... .astype or rs.reorder(x, dtype=
rs.asarray(photo, layout="HWC->CHW")
    TypeError: asarray() got an unexpected keyword argument 'layout'; desc= is the layout, ... rs.reorder(x, layout=...)
rs.Preprocess((24, 32))(photo, device=other)
    TypeError: Preprocess() got an unexpected keyword argument 'device'; the recipe has it: rs.Preprocess(sizes, ...)
rs.Device(gpu=1)
    TypeError: Device() got an unexpected keyword argument 'gpu'; it is selector here
rs.Device(memory_limt=1 << 30)
    TypeError: Device() got an unexpected keyword argument 'memory_limt'. Did you mean 'memory_limit'?
rs.compat.pil.resize(photo.astype(np.float64), (4, 4))
    UnsupportedError: elements of type f64 are not interpolated, t ... are; x.astype('float32') converts, and nearest
rs.compat.torch.interpolate(photo.astype(np.float64), 4, mode="linear")
    UnsupportedError: elements of type f64 are not interpolated, t ... are; x.astype('float32') converts, and nearest
"""
"""A call, and below it the error; " ... " stands for what a line has no room for."""

LINES = TABLE.strip().splitlines()
CALLS = dict(zip(LINES[::2], LINES[1::2], strict=True))


@pytest.fixture(scope="module")
def names(vulkan_device):
    """What the calls work on."""
    photo = np.zeros((48, 64, 3), np.uint8)
    x = rs.asarray(photo, device=vulkan_device)
    with rs.Device(runtime="vulkan") as other:
        yield {"np": np, "rs": rs, "photo": photo, "planes": photo.transpose(2, 0, 1).copy(), "x": x, "other": other}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_says_what_is_right(call, names):
    known = dict(names)
    if "rs.dask" in call:
        judge("dask")
    if "rs.xarray" in call:
        known["labelled"] = judge("xarray").DataArray(np.zeros((4, 4), np.float32), dims=("y", "x"))
    if "torch." in call:
        known["torch"] = judge("torch")
    if any(name in call for name in ("rs.imread", "rs.imwrite")):
        judge("PIL.Image")
    with pytest.raises(Exception) as caught:
        eval(call, known)
    message, position = f"{type(caught.value).__name__}: {caught.value}", 0
    for part in CALLS[call].strip().split(" ... "):
        found = message.find(part, position)
        assert found >= 0, message
        position = found + len(part)
