"""Video: PyAV's own frames, one by one, are what a stream of them gives; colours, damage, and threads that end."""

from __future__ import annotations

import sys
import threading
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
from support.judges import judge
from support.process import captured

import restride as rs

av = judge("av")

from restride.interop.video import Video  # noqa: E402 - where PyAV is installed

ROWS, COLUMNS, FRAMES = 48, 64, 9


def pixels(number: int) -> np.ndarray:
    y, x = np.mgrid[:ROWS, :COLUMNS]
    return np.stack([y * 3 + number * 9, x * 2 + number * 5, x + y], -1).astype(np.uint8)


def write(path: Path, codec: str, form: str, frames=None, matrix: int = 2, color_range: int = 0, options=None) -> Path:
    """A video of these frames of av, by default of nine in colours; matrix and range as H.273 and FFmpeg count them."""
    frames = frames or [
        av.VideoFrame.from_ndarray(pixels(number), "rgb24").reformat(format=form) for number in range(FRAMES)
    ]
    with av.open(str(path), "w", options=options or {}) as file:
        stream = file.add_stream(codec, rate=25, width=frames[0].width, height=frames[0].height, pix_fmt=form)
        stream.codec_context.colorspace, stream.codec_context.color_range = matrix, color_range
        for frame in frames:
            frame.colorspace, frame.color_range = matrix, color_range
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def decoded(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as file:
        return [frame.to_ndarray() for frame in file.decode(video=0)]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("restride-video")]


@pytest.mark.parametrize(
    ("name", "codec", "form", "colors"),
    [
        ("a.mp4", "mpeg4", "yuv420p", {"input": "i420", "matrix": "bt601", "full_range": False}),
        ("a.mkv", "rawvideo", "nv12", {"input": "nv12", "matrix": "bt601", "full_range": False}),
        ("b.mkv", "mjpeg", "yuvj420p", {"input": "i420", "matrix": "bt601", "full_range": True}),
    ],
)
def test_a_stream_gives_each_frame_as_pyav_decodes_it(device, tmp_path, name, codec, form, colors):
    path = write(tmp_path / name, codec, form)
    frames = decoded(path)
    assert len(frames) == FRAMES
    video = Video(path, ahead=2)
    assert video.colors == colors
    for _ in range(2):
        assert [frame.tobytes() for frame in video] == [frame.tobytes() for frame in frames]
    recipe = rs.Preprocess((20, 30), mean=0.5, std=0.25, device=device, **video.colors)
    batches = [batch.numpy() for batch in recipe.stream(video, batch=4)]
    assert [len(batch) for batch in batches] == [4, 4, 1]
    rgb = [rs.yuv_to_rgb(rs.asarray(frame, device=device), *colors.values()) for frame in frames]
    plain = rs.Preprocess((20, 30), mean=0.5, std=0.25, device=device)
    expected = np.concatenate([plain(each).numpy() for each in rgb])
    assert np.concatenate(batches).tobytes() == expected.tobytes()


def flat(rows: int, columns: int, form: str, color: tuple[int, int, int]) -> av.VideoFrame:
    frame = av.VideoFrame(columns, rows, form)
    for plane, value in zip(frame.planes, color, strict=False):
        plane.update(bytes([value]) * plane.buffer_size)
    return frame


@pytest.mark.parametrize(
    ("rows", "columns", "matrix", "color_range", "expected"),
    [
        (576, 1278, 2, 0, ("bt601", False)),
        (578, 64, 2, 0, ("bt709", False)),
        (48, 1280, 2, 0, ("bt709", False)),
        (48, 64, 1, 2, ("bt709", True)),
        (578, 64, 5, 1, ("bt601", False)),
        (578, 64, 6, 2, ("bt601", True)),
    ],
)
def test_the_first_frame_says_matrix_and_range(tmp_path, rows, columns, matrix, color_range, expected):
    frame = flat(rows, columns, "yuv420p", (100, 110, 120))
    colors = Video(write(tmp_path / "a.mkv", "ffv1", "yuv420p", [frame], matrix, color_range)).colors
    assert (colors["matrix"], colors["full_range"]) == expected


