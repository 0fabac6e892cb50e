"""Multi-view reconstruction: the shape of an object from three views of it."""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from symsets.data import MissingDataError
from symsets.experiments.study.catalogue import view_source
from symsets.experiments.study.experiment import PAPER, QUICK, SMOKE, Experiment, Preset, scaled
from symsets.experiments.synthetic.objects import CATEGORIES
from symsets.experiments.views.evaluation import errors_by_views, reconstruction_metric
from symsets.experiments.views.loss import views_loss
from symsets.experiments.views.meshes import MeshFolder
from symsets.experiments.views.network import WIDTHS, ViewsNetwork
from symsets.experiments.views.sets import Views
from symsets.models._blocks import MODELS
from symsets.nn import for_any_size
from symsets.sets.pooling import power_degree
from symsets.train.metrics import Task

SIZE = 64
TRAINED_WITH = 3  # views
NUM_VIEWS = (1, 2, 3, 5, 8)
NUM_POINTS = 8192  # of the true surface
BATCHES = {"batch_size": 16, "evaluation_batch": 32, "validations": 8}
PRESETS = {
    "smoke": replace(
        SMOKE,
        models=("dss-sum", "sridhar"),
        test_size=4,
        settings=("cars",),
        duration="about twenty seconds",
    ),
    "quick": replace(
        QUICK,
        models=("dss-sum", "sridhar", "siamese"),
        train_sizes=(240,),
        epochs=(8,),
        test_size=24,
        batch_size=4,  # many small steps: three views of an object are much to learn from
        settings=("chairs",),
    ),
    "paper": replace(
        PAPER,
        models=("sridhar", "dss-sum", "dss-max", "aittala", "siamese"),
        train_sizes=(4000,),
        epochs=(16,),
        published_epochs=None,
        test_size=200,
    ),
}


@dataclass(frozen=True)
class Objects:
    """The objects that a user names, of all categories."""

    data: str
    seed: int

    @property
    def name(self) -> str:
        """What tables call the data."""
        return self.root.resolve().name if self.root else "generated objects"

    @property
    def root(self) -> Path | None:
        """The folder of a user."""
        return None if self.data == "embedded" else Path(self.data)

    def open(self, category: str) -> Any:
        """Return the source of a category's views, or say why there is none."""
        return view_source(self.data, category=category or "cars", size=SIZE, seed=self.seed)


@lru_cache(maxsize=1)
def _seen_from_many_sides(source: Objects, setting: str, num: int, device: str) -> Views:
    opened = source.open(setting)
    most = int(min(max(NUM_VIEWS), opened.most_views("test", num)))
    return opened.views("test", num, num_views=most, num_points=NUM_POINTS, device=device)


class ViewsExperiment(Experiment[Objects]):
    """Reconstruct objects from three views."""

    name = "views"
    story = (
        "Each set holds three views of an object. Say of every pixel which point of the\n"
        "object it shows, and which point lies behind it on the far side; all pixels of\n"
        "all views together make the shape."
    )
    models = MODELS
    presets = PRESETS
    task = Task(
        views_loss,
        (
            reconstruction_metric("chamfer", larger_is_better=False),
            reconstruction_metric("f-score@0.01"),
            reconstruction_metric("f-score@0.02"),
        ),
        keep_outputs=False,
    )
    plans: ClassVar = {  # ours: 1e-3 was worse in the first epochs
        "ours": {"learning_rate": 3e-3, "clip": 1.0, **BATCHES},
        "published": BATCHES,
    }
    default_data = "embedded"

    def open_source(self, data: str, seed: int) -> Objects:
        return Objects(data, seed)

    def settings_of(self, source: Objects) -> tuple[str, ...]:
        """Return the categories that are there; the meshes of a user have none."""
        found: list[str] = []
        for category in CATEGORIES:
            try:
                if isinstance(source.open(category), MeshFolder):
                    return ("",)
            except MissingDataError:
                if category == list(CATEGORIES)[-1] and not found:
                    raise
            else:
                found.append(category)
        return tuple(found)

    def check_source(self, source: Objects, preset: Preset) -> None:
        most, setting = min((source.open(word).most("train"), word) for word in preset.settings)
        preset.check_train_sizes(most, f"{source.data} has {most} {setting or 'meshes'}")

    def make_sets(
        self, source: Objects, setting: str, split: str, num: int, device: str, seed: int
    ) -> Views:
        """Make sets of views; those for training need no points."""
        points = 0 if split == "train" else NUM_POINTS
        return source.open(setting).views(split, num, num_points=points, device=device)

    def make_network(
        self, model: str, recipe: str, width: float, setting: str, source: Objects
    ) -> torch.nn.Module:
        widths = scaled(WIDTHS[recipe], width)
        network = ViewsNetwork(model, recipe=recipe, widths=widths, num_elements=TRAINED_WITH)
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def measure_more(
        self, network: torch.nn.Module, source: Objects, setting: str, num: int, device: str
    ) -> dict[str, Tensor]:
        """Measure what more views are worth to a network: ``chamfer@1``, ``chamfer@2`` and so on.

        No more views are used than every test object has, which are five in ShapeNetPlain. Sums
        over views are means here, which at the number of views in training is the same. Power sums
        have no mean, and networks with them are not measured.
        """
        if any(power_degree(getattr(part, "pool", "")) for part in network.modules()):
            return {}
        views = _seen_from_many_sides(source, setting, num, device)
        errors = errors_by_views(for_any_size(network), views, NUM_VIEWS)
        return {f"chamfer@{count}": torch.tensor(found) for count, found in errors.items()}


EXPERIMENT = ViewsExperiment()
