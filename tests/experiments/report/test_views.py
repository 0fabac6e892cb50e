import numpy as np
import pytest
import torch

from symsets.experiments.report._answers import Answer, Sets
from symsets.experiments.report._views import _seen_from, draw_views
from symsets.experiments.report.comparison import Comparison, Score
from symsets.experiments.report.figures import pictures
from symsets.experiments.views.rendering import make_views

pytest.importorskip("matplotlib", reason="needs matplotlib")


def one_object(size=16):
    """Return an object and two answers: the truth, and nothing but zeros."""
    views = make_views("cars", [0], size=size, num_points=5000)
    right = views.y[0].clone()
    right[:, 0] = 40 * right[:, 0] - 20
    outputs = {"dss-sum": right, "sridhar": torch.zeros(3, 7, size, size)}
    return views.x[0], views.y[0], views.points[0], outputs


def draw(image, target, points, outputs):
    answers = {model: Answer(output[None]) for model, output in outputs.items()}
    return draw_views(Sets(image[None], target[None], answers, {"points": points[None]}))


def texts(picture):
    return [text.get_text() for text in picture.figure.axes[0].texts]


def test_an_object_is_drawn_with_all_models(tmp_path):
    picture = draw(*one_object())
    shown = texts(picture)
    assert {"set 1", "view 3", "truth", "DSS(sum)", "DSS(Sridhar)"} <= set(shown)
    values = [float(t.removeprefix("Chamfer ")) for t in shown if t.startswith("Chamfer")]
    assert len(values) == 2
    assert values[0] < 0.2 < values[1]
    assert f"DSS(sum) {values[0]:.4f}, DSS(Sridhar) {values[1]:.4f}" in picture.description
    # images, then fronts and backs of the truth and of two models; two clouds of each
    axis = picture.figure.axes[0]
    assert len(axis.images) == 3 + 3 * (3 + 3)
    assert len(axis.collections) == 3 * 2
    assert picture.save_png(tmp_path).stat().st_size > 10_000


def test_maps_are_covered_where_there_is_no_object():
    _, target, *_ = found = one_object()
    images = [np.asarray(i.get_array()) for i in draw(*found).figure.axes[0].images]
    mask = target[:, 0].numpy() > 0.5
    for maps in (images[3:9], images[9:15]):  # of the truth, and of a model that is right
        for k in range(3):
            for pixels, part in ((maps[k], target[k, 1:4]), (maps[3 + k], target[k, 4:])):
                assert (pixels[..., 3] == 255 * mask[k]).all()
                wanted = 255 * part.movedim(0, -1).numpy()[mask[k]]
                assert pixels[mask[k]][:, :3] == pytest.approx(wanted, abs=0.51)
    assert all((pixels[..., 3] == 0).all() for pixels in images[15:])


def test_points_that_are_far_off_stay_out_of_other_cells():
    image, target, points, outputs = one_object()
    wild = {"dss-sum": outputs["dss-sum"].clone()}
    wild["dss-sum"][:, 1:] *= 50
    axis = draw(image, target, points, wild).figure.axes[0]
    for truth, cloud in zip(axis.collections[:2], axis.collections[2:], strict=True):
        right = truth.get_offsets()[:, 0].mean() + 0.6
        assert all(right - 1.2 < x < right for x in cloud.get_offsets()[:, 0])


def test_clouds_are_seen_from_the_given_side():
    corner = torch.tensor([[1.0, 0.5, 0.5], [0.5, 0.9, 0.5], [0.5, 0.5, 0.8]])
    x, y, colours = _seen_from((0.0, 0.0), corner - 0.2)  # from the front: z towards us
    assert colours[-1].tolist() == pytest.approx([0.3, 0.3, 0.6])
    assert x == pytest.approx([0.3, -0.2, -0.2])
    assert y == pytest.approx([-0.2, 0.2, -0.2])
    x, _, _ = _seen_from((90.0, 0.0), corner - 0.2)  # from the right: z to the left
    assert sorted(x) == pytest.approx([-0.1, 0.2, 0.2])


def errors_figure(errors, setting=""):
    """Draw the error against the number of views, with the values of all seeds."""
    scores = {
        (10, f"chamfer@{num}", model): Score(tuple(values))
        for model, found in errors.items()
        for num, values in found.items()
    }
    scores |= {(10, "chamfer", model): Score((1.0,)) for model in errors}
    (picture,) = pictures(Comparison("views", setting, "", "ours", "", "test", scores))
    return picture


def test_a_thousandfold_error_does_not_hide_all_others():
    near = errors_figure({"dss-sum": {1: [1.0], 8: [2.0]}})
    far = errors_figure({"dss-sum": {1: [1.0], 8: [2000.0]}, "siamese": {1: [1.5], 8: [1.0]}})
    assert near.figure.axes[0].get_yscale() == "linear"
    assert far.figure.axes[0].get_yscale() == "log"


def test_bands_are_sample_standard_deviations_and_markers_have_room():
    picture = errors_figure({"dss-mean": {1: [2.0, 2.2], 3: [2.1]}})
    axis = picture.figure.axes[0]
    (band,) = axis.collections
    x, y = band.get_paths()[0].vertices.T
    assert np.ptp(y[x == 1]) / 2 == pytest.approx(np.std([2.0, 2.2], ddof=1))
    assert np.ptp(y[x == 3]) == 0
    bottom, top = axis.get_ylim()
    assert bottom < y.min() < y.max() < top


def test_errors_are_drawn_over_the_number_of_views(tmp_path):
    errors = {"dss-mean": {1: [2.0, 2.2], 3: [1.0, 1.1]}, "siamese": {1: [2.5], 3: [2.0]}}
    picture = errors_figure(errors, setting="chairs")
    axis = picture.figure.axes[0]
    words = axis.get_legend().get_texts()
    assert [text.get_text() for text in words] == ["Siamese", "DSS(mean)"]  # as the lines end
    picture.figure.draw_without_rendering()
    right = axis.get_window_extent().x1  # no line crosses a label
    assert all(text.get_window_extent().x0 > right for text in words)
    assert axis.lines[0].get_ydata().tolist() == pytest.approx([2.1, 1.05])
    assert axis.get_xticks().tolist() == [1, 3]
    assert picture.save_png(tmp_path).name == "views-chairs-ours-elements.png"
