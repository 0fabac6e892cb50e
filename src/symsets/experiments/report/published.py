"""What the paper printed: every number of its tables, its claims, its training times.

Maron, Litany, Chechik, Fetaya: "On Learning Sets of Symmetric Elements", ICML 2020. Words are those
of ``results.json``, units are ours: accuracy 0-1, mean absolute error on grey levels 0-255, Chamfer
distance times 100. ``dss-sum`` of ``views`` is what the paper calls Sridhar+DSS.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "MEAN_SHAPE_BY_SKIP",
    "METRICS",
    "PUBLISHED_DATA",
    "TASKS",
    "Beats",
    "Below",
    "Claim",
    "Improves",
    "Published",
    "TrainingTime",
    "chance",
    "claims",
    "published",
    "published_models",
    "published_settings",
    "training_times",
]

UNITS = {"accuracy": "0-1", "mae": "0-255", "chamfer": "x100"}

METRICS = {
    "signals": "accuracy",
    "frames": "accuracy",
    "shapes": "accuracy",
    "quality": "accuracy",
    "colors": "mae",
    "bursts": "mae",
    "views": "chamfer",
}

# The data of the paper, by the names that our sources give them.
PUBLISHED_DATA = {
    "signals": ("generated signals",),
    "frames": ("UCF101",),
    "shapes": ("Dynamic FAUST",),
    "quality": ("Places365",),
    "colors": ("Places365", "CelebA"),
    "bursts": ("ImageNet",),
    "views": ("shapenetcoco", "shapenetplain"),
}

TASKS = {
    "signals": "Which kind of wave do 25 noisy measurements show?",
    "frames": "Which frame of a shuffled video came first?",
    "shapes": "Which frame of a shuffled human motion is the middle one?",
    "quality": "Which of 20 degraded copies of a photograph is the best?",
    "colors": "Match six single-channel images to two colour photographs.",
    "bursts": "Merge five blurred, noisy shots into one sharp image.",
    "views": "Reconstruct a 3D object from three views.",
    "orbits": "What can early aggregation see that late aggregation cannot?",
}


@dataclass(frozen=True)
class Published:
    """One number of the paper; ``std`` is over initialisations, if one was printed."""

    mean: float
    std: float | None
    metric: str
    source: str

    @property
    def unit(self) -> str:
        """The unit that ``mean`` and ``std`` are in."""
        return UNITS[self.metric]


# As printed: (mean, standard deviation), accuracies in per cent. A lone number has no deviation.
_SELECTION = ("siamese-ds", "dss-sum", "dss-max", "sridhar", "aittala", "random")
_MAPPING = ("siamese-ds", "dss-sum", "dss-max", "sridhar", "aittala")
_PRINTED: dict[tuple[str, str], tuple[str, tuple[str, ...], tuple[tuple[float, ...], ...]]] = {
    ("frames", ""): (
        "Table 1",
        _SELECTION,
        ((36.41, 1.43), (76.6, 1.51), (76.39, 1.01), (60.15, 0.76), (77.96, 1.69), (12.5,)),
    ),
    ("shapes", "points"): (
        "Table 1",
        (*_SELECTION, "mean-shape"),
        (
            *((22.26, 0.64), (42.45, 1.32), (28.71, 0.64), (54.26, 1.66), (26.43, 3.92)),
            *((14.28,), (34.47,)),
        ),
    ),
    ("shapes", "graphs"): (
        "Table 1",
        (*_SELECTION, "mean-shape"),
        (
            *((26.53, 1.99), (44.24, 1.28), (30.54, 1.27), (53.16, 1.47), (26.66, 4.25)),
            *((14.28,), (34.47,)),
        ),
    ),
    ("quality", "gaussian-10"): (
        "Table 2",
        _SELECTION,
        ((77.2, 0.37), (78.48, 0.48), (77.99, 1.1), (76.8, 0.25), (78.34, 0.49), (5,)),
    ),
    ("quality", "gaussian-30"): (
        "Table 2",
        _SELECTION,
        ((65.89, 0.66), (68.35, 0.55), (67.85, 0.40), (61.52, 0.54), (66.89, 0.58), (5,)),
    ),
    ("quality", "gaussian-50"): (
        "Table 2",
        _SELECTION,
        ((59.24, 0.51), (62.6, 0.45), (61.59, 1.00), (55.25, 0.40), (62.02, 1.03), (5,)),
    ),
    ("quality", "occlusion-10"): (
        "Table 2",
        _SELECTION,
        ((82.15, 0.45), (83.13, 1.00), (83.27, 0.51), (83.21, 0.338), (83.19, 0.67), (5,)),
    ),
    ("quality", "occlusion-30"): (
        "Table 2",
        _SELECTION,
        ((77.47, 0.37), (78, 0.89), (78.69, 0.32), (78.71, 0.26), (78.27, 0.67), (5,)),
    ),
    ("quality", "occlusion-50"): (
        "Table 2",
        _SELECTION,
        ((76.2, 0.82), (77.29, 0.40), (76.64, 0.45), (77.04, 0.75), (77.03, 0.58), (5,)),
    ),
    ("colors", "places"): (
        "Table 3",
        (*_MAPPING, "grey"),
        ((8.06, 0.06), (1.78, 0.03), (1.92, 0.07), (1.97, 0.02), (1.67, 0.06), (14.68,)),
    ),
    ("colors", "celeba"): (
        "Table 3",
        (*_MAPPING, "grey"),
        ((6, 0.13), (1.27, 0.07), (1.34, 0.07), (1.35, 0.03), (1.17, 0.04), (18.72,)),
    ),
    ("bursts", ""): (
        "Table 3",
        (*_MAPPING, "median"),
        ((6.15, 0.05), (6.11, 0.08), (5.87, 0.05), (21.01, 0.08), (5.7, 0.13), (16.75,)),
    ),
    ("views", "cars"): ("Table 4", ("sridhar", "dss-sum"), ((0.1645,), (0.1273,))),
    ("views", "airplanes"): ("Table 4", ("sridhar", "dss-sum"), ((0.1571,), (0.1163,))),
    ("views", "chairs"): ("Table 4", ("sridhar", "dss-sum"), ((0.1845,), (0.2345,))),
    ("views", "average"): ("Table 4", ("sridhar", "dss-sum"), ((0.1687,), (0.1593,))),
}

# Validation accuracy of the mean shape, by how many frames of the motion are skipped.
MEAN_SHAPE_BY_SKIP = {1: 0.8095, 3: 0.4375, 5: 0.3291, 10: 0.2773}


def _in_our_units() -> dict[tuple[str, str, str], Published]:
    numbers = {}
    for (experiment, setting), (source, models, printed) in _PRINTED.items():
        metric = METRICS[experiment]
        scale = 100 if metric == "accuracy" else 1
        for model, number in zip(models, printed, strict=True):
            mean, std = (round(x / scale, 6) for x in (*number, *([0.0] * (2 - len(number)))))
            known = std if len(number) == 2 else None
            numbers[experiment, setting, model] = Published(mean, known, metric, source)
    return numbers


NUMBERS = _in_our_units()


def published(experiment: str, setting: str, model: str) -> Published | None:
    """Return the number that the paper printed, if it printed one.

    Example:
        >>> published("frames", "", "dss-sum")
        Published(mean=0.766, std=0.0151, metric='accuracy', source='Table 1')
    """
    return NUMBERS.get((experiment, setting, model))


def published_models(experiment: str, setting: str) -> list[str]:
    """Return the models of one row of the paper's tables, in its order."""
    return [model for e, s, model in NUMBERS if (e, s) == (experiment, setting)]


