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
        (
            [sequence(3), sequence(3, 5)],
            None,
            r"sequence 'two' must be \(frames, 3, 4\), got shape \(3, 3, 5\)",
        ),
        (
            [sequence(3), torch.zeros(3, 4, 3)],
            None,
            r"sequence 'two' must be \(frames, 3, 4\), got shape \(3, 4, 3\)",
        ),
        (
            [sequence(3), torch.full((3, 3, 4), torch.nan)],
            None,
            "sequence 'two' must have finite vertices",
        ),
        (
            [sequence(3), torch.full((3, 3, 4), torch.inf)],
            None,
            "sequence 'two' must have finite vertices",
        ),
        ([sequence(3)], FACES + 1, r"faces of 'one' must point to its vertices 0\.\.3"),
        ([sequence(3)], FACES - 1, r"faces of 'one' must point to its vertices 0\.\.3"),
    ],
)
def test_bad_input_names_the_sequence(sequences, faces, message):
    with pytest.raises(ValueError, match=message):
        Motions.join(sequences, ["one", "two"][: len(sequences)], faces=faces)
