import numpy as np
import pytest
import torch

from symsets.experiments.shapes.motion_packs import MotionPack, motion_pack_form
from symsets.experiments.synthetic.skinning import rotation_from_quaternion, skin

RNG = np.random.default_rng(0)
LENGTHS = [8, 12, 9, 10]
FACES = np.array([[0, 1, 2], [2, 1, 3]], np.int32)


def common():
    return {
        "offsets": np.cumsum([0, *LENGTHS]),
        "split": np.array(["train", "train", "val", "test"]),
        "name": np.array(["1_walk", "1_run", "2_walk", "3_kick"]),
    }


def skinned(**more):
    """Three joints, two of them driven by one rotation; bodies of 6 and of 9 vertices."""
    arrays = common() | {
        "quat": RNG.integers(-32767, 32767, (sum(LENGTHS), 2, 4)).astype(np.int16),
        "parent": np.array([-1, 0, 1], np.int32),
        "driver": np.array([0, 1, 1], np.int32),
        "heads": RNG.normal(size=(3, 3, 3)).astype(np.float32),
        "subject": np.array([0, 0, 1, 2], np.int32),
    }
    for num in (9, 6):
        weights = RNG.random((num, 3)).astype(np.float32)
        arrays |= {
            f"rest{num}": RNG.normal(size=(3, num, 3)).astype(np.float32),
            f"weights{num}": weights / weights.sum(1, keepdims=True),
            f"faces{num}": FACES,
        }
    return arrays | more


def baked(**more):
    verts = RNG.integers(-1000, 1000, (sum(LENGTHS), 5, 3)).astype(np.int16)
    arrays = common() | {"verts": verts, "scale": np.float32(0.001), "faces": FACES}
    return arrays | more


def write(path, arrays):
    np.savez(path, **arrays)
    return path


def test_skinned_packs_move_their_bodies(tmp_path):
    arrays = skinned()
    source = MotionPack(write(tmp_path / "people.npz", arrays))
    assert (source.form, source.name, source.skip) == ("skinned", "people", 4)
    motions = source.motions("test")
    assert motions.names == ["3_kick"]
    quaternion = torch.from_numpy(arrays["quat"][-10:].astype(np.float64))
    rotation = rotation_from_quaternion(quaternion)[:, [0, 1, 1]]
    parts = (arrays[key][2].astype(np.float64) for key in ("heads", "rest6"))
    heads, rest = map(torch.from_numpy, parts)
    weights = torch.from_numpy(arrays["weights6"].astype(np.float64))
    expected = skin(rotation, heads, [-1, 0, 1], rest, weights)
    torch.testing.assert_close(motions.shapes.double(), expected, atol=1e-5, rtol=1e-5)
    assert motions.graph.num_nodes == 6


@pytest.mark.parametrize("numbers", [False, True])
def test_baked_packs_come_back_by_split(tmp_path, numbers):
    arrays = baked(split=np.array([0, 0, 1, 2])) if numbers else baked()
    source = MotionPack(write(tmp_path / "baked.npz", arrays))
    train = source.motions("train")
    assert dict(zip(train.names, train.lengths.tolist(), strict=True)) == {"1_walk": 8, "1_run": 12}
    for name, shapes in zip(train.names, train.shapes.split(train.lengths.tolist()), strict=True):
        verts = arrays["verts"][:8] if name == "1_walk" else arrays["verts"][8:20]
        torch.testing.assert_close(shapes.mT, torch.from_numpy(verts * np.float32(0.001)))
    assert len(source.motions("train", 1).names) == 1


def test_forms_are_told_apart_without_reading(tmp_path):
    assert motion_pack_form(write(tmp_path / "s.npz", skinned())) == "skinned"
    assert motion_pack_form(write(tmp_path / "b.npz", baked())) == "baked"
    assert motion_pack_form(write(tmp_path / "n.npz", {"data": FACES})) is None
    assert motion_pack_form(tmp_path) is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": FACES}, r"p\.npz must be a pack of motions with the keys \['quat', .*'verts'"),
        (baked(split=np.array(["train"] * 3 + ["rest"])), "split must be one of .*, got 'rest'"),
        (baked(split=np.array([0, 0, 1])), r"p\.npz is inconsistent: offsets must rise .*, 39"),
        (baked(offsets=np.array([0, 8, 20, 29, 40])), r"p\.npz is inconsistent"),
        (baked(faces=FACES + 2), r"faces of '1_.*' must point to its vertices 0\.\.4"),
        (
            baked(verts=np.full((39, 5, 3), np.nan, np.float32)),
            "sequence '1_.*' must have finite vertices",
        ),
        (skinned(parent=np.array([-1, 2, 0])), r"p\.npz cannot be read"),
        (skinned(subject=np.array([3, 0, 1, 0])), r"p\.npz cannot be read"),
        (baked(offsets=np.cumsum([0.0, *LENGTHS])), r"p\.npz cannot be read"),
        (baked(name=np.array([{}] * 4, dtype=object)), r"p\.npz cannot be read: .*allow_pickle"),
        (baked(verts=np.zeros((39, 5, 3), "U1")), r"p\.npz cannot be read"),
        (baked(faces=FACES.astype("U1")), r"p\.npz cannot be read"),
        (baked(split=np.array(0)), r"p\.npz cannot be read"),
        (
            {
                "verts": np.zeros((4, 5, 3)),
                "offsets": np.array([], int),
                "split": np.array([], int),
            },
            r"p\.npz is inconsistent: offsets must rise",
        ),
        (skinned(quat=np.zeros((39, 8))), r"p\.npz cannot be read"),
        (skinned(quat=np.zeros((39, 2, 3))), r"p\.npz cannot be read"),
        (skinned(driver=np.array([0, 1, -3])), r"p\.npz cannot be read"),
        (skinned(subject=np.array(["a"] * 4)), r"p\.npz cannot be read"),
        (skinned(subject=np.array([0, 0, 1])), r"p\.npz is inconsistent: offsets must rise"),
    ],
)
def test_bad_packs_are_named(tmp_path, arrays, message):
    path = write(tmp_path / "p.npz", arrays)
    with pytest.raises(ValueError, match=message):
        MotionPack(path).motions("train")


def test_arrays_that_a_form_does_not_have_may_be_anything(tmp_path):
    arrays = baked(heads=np.array("?"), hand_verts=np.arange(3), rest9=np.zeros(2))
    assert MotionPack(write(tmp_path / "p.npz", arrays)).motions("val").names == ["2_walk"]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"none\.npz must be a packed \.npz file, found no such"):
        MotionPack(tmp_path / "none.npz")
