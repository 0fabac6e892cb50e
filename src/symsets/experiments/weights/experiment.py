"""Pictures as the weights of small networks: which class is the picture of?"""

from dataclasses import replace
from functools import lru_cache, partial
from typing import ClassVar

from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from symsets.data.labelled import LabelledSets
from symsets.experiments.study.experiment import QUICK, SMOKE, Experiment, Preset, scaled
from symsets.experiments.weights.network import MODELS, WeightNetwork
from symsets.experiments.weights.pictures import PictureSource, picture_source
from symsets.experiments.weights.sets import OWN, SAME, reordered, weight_sets
from symsets.experiments.weights.space import WIDTHS
from symsets.train.evaluation import evaluate
from symsets.train.metrics import ACCURACY, Task

PLAN = {
    "learning_rate": 5e-3,
    "batch_size": 64,
    "weight_decay": 1e-2,
    "clip": 1.0,
    "evaluation_batch": 256,
}
_fitted = lru_cache(maxsize=6)(weight_sets)  # three splits of two settings
PRESETS = {
    "smoke": replace(
        SMOKE,
        models=("acting", "mlp"),
        train_sizes=(512,),
        epochs=(20,),
        test_size=64,
        batch_size=64,
        width=1.0,
        settings=(OWN,),
    ),
    "quick": replace(
        QUICK,
        models=tuple(MODELS),
        train_sizes=(5032,),
        epochs=(10,),
        width=1.0,
        test_size=269,
        batch_size=None,
        settings=(OWN,),
        duration="about four minutes on two cores",
    ),
    "paper": Preset(
        models=tuple(MODELS),
        train_sizes=(10_000,),
        epochs=(40,),
        seeds=3,
        test_size=2000,
        settings=(OWN,),
        duration="about three minutes on one GPU",
    ),
}


class WeightsExperiment(Experiment[PictureSource]):
    """Classify pictures of which only the weights of networks that draw them are given.

    With setting ``"own-start"`` each network was fitted from random weights of its own, with
    ``"same-start"`` all from the same, which gives neurons an order. Part ``"reordered"`` of the
    accuracy is that on the same test networks with their neurons in random order.
    """

    name = "weights"
    story = (
        "Each picture is given as a small network that draws it: the grey level\n"
        "at every place. Which class is the picture of? The neurons of a layer\n"
        "are a set, and the weights between two layers are a matrix over two\n"
        "sets: their order says nothing."
    )
    models = tuple(MODELS)
    takes_schemes = False
    recipes = ("ours",)
    presets = PRESETS
    task = Task(partial(cross_entropy, label_smoothing=0.1), (ACCURACY,))
    settings = (OWN, SAME)
    plans: ClassVar = {"ours": PLAN}
    default_data = "embedded"

    def open_source(self, data: str, seed: int) -> PictureSource:
        return picture_source(data, seed)

    def make_sets(
        self, source: PictureSource, setting: str, split: str, num: int, device: str, seed: int
    ) -> LabelledSets:
        """Fit networks to pictures, once for all runs of a study."""
        return _fitted(source, split, num, setting=setting, device=device)

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: PictureSource
    ) -> nn.Module:
        [channels] = scaled([MODELS[model][1]], width)
        return WeightNetwork(
            model, widths=WIDTHS, num_classes=source.num_classes, channels=channels
        )

    def measure_more(
        self, network: nn.Module, source: PictureSource, setting: str, num: int, device: str
    ) -> dict[str, Tensor]:
        test = reordered(self.make_sets(source, setting, "test", num, device, source.seed))
        x = next(network.parameters())
        [found] = evaluate(network.eval(), test.to(x.device, x.dtype), self.task)
        return {f"{ACCURACY.name}/reordered": found.values[ACCURACY.name]}


EXPERIMENT = WeightsExperiment()
