"""Selecting the central frame: which of seven shuffled frames of a moving human is the middle?"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from symsets.experiments.shapes.motions import MotionSource
from symsets.experiments.shapes.network import WIDTHS, ShapeNetwork
from symsets.experiments.shapes.sets import CentralFrameSets, mean_shape, skip_study
from symsets.experiments.study.catalogue import motion_source
from symsets.experiments.study.experiment import Experiment, Preset, Source
from symsets.experiments.study.images import PATIENCE, PUBLISHED_MODELS, SELECT, scaled
from symsets.models._blocks import MODELS, default_widths
from symsets.train.plan import Plan, epochs_between_validations

__all__ = ["EXPERIMENT"]

NUM_FRAMES = 7
SKIPS = (1, 2, 3, 4, 5, 10)  # of the study of the mean shape; the paper has 1, 3, 5 and 10
PRESETS = {
    "smoke": Preset(
        models=("dss-sum", "siamese-ds"),
        train_sizes=(32,),
        seeds=1,
        epochs=(2,),
        width=0.125,
        test_size=64,
        batch_size=8,
        settings=("points", "graphs"),
        duration="about twenty seconds",
    ),
    "quick": Preset(
        models=("dss-sum", "sridhar", "siamese-ds"),
        train_sizes=(1600,),
        seeds=1,
        epochs=(6,),
        width=0.25,
        test_size=256,
        settings=("points",),
        duration="about three minutes on two cores",
    ),
    "paper": Preset(
        models=PUBLISHED_MODELS,
        train_sizes=(8000,),
        seeds=3,
        epochs=(24,),
        published_epochs=100,
        test_size=3000,
        settings=("points", "graphs"),
        duration="hours on one GPU (never timed as a whole)",
    ),
}


def make_network(
    model: str, recipe: str, width: float, setting: str, source: MotionSource
) -> ShapeNetwork:
    """Return a freshly initialised network, with the graph of its shapes if it needs one."""
    channels: tuple[int, int, int] = default_widths(WIDTHS, model, recipe)
    network = ShapeNetwork(
        model,
        kind=setting,
        recipe=recipe,
        widths=scaled(channels, width),
        num_elements=NUM_FRAMES,
    )
    prepare(network, source)
    return network


def prepare(network: torch.nn.Module, source: MotionSource) -> None:
    """Give a network the graph of the shapes of a source, if it needs one."""
    if isinstance(network, ShapeNetwork) and network.needs_graph:
        network.graph = source.motions("val", 1).graph


def make_plan(recipe: str, epochs: int, setting: str) -> Plan:
    """Return how a recipe trains; batches are smaller on graphs, as published."""
    return Plan(
        epochs,
        batch_size=12 if setting == "graphs" else 16,
        schedule="cosine" if recipe == "ours" else "constant",
        clip=1.0 if recipe == "ours" else 0.0,
        patience=1000 if recipe == "ours" else PATIENCE,
        evaluation_batch=256,
        validate_every=epochs_between_validations(epochs),
    )


def make_sets(
    source: MotionSource, setting: str, split: str, num: int, device: str, seed: int
) -> CentralFrameSets:
    """Make the sets of a split, at the distance between frames that suits the source."""
    return CentralFrameSets(
        source.motions(split, device=device),
        num,
        skip=source.skip,
        num_frames=NUM_FRAMES,
        seed=seed,
    )


def settings_of(source: Source) -> tuple[str, ...]:
    """Shapes are points, or nodes of a graph; the last is not in the paper."""
    return ("points", "graphs", "full-points")


def check_source(source: MotionSource, preset: Preset) -> None:
    """Raise one sentence if a preset asks for graphs of shapes that have no faces."""
    if "graphs" in preset.settings and source.motions("val", 1).faces is None:
        raise ValueError(
            f"the shapes of {source.name} have no faces to make graphs of: "
            "--settings points runs without"
        )


def faces_of(source: MotionSource) -> dict[str, Tensor]:
    """Return the triangles that all shapes share; nothing where shapes are points alone."""
    faces = source.motions("test", 1).faces
    return {} if faces is None else {"faces": faces}


def by_skip(source: MotionSource) -> dict[str, dict[str, float]]:
    """Measure how hard the task is: the accuracy of the mean shape, by the distance of frames."""
    found = {}
    for name, split in (("validation", "val"), ("test", "test")):
        motions = source.motions(split)
        longest = (int(motions.lengths.max()) - 1) // (NUM_FRAMES - 1)
        study = skip_study(motions, [skip for skip in SKIPS if skip <= longest])
        found[name] = {str(skip): accuracy for skip, accuracy in study.items()}
    return found


def nearest_to_mean(x: Tensor) -> Tensor:
    """Score the shape that is nearest to the mean with one, all others with zero."""
    return torch.nn.functional.one_hot(mean_shape(x), x.shape[1]).float()


EXPERIMENT = Experiment(
    name="shapes",
    network="shapes",
    story=(
        "Each set holds seven frames of a moving human, shuffled, as point\n"
        "clouds or as graphs. Which is the middle one? The test shows\n"
        "people and activities that were never seen in training. The mean\n"
        "of all seven shapes is a strong hint, if a network can take it."
    ),
    models=MODELS,
    presets=PRESETS,
    task=SELECT,
    make_network=make_network,
    prepare=prepare,
    make_plan=make_plan,
    open_source=lambda data, seed: cast(Source, motion_source(data, seed=seed)),
    make_sets=make_sets,
    learning_rates={"ours": 3e-3, "published": 1e-4},  # 3e-4 and 1e-3 learned more slowly
    settings_of=settings_of,
    check_source=check_source,
    baselines={"mean-shape": nearest_to_mean},
    keep_more=faces_of,
    measure_source={"skips": by_skip},
    default_data="embedded",
)
