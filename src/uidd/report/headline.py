"""The answer first: how far from equilibrium, and what speaks for and against believing it."""

import math
from dataclasses import dataclass
from typing import Any

from .._types import Result
from ..components import Absent
from ..models import Model
from .analysis import Analysis
from .markup import measured, number, rate_unit, text, words


@dataclass(frozen=True)
class Verdict:
    """One sentence, and its kind: `driven`, `balanced` or `unsettled`."""

    kind: str
    sentence: str


def verdict(model: Model, analysis: Analysis) -> Verdict:
    """What the entropy production says, if it may say anything."""
    estimate = analysis.entropy_production
    low, _ = estimate.interval
    if not estimate.result.successful:
        why = estimate.result.message or f"{words(estimate.result.code)}."
        return Verdict("unsettled", f"Not settled: {text(why[:1].lower() + why[1:])}")
    if model.dimension == 1:
        return Verdict(
            "balanced",
            "In equilibrium by construction: a single coordinate cannot carry a stationary current, so "
            "this zero "
            "says nothing about coordinates that were not recorded.",
        )
    if isinstance(model.architecture.circulation, Absent):
        return Verdict(
            "balanced",
            "In equilibrium by construction: this model was given no circulation, so the zero is an "
            "assumption, "
            "not a finding.",
        )
    if low <= 0:
        return Verdict("balanced", "Not distinguishable from equilibrium: the 95 % interval includes zero.")
    if low <= analysis.noise_floor:
        return Verdict(
            "balanced",
            "Not distinguishable from equilibrium: a fit to equilibrium data of this length may give up to "
            f"{number(analysis.noise_floor, 2)}.",
        )
    return Verdict(
        "driven",
        "Out of equilibrium: the 95 % interval excludes zero and what noise could feign "
        f"({number(analysis.noise_floor, 2)}).",
    )


def headline(model: Model, analysis: Analysis, exact: dict[str, Any] | None) -> str:
    """The rate with its interval, the verdict, and the exact value where one is known."""
    estimate, judged = analysis.entropy_production, verdict(model, analysis)
    error = estimate.standard_error
    low, high = (measured(bound, error) for bound in estimate.interval)
    good = "settled, and held-out data agree" if len(analysis.checks) else "settled"
    status = _status(Result(estimate.result.code), good)
    sign = "⚠ " if judged.kind == "unsettled" else ""
    parts = (
        "The rate is corrected for noise in the fit (the model itself has "
        f"{measured(analysis.plug_in.rate, error)}), and the interval comes from the ensemble: what other "
        f"data of this size would have given. {_mean_over(analysis)} A recording of this length cannot do "
        f"better than ±{number(analysis.irreducible_spread, 2)}. What the model cannot represent is not in "
        "it."
    )
    return (
        f'<section class="headline {judged.kind}" aria-label="Entropy production rate">'
        f'<div class="answer"><p class="label">Entropy production rate</p>'
        f'<p class="rate"><b>{measured(estimate.rate, error)}</b> <span '
        f'class="unit">{rate_unit(model)}</span></p>'
        f'<p class="interval">95 % interval: {low} to {high}</p>'
        f'<p class="status">Result: {status}</p></div>'
        f'{_exact(analysis, exact)}<div class="reading"><p class="verdict">{sign}{judged.sentence}</p>'
        f'<p class="note">{parts}</p></div></section>'
    )


def _mean_over(analysis: Analysis) -> str:
    """Which states the rate is a mean over, and the other mean beside it."""
    if not analysis.stationary:
        own = "the rate is the model's own stationary one, a mean over its e<sup>−V</sup>"
        return f"The recording is not stationary: {own} as far as the data reach."
    beside = analysis.over_model
    return (
        "It is a mean over recorded states; over draws from the learned e<sup>−V</sup>, which reach places "
        f"where no data were, it is {measured(beside.rate, beside.standard_error)} ± "
        f"{number(beside.standard_error, 2)}."
    )


def _exact(analysis: Analysis, exact: dict[str, Any] | None) -> str:
    """The exact value beside the learned one."""
    if not exact or "entropy_production" not in exact:
        return ""
    truth, estimate = float(exact["entropy_production"]), analysis.entropy_production
    low, high = estimate.interval
    place = "inside the interval" if low <= truth <= high else "outside the interval"
    off = f"learned is off by {abs(estimate.rate / truth - 1):.1%}, {place}" if truth else place
    return (
        '<div class="answer exact"><p class="label">Exact value '
        f"({text(exact.get('system', 'known system'))})</p>"
        f'<p class="rate"><b>{number(truth, 5)}</b></p><p class="interval">{off}</p></div>'
    )


def cards(model: Model, analysis: Analysis, training: dict[str, Any]) -> str:
    """Four short answers to: can I trust it?"""
    samples, counted = analysis.samples, analysis.counted
    trained = Result(training["result"], training.get("message") or "")
    found = len(analysis.minima)
    all_cards = [
        _card(
            "Training: held-out loss",
            number(training["test_loss"], 5),
            f"nats per pair, on trajectories not trained on; {number(training['seconds'], 3)} s of training",
            trained,
            "it had settled",
        ),
        _card(
            "Sampling",
            f"R-hat {_decimals(samples.r_hat, 3)}",
            f"{_decimals(samples.effective_sample_size, 0)} effective of {len(samples):,} draws; acceptance "
            f"{number(samples.acceptance, 2)}",
            samples.result,
            "independent populations agree",
        ),
        _card(
            "Minima of the potential",
            f"{found}",
            "found by descent from recorded states" if found else "none found from recorded states",
            Result() if found else Result("not_found", "No descent ended in a minimum."),
            "converged",
        ),
    ]
    if counted is None:
        note = f"Counting transitions needs at most three coordinates; there are {model.dimension}."
        all_cards.append(_card("Counting, without a model", "not done", note, None, ""))
    else:
        value = f"{measured(counted.rate, counted.standard_error)} ± {number(counted.standard_error, 2)}"
        about = (
            f"{rate_unit(model)}; {counted.bins} bins a coordinate, {counted.transitions:,} transitions, "
            f"{counted.unpaired_share:.1%} of them never seen in reverse. Reversible data of "
            f"the same size give {number(counted.null, 2)}. Coarse bins hide currents."
        )
        all_cards.append(
            _card("Counting, without a model", value, about, counted.result, "above its reversible null")
        )
    return f'<section class="cards" aria-label="Checks">{"".join(all_cards)}</section>'


def _card(title: str, value: str, about: str, result: Result | None, good: str) -> str:
    status = "" if result is None else f'<p class="status">{_status(result, good)}</p>'
    return (
        f'<div class="card{"" if result is None or result.successful else " warn"}"><p '
        f'class="label">{title}</p>'
        f'<p class="value">{value}</p><p class="about">{about}</p>{status}</div>'
    )


def _status(result: Result, good: str) -> str:
    if result.successful:
        return f'<span class="good">✓ ok</span>: {good}'
    message = f": {text(result.message)}" if result.message else ""
    return f'<span class="bad">⚠ {words(result.code)}</span>{message}'


def _decimals(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}" if math.isfinite(value) else "not finite"
