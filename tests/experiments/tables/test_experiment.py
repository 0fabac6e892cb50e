"""The experiment on tables."""

import json
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

import symsets
from symsets.cli.options import RunOptions
from symsets.experiments.study.describe import make_study
from symsets.experiments.tables.experiment import PRESETS, SMALL_SHAPES, TablesExperiment
from symsets.experiments.tables.network import TableNetwork
from symsets.experiments.tables.prior import ShapeRange
from symsets.experiments.tables.sets import RandomTables, fixed_tables
from symsets.train.fitting import fit_together
from symsets.train.plan import Plan


class SmallExperiment(TablesExperiment):
    presets: ClassVar = {"smoke": replace(PRESETS["smoke"], train_sizes=(4,), epochs=(1,))}
    baselines: ClassVar = {"logistic": TablesExperiment.baselines["logistic"]}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("tables") / "study"
    study = make_study(SmallExperiment(), RunOptions(preset="smoke", out=out))
    study.prepare()
    for group in study.groups:
        study.run_group(group)
    return study


def test_a_study_measures_every_table_and_more_classes(study):
    records = json.loads((study.out / "results.json").read_text())["records"]
    parts = {f"auc/{name}" for name in ("iris", "wine", "breast-cancer", "digits")}
    for model, more in (("dss-mean", {"auc-20-classes"}), ("logistic", set())):
        found = {r["metric"]: r["value"] for r in records if r["model"] == model}
        assert set(found) == {"auc", "accuracy"} | parts | more
        assert found["auc"] == pytest.approx(sum(found[part] for part in parts) / 4)
        assert found["auc"] > 0.9


def test_a_trained_network_is_loaded_by_its_folder(study):
    [path] = study.out.glob("runs/*dss-mean*")
    x, _ = fixed_tables(1, SMALL_SHAPES, seed=0).part(0, 1)
    assert symsets.load(path)(x).shape == (1, x.queries.shape[1], x.num_classes)


def test_random_tables_are_smaller_on_a_cpu():
    experiment = TablesExperiment()
    on_cpu, on_gpu = (
        experiment.make_sets(None, "", "train", 1, device, 0).shapes for device in ("cpu", "cuda")
    )
    assert on_cpu.cells < on_gpu.cells


def test_the_published_recipe_has_no_regressions():
    nets = {
        recipe: TablesExperiment().make_network("dss-mean", recipe, 0.25, "", None)
        for recipe in TablesExperiment.recipes
    }
    assert {recipe: net.ridge for recipe, net in nets.items()} == {"ours": True, "published": False}


def test_an_interrupted_training_ends_with_the_weights_of_an_undisturbed_one(tmp_path):
    shapes = ShapeRange(rows=(8, 12), columns=(2, 4), queries=4, cells=2000)
    val = fixed_tables(4, shapes, seed=0)

    def train(name, progress=None):
        torch.manual_seed(0)
        net = TableNetwork("dss-mean", width=8, depth=1, heads=2)
        [fitted] = fit_together(
            [net],
            [0],
            Plan(3, batch_size=2),
            RandomTables(4, shapes, "cpu"),
            val,
            TablesExperiment.task,
            checkpoint=tmp_path / name,
            progress=progress,
        )
        return [row["val_loss"] for row in fitted.curves]

    def interrupt(epoch, values):
        if epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("killed", interrupt)
    assert (tmp_path / "killed").exists()
    assert train("killed") == train("whole")
