import math

import torch

from symsets.experiments.synthetic.skinning import (
    joint_places,
    rotation_about,
    rotation_from_quaternion,
    skin,
    world_rotations,
)

PARENTS = [-1, 0, 1, 1]


def random_rotations(*shape):
    return rotation_from_quaternion(torch.randn(*shape, 4, dtype=torch.float64))


def test_quaternions_rotate_by_their_angle_about_their_axis():
    axis = torch.tensor([1.0, 2.0, 2.0], dtype=torch.float64) / 3
    for angle in (0.0, 0.3, 2.0, math.pi):
        half = torch.tensor([angle / 2])
        R = rotation_from_quaternion(7 * torch.cat([axis * half.sin(), half.cos()]))
        torch.testing.assert_close(R, torch.matrix_exp(angle * cross(axis)), atol=1e-7, rtol=0)


def cross(v):
    x, y, z = v.tolist()
    return torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=torch.float64)


def test_rotations_about_vectors_are_matrix_exponentials_also_at_zero():
    for vector in (torch.zeros(3).double(), *torch.randn(5, 3, dtype=torch.float64)):
        torch.testing.assert_close(rotation_about(vector), torch.matrix_exp(cross(vector)))


def test_rotations_are_rotations():
    R = random_rotations(50)
    torch.testing.assert_close(R @ R.mT, torch.eye(3).double().expand_as(R))
    torch.testing.assert_close(torch.linalg.det(R), torch.ones(50).double())


def test_rotations_of_joints_compose_along_the_skeleton():
    local = random_rotations(5, 4)
    world = world_rotations(local, PARENTS)
    torch.testing.assert_close(world[:, 3], local[:, 0] @ local[:, 1] @ local[:, 3])


def test_bones_keep_their_lengths():
    heads = torch.randn(4, 3, dtype=torch.float64)
    places = joint_places(random_rotations(6, 4), heads, PARENTS)
    assert (places[:, 0] == 0).all()
    for joint in (1, 2, 3):
        bone = (heads[joint] - heads[PARENTS[joint]]).norm()
        moved = (places[:, joint] - places[:, PARENTS[joint]]).norm(dim=1)
        torch.testing.assert_close(moved, bone.expand(6))


def test_a_joint_moves_what_hangs_on_it_and_not_itself():
    heads, rotation = torch.randn(4, 3), torch.eye(3).repeat(4, 1, 1)
    rotation[1] = torch.diag(torch.tensor([-1.0, -1.0, 1.0]))
    moved = joint_places(rotation, heads, PARENTS) - (heads - heads[0])
    assert moved[:2].abs().max() < 1e-6
    torch.testing.assert_close(moved[2:, :2], -2 * (heads[2:] - heads[1])[:, :2])


def slow_skin(rotation, heads, rest, weights):
    """Move one vertex after the other."""
    places = joint_places(rotation, heads, PARENTS)
    out = torch.zeros(len(rotation), 3, len(rest), dtype=torch.float64)
    for t in range(len(rotation)):
        for v in range(len(rest)):
            for j in range(len(heads)):
                moved = rotation[t, j] @ (rest[v] - heads[j]) + places[t, j]
                out[t, :, v] += weights[v, j] * moved
    return out


def test_skinning_agrees_with_the_formula_vertex_by_vertex():
    rotation, heads = random_rotations(3, 4), torch.randn(4, 3, dtype=torch.float64)
    rest = torch.randn(5, 3, dtype=torch.float64)
    weights = torch.rand(5, 4, dtype=torch.float64).softmax(1)
    fast = skin(rotation, heads, PARENTS, rest, weights)
    torch.testing.assert_close(fast, slow_skin(rotation, heads, rest, weights))
    # several motions of one body at once
    both = skin(torch.stack([rotation, rotation.flip(0)]), heads, PARENTS, rest, weights)
    torch.testing.assert_close(both, torch.stack([fast, fast.flip(0)]))


def test_without_rotation_a_body_stays_at_rest_about_its_root():
    heads, rest = torch.randn(4, 3), torch.randn(5, 3)
    still = torch.eye(3).expand(2, 4, 3, 3)
    moved = skin(still, heads, PARENTS, rest, torch.rand(5, 4).softmax(1))
    torch.testing.assert_close(moved[1], (rest - heads[0]).T)
