"""What needs no training: classifiers that are fitted to the labelled rows of each table."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from symsets._extras import require
from symsets.experiments.tables.network import RAREST, SLOPE, standardise
from symsets.experiments.tables.ridge import ridge_scores
from symsets.experiments.tables.tables import Tables

SMALLEST = 1e-12  # probability whose logarithm is taken


def logistic(x: Tables) -> Tensor:
    """Return what logistic regression on standardised columns gives, ``(B, Q, K)``."""
    pipeline = require("sklearn.pipeline", "images")
    scaler = require("sklearn.preprocessing", "images").StandardScaler
    regression = require("sklearn.linear_model", "images").LogisticRegression
    return _fitted(x, lambda: pipeline.make_pipeline(scaler(), regression(max_iter=2000)))


def boosting(x: Tables) -> Tensor:
    """Return what gradient boosting gives, whose trees see a few columns each, ``(B, Q, K)``."""
    trees = require("sklearn.ensemble", "images").GradientBoostingClassifier
    return _fitted(x, lambda: trees(max_features="sqrt", random_state=0))


def ridge(x: Tables) -> Tensor:
    """Return where a table network starts: the mean of its regressions, and shares of classes."""
    num = x.labels.shape[1]
    scores = ridge_scores(standardise(x.both, num), x.labels)[:, num:]
    share = torch.log(x.labels.mean(1, keepdim=True) + RAREST)
    return share + SLOPE * scores.mean(3)


def _fitted(x: Tables, make: Callable[[], Any]) -> Tensor:
    """Return logarithms of the probabilities that a classifier gives to queries."""
    rows, queries = x.rows.double().cpu().numpy(), x.queries.double().cpu().numpy()
    classes = x.labels.argmax(2).cpu().numpy()
    chances = np.full((*queries.shape[:2], x.num_classes), SMALLEST)
    for k, (own, labels, asked) in enumerate(zip(rows, classes, queries, strict=True)):
        model = make().fit(own, labels)
        chances[k][:, model.classes_] = model.predict_proba(asked)
    logs = torch.from_numpy(np.log(np.maximum(chances, SMALLEST)))
    return logs.to(x.device, torch.float32)


BASELINES = {"logistic": logistic, "boosting": boosting, "ridge": ridge}
