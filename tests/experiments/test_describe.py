"""What users type, and what becomes of it."""

from dataclasses import dataclass

import numpy as np
import pytest

from symsets.experiments import bursts, colors, signals
from symsets.experiments.describe import data_slug, make_study
from symsets.train.records import write_json
from symsets.train.runs import claim_directory


@dataclass
class Named:
    name: str = "my photos"


def test_data_of_one_name_but_other_contents_get_other_names(tmp_path):
    slugs = []
    for place, content in (("a", [1]), ("b", [2]), ("c", [1])):
        (tmp_path / place).mkdir()
        np.savez(tmp_path / place / "x.npz", images=np.array(content))
        slugs.append(data_slug(str(tmp_path / place / "x.npz"), Named()))
    assert slugs[0] == slugs[2] != slugs[1]
    before = data_slug(str(tmp_path / "a"), Named())
    (tmp_path / "a" / "more.txt").write_text("new")
    assert data_slug(str(tmp_path / "a"), Named()) != before
    assert data_slug("embedded", Named()) == "my_photos"


def test_recipe_published_takes_as_many_epochs_as_the_paper(tmp_path):
    for experiment, epochs in (
        (signals.EXPERIMENT, 200),
        (colors.EXPERIMENT, 50),
        (bursts.EXPERIMENT, 35),
    ):
        study = make_study(
            experiment, tmp_path / experiment.name, preset="paper", recipe="published"
        )
        assert set(study.preset.epochs) == {epochs}
        plan = study.plan("", epochs, 1e-3)
        assert plan.patience < epochs


def test_a_directory_in_which_nothing_came_about_is_free(tmp_path):
    out = tmp_path / "study"
    claim_directory(out, {"recipe": "ours"})
    claim_directory(out, {"recipe": "published"})
    assert "published" in (out / "study.json").read_text()
    write_json(out / "runs" / "one" / "done.json", [])
    with pytest.raises(ValueError, match="another configuration"):
        claim_directory(out, {"recipe": "ours"})
