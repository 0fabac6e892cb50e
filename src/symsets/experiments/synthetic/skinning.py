"""Move a mesh with its skeleton: rotations, forward kinematics, linear blend skinning."""

from collections.abc import Sequence

import torch
from torch import Tensor


def rotation_from_quaternion(quaternion: Tensor) -> Tensor:
    """Return the rotation matrices ``(…, 3, 3)`` of quaternions ``(…, 4)``, real part last.

    They need not have unit length.

    Example:
        >>> half_turn = rotation_from_quaternion(torch.tensor([0.0, 0.0, 2.0, 0.0]))
        >>> half_turn.diagonal()
        tensor([-1., -1.,  1.])
    """
    unit = torch.nn.functional.normalize(quaternion, dim=-1)
    axis, real = unit[..., :3], unit[..., 3, None, None]
    # Rodrigues: R = I + 2 r K + 2 K², where K is the cross product with the imaginary part
    cross = _cross(axis)
    eye = torch.eye(3, dtype=unit.dtype, device=unit.device)
    return eye + 2 * real * cross + 2 * cross @ cross


def rotation_about(vector: Tensor) -> Tensor:
    """Return the rotations ``(…, 3, 3)`` about vectors ``(…, 3)`` by angles that are their lengths.

    Example:
        >>> quarter = rotation_about(torch.tensor([0.0, 0.0, torch.pi / 2]))
        >>> (quarter @ torch.tensor([1.0, 0.0, 0.0])).round(decimals=4).abs()
        tensor([0., 1., 0.])
    """
    angle = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    # sin(a/2)/a stays smooth at zero, unlike the direction of the axis
    imaginary = vector * torch.sinc(angle / (2 * torch.pi)) / 2
    return rotation_from_quaternion(torch.cat([imaginary, (angle / 2).cos()], -1))


def _cross(axis: Tensor) -> Tensor:
    x, y, z = axis.unbind(-1)
    o = torch.zeros_like(x)
    return torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).unflatten(-1, (3, 3))


def world_rotations(local: Tensor, parents: Sequence[int]) -> Tensor:
    """Compose rotations ``(…, J, 3, 3)`` of joints relative to their parents from the root on."""
    world: list[Tensor] = []
    for joint, parent in enumerate(parents):
        own = local[..., joint, :, :]
        world.append(own if parent < 0 else world[parent] @ own)
    return torch.stack(world, -3)


def joint_places(rotation: Tensor, heads: Tensor, parents: Sequence[int]) -> Tensor:
    """Return where the joints are, ``(…, J, 3)``, with every root at the origin.

    Args:
        rotation: Of each joint in the world, ``(…, J, 3, 3)``.
        heads: Where the joints are at rest, ``(…, J, 3)``.
        parents: Of each joint the one it hangs on, earlier in the list; -1 for a root.
    """
    places: list[Tensor] = []
    for joint, parent in enumerate(parents):
        if parent < 0:
            places.append(torch.zeros_like(rotation[..., joint, :, 0]))
        else:
            bone = (heads[..., joint, :] - heads[..., parent, :])[..., None]
            places.append(places[parent] + (rotation[..., parent, :, :] @ bone)[..., 0])
    return torch.stack(places, -2)


def skin(
    rotation: Tensor, heads: Tensor, parents: Sequence[int], rest: Tensor, weights: Tensor
) -> Tensor:
    r"""Move the vertices of a mesh with its joints, by linear blend skinning.

    .. math:: x_v = \sum_j w_{vj} \bigl(R_j (r_v - h_j) + p_j\bigr)

    All frames and vertices are one matrix product: the motion of the joints ``(L, 3, 4 J)`` times
    what the vertices take from it ``(4 J, V)``.

    Args:
        rotation: :math:`R`, of each joint in the world, in every frame.
        heads: :math:`h`, where the joints are at rest.
        parents: Of each joint the one it hangs on, earlier in the list; -1 for a root, which
            stays at the origin.
        rest: :math:`r`, the vertices at rest.
        weights: :math:`w`, how much each vertex follows each joint; rows add up to one.

    Shape:
        - rotation: ``(…, L, J, 3, 3)``.
        - heads: ``(…, J, 3)``; rest: ``(…, V, 3)``; weights: ``(V, J)``.
        - output: ``(…, L, 3, V)``.
    """
    over_frames = heads.unsqueeze(-3)  # (…, 1, J, 3)
    places = joint_places(rotation, over_frames, parents)  # (…, L, J, 3)
    shift = places - (rotation @ over_frames[..., None])[..., 0]
    motion = torch.cat([rotation, shift[..., None]], -1)  # (…, L, J, 3, 4)
    motion = motion.transpose(-3, -2).flatten(-2)  # (…, L, 3, 4 J)
    homogeneous = torch.cat([rest, torch.ones_like(rest[..., :1])], -1)  # (…, V, 4)
    taken = (weights[..., None] * homogeneous[..., None, :]).flatten(-2)  # (…, V, 4 J)
    # One product of (3 L, 4 J) and (4 J, V) for each body.
    moved = motion.flatten(-3, -2) @ taken.mT
    return moved.unflatten(-2, motion.shape[-3:-1])