def published_settings(experiment: str) -> list[str]:
    """Return the settings of an experiment that the paper has numbers for, if they have names.

    Example:
        >>> published_settings("colors"), published_settings("signals")
        (['places', 'celeba'], [])
    """
    return list(dict.fromkeys(s for e, s, _ in NUMBERS if e == experiment and s))


def chance(experiment: str, setting: str = "") -> float | None:
    """Return the accuracy of a random choice; the three kinds of ``signals`` are equally likely."""
    if experiment == "signals":
        return 1 / 3
    number = published(experiment, setting, "random")
    return None if number is None else number.mean


@dataclass(frozen=True)
class TrainingTime:
    """How long training took, as the paper says."""

    model: str
    hours: float
    device: str


_V100, _TITAN = "NVIDIA V100", "NVIDIA TitanX"
_TIMES: dict[tuple[str, str], tuple[str, tuple[TrainingTime, ...]]] = {
    ("signals", ""): (
        "Training took between 15 minutes for MLP to 5 hours for DSS(Aittala).",
        (TrainingTime("mlp", 0.25, _V100), TrainingTime("aittala", 5, _V100)),
    ),
    ("quality", ""): (
        "Training time was 6.5 hours for DS and 4.5 hours for DSS.",
        (TrainingTime("siamese-ds", 6.5, _V100), TrainingTime("dss-sum", 4.5, _V100)),
    ),
    ("frames", ""): (
        "Training time was 3.75 hours for DS and 3.25 hours for DSS.",
        (TrainingTime("siamese-ds", 3.75, _V100), TrainingTime("dss-sum", 3.25, _V100)),
    ),
    ("shapes", "points"): (
        "Training times were roughly 2 hours.",
        tuple(TrainingTime(model, 2, _TITAN) for model in _MAPPING),
    ),
    ("shapes", "graphs"): (
        "Training took about 20 hours.",
        tuple(TrainingTime(model, 20, _TITAN) for model in _MAPPING),
    ),
}


