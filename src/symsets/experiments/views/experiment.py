"""Multi-view reconstruction: the shape of an object from three views of it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from symsets.data import MissingDataError
from symsets.experiments.study.catalogue import view_source
from symsets.experiments.study.experiment import Experiment, Preset
from symsets.experiments.study.images import scaled
from symsets.experiments.synthetic.objects import CATEGORIES
from symsets.experiments.views.evaluation import predict, reconstruction_errors
from symsets.experiments.views.loss import views_loss
from symsets.experiments.views.meshes import MeshFolder
from symsets.experiments.views.network import WIDTHS, ViewsNetwork
from symsets.experiments.views.sets import Views
from symsets.models._blocks import MODELS
from symsets.nn import for_any_size
from symsets.sets.pooling import power_degree
from symsets.train.metrics import Metric, Task
from symsets.train.plan import Plan, epochs_between_validations

__all__ = ["EXPERIMENT", "ViewSets"]

SIZE = 64
TRAINED_WITH = 3  # views
NUM_VIEWS = (1, 2, 3, 5, 8)
NUM_POINTS = 8192  # of the true surface
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "sridhar"),
        train_sizes=(16,),
        seeds=1,
        epochs=(2,),
        width=0.25,
        test_size=4,
        batch_size=4,
        settings=("cars",),
        duration="about twenty seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "sridhar", "siamese"),
        train_sizes=(240,),
        seeds=1,
        epochs=(8,),
        width=0.25,
        test_size=24,
        batch_size=4,  # many small steps: three views of an object are much to learn from
        settings=("chairs",),
        duration="about three minutes on two cores",
    ),
    "paper": Preset(
        models=("sridhar", "dss-sum", "dss-mean", "dss-max", "aittala", "siamese"),
        train_sizes=(4000,),
        seeds=3,
        epochs=(16,),
        test_size=200,
        duration="hours on one GPU (never timed as a whole)",
    ),
}


class Truth(NamedTuple):
    """What a reconstruction is measured against: maps ``(B, N, 7, S, S)``, points ``(B, P, 3)``."""

    maps: Tensor
    points: Tensor


@dataclass(frozen=True)
class ViewSets:
    """Views in memory as a supply of sets; only evaluation needs the points of true shapes."""

    views: Views

    @property
    def num_sets(self) -> int:
        """How many objects there are."""
        return len(self.views)

    @property
    def device(self) -> torch.device:
        """Where the views are."""
        return self.views.image.device

    def batch(self, which: Tensor) -> tuple[Tensor, Tensor]:
        """Return some images and their maps."""
        maps = [self.views.mask, self.views.front, self.views.back]
        return self.views.image[which], torch.cat([m[which] for m in maps], dim=which.ndim + 1)

    def part(self, start: int, stop: int) -> tuple[Tensor, Any]:
        """Return the images from ``start`` to ``stop``, and the truth about them."""
        some = self.views[start:stop]
        assert some.points is not None
        return some.image, Truth(some.targets, some.points)

    def first(self, num: int) -> ViewSets:
        """Return the first ``num`` objects."""
        if not 0 < num <= self.num_sets:
            raise ValueError(f"num must be in 1..{self.num_sets}, got {num}")
        return ViewSets(self.views[:num])

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> ViewSets:
        """Move the views, and cast their entries if a type is given."""
        return ViewSets(self.views.to(device, dtype))


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

    def views(self, category: str, split: str, num: int, device: str, **options: Any) -> Views:
        """Return the views of some objects of a split."""
        return self.open(category).views(split, num, device=device, **options)

    def open(self, category: str) -> Any:
        """Return the source of a category's views, or say why there is none."""
        return view_source(self.data, category or "cars", size=SIZE, seed=self.seed)


def settings_of(source: Any) -> tuple[str, ...]:
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


def check_source(source: Objects, preset: Preset) -> None:
    """Raise one sentence if there are fewer objects for training than sets are asked for."""
    asked = max(preset.train_sizes)
    most, setting = min((source.open(word).most("train"), word) for word in preset.settings)
    if asked > most:
        raise ValueError(
            f"{source.data} has {most} {setting or 'meshes'} for training, one for each set, but "
            f"{asked} sets are asked for: choose --train-sizes {most} or less"
        )


