"""Loss, accuracy and area under the curve of queries."""

import pytest
import torch
from sklearn.metrics import roc_auc_score

from symsets.experiments.tables.metrics import area_under_curve, query_accuracy, query_loss


@pytest.mark.parametrize("num_classes", [2, 4])
def test_the_area_is_that_of_scikit_learn(num_classes):
    torch.manual_seed(0)
    target = torch.arange(40).reshape(2, 20) % num_classes
    output = torch.randn(2, 20, num_classes)
    output[:, ::3] = output[:, :1]  # ties
    found = area_under_curve(output, target)
    for k in range(2):
        chance = output[k].double().softmax(1).numpy()
        score = chance[:, 1] if num_classes == 2 else chance
        expected = roc_auc_score(target[k], score, multi_class="ovr")
        assert found[k].item() == pytest.approx(expected, abs=1e-6)


def test_classes_without_queries_do_not_count():
    target = torch.tensor([[0, 0, 1, 1], [2, 2, 2, 2]])
    scores = torch.tensor([2.0, 1.0, -1.0, -2.0])
    output = torch.stack([scores, -scores, torch.zeros(4)], dim=1).expand(2, -1, -1)
    assert area_under_curve(output, target).tolist() == [1.0, 0.5]


def test_every_query_counts_alike():
    output = torch.tensor([[[2.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [2.0, 0.0]]])
    target = torch.tensor([[0, 1], [0, 1]])
    assert query_accuracy(output, target).tolist() == [1.0, 0.5]
    chance = output.log_softmax(2).gather(2, target.unsqueeze(2))
    torch.testing.assert_close(query_loss(output, target), -chance.mean())
