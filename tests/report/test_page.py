"""The page without a browser: what it says, and that nothing from outside becomes markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from uidd import Result
from uidd.report import render_page
from uidd.thermodynamics import Estimate
from uidd.training import Checks

FIGURES = {1: 6, 2: 11, 3: 21, 5: 35}
LARGEST = 8_000_000


class Reader(HTMLParser):
    """Text a reader sees, tags, resources, scripts that run and data that do not."""

    def __init__(self):
        super().__init__()
        self.words, self.resources, self.scripts, self.data, self.tags = [], [], [], [], []
        self._inside = None

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.resources += [v for k, v in attrs if k in ("src", "href", "srcset", "action", "data")]
        if tag == "script":
            self._inside = self.data if attributes.get("type") == "application/json" else self.scripts
        elif tag == "style":
            self._inside = []

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data):
        (self.words if self._inside is None else self._inside).append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


@pytest.fixture(scope="module")
def readers(pages):
    return {dimension: read(html) for dimension, html in pages.items()}


@pytest.fixture
def page_with(runs):
    """The two-dimensional page with some parts of the analysis replaced."""

    def make(**changes):
        run, analysis = runs[2]
        return read(render_page(run, replace(analysis, **changes)))

    return make


def test_the_headline_gives_rate_interval_unit_and_verdict(readers):
    text = readers[2].text
    assert "12.35 kB per s" in text
    assert "95 % interval: 11.34 to 13.35" in text
    assert "Out of equilibrium: the 95 % interval excludes zero" in text
    assert "R-hat 1.002" in text
    assert "0.4321" in text
    assert "3.25 ± 0.5" in text
    assert "4.3% of them never seen in reverse" in text


def test_an_interval_with_zero_is_not_distinguishable_from_equilibrium(page_with):
    page = page_with(entropy_production=Estimate(0.2, 0.3))
    assert "Not distinguishable from equilibrium" in page.text


def test_a_rate_that_noise_could_feign_is_not_distinguishable_from_equilibrium(page_with):
    """The null case of the verdict: a plug-in rate is positive even where nothing is driven."""
    page = page_with(entropy_production=Estimate(0.5, 0.01), noise_floor=0.6)
    assert "Not distinguishable from equilibrium: a fit to equilibrium data" in page.text


def test_a_result_that_is_not_ok_is_a_warning_in_words(page_with, runs):
    bad = Result("not_mixed", "The chains disagree (R-hat 1.4, limit 1.05).")
    page = page_with(
        entropy_production=Estimate(12.0, 0.5, bad), samples=replace(runs[2][1].samples, result=bad)
    )
    assert "Not settled: the chains disagree (R-hat 1.4, limit 1.05)." in page.text
    assert "Out of equilibrium" not in page.text
    assert any("unsettled" in attributes.get("class", "") for _, attributes in page.tags)
    assert "not_mixed" not in page.text


def test_a_rate_that_is_not_finite_is_no_number(page_with):
    nan = float("nan")
    page = page_with(entropy_production=Estimate(nan, nan, Result("not_finite", "The rate is not finite.")))
    assert not re.search(r"\bnan\b", page.text.lower())
    assert "Not settled: the rate is not finite." in page.text


def test_the_exact_value_stands_beside_the_learned_one(make_run):
    exact = {"system": "linear <b>", "entropy_production": 12.0}
    text = read(render_page(*make_run(2, name="exact", exact=exact))).text
    assert "Exact value (linear <b>)" in text
    assert "learned is off by 2.9%, inside the interval" in text


@pytest.mark.parametrize("dimension", FIGURES)
def test_every_dimension_has_all_its_figures_and_fits_in_eight_megabytes(pages, readers, dimension):
    figures = [json.loads(data) for data in readers[dimension].data]
    assert len(figures) == FIGURES[dimension]
    assert all(figure["data"] for figure in figures)
    assert sum(attributes.get("class") == "plot" for _, attributes in readers[dimension].tags) == len(figures)
    assert len(pages[dimension].encode()) < LARGEST


def test_barriers_stand_in_a_table_with_their_errors(readers):
    for dimension in FIGURES:
        assert "How high the barriers are" in readers[dimension].text
        assert "3.50 ± 0.25" in readers[dimension].text


def test_one_coordinate_has_no_current_and_the_page_says_so(readers):
    assert "there is no antisymmetric 1 × 1 matrix" in readers[1].text
    assert "In equilibrium by construction" in readers[1].text


def test_counting_that_was_not_done_says_why(readers):
    assert "Counting transitions needs at most three coordinates; there are 5." in readers[5].text


@pytest.mark.parametrize("dimension", FIGURES)
def test_names_and_paths_never_become_markup(pages, readers, dimension):
    assert "<script>alert" not in pages[dimension]
    assert "<i>nm" not in pages[dimension]
    assert len(readers[dimension].scripts) == 2
    assert "<script>alert(1)</script>.csv" in readers[dimension].text


@pytest.mark.parametrize("dimension", FIGURES)
def test_nothing_is_loaded_from_outside(readers, dimension):
    assert readers[dimension].resources == ["data:,"]
    policy = next(a["content"] for _, a in readers[dimension].tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for script in readers[dimension].scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy


def test_a_history_of_one_record_is_drawn(make_run):
    text = read(render_page(*make_run(1, epochs=1, name="single"))).text
    assert "no epoch followed" in text


def test_paths_that_left_the_finite_numbers_are_named_instead_of_drawn(page_with, runs):
    simulation = runs[2][1].simulation
    gone = replace(
        simulation,
        states=np.full_like(simulation.states, np.nan),
        result=Result("diverged", "12 of 12 paths left the finite numbers; use a smaller step."),
    )
    assert "Not drawn: no simulated path stayed finite. 12 of 12 paths" in page_with(simulation=gone).text


def test_draws_that_are_not_finite_are_named_instead_of_drawn(page_with, runs):
    samples = runs[2][1].samples
    page = page_with(samples=replace(samples, chains=np.full_like(samples.chains, np.nan)))
    assert "Too few finite stationary draws (0)" in page.text


def test_recorded_paths_with_other_times_are_interpolated_and_the_page_says_so(page_with, runs):
    data = runs[2][1].recorded
    moved = replace(data, times=tuple(t * (1 + 0.01 * k) for k, t in enumerate(data.times)))
    assert "brought to common times by interpolation" in page_with(recorded=moved).text


def test_the_table_lists_minima_relative_to_the_lowest(readers):
    assert "0.125" in readers[2].text
    assert "1.375" in readers[2].text


def test_checks_of_the_fit_stand_in_a_table_with_advice_where_one_fails(readers):
    page = readers[2].text
    assert "Does the model hold on data that it has not seen?" in page
    assert "advice against <memory>" in page and "advice for the drift" not in page and "what to do" in page


def test_where_all_checks_pass_there_is_nothing_to_do(page_with, runs):
    good = Checks(runs[2][1].checks.lines[:1])
    page = page_with(checks=good).text
    assert "✓ drift" in page and "what to do" not in page


def test_the_mean_over_draws_stands_beside_the_headline(readers, page_with):
    assert "over draws from the learned e−V" in readers[2].text and "12.88 ± 0.75" in readers[2].text
    assert "not stationary" in page_with(stationary=False).text
