import shutil

import pytest

from symsets.experiments.satellite.norms import norms_of, read_norms
from symsets.experiments.satellite.packs import ScenePack, pack_scenes
from symsets.experiments.satellite.scenes import SceneFolder

ROWS = "imgset0000 50.5\nimgset0001 40.25\n"


def test_a_folder_tells_what_the_baseline_reaches(tmp_path):
    assert read_norms(tmp_path) == {}
    (tmp_path / "norm.csv").write_text(ROWS)
    assert read_norms(tmp_path) == {"imgset0000": 50.5, "imgset0001": 40.25}


@pytest.mark.parametrize("row", ["imgset0002 x", "imgset0002 nan", "a -1"])
def test_rows_of_another_kind_are_shown(tmp_path, row):
    (tmp_path / "norm.csv").write_text(f"{ROWS}{row}\n")
    with pytest.raises(ValueError, match=rf"norm.csv must have rows of .* cPSNR, got '{row}'"):
        read_norms(tmp_path)


def test_a_row_without_a_number_is_shown(tmp_path):
    (tmp_path / "norm.csv").write_text(f"{ROWS}imgset0002\n")
    with pytest.raises(ValueError, match=r"norm.csv, line 3: must have 2 words, got 'imgset0002'"):
        read_norms(tmp_path)


def test_packs_keep_it(layout, tmp_path):
    (layout / "norm.csv").write_text(ROWS)
    pack_scenes(layout, tmp_path / "packs", "RED", "train")
    source = SceneFolder(layout)
    assert ScenePack(tmp_path / "packs").norms == source.norms == read_norms(layout)
    assert ScenePack(tmp_path / "packs" / "RED-train-0.npz").norms == source.norms
    shutil.rmtree(tmp_path / "packs")
    (layout / "norm.csv").unlink()
    pack_scenes(layout, tmp_path / "packs", "RED", "train")
    assert ScenePack(tmp_path / "packs").norms == {}


def test_norms_of_scenes_are_all_or_none(layout):
    (layout / "norm.csv").write_text(ROWS)
    source = SceneFolder(layout)
    assert norms_of(source, ["imgset0001", "imgset0000"]) == [40.25, 50.5]
    assert norms_of(source, ["imgset0001", "imgset0005"]) == []
    assert norms_of(object(), ["imgset0001"]) == []
