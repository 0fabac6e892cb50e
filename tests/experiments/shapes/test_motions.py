import pytest
import torch

from symsets.experiments.shapes.motions import Motions

FACES = torch.tensor([[0, 1, 2], [1, 3, 2]])


def sequence(frames, vertices=4):
    return torch.randn(frames, 3, vertices)


def test_sequences_lie_end_to_end():
    parts = [sequence(5), sequence(2), sequence(7)]
    motions = Motions.join(parts, ["50002_light_hopping_loose", "a_b", "c"], faces=FACES)
    assert motions.starts.tolist() == [0, 5, 7]
    assert torch.equal(motions.shapes, torch.cat(parts))
    assert motions.graph.num_edges == 10
    assert motions.num_vertices == 4


def test_points_have_no_graph():
    with pytest.raises(ValueError, match="motions must have faces to make a graph of, got points"):
        Motions.join([sequence(5)], ["a"]).graph


@pytest.mark.parametrize(
    ("sequences", "faces", "message"),
    [
        ([], None, "sequences must hold at least one sequence, got none"),
        (
            [sequence(3), sequence(3, 5)],
            None,
            "sequence 'two' must have 4 vertices like the oth.*5",
        ),
        (
            [sequence(3), torch.zeros(3, 4, 3)],
            None,
            r"sequence 'two' must be \(frames, 3, vertices\), got shape \(3, 4, 3\)",
        ),
        (
            [sequence(3), torch.full((3, 3, 4), torch.nan)],
            None,
            "sequence 'two' must have finite vertices, got NaN in frame 0",
        ),
        (
            [sequence(3), torch.full((3, 3, 4), torch.inf)],
            None,
            "sequence 'two' must have finite vertices, got infinity in frame 0",
        ),
        ([sequence(3)], FACES + 1, r"faces of 'one' must point to its vertices 0\.\.3, got 4"),
        ([sequence(3)], FACES - 1, r"faces of 'one' must point to its vertices 0\.\.3, got -1"),
        ([sequence(3)], FACES.float(), r"faces of 'one' must be \(F, 3\) integers, got torch\.fl"),
    ],
)
def test_bad_input_names_the_sequence(sequences, faces, message):
    with pytest.raises(ValueError, match=message):
        Motions.join(sequences, ["one", "two"][: len(sequences)], faces=faces)


def test_the_frame_with_nan_is_named():
    broken = sequence(9)
    broken[6, 1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"sequence 'a_b' must have finite.* got NaN in frame 6"):
        Motions.join([broken], ["a_b"])
