"""Ways to damage a file, each decided by a generator of random numbers."""

import io
import json
import struct

import numpy as np

HUGE = (2**31 - 1, 2**32 - 1, 2**45, 2**63 - 1)
ODD = (
    None, True, -1, 0, 7, 10**30, 1e308, -1e308, 0.5, "", "x", "../../x", "/../../x", "a\nb", "\0",
    "x" * 5000, "\ud800", [], {}, [1], [[]], {"x": 1}, "<script>", "[x](y)", "nan", "1e999",
)  # fmt: skip


def damaged(content, rng):
    """Return bytes that differ from what was written."""
    if not content:
        return b"x"
    where, num = rng.randrange(len(content)), rng.choice((1, 2, 16, 300))
    end = where + num
    ways = {
        "flip": lambda: _put(content, where, bytes([content[where] ^ 1 << rng.randrange(8)])),
        "noise": lambda: _put(content, where, rng.randbytes(num)),
        "zeros": lambda: _put(content, where, bytes(num)),
        "huge": lambda: _put(content, where, struct.pack("<Q", rng.choice(HUGE))),
        "cut": lambda: content[:where],
        "hole": lambda: content[:where] + content[end:],
        "twice": lambda: content[:end] + content[where:],
        "more": lambda: content + rng.randbytes(num),
        "digit": lambda: _other_digit(content, rng),
    }
    found = ways[rng.choice(list(ways))]()
    return found if found != content else content[:-1]


def _put(content, where, new):
    return content[:where] + new[: len(content) - where] + content[where + len(new) :]


def _other_digit(content, rng):
    """Change a number in a text, or in the header of an array."""
    places = [i for i, byte in enumerate(content[:2000]) if 48 <= byte < 58]
    if not places:
        return content[: len(content) // 2]
    new = rng.choice((b"0", b"9", b"99999999999999", b"-1", b"x"))
    where = rng.choice(places)
    return content[:where] + new + content[where + 1 :]


def odd_json(content, rng):
    """Return JSON with one entry, however deep, replaced or removed, and without its checksum."""
    if rng.random() < 0.03:
        return b"[" * 200_000
    value = json.loads(content)
    if isinstance(value, dict):
        value.pop("sha256", None)
    if rng.random() < 0.1:
        return json.dumps(rng.choice(ODD)).encode()
    inside, places = value, [*_places(value)]
    inside, key = rng.choice(places)
    if rng.random() < 0.2:
        del inside[key]
    elif isinstance(inside, dict) and rng.random() < 0.1:
        inside[str(rng.choice(ODD))] = inside.pop(key)
    else:
        inside[key] = rng.choice(ODD)
    return json.dumps(value).encode()


def _places(value):
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def odd_arrays(content, rng):
    """Return an archive with one array of another shape, type or content, or without it."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    name = rng.choice(sorted(arrays))
    array = arrays.pop(name)
    ways = {
        "none": None,
        "empty": array[..., :0] if array.ndim else array,
        "flat": array.ravel(),
        "deep": array[None],
        "short": array[:-1] if array.ndim else array,
        "back": array[::-1] if array.ndim else array,
        "text": np.full(array.shape, "../x"),
        "real": np.full(array.shape, np.nan),
        "large": np.full(array.shape, 1e300),
        "vast": np.full(array.shape, 2**62),
        "minus": np.full(array.shape, -1),
        "complex": np.full(array.shape, 1j),
        "bool": np.ones(array.shape, bool),
    }
    odd = ways[rng.choice(list(ways))]
    file = io.BytesIO()
    np.savez(file, **arrays, **({} if odd is None else {name: odd}))
    return file.getvalue()


DEEPER = {".json": odd_json, ".npz": odd_arrays}  # by the ending of a file: sound, but odd inside
