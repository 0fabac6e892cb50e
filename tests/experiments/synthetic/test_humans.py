import numpy as np
import pytest
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from symsets.experiments.shapes.motions import Motions
from symsets.experiments.shapes.sets import skip_study
from symsets.experiments.synthetic.activities import ACTIVITIES, HELD_OUT_ACTIVITIES
from symsets.experiments.synthetic.body import JOINTS, PARENTS, body
from symsets.experiments.synthetic.humans import FPS, MovingHumans


@pytest.fixture(scope="module")
def source():
    return MovingHumans(num=24)


@pytest.fixture(scope="module")
def motions(source):
    return {split: source.motions(split) for split in ("train", "val", "test")}


def sequences(motions):
    return motions.shapes.split(motions.lengths.tolist())


def test_the_mesh_is_one_closed_surface_with_its_outside_out():
    made = body()
    faces, V = made.faces.numpy(), len(made.rest)
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    pairs, counts = np.unique(np.sort(sides, 1), axis=0, return_counts=True)
    assert set(counts) == {2}  # every edge joins two triangles,
    assert len(np.unique(sides, axis=0)) == len(sides)  # which pass it in opposite directions
    assert V - len(pairs) + len(faces) == 2  # a sphere
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), (V, V))
    assert connected_components(graph, directed=False)[0] == 1
    a, b, c = (made.rest[faces[:, k]] for k in range(3))
    volume = (a * torch.linalg.cross(b, c)).sum() / 6
    assert 0.05 < volume < 0.12  # cubic metres


def test_vertices_follow_the_limbs_they_lie_on():
    made = body()
    assert (made.weights >= 0).all()
    torch.testing.assert_close(made.weights.sum(1), torch.ones(len(made.rest)))
    left_hand = made.rest[:, 0] > 0.75
    assert (made.weights[left_hand, JOINTS.index("left hand")] > 0.7).all()
    for mine, others in (("left", "right"), ("right", "left")):
        side = [j for j, name in enumerate(JOINTS) if name.startswith(mine)]
        opposite = [j for j, name in enumerate(JOINTS) if name.startswith(others)]
        on_limb = made.weights[:, side].sum(1) > 0.99
        assert made.weights[on_limb][:, opposite].max() < 0.01
    assert all(parent < joint for joint, parent in enumerate(PARENTS))


def test_the_split_is_hard(motions):
    words = {split: [name.split("_") for name in m.names] for split, m in motions.items()}
    subjects = [{subject for subject, *_ in found} for found in words.values()]
    assert len(set.union(*subjects)) == sum(map(len, subjects)) == 9
    assert {activity for _, activity, _ in words["test"]} == set(HELD_OUT_ACTIVITIES)
    seen = {activity for split in ("train", "val") for _, activity, _ in words[split]}
    assert seen <= set(ACTIVITIES) - set(HELD_OUT_ACTIVITIES)
    assert len(seen) > 6


def test_the_same_sequences_however_many_are_asked_for(source, motions):
    few = source.motions("val", 5)
    assert few.names == motions["val"].names[:5]
    assert torch.equal(few.shapes, motions["val"].shapes[: len(few.shapes)])
    other = MovingHumans(seed=1).motions("val", 5)
    assert not torch.equal(few.shapes, other.shapes)


def test_people_keep_their_size_and_move_smoothly(motions):
    shapes = motions["train"].shapes
    assert shapes.isfinite().all()
    assert shapes.abs().max() < 1.4  # metres from the pelvis
    for one in sequences(motions["train"]):
        speed = one.diff(dim=0).norm(dim=1).max() * FPS
        assert 0.3 < speed < 15  # metres in a second
        jerk = one.diff(n=2, dim=0).norm(dim=1).max() * FPS
        assert jerk < speed  # no jumps from frame to frame
    heads = [sequences(m)[0][:, 1].max() for m in motions.values()]
    assert len({round(float(h), 3) for h in heads}) == 3


def test_the_path_of_the_pelvis_is_not_there(motions):
    pelvis = body().weights[:, JOINTS.index("pelvis")] > 0.6
    assert pelvis.sum() > 20
    for one in sequences(motions["train"]):
        assert one[..., pelvis].mean((0, 2)).norm() < 0.15


def test_the_task_is_about_as_hard_as_published(source, motions):
    study = skip_study(motions["test"], (1, source.skip, 10))
    assert study[1] > 0.6
    assert 0.25 < study[source.skip] < 0.45
    assert study[10] < 0.25


def test_time_may_run_backwards_without_notice(motions):
    """The central frame stays central: no way to win by telling early from late."""
    backwards = Motions.join([s.flip(0) for s in sequences(motions["test"])], motions["test"].names)
    assert skip_study(backwards, (3,)) == skip_study(motions["test"], (3,))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="num must be at least 1, got 0"):
        MovingHumans(num=0).motions("val")
    with pytest.raises(ValueError, match="num must be at least 1, got -1"):
        MovingHumans().motions("val", -1)
    with pytest.raises(ValueError, match=r"split must be one of .* got 'dev'"):
        MovingHumans().motions("dev", 1)
