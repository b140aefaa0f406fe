"""The linear experiment at toy size: every lambda's row, and the files that it writes."""

import json

import pytest

from uidd.experiments import linear


@pytest.fixture(scope="module")
def cases():
    size = linear.Size(paths=400, steps=100, counting_paths=400, bins=8, draws=8000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "STRENGTHS", (1.0, 0.0))
        return linear.run(size)


@pytest.mark.slow
def test_the_learned_rate_agrees_with_the_exact_one_within_its_error(cases):
    """Five errors; around zero at lambda = 0, where all is noise."""
    driven, still = cases
    assert abs(driven.learned.rate - 47.0598) < 5 * driven.learned.standard_error
    assert abs(driven.monte_carlo.rate - 47.0598) < 5 * driven.monte_carlo.standard_error
    assert still.exact == 0 and still.monte_carlo.rate == 0
    assert abs(still.learned.rate) < min(0.01, 5 * still.learned.standard_error)


@pytest.mark.slow
def test_fields_are_close_to_the_exact_ones(cases):
    """400 paths know S to about one part in ten."""
    for case in cases:
        assert case.potential_error < 0.3
        assert case.irreversible_error < 0.15


@pytest.mark.slow
def test_table_numbers_and_picture_are_written(cases, tmp_path):
    linear.write(cases, tmp_path, {"seed": 0})
    assert "| 1 | 47.0598 |" in (tmp_path / "table.md").read_text()
    stored = json.loads((tmp_path / "results.json").read_text())
    assert [row["published"]["learned"] for row in stored] == [48.8827, 0.0086]
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in tmp_path.iterdir()} >= {"config.json", "environment.json"}