def make_network(
    model: str, recipe: str, width: float, setting: str, source: object
) -> torch.nn.Module:
    """Return a freshly initialised network."""
    network = ViewsNetwork(
        model,
        recipe=recipe,
        widths=scaled(WIDTHS[recipe], width),
        num_elements=TRAINED_WITH,
    )
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def make_plan(recipe: str, epochs: int, setting: str) -> Plan:
    """Return how a recipe trains."""
    return Plan(
        epochs,
        batch_size=16,
        schedule="cosine" if recipe == "ours" else "constant",
        clip=1.0 if recipe == "ours" else 0.0,
        evaluation_batch=32,
        validate_every=epochs_between_validations(epochs),
    )


def make_sets(
    source: Objects, setting: str, split: str, num: int, device: str, seed: int
) -> ViewSets:
    """Make the sets of a split; those for training need no points."""
    points = 0 if split == "train" else NUM_POINTS
    return ViewSets(source.views(setting, split, num, device, num_points=points))


def loss(output: Tensor, target: Tensor | Truth) -> Tensor:
    """Return the loss of masks and coordinates."""
    return views_loss(output, target.maps if isinstance(target, Truth) else target)


class Reconstruction:
    """All errors of the clouds of a batch, computed once for all metrics that ask.

    The batch itself is not kept: it may be large, and on a GPU.
    """

    def __init__(self) -> None:
        self._of: tuple[weakref.ref[Tensor], ...] = ()
        self._known: dict[str, list[float]] = {}

    def errors(self, output: Tensor, points: Tensor) -> dict[str, list[float]]:
        """Return the errors of all objects; the same two tensors are compared once."""
        asked = output, points
        if not self._of or any(
            kept() is not one for kept, one in zip(self._of, asked, strict=True)
        ):
            self._known = reconstruction_errors(output, points)
            self._of = tuple(weakref.ref(one) for one in asked)
        return self._known

    def metric(self, name: str, *, larger_is_better: bool = True) -> Metric:
        """Return one of the errors as a metric."""
        key = name.removeprefix("f-score@")

        def values(output: Tensor, target: Any) -> Tensor:
            found = self.errors(output, target.points)
            return torch.tensor(found[name] if name in found else found[f"f@{key}"])

        return Metric(name, values, larger_is_better)


@lru_cache(maxsize=1)
def _seen_from_many_sides(source: Objects, setting: str, num: int, device: str) -> Views:
    most = int(min(max(NUM_VIEWS), source.open(setting).most_views("test", num)))
    return source.views(setting, "test", num, device, num_views=most, num_points=NUM_POINTS)


def by_number_of_views(
    network: torch.nn.Module, source: Objects, setting: str, num: int, device: str
) -> dict[str, Tensor]:
    """Measure what more views are worth to a network: ``chamfer@1``, ``chamfer@2`` and so on.

    No more views are used than every test object has, which are five in ShapeNetPlain. Sums over
    views are means here, which at the number of views in training is the same. Power sums have no
    mean, and networks with them are not measured.
    """
    if any(power_degree(getattr(part, "pool", "")) for part in network.modules()):
        return {}
    views = _seen_from_many_sides(source, setting, num, device)
    network = for_any_size(network)
    found = {}
    for count in (count for count in NUM_VIEWS if count <= views.num_views):
        output = predict(network, views.first_views(count).image)
        assert views.points is not None
        errors = reconstruction_errors(output, views.points)["chamfer"]
        found[f"chamfer@{count}"] = torch.tensor(errors)
    return found


RECONSTRUCTION = Reconstruction()
EXPERIMENT = Experiment(
    name="views",
    network="views",
    story=(
        "Each set holds three views of an object. Say of every pixel which point of the\n"
        "object it shows, and which point lies behind it on the far side; all pixels of\n"
        "all views together make the shape."
    ),
    models=MODELS,
    presets=PRESETS,
    task=Task(
        loss,
        (
            RECONSTRUCTION.metric("chamfer", larger_is_better=False),
            RECONSTRUCTION.metric("f-score@0.01"),
            RECONSTRUCTION.metric("f-score@0.02"),
        ),
        keep_outputs=False,
    ),
    make_network=make_network,
    make_plan=make_plan,
    open_source=lambda data, seed: Objects(data, seed),
    make_sets=make_sets,
    learning_rates={"ours": 3e-3, "published": 1e-3},  # 1e-3 was worse in the first epochs
    settings_of=settings_of,
    check_source=check_source,
    measure_more=by_number_of_views,
    default_data="embedded",
)
