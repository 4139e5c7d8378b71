"""Video frames for ``rs.Preprocess``, decoded by PyAV in a thread of its own while the device works.

Frames stay YUV if ``rs.yuv_to_rgb`` supports their format, so that the device converts them to RGB; FFmpeg's swscale
converts others. Frames state the video's matrix and range.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from restride.arguments import integer
from restride.errors import DescriptorError, StreamError, UnsupportedError, needed_package
from restride.ops.preprocess import PreprocessOptions
from restride.request.yuv import FormatName, MatrixName

with needed_package("restride.interop.video", "PyAV", "video", "av"):
    import av

_FORMATS: dict[str, FormatName] = {"yuv420p": "i420", "yuvj420p": "i420", "nv12": "nv12"}
"""FFmpeg's formats whose frames ``to_ndarray`` packs, and their names in ``rs.yuv_to_rgb``."""

_BT709, _UNSPECIFIED, _BT470BG, _BT601 = 1, 2, 5, 6
_MATRICES: dict[int, MatrixName] = {_BT709: "bt709", _BT470BG: "bt601", _BT601: "bt601"}
_SWSCALE_MATRICES = (_BT709, 4, _BT470BG, _BT601, 7, 9)
"""Matrix coefficients of H.273, table 4, that swscale supports, including those of ``rs.yuv_to_rgb``; swscale silently
treats all others as BT.601."""

_LIMITED, _FULL = 1, 2
"""FFmpeg's numbers of ranges; 0 is unspecified."""


class Video:
    """The frames of a video file: each iteration opens it again and decodes from the first frame, ahead of the caller.

    Frames are as stored: neither a rotation nor a pixel aspect ratio is applied, and HDR is not tone-mapped.

    Args:
        path: a file, or anything else that ``av.open`` opens by name. Of several video streams, the one that FFmpeg
            considers best is decoded.
        ahead: maximum number of frames that are decoded before they are needed.

    Attributes:
        colors: arguments of ``rs.Preprocess`` for these frames: ``input``, and for YUV ``matrix`` and ``full_range``.
            Frames of 8-bit 4:2:0 with even sizes stay u8[3/2 rows, columns] of "i420" or "nv12", others become
            u8[rows, columns, 3] of "rgb". The matrix is that of the first frame; if it names none, BT.709 from 1280
            columns or 577 rows on, as in mpv, else BT.601. The range is full if the frame states it, or if it states
            no range and its format implies full range (yuvj, gray).

    Raises:
        DescriptorError: FFmpeg cannot read the file as video, it has no frame, or ``ahead`` is below 1.
        UnsupportedError: YUV with a matrix that neither restride nor swscale supports, such as YCgCo.
        OSError: the file cannot be opened.
        StreamError: while iterating, after the frames before it were returned: a frame is damaged, or its colors differ
            from the first frame's; the message has its number. Frames that the codec still holds back to reorder them
            are lost too. A truncated file raises it if its index lists more frames, as in .mp4; otherwise it is a
            shorter video.

    Example:
        >>> import av, tempfile
        >>> from restride.interop.video import Video
        >>> path = tempfile.mkdtemp() + "/grey.mkv"
        >>> with av.open(path, "w") as file:
        ...     stream = file.add_stream("ffv1", width=64, height=48, pix_fmt="yuv420p")
        ...     file.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((72, 64), 128, np.uint8), "yuv420p")))
        ...     file.mux(stream.encode(None))
        >>> video = Video(path)
        >>> video.colors
        {'input': 'i420', 'matrix': 'bt601', 'full_range': False}
        >>> recipe = rs.Preprocess((24, 24), dtype="u8", **video.colors)
        >>> [batch.numpy()[0, :, 0, 0].tolist() for batch in recipe.stream(video)]
        [[130, 130, 130]]
    """

    def __init__(self, path: str | os.PathLike[str], *, ahead: SupportsIndex = 4) -> None:
        self._path = os.fspath(path)
        self._ahead = integer("ahead", ahead)
        if self._ahead < 1:
            raise DescriptorError(f"ahead must be 1 or more, got {ahead}")
        with closing(_decode(self._path)) as decoded:
            first = next(decoded, None)
        if first is None:
            raise DescriptorError(f"path must be a video with frames, got {self._path!r}, which has none")
        self.colors: PreprocessOptions = _colors(first)

    def __iter__(self) -> Iterator[npt.NDArray[np.uint8]]:
        """Iterate over the frames. A thread decodes; it ends with the iterator, whether exhausted or dropped."""
        arrays = self._arrays()
        thread = ThreadPoolExecutor(1, thread_name_prefix="restride-video")
        try:
            started: deque[Future[Any]] = deque(thread.submit(next, arrays, None) for _ in range(self._ahead))
            while (frame := started.popleft().result()) is not None:
                started.append(thread.submit(next, arrays, None))
                yield frame
        finally:
            for future in started:
                future.cancel()
            with suppress(RuntimeError):  # the interpreter is ending, and starts no more work
                thread.submit(arrays.close)
            thread.shutdown(wait=False)  # do not wait: garbage collection may run this in that very thread

    def _arrays(self) -> Generator[npt.NDArray[np.uint8], None, None]:
        """Frames as arrays. Runs in the thread that decodes."""
        with closing(_decode(self._path)) as decoded:
            for number, frame in enumerate(decoded):
                if self.colors["input"] == "rgb":
                    yield _rgb(frame)
                elif (colors := _colors(frame)) == self.colors:
                    yield frame.to_ndarray()
                else:
                    raise StreamError(
                        f"frame {number} of {self._path!r} has colors {colors}, and all must have those of the first, "
                        f"{self.colors}",
                        (number,),
                    )