@pytest.mark.parametrize(("matrix", "color_range"), [(1, 1), (1, 2), (6, 1), (6, 2)])
def test_other_frames_are_rgb_of_their_matrix_and_range(tmp_path, matrix, color_range):
    """Green of V 224 is 109 - 74 by BT.601 and 109 - 49 by BT.709, in the limited range, and 128 - 69, 128 - 45."""
    frames = [flat(ROWS, COLUMNS, "yuv444p", color) for color in ((235, 128, 128), (110, 128, 224))]
    video = Video(write(tmp_path / "a.mkv", "ffv1", "yuv444p", frames, matrix, color_range))
    assert video.colors == {"input": "rgb"}
    white, red = (frame[0, 0].tolist() for frame in video)
    assert white == [[255] * 3, [235] * 3][color_range - 1]
    right, wrong = (
        rs.reference.yuv_to_rgb(np.repeat(np.uint8([110, 128, 224]), [4, 1, 1]).reshape(3, 2), "i420", name, is_full)
        for name, is_full in [
            ({1: "bt709", 6: "bt601"}[matrix], color_range == 2),
            ({6: "bt709", 1: "bt601"}[matrix], color_range == 2),
        ]
    )
    assert abs(red[1] - int(right[0, 0, 1])) < abs(red[1] - int(wrong[0, 0, 1])) / 4


def test_rgb_and_odd_sizes_are_rgb(tmp_path):
    frame = av.VideoFrame.from_ndarray(pixels(1), "rgb24").reformat(format="bgr0")
    (stored,) = Video(write(tmp_path / "a.mkv", "ffv1", "bgr0", [frame]))
    assert np.array_equal(stored, pixels(1))
    odd = Video(write(tmp_path / "b.mkv", "ffv1", "yuv420p", [flat(31, 33, "yuv420p", (235, 128, 128))]))
    assert odd.colors == {"input": "rgb"}
    assert np.array_equal(next(iter(odd)), np.full((31, 33, 3), 255))


def test_a_matrix_of_neither_library_is_refused(tmp_path):
    path = write(tmp_path / "a.mkv", "ffv1", "yuv444p", [flat(8, 8, "yuv444p", (1, 2, 3))], matrix=8)
    with pytest.raises(rs.UnsupportedError, match="got yuv444p of matrix 8"):
        Video(path)


def test_files_without_frames_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        Video(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(rs.DescriptorError, match=r"must be a video that FFmpeg reads, got .*text.mp4"):
        Video(tmp_path / "text.mp4")
    with av.open(str(tmp_path / "a.wav"), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=8000, layout="mono")
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), "s16", "mono")
        sound.sample_rate = 8000
        file.mux(stream.encode(sound))
    with pytest.raises(rs.DescriptorError, match="has no video stream"):
        Video(tmp_path / "a.wav")
    with pytest.raises(rs.DescriptorError, match="ahead must be 1 or more, got 0"):
        Video(write(tmp_path / "a.mp4", "mpeg4", "yuv420p"), ahead=0)


