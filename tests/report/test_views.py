import pytest
import torch

from symsets.data.views import make_views
from symsets.report.views import errors_figure, views_figure

pytest.importorskip("matplotlib", reason="needs matplotlib")


def test_an_object_is_drawn_with_all_models(tmp_path):
    views = make_views("cars", [0], size=16, num_points=5000)
    right = views.targets[0].clone()
    right[:, 0] = 40 * right[:, 0] - 20
    wrong = torch.zeros(3, 7, 16, 16)
    picture = views_figure(
        views.image[0], views.targets[0], views.points[0], {"dss-sum": right, "sridhar": wrong}
    )
    shown = [text.get_text() for axis in picture.figure.axes for text in [axis.yaxis.label]]
    assert {"truth", "DSS(sum)", "DSS(Sridhar)"} <= set(shown)
    errors = [a.get_xlabel() for a in picture.figure.axes if a.get_xlabel()]
    values = [float(error.removeprefix("Chamfer ×100: ")) for error in errors]
    assert len(values) == 2
    assert values[0] < 0.2 < values[1]
    # images, then fronts, backs and two clouds of the truth and of two models
    assert len(picture.figure.axes) == 3 + 3 * (3 + 3 + 2)
    assert picture.save_png(tmp_path).stat().st_size > 10_000


def test_errors_are_drawn_over_the_number_of_views(tmp_path):
    errors = {"dss-mean": {1: [2.0, 2.2], 3: [1.0, 1.1]}, "siamese": {1: [2.5], 3: [2.0]}}
    picture = errors_figure(errors, title="chairs")
    axis = picture.figure.axes[0]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["DSS(mean)", "Siamese"]
    line = axis.containers[0].lines[0]
    assert line.get_ydata().tolist() == pytest.approx([2.1, 1.05])
    assert axis.get_xticks().tolist() == [1, 3]
    assert picture.save_png(tmp_path).name == "views-error.png"
