"""Damaged files of data: read, counted as unusable, or refused in one line that names the file."""

import os
import random

import numpy as np
import pytest
import torch
from damage import DEEPER, damaged
from torch import nn
from video_files import write_video

import symsets
import symsets.nn as snn
from symsets import groups, load
from symsets.data import ImageFolder, ImagePack, VideoPack
from symsets.data.decoding import UnusableError, decode_image
from symsets.data.folders import read_list
from symsets.data.videos import decode_video
from symsets.experiments.satellite.packs import ScenePack, pack_scenes
from symsets.experiments.shapes.dfaust import DynamicFaust
from symsets.experiments.shapes.motion_packs import MotionPack
from symsets.experiments.signals.network import SignalNetwork
from symsets.experiments.views.meshes import load_mesh
from symsets.experiments.views.nox import read_png
from symsets.models import Card
from symsets.saving import save_registered
from symsets.train.checkpoints import Checkpoint

Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
RNG = np.random.default_rng(0)
FACES = np.array([[0, 1, 2], [2, 1, 3]], np.int32)
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def picture(path, **options):
    Image.fromarray(RNG.integers(256, size=(24, 20, 3), dtype=np.uint8)).save(path, **options)


def image_pack(path, **more):
    path.with_suffix(".jpg").unlink(missing_ok=True)
    picture(path.with_suffix(".jpg"))
    one = path.with_suffix(".jpg").read_bytes()
    num = 8 * 3
    arrays = {
        "data": np.frombuffer(one * num, np.uint8),
        "offsets": np.arange(num + 1) * len(one),
        "split": np.arange(3).repeat(8),
        "name": np.array([f"n{i}" for i in range(num)]),
    }
    np.savez_compressed(path, **arrays | more)


def video_pack(path):
    starts = np.arange(4) * 8
    names = np.array(["a/1", "b/2", "c/3"])
    more = {"clip_start": starts, "name": names, "fps": np.float64(12)}
    image_pack(path, split=np.arange(3), **more)


def common(num):
    return {
        "offsets": np.array([0, 4, 8, num]),
        "split": np.array(["train", "val", "test"]),
        "name": np.array(["a", "b", "c"]),
        "fps": np.float32(30),
    }


def baked_pack(path):
    vertices = RNG.integers(-1000, 1000, (12, 5, 3)).astype(np.int16)
    np.savez(path, verts=vertices, scale=np.float32(0.001), faces=FACES, **common(12))


def skinned_pack(path):
    arrays = {
        "quat": RNG.integers(-32767, 32767, (12, 2, 4)).astype(np.int16),
        "parent": np.array([-1, 0, 1], np.int32),
        "driver": np.array([0, 1, 1], np.int32),
        "heads": RNG.normal(size=(3, 3, 3)).astype(np.float32),
        "subject": np.array([0, 1, 2], np.int32),
        "rest6": RNG.normal(size=(3, 6, 3)).astype(np.float32),
        "weights6": RNG.random((6, 3)).astype(np.float32),
        "faces6": FACES,
    }
    np.savez(path, **arrays, **common(12))