def _decode(path: str) -> Generator[av.VideoFrame, None, None]:
    """Decode the best video stream and yield its frames.

    FFmpeg's frame threads stay off: if one of several decoded frames is damaged, PyAV drops all of them.

    Raises:
        DescriptorError, OSError, StreamError: see ``Video``.
    """
    try:
        container = av.open(path)
    except OSError:
        raise
    except av.FFmpegError as error:
        raise DescriptorError(f"path must be a video that FFmpeg reads, got {path!r}: {error}") from error
    with container:
        stream = container.streams.best("video")
        if stream is None:
            raise DescriptorError(f"path must be a video, got {path!r}, which has no video stream")
        stream.codec_context.options = {"err_detect": "explode"}  # otherwise damage is patched up without an error
        number = 0
        try:
            for packet in container.demux(stream):
                if packet.is_corrupt:
                    raise StreamError(
                        f"frame {number} of {path!r}, or one soon after it, is damaged in the file", (number,)
                    )
                for frame in packet.decode():
                    if frame.is_corrupt:
                        raise StreamError(f"frame {number} of {path!r} is damaged", (number,))
                    yield frame
                    number += 1
        except av.FFmpegError as error:
            raise StreamError(
                f"frame {number} of {path!r}, or one soon after it, could not be decoded: {error}", (number,)
            ) from error


def _colors(frame: av.VideoFrame) -> PreprocessOptions:
    """The value of ``Video.colors`` for a frame."""
    form, matrix = _FORMATS.get(frame.format.name), _MATRICES.get(_matrix(frame))
    if form is None or matrix is None or frame.width % 2 or frame.height % 2:
        _require_matrix(frame)
        return {"input": "rgb"}
    return {"input": form, "matrix": matrix, "full_range": _range(frame) == _FULL}


def _matrix(frame: av.VideoFrame) -> int:
    if frame.colorspace != _UNSPECIFIED:
        return int(frame.colorspace)
    return _BT709 if frame.width >= 1280 or frame.height > 576 else _BT601


def _range(frame: av.VideoFrame) -> int:
    if frame.color_range in (_LIMITED, _FULL):
        return int(frame.color_range)
    return _FULL if frame.format.name.startswith(("yuvj", "gray")) else _LIMITED


def _require_matrix(frame: av.VideoFrame) -> None:
    if not frame.format.is_rgb and _matrix(frame) not in _SWSCALE_MATRICES:
        raise UnsupportedError(
            f"frames must be RGB, or YUV of a matrix in {_SWSCALE_MATRICES} of H.273, got {frame.format.name} of "
            f"matrix {_matrix(frame)}"
        )


def _rgb(frame: av.VideoFrame) -> Any:
    """A frame as u8[rows, columns, 3], converted by swscale with its matrix and range.

    Raises:
        UnsupportedError: swscale does not support the matrix.
    """
    if frame.format.is_rgb:
        return frame.to_ndarray(format="rgb24")
    _require_matrix(frame)
    return frame.to_ndarray(
        format="rgb24", src_colorspace=_matrix(frame), src_color_range=_range(frame), dst_color_range=_FULL
    )
