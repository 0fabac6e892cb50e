import pytest
import torch

from symsets.experiments.frames.metrics import TASK, among_two, farthest_from_mean

ENDS = torch.tensor([[0, 3]])


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4.0, 3.0, 2.0, 1.0], (1, 1, 1)),  # the first
        ([1.0, 2.0, 3.0, 4.0], (0, 0, 1)),  # the last: right up to reversal
        ([3.0, 4.0, 2.0, 1.0], (0, 1, 0)),  # second best
        ([3.0, 1.0, 2.0, 4.0], (0, 1, 1)),  # both ends, in the wrong order
        ([2.0, 3.0, 4.0, 1.0], (0, 0, 0)),
        ([1.0, 1.0, 1.0, 1.0], (0.25, 0.5, 0.5)),  # a guess
        ([torch.nan] * 4, (0, 0, 0)),
    ],
)
def test_metrics_tell_what_was_missed(scores, expected):
    output = torch.tensor([scores, scores])
    found = {metric.name: metric(output, ENDS.expand(2, 2)) for metric in TASK.metrics}
    assert tuple(found.values()) == expected
    assert list(found) == ["accuracy", "top2-accuracy", "undirected-accuracy"]


def test_ties_behind_the_best_share_the_second_place():
    assert among_two(torch.tensor([[1.0, 1.0, 2.0, 1.0]]), ENDS).item() == pytest.approx(1 / 3)


def test_only_the_first_frame_is_learnt():
    output = torch.randn(5, 4)
    ends = torch.tensor([[1, 2]]).expand(5, 2)
    other = torch.tensor([[1, 0]]).expand(5, 2)
    assert TASK.loss(output, ends) == TASK.loss(output, other)
    assert TASK.loss(output, ends) != TASK.loss(output, ends.flip(1))


def test_the_ends_of_a_steady_motion_are_farthest_from_the_mean():
    moving = torch.arange(8.0)[None, torch.randperm(8)]  # the time of each frame
    frames = moving.reshape(1, 8, 1, 1, 1).expand(1, 8, 3, 4, 4)
    found = moving[0, farthest_from_mean(frames)[0].topk(2).indices]
    assert set(found.tolist()) == {0.0, 7.0}
