"""Small tables: networks that learn from labelled rows in one pass, without training."""

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from symsets.data.labelled import SetDataset
from symsets.experiments.study.experiment import QUICK, SMOKE, Experiment, Preset, scaled
from symsets.experiments.tables.baselines import BASELINES
from symsets.experiments.tables.metrics import IN_CONTEXT
from symsets.experiments.tables.network import TableNetwork
from symsets.experiments.tables.numbered import NumberedNetwork
from symsets.experiments.tables.prior import ShapeRange
from symsets.experiments.tables.real import MOST_ROWS, TableSource, table_source, turned_digits
from symsets.experiments.tables.sets import GivenTables, RandomTables, fixed_tables
from symsets.train.evaluation import evaluate

MODELS = ("dss-mean", "siamese", "nanotabpfn")
WIDTH, DEPTH = 96, 6
NANO_DEPTH = 3  # as published, like the width
MORE_CLASSES = "auc-20-classes"  # twice as many as in training
PRESETS = {
    "smoke": replace(SMOKE, models=("dss-mean", "nanotabpfn"), train_sizes=(8,), test_size=4),
    "quick": replace(
        QUICK,
        models=("dss-mean", "nanotabpfn"),
        train_sizes=(400,),
        epochs=(6,),
        test_size=16,
        batch_size=4,
        width=1 / 3,
        duration="about five minutes on two cores",
    ),
    "paper": Preset(
        models=MODELS,
        train_sizes=(12_800,),
        epochs=(10,),
        test_size=80,
        duration="about five minutes on one GPU for each model, two for nanotabpfn",
    ),
}
PLAN = {
    "learning_rate": 1e-3,
    "batch_size": 32,
    "evaluation_batch": 4,
    "clip": 1.0,
    "keep": "loss",
    "validations": 12,
}
SHAPES = ShapeRange()
SMALL_SHAPES = ShapeRange(rows=(40, 200), columns=(2, 32), queries=32, cells=4000)  # on a CPU


class TablesExperiment(Experiment[TableSource]):
    """Classify rows of real tables by other rows, with networks that have seen random ones alone.

    On a CPU random tables are smaller, so that a network sees enough of them in minutes.
    """

    name = "tables"
    story = (
        "Each set holds one table for each class: is a row of this class, or not?\n"
        "Neither the order of rows, nor that of columns or classes, means anything.\n"
        "Trained on random tables, a network reads the labels of some rows of a\n"
        "table that it has never seen, and classifies the others in one pass."
    )
    models = MODELS
    presets = PRESETS
    task = IN_CONTEXT
    plans: ClassVar = {"ours": PLAN, "published": PLAN}
    baselines: ClassVar[Any] = BASELINES
    default_data = "embedded"

    def open_source(self, data: str, seed: int) -> TableSource:
        return table_source(data)

    def make_sets(
        self, source: TableSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> SetDataset:
        """Make random tables, or for the test divide real ones until there are ``num`` of them."""
        shapes = SMALL_SHAPES if torch.device(device).type == "cpu" else SHAPES
        if split == "train":
            return RandomTables(num, shapes, device)
        if split == "val":
            return fixed_tables(num, shapes, seed)
        return source.divided(max(1, num // len(source.tables)), seed, most=_most_rows(num))

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: TableSource
    ) -> nn.Module:
        """Make a network whose classes are a set, or one that takes them for numbers.

        Recipe ``"published"`` has no regressions, as published networks of this kind.
        """
        [channels] = scaled([WIDTH], width)
        if model == "nanotabpfn":
            return NumberedNetwork(width=channels, depth=NANO_DEPTH)
        depth = DEPTH if width == 1 else DEPTH // 2
        return TableNetwork(model, width=channels, depth=depth, ridge=recipe == "ours")

    def parts_of(self, sets: Any) -> dict[str, Tensor]:
        """Return which of the divided tables are of which table."""
        return sets.places() if len(sets.names) > 1 else {}

    def measure_more(
        self, network: nn.Module, source: TableSource, setting: str, num: int, device: str
    ) -> dict[str, Tensor]:
        """Measure the area under the curve with more classes than there were in training."""
        divided = turned_digits().divided(max(1, num // 16), seed=0, most=_most_rows(num))
        dtype = next(network.parameters()).dtype
        sets = GivenTables([divided]).to(device, dtype)
        [found] = evaluate(network, sets, IN_CONTEXT, batch_size=1)
        return {MORE_CLASSES: found.values["auc"].cpu()}

    def example_inputs(self, x: Any) -> Tensor:
        """Return the queries: a report draws none."""
        return x.queries


def _most_rows(num: int) -> int:
    """Return how many rows have labels if there are ``num`` test tables: few in a smoke test."""
    return min(MOST_ROWS, 15 * num)


EXPERIMENT = TablesExperiment()