def training_times(experiment: str, setting: str = "") -> tuple[str, tuple[TrainingTime, ...]]:
    """Return the sentence on training times and its numbers; both empty if there is none."""
    found = _TIMES.get((experiment, setting)) or _TIMES.get((experiment, ""))
    return found or ("", ())


@dataclass(frozen=True)
class Beats:
    """Each of ``models`` is better than each of ``others``, by more than ``margin``."""

    models: tuple[str, ...]
    others: tuple[str, ...]
    margin: float = 0.0


@dataclass(frozen=True)
class Below:
    """The value of ``model`` stays below ``value``."""

    model: str
    value: float


@dataclass(frozen=True)
class Improves:
    """At least so many of ``models`` are better here than at another setting."""

    over: str
    models: tuple[str, ...]
    at_least: int


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what would have to be true of numbers for it to hold.

    Attributes:
        sentence: The claim, close to the paper's words.
        needs: All of these must be true; nothing here, and the claim is left to the reader.
        settings: The settings it speaks of; all if empty.
        reading: How a vague word was made exact.
    """

    sentence: str
    needs: tuple[Beats | Below | Improves, ...] = ()
    settings: tuple[str, ...] = ()
    reading: str = ""


_EARLY = ("dss-sum", "dss-max", "sridhar", "aittala")
_OTHERS_OF_SIGNALS = (
    *("mlp", "deepsets", "deepsets-max", "siamese", "siamese-ds"),
    *("dss-max", "aittala", "sridhar"),
)
_CLAIMS: dict[str, tuple[Claim, ...]] = {
    "signals": (
        Claim(
            "DSS(sum) outperforms all other methods.",
            (Beats(("dss-sum",), _OTHERS_OF_SIGNALS),),
        ),
        Claim(
            "DSS(sum) achieves significantly higher accuracy than DeepSets, which takes into "
            "account the set structure but not the symmetry within elements.",
            (Beats(("dss-sum",), ("deepsets",)),),
        ),
        Claim(
            "DSS(sum) outperforms Siamese and Siamese+DS, which do not aggregate early.",
            (Beats(("dss-sum",), ("siamese", "siamese-ds")),),
        ),
        Claim(
            "DSS(Sridhar) fails: removing the mean removes the signal and leaves the noise.",
            (Below("sridhar", 0.45),),
            reading="“fails” is read as an accuracy below 45 %; chance is 33.3 %",
        ),
    ),
    "frames": (
        Claim(
            "DSS(sum) and DSS(Aittala) outperform Siamese+DS and DSS(Sridhar) by a large margin.",
            (Beats(("dss-sum", "aittala"), ("siamese-ds", "sridhar"), margin=0.1),),
            reading="“a large margin” is read as 10 points",
        ),
    ),
    "shapes": (
        Claim(
            "Sum-based early aggregation reaches significantly higher accuracy than the mean "
            "shape, a strong baseline.",
            (Beats(("dss-sum", "sridhar"), ("mean-shape",)),),
        ),
        Claim(
            "The mean shape outperforms late aggregation, DSS(max) and DSS(Aittala).",
            (Beats(("mean-shape",), ("siamese-ds", "dss-max", "aittala")),),
        ),
        Claim(
            "Graphs give a small improvement over point clouds for almost all methods.",
            (Improves("points", ("siamese-ds", *_EARLY), at_least=4),),
            settings=("graphs",),
            reading="“almost all” is read as four of the five, by any margin",
        ),
    ),
    "quality": (
        Claim(
            "DSS consistently improves over Siamese+DS, by 1 to 3 %.",
            (Beats(("dss-sum",), ("siamese-ds",)),),
            reading="judged for DSS(sum), by any margin",
        ),
    ),
    "colors": (
        Claim(
            "Layers with early aggregation significantly outperform Siamese+DS.",
            (Beats(_EARLY, ("siamese-ds",)),),
        ),
    ),
    "bursts": (
        Claim(
            "Early aggregation using DSS layers improves learning compared with Siamese+DS.",
            (Beats(("dss-sum", "dss-max", "aittala"), ("siamese-ds",)),),
        ),
        Claim(
            "DSS(Sridhar) fails on some tasks: here the median of the burst is better.",
            (Beats(("median",), ("sridhar",)),),
        ),
    ),
    "views": (
        Claim(
            "Sridhar+DSS gives a significant boost on cars and airplanes.",
            (Beats(("dss-sum",), ("sridhar",)),),
            settings=("cars", "airplanes"),
        ),
        Claim(
            "On chairs performance is decreased.",
            (Beats(("sridhar",), ("dss-sum",)),),
            settings=("chairs",),
        ),
    ),
}


def claims(experiment: str) -> tuple[Claim, ...]:
    """Return what the paper claims about an experiment."""
    return _CLAIMS.get(experiment, ())
