"""Small tables: one network that learns from labelled rows in one pass, at any size."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from symsets.data.labelled import SetDataset
from symsets.experiments.study.experiment import QUICK, SMOKE, Experiment, Preset, scaled
from symsets.experiments.tables.baselines import BASELINES
from symsets.experiments.tables.metrics import IN_CONTEXT, area_under_curve
from symsets.experiments.tables.network import TableNetwork
from symsets.experiments.tables.numbered import NumberedNetwork
from symsets.experiments.tables.prior import ShapeRange
from symsets.experiments.tables.real import NAMES, RealTables
from symsets.experiments.tables.sets import GivenTables, RandomTables, fixed_tables
from symsets.train.evaluation import outputs_of

MODELS = ("dss-mean", "siamese", "nanotabpfn")
WIDTH, DEPTH = 96, 6
NANO_WIDTH, NANO_DEPTH = 96, 3  # as published
PRESETS = {
    "smoke": replace(
        SMOKE, models=("dss-mean", "nanotabpfn"), train_sizes=(8,), epochs=(2,), test_size=4
    ),
    "quick": replace(
        QUICK,
        models=("dss-mean", "nanotabpfn"),
        train_sizes=(400,),
        epochs=(6,),
        test_size=20,
        batch_size=4,
        width=0.33,
    ),
    "paper": Preset(
        models=MODELS,
        train_sizes=(6400,),
        epochs=(48,),
        test_size=80,
        duration="about ten minutes for each model on one GPU (never timed as a whole)",
    ),
}
PLAN = {
    "learning_rate": 1e-3,
    "batch_size": 16,
    "evaluation_batch": 4,
    "clip": 1.0,
    "keep": "loss",
    "validations": 12,
}


class TablesExperiment(Experiment[RealTables]):
    """Classify rows of tables by other rows, with networks that have only seen random tables."""

    name = "tables"
    story = (
        "Each set holds one table for each class: is a row of this class or not?\n"
        "Rows and columns come in any order, and so do classes. A network that is\n"
        "trained on random tables learns to read the labels of some rows and to\n"
        "classify the others, in one pass."
    )
    models = MODELS
    presets = PRESETS
    task = IN_CONTEXT
    plans: ClassVar = {"ours": PLAN, "published": PLAN}
    baselines: ClassVar = BASELINES
    default_data = "embedded"
    source_table = "more-classes"