def scene_pack(path):
    folder, values = path.parent / "scenes" / "train" / "RED", RNG.integers(4096, size=(36, 36))
    for name in (f"imgset{k:04d}" for k in range(4)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for word, side in (("LR000", 12), ("QM000", 12), ("HR", 36), ("SM", 36)):
            picture = 16 * values[:side, :side] + 16 * (word in ("QM000", "SM"))
            Image.fromarray(picture.astype(np.uint16)).save(folder / name / f"{word}.png")
    [made] = pack_scenes(path.parent / "scenes", path.parent, "RED", "train")
    made.replace(path)


def registrations(path):
    h5py = pytest.importorskip("h5py", reason="needs h5py")
    with h5py.File(path, "w") as content:
        content["faces"] = FACES.astype(np.uint32)
        for who, how in (
            ("50002", {}),
            ("50009", {"compression": "gzip"}),
            ("50026", {}),
            ("50025", {}),
        ):
            shapes = RNG.normal(size=(6, 3, 9)).astype(np.float32)
            content.create_dataset(f"{who}_punching", data=shapes, **how)


def video(path):
    write_video(path, range(0, 120, 20))


def obj(path):
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    path.write_text("\n".join([*lines, *(f"f {a + 1} {b + 1} -{4 - c}" for a, b, c in FACES)]))


def ply(path, kind):
    head = (
        f"ply\nformat {kind} 1.0\nelement vertex 4\nproperty float x\nproperty float y\n"
        "property float z\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()
    if kind == "ascii":
        rows = [*CORNERS, *((3, *face) for face in FACES)]
        body = "\n".join(" ".join(map(str, row)) for row in rows).encode()
    else:
        faces = b"".join(b"\x03" + face.astype("<i4").tobytes() for face in FACES)
        body = np.array(CORNERS, "<f4").tobytes() + faces
    path.write_bytes(head + body)


def with_trimesh(path):
    trimesh = pytest.importorskip("trimesh", reason="needs trimesh")
    trimesh.Trimesh(np.array(CORNERS, float), FACES, process=False).export(path)


def network(path):
    made = SignalNetwork("mlp", widths=(4, 4, 2), num_elements=3, length=5)
    save_registered(path.parent, "signals", made.arguments, made.state_dict())


def described_network(path):
    parts = [
        symsets.DSS(nn.Conv1d(2, 3, 3), pool="power2", size=4.0),
        nn.ReLU(),
        symsets.Wreath(snn.EquivariantLinear(groups.Cyclic(5), 3, 2)),
        symsets.lift(nn.Sequential(nn.Flatten(), nn.Linear(10, 4)), "dss-mean"),
        snn.Classify(4, 2, hidden=(3,)),
    ]
    made = symsets.Sequential(*parts)
    card = {"element": {"size": [1, 7]}, "target": {"mean": [0.0], "std": [1.0]}}
    made.card = Card("regress", "signals", classes=("a", "b"), **card)
    symsets.save(made, path.parent)


def checkpoint(path):
    state = {"fitted": [{"epochs": 3}], "ensemble": {"w": torch.arange(40.0)}, "next_epoch": 3}
    Checkpoint(path).save(lambda: state)


def read_checkpoint(path):
    found = []
    Checkpoint(path).load(torch.device("cpu"), found.append)
    assert found[0]["ensemble"]["w"].equal(torch.arange(40.0)), "other numbers than were written"


def lines(path):
    path.write_text("".join(f"/a/b/{i}.jpg {i % 3}\n" for i in range(40)))


def some(source, what):
    """Return what reads a split of a source."""
    return lambda path: getattr(source(path), what)("test")


def decode(path):
    return decode_image(path, 16)


KINDS = {  # name of the file: what writes a sound one, what reads it
    "images.npz": (image_pack, some(lambda p: ImagePack(p, size=16), "images")),
    "videos.npz": (video_pack, some(lambda p: VideoPack(p, size=16), "clips")),
    "baked.npz": (baked_pack, some(MotionPack, "motions")),
    "skinned.npz": (skinned_pack, some(MotionPack, "motions")),
    "scenes.npz": (scene_pack, lambda path: ScenePack(path).scenes("RED", "train", 9)),
    "registrations_m.hdf5": (registrations, some(lambda p: DynamicFaust(p.parent), "motions")),
    "one.jpg": (picture, decode),
    "one.png": (picture, decode),
    "one.webp": (picture, decode),
    "one.gif": (picture, decode),
    "one.tif": (picture, decode),
    "one.bmp": (picture, decode),
    "nox.png": (picture, read_png),
    "one.avi": (video, lambda path: decode_video(path, size=16, fps=25, num=6)),
    "one.mp4": (video, lambda path: decode_video(path, size=16, fps=25, num=6)),
    "one.obj": (obj, load_mesh),
    "text.ply": (lambda path: ply(path, "ascii"), load_mesh),
    "binary.ply": (lambda path: ply(path, "binary_little_endian"), load_mesh),
    "one.glb": (with_trimesh, load_mesh),
    "one.off": (with_trimesh, load_mesh),
    "one.stl": (with_trimesh, load_mesh),
    "network.json": (network, lambda path: load(path.parent)),
    "model.safetensors": (network, lambda path: load(path.parent)),
    "described/network.json": (described_network, lambda path: load(path.parent)),
    "described/model.safetensors": (described_network, lambda path: load(path.parent)),
    "run.ckpt": (checkpoint, read_checkpoint),
    "list.txt": (lines, lambda path: read_list(path, 2)),
}
SEALED = ("model.safetensors", "run.ckpt")


def outcome(read, path):
    """Read a file, and return the message of the error, if there was one that users may see."""
    try:
        read(path)
    except UnusableError:
        return "unusable"  # and counted
    except (ValueError, OSError) as error:
        said = str(error)
        assert path.name in said or str(path.parent) in said, said
        assert "\n" not in said.strip(), said
        assert len(said) < 2000, said
        return said
    return ""


@pytest.mark.parametrize("name", KINDS)
def test_damaged_data_are_read_or_refused_by_name(name, tmp_path, large, no_hang):
    write, read = KINDS[name]
    path, rng = tmp_path / name, random.Random(name)
    path.parent.mkdir(exist_ok=True)
    write(path)
    assert outcome(read, path) == ""
    sound = path.read_bytes()
    for k in range(200 if large else 6):
        deeper = DEEPER.get(path.suffix, damaged) if k % 2 else damaged
        path.write_bytes(deeper(sound, rng))
        with no_hang():
            outcome(read, path)


@pytest.mark.parametrize("name", SEALED)
def test_no_flipped_bit_gives_other_numbers(name, tmp_path, large):
    write, read = KINDS[name]
    path, rng = tmp_path / name, random.Random(1)
    write(path)
    sound = path.read_bytes()
    before = load(tmp_path).state_dict() if name == "model.safetensors" else {}
    for _ in range(200 if large else 20):
        where = rng.randrange(len(sound))
        flipped = bytes([sound[where] ^ 1 << rng.randrange(8)])
        path.write_bytes(sound[:where] + flipped + sound[where + 1 :])
        if outcome(read, path) == "" and before:
            after = load(tmp_path).state_dict()
            assert all(after[key].equal(before[key]) for key in before)


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path, no_hang):
    for name, (_, read) in KINDS.items():
        if name.endswith(("network.json", "model.safetensors")):
            continue
        path = tmp_path / name
        os.mkfifo(path)
        with no_hang(10):
            assert outcome(read, path), name
        path.unlink()


def test_sizes_are_believed_up_to_what_a_file_can_hold(tmp_path):
    path = tmp_path / "bomb.npz"
    image_pack(path, data=np.zeros(2**29, np.uint8))
    with pytest.raises(ValueError, match=r"bomb\.npz cannot be read: it claims to hold 53\d,\d+"):
        ImagePack(path)
    picture(tmp_path / "one.jpg")
    h5py = pytest.importorskip("h5py", reason="needs h5py")
    with h5py.File(tmp_path / "registrations_m.hdf5", "w") as content:
        content["faces"] = FACES
        content.create_dataset("50026_punching", (2**20, 3, 2**20), "f4", chunks=(64, 3, 64))
    with pytest.raises(ValueError, match=r"registrations_m\.hdf5 .*: it claims to hold 13,194,"):
        DynamicFaust(tmp_path).motions("test")


@pytest.mark.parametrize(("suffix", "readable"), [(".jpg", True), (".png", False)])
def test_a_vast_picture_is_reduced_or_counted(tmp_path, suffix, readable):
    for split in ("train", "val", "test"):
        (tmp_path / split).mkdir()
        picture(tmp_path / split / "small.png")
    Image.new("L", (12_000, 12_000)).save(tmp_path / "test" / f"vast{suffix}")
    source = ImageFolder(tmp_path, size=16)
    assert len(source.images("test")) == 1 + readable
    assert str(source.skipped) == (
        "none skipped" if readable else "1 skipped (1 larger than 67,108,864 pixels)"
    )
