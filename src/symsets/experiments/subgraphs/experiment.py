"""Graphs as sets of subgraphs: what a graph convolution alone cannot tell apart."""

from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor, nn

from symsets.data.labelled import LabelledSets
from symsets.experiments.study.experiment import CLASSIFY, QUICK, SMOKE, Experiment, Preset, scaled
from symsets.experiments.subgraphs.graphs import GraphSource, graph_source
from symsets.experiments.subgraphs.network import SubgraphNetwork
from symsets.experiments.subgraphs.sets import MARKED, POLICIES, subgraph_sets

MODELS = ("dss-mean", "siamese")
WIDTH, DEPTH = 32, 4
DATA = ("csl", "exp", "sr25")
CONTROLS = tuple(f"{data}-{policy}" for data in DATA for policy in ("whole", "node-deleted"))
PRESETS = {
    "smoke": replace(
        SMOKE,
        models=MODELS,
        train_sizes=(10,),
        epochs=(20,),
        test_size=10,
        batch_size=10,
        settings=CONTROLS,
    ),
    "quick": replace(
        QUICK,
        models=MODELS,
        train_sizes=(90,),
        epochs=(20,),
        width=1.0,
        test_size=30,
        batch_size=None,
        settings=CONTROLS,
    ),
    "paper": Preset(
        models=MODELS,
        train_sizes=(90,),
        epochs=(20,),
        seeds=3,
        test_size=240,
        duration="about half an hour on two cores (never timed as a whole)",
    ),
}
PLAN = {"learning_rate": 1e-2, "batch_size": 10, "evaluation_batch": 30, "keep": "loss"}


class SubgraphsExperiment(Experiment[GraphSource]):
    """Classify graphs that have the same colours after any number of graph convolutions.

    Settings are a name of the data and how subgraphs are made. With ``"whole"`` a set has one
    element, the graph itself: there ``"siamese"`` is the convolution alone. With subgraphs,
    ``"siamese"`` adds up what it makes of each of them, late.
    """

    name = "subgraphs"
    story = (
        "Each set holds subgraphs of one graph: all that are left if one node is\n"
        "taken out, or one edge, or the neighbourhoods of all nodes. Which class\n"
        "is the graph of? A graph convolution sees no difference between the\n"
        "classes. It sees one between their subgraphs."
    )
    models = MODELS
    presets = PRESETS
    task = CLASSIFY
    settings = tuple(f"{data}-{policy}" for data in DATA for policy in POLICIES)
    plans: ClassVar = {"ours": PLAN, "published": PLAN}
    default_data = "embedded"

    def open_source(self, data: str, seed: int) -> GraphSource:
        return graph_source(data, seed)

    def settings_of(self, source: GraphSource) -> tuple[str, ...]:
        return tuple(f"{source.name.lower()}-{policy}" for policy in POLICIES)

    def check_source(self, source: GraphSource, preset: Preset) -> None:
        most = len(source.split("train"))
        preset.check_train_sizes(most, f"{source.name} has {most} graphs")

    def make_sets(
        self, source: GraphSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> LabelledSets:
        return subgraph_sets(source.split(split)[:num], _policy(setting))

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: GraphSource
    ) -> nn.Module:
        [channels] = scaled([WIDTH], width)
        return SubgraphNetwork(
            model,
            in_channels=source.channels + (_policy(setting) in MARKED),
            num_classes=source.num_classes,
            width=channels,
            depth=DEPTH,
        )

    def example_inputs(self, x: Any) -> Tensor:
        """Return how many subgraphs each set has: a report draws none."""
        return x.sizes


def _policy(setting: str) -> str:
    return setting.partition("-")[2]


EXPERIMENT = SubgraphsExperiment()
