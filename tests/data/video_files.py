"""Videos for tests."""

from fractions import Fraction

import numpy as np
import pytest


def write_video(path, levels, *, shape=(24, 32), rate=25, codec="mpeg4", times=None):
    """Encode grey frames of some levels, each at its time, with hardly any loss."""
    av = pytest.importorskip("av", reason="needs PyAV")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = shape
        stream.pix_fmt, stream.bit_rate = "yuv420p", 10_000_000
        for level, time in zip(levels, times or range(len(levels)), strict=True):
            pixels = np.full((*shape, 3), level, dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = time, Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path