@pytest.mark.parametrize("is_cut", [False, True])
def test_frames_before_a_damaged_one_are_taken(vulkan_device, tmp_path, is_cut):
    """Frame 5 is zeros, or the file ends in the middle of it."""
    path = write(tmp_path / "a.mp4", "mpeg4", "yuv420p", options={"movflags": "faststart"})
    frames = decoded(path)
    with av.open(str(path)) as file:
        data = bytes([*file.demux(video=0)][5])
    stored = path.read_bytes()
    at = stored.index(data)
    after = b"" if is_cut else bytes(len(data)) + stored[at + len(data) :]
    path.write_bytes(stored[: at + len(data) // 2 * is_cut] + after)
    video = Video(path)
    results = []
    with pytest.raises(rs.StreamError, match=r"frame 5 of .*a.mp4', or one soon after it, ") as raised:
        results.extend(rs.Preprocess((24, 32), device=vulkan_device, **video.colors).stream(video, batch=2))
    assert raised.value.chunk == (5,)
    assert [len(batch) for batch in results] == [2, 2, 1]
    assert [frame.tobytes() for frame in islice(video, 5)] == [frame.tobytes() for frame in frames[:5]]


def test_a_packet_that_its_container_marks_is_damage(tmp_path):
    """Its bytes are whole: a sender of MPEG-TS sets the transport error indicator where it has lost some."""
    path = write(tmp_path / "a.ts", "mpeg4", "yuv420p")
    whole = decoded(path)
    with av.open(str(path)) as file:
        at = [packet.pos for packet in file.demux(video=0) if packet.size][5]
    stored = bytearray(path.read_bytes())
    assert stored[at] == 0x47, "where a packet of 188 bytes begins"
    stored[at + 1] |= 0x80
    path.write_bytes(stored)
    with av.open(str(path)) as file:
        (number,) = [number for number, packet in enumerate(file.demux(video=0)) if packet.is_corrupt]
    taken = []
    with pytest.raises(
        rs.StreamError, match=f"frame {number} of .*a.ts', or one soon after it, is damaged in the file"
    ):
        taken.extend(Video(path))
    assert 0 < len(taken) == number
    assert [frame.tobytes() for frame in taken] == [frame.tobytes() for frame in whole[:number]]


def test_a_frame_that_its_decoder_marks_is_damage(tmp_path, monkeypatch):
    """A frame of PyAV cannot be marked, so an object with that mark alone comes in place of frame 3."""
    path = write(tmp_path / "a.mp4", "mpeg4", "yuv420p")
    whole, video, opened = decoded(path), Video(path), av.open

    def marked(name):
        container = opened(name)
        frames = [SimpleNamespace(is_corrupt=True) if k == 3 else frame for k, frame in enumerate(container.decode())]
        packets = [SimpleNamespace(is_corrupt=False, decode=lambda frame=frame: [frame]) for frame in frames]
        file = MagicMock(streams=container.streams, demux=lambda _: packets)
        file.__enter__.return_value = file
        return file

    monkeypatch.setattr(av, "open", marked)
    taken = []
    with pytest.raises(rs.StreamError, match=r"frame 3 of .*a.mp4' is damaged") as raised:
        taken.extend(video)
    assert raised.value.chunk == (3,)
    assert [frame.tobytes() for frame in taken] == [frame.tobytes() for frame in whole[:3]]


@pytest.mark.parametrize("taken", [0, 1, 5, FRAMES])
def test_a_dropped_iterator_ends_its_thread(tmp_path, taken):
    frames = iter(Video(write(tmp_path / "a.mp4", "mpeg4", "yuv420p"), ahead=2))
    for _ in range(taken):
        next(frames)
    working = threads()
    assert len(working) == (taken > 0)
    del frames
    for thread in working:
        thread.join(60)
    assert not threads()


def test_decoding_waits_for_the_caller(tmp_path, monkeypatch):
    import restride.interop.video as module

    decode, seen = module._decode, []

    def counted(path):
        for frame in decode(path):
            seen.append(frame)
            yield frame

    video = Video(write(tmp_path / "a.mp4", "mpeg4", "yuv420p"), ahead=2)
    monkeypatch.setattr(module, "_decode", counted)
    frames = iter(video)
    next(frames)
    next(frames)
    assert len(seen) <= 2 + 2
    frames.close()


def test_a_process_that_ends_in_the_middle_says_nothing(tmp_path):
    path = write(tmp_path / "a.mp4", "mpeg4", "yuv420p")
    code = f"from restride.interop.video import Video; frames = iter(Video({str(path)!r})); next(frames)"
    ended = captured([sys.executable, "-c", code], timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
