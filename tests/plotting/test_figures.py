"""Figures: what is drawn is what was given."""

import numpy as np
import pytest

from uidd.plotting import (
    Plane,
    axis_label,
    field_map,
    local_entropy_map,
    marginals,
    potential_map,
    training_curves,
)
from uidd.plotting.arrows import arrow_lines
from uidd.plotting.field_map import arrow_time
from uidd.training import EpochRecord


@pytest.fixture
def plane():
    return Plane(np.arange(5.0), np.arange(4.0), "x", "y")


def test_labels_are_shortened_and_escaped():
    assert axis_label("a" * 60, "nm") == "a" * 34 + "… (nm)"
    assert axis_label("<b>") == "&lt;b&gt;"


def test_an_arrow_runs_from_tail_to_tip_and_its_head_is_symmetric():
    x, y = arrow_lines(np.zeros((1, 2)), np.array([[1.0, 0.0]]), (1.0, 1.0))
    assert (x[0], y[0], x[1], y[1]) == (0, 0, 1, 0)
    assert x[3] == x[5] < 1 and y[3] == pytest.approx(-y[5])


def test_arrow_time_has_the_fields_scale(plane):
    field = np.ones((4, 5, 2)) * [2.0, 0.0]
    assert arrow_time(plane, field) == pytest.approx(0.5)
    assert arrow_time(plane, 10 * field) == pytest.approx(0.05)
    assert arrow_time(plane, 0 * field) == 0.0


def test_arrows_are_drawn_only_where_the_field_is_known(plane):
    field = np.ones((4, 5, 2))
    field[0, 0] = np.nan
    figure = field_map(plane, np.ones((4, 5)), plane, field, colour="#000000")
    assert len(figure.data[-1].x) == 19
    assert np.isfinite(figure.data[-1].customdata).all()


def test_maps_hold_their_values_and_mark_minima(plane):
    values = np.arange(20.0).reshape(4, 5)
    figure = potential_map(plane, values, minima=np.array([[1.0, 2.0], [3.0, 1.0]]))
    np.testing.assert_array_equal(figure.data[0].z, values)
    assert list(figure.data[1].text) == ["1", "2"]
    entropy = local_entropy_map(plane, values, unit="k", highest=7.0)
    assert (entropy.data[0].zmin, entropy.data[0].zmax) == (0.0, 7.0)


def test_the_kept_weights_are_marked():
    history = [EpochRecord(k, 10 * k, 1.0, loss) for k, loss in enumerate((3.0, 1.0, 2.0))]
    figure = training_curves(history, 1)
    assert (figure.data[-1].x, figure.data[-1].y) == ((10,), (1.0,))


def test_a_density_integrates_to_one_and_a_narrow_stationary_one_makes_the_axis_logarithmic():
    generator = np.random.default_rng(0)
    wide, narrow = generator.normal(0, 5, 4000), generator.normal(0, 0.1, 4000)
    even = marginals(wide, wide, wide, label="x")
    x, y = even.data[0].x, even.data[0].y
    # The outer 0.1 % at each end lie outside the bins.
    assert np.sum(y) * (x[1] - x[0]) == pytest.approx(0.998, abs=1e-3)
    assert even.layout.yaxis.type is None
    assert marginals(wide, wide, narrow, label="x").layout.yaxis.type == "log"
