"""The trained networks of a study on other data than those they were trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symsets._checks import check_choice, positive
from symsets._files import digest, read_bytes, reading, safe_name
from symsets.cli import parse
from symsets.data.folders import STUDY
from symsets.data.splits import SPLITS
from symsets.experiments.study.describe import data_slug
from symsets.experiments.study.evaluator import Evaluator, run_config
from symsets.experiments.study.experiment import StudyConfig, find_experiment
from symsets.experiments.study.records import check_fields
from symsets.experiments.study.runs import RunDirectory, claim_directory
from symsets.saving import find_weights, load

NEEDED = ("model", "scheme", "data", "train_size", "epochs", "seed")  # of the config of a run


@dataclass(frozen=True)
class Trained:
    """A network that a run has left: its directory, what it was told, and its weights' digest."""

    path: Path
    config: Mapping[str, Any]
    digest: str

    @property
    def name(self) -> str:
        """Its model and seed, in words."""
        return f"{self.config['model']}, seed {self.config['seed']}"


def trained_networks(study: Path, models: str | None = None) -> list[Trained]:
    """Return the networks of all finished runs of a study, or of models joined by commas."""
    found = []
    for path in sorted((study / "runs").glob("*")):
        weights = find_weights(path)
        if weights is not None and RunDirectory(path).finished:
            found.append(Trained(path, _config(path), digest(read_bytes(weights))[:16]))
    if not found:
        raise ValueError(
            f"{study} must be a study with trained networks, but no folder in {study / 'runs'} has "
            "a model.safetensors"
        )
    if models is not None:
        wanted = parse.names("models", models, sorted({t.config["model"] for t in found}))
        found = [trained for trained in found if trained.config["model"] in wanted]
    return found


@dataclass(eq=False)
class Transfer(Evaluator):
    """Networks that were trained on the same data, tested on others."""

    networks: tuple[Trained, ...] = ()

    def left(self) -> list[Trained]:
        """Return the networks that are still to be tested."""
        runs = [(trained, self._run_of(trained)[1]) for trained in self.networks]
        return [
            trained
            for trained, run in runs
            if not run.finished or _config(run.path).get("weights") != trained.digest
        ]

    def test(self, trained: Trained) -> None:
        """Test a network and write what was found."""
        config, (setting, run) = trained.config, self._run_of(trained)
        network = load(trained.path).to(self.device)
        self.experiment.prepare(network, self.source)
        batch_size = config["evaluation_batch"]
        found = self.measure(run, setting, network, self.config.precision, batch_size)
        same = {name: config[name] for name in ("scheme", "train_size", "epochs", "seed")}
        size = sum(p.numel() for p in network.parameters())
        record = self.record(setting, config["model"], parameters=size, **same)
        told = {"trained_on": config["data"], "weights": trained.digest}
        self.write(run, record, {**run_config(record), **told}, [], found)
        self.write_results()

    def _run_of(self, trained: Trained) -> tuple[str, RunDirectory]:
        config, setting = trained.config, setting_on(self.preset.settings, trained)
        return setting, self.run(setting, config["model"], config["train_size"], config["seed"])


def setting_on(allowed: Sequence[str], trained: Trained) -> str:
    """Return the setting to test a network at: its own, or the only one that the data have."""
    setting = trained.config["setting"]
    if setting not in allowed and len(allowed) > 1:
        raise ValueError(
            f"the data must allow the setting {setting!r} of {trained.path.name}, got data with "
            f"{list(allowed)}: choose others with --models or --data"
        )
    return setting if setting in allowed else allowed[0]


def make_transfers(
    study: Path,
    data: str,
    out: Path | None = None,
    *,
    models: str | None = None,
    num_sets: int | None = None,
    everything: bool = False,
    device: str = "cpu",
) -> list[Transfer]:
    """Return the tests that a user described in words, one for each data trained on.

    Args:
        study: The directory of the study.
        data: What to test on: a folder, a pack, or a name.
        out: Where to write; a folder below ``runs`` if left out.
        models: Words for models, joined by commas; all if left out.
        num_sets: Number of test sets; that of the study's preset if left out.
        everything: Whether all of the data are for the test, not their test split alone.
        device: Where to compute.
    """
    with reading(study / STUDY, "the description of a study") as told:
        experiment = find_experiment(told["experiment"])
        check_choice("preset", told["preset"], experiment.presets)
        check_choice("recipe", told["recipe"], experiment.recipes)
    if not experiment.default_data:
        raise ValueError(f"{experiment.name} has no other data: its sets are generated")
    networks = trained_networks(study, models)
    source = experiment.open_source(data, 0)
    preset = experiment.presets[told["preset"]]
    allowed = experiment.settings_of(source)
    used = tuple(dict.fromkeys(setting_on(allowed, trained) for trained in networks))
    test_size = num_sets or preset.test_size
    preset = replace(preset, settings=used, test_size=test_size, train_sizes=(1,), epochs=(1,))
    experiment.check_source(source, preset)
    slug, config = data_slug(data, source), StudyConfig(told["preset"], told["recipe"])
    tested_on = source.name
    if everything:
        # A folder may have grown since a network was trained on it.
        known = [
            trained
            for trained in networks
            if trained.config["data"] == source.name or trained.path.name.startswith(f"{slug}-")
        ]
        _take_everything(source, known)
        slug, tested_on = f"{slug}_all", f"{source.name} (all)"
    out = out or Path("runs") / f"{study.resolve().name}-on-{safe_name(source.name)}"
    same = {"preset": config.preset, "recipe": config.recipe, "test_size": preset.test_size}
    claim_directory(out, {"experiment": experiment.name, "evaluated_on": slug, **same})
    return [
        Transfer(
            experiment,
            out,
            preset,
            config,
            source,
            device,
            data=f"{slug}_after_{safe_name(before)}",
            name=f"{tested_on}, trained on {before}",
            networks=tuple(trained for trained in networks if trained.config["data"] == before),
        )
        for before in dict.fromkeys(trained.config["data"] for trained in networks)
    ]


def _take_everything(source: Any, trained_on_it: Sequence[Trained]) -> None:
    """Make all files of a source its test split."""
    if not hasattr(source, "files"):
        raise ValueError(f"--all is for data in files, got {source.name}: leave it out")
    if trained_on_it:
        raise ValueError(
            f"--all must not be asked of data that {trained_on_it[0].name} was trained on: leave "
            "it out, and the test split is used"
        )
    files = [file for split in reversed(SPLITS) for file in source.files[split]]
    source.files = {split: files if split == "test" else [] for split in SPLITS}


def _config(run: Path) -> dict[str, Any]:
    """Return what a run was told to do; raise ValueError naming the file if that is not known."""
    with RunDirectory(run).reading_config() as found:
        needed = {name: found[name] for name in NEEDED}
        usual = {"setting": "", "evaluation_batch": 64}
        config: dict[str, Any] = {**usual, **found, **needed}
        check_fields(config)
        positive("evaluation_batch", config["evaluation_batch"])
        return config
