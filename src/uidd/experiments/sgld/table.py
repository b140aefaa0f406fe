"""The study of batch sizes in tables."""

from ..markdown import markdown_table
from .problems import Problem
from .records import BatchStudy, Comparison


def table(problem: Problem, studies: list[BatchStudy], comparison: Comparison) -> str:
    """Three tables and what they say together, as Markdown."""
    some = [study for study in studies if study.batch_size]
    blocks = (
        _markdown([_rate_row(problem, study) for study in studies]),
        _markdown([_fisher_row(study) for study in studies]),
        _markdown([_discrepancy_row(problem, study) for study in some]),
    )
    words = (
        f"EPR of b = {some[0].batch_size} and of b = {some[-1].batch_size} are {comparison.separation:.1f} "
        f"standard errors apart. Rank correlation over b, with its range when values are drawn from their "
        f"errors: of EPR with MMD^2 to full batch {comparison.rate_with_discrepancy}, of MMD^2(b, b/2) with "
        f"it {comparison.half_with_discrepancy}. The whole took "
        f"{sum(study.figures['seconds'] for study in studies):.0f} s."
    )
    return "\n\n".join([*blocks, words])


def _rate_row(problem: Problem, study: BatchStudy) -> dict[str, str]:
    f, theirs = study.figures, problem.published_rates.get(study.batch_size or 0)
    return {
        "b": str(study.batch_size or "all"),
        "EPR": f"{f['rate']:.4g} +- {f['rate_error']:.2g}",
        "exact": f"{f['exact']:.4g} +- {f['exact_error']:.1g}",
        "small-step limit": f"{f['limit']:.4g}" if "limit" in f else "",
        "of W alone": f"{f['circulation_rate']:.4g} +- {f['circulation_rate_error']:.2g}",
        "plug-in": f"{f['circulation_rate_plug_in']:.4g}",
        "published, 4 seeds": f"{min(theirs):g} to {max(theirs):g}" if theirs else "",
        "result": "" if f["result"] == "ok" else f["result"],
    }


def _fisher_row(study: BatchStudy) -> dict[str, str]:
    f = study.figures
    return {
        "b": str(study.batch_size or "all"),
        "relative Fisher information": f"{f['fisher']:.4g} +- {f['fisher_error']:.2g}",
        "exact": f"{f['fisher_exact']:.4g} +- {f['fisher_exact_error']:.1g}",
        "small-step limit": f"{f['fisher_limit']:.4g}" if "fisher_limit" in f else "",
        "plug-in": f"{f['fisher_plug_in']:.4g}",
    }


def _discrepancy_row(problem: Problem, study: BatchStudy) -> dict[str, str]:
    full, half = study.figures["to_full"], study.figures.get("to_half")
    theirs = problem.published_discrepancies.get(study.batch_size or 0)
    return {
        "b": str(study.batch_size),
        "MMD^2 to full batch": f"{full[0]:.2e} +- {full[1]:.1e}",
        "biased": f"{full[2]:.2e}",
        "published": f"{theirs:g}" if theirs else "",
        "MMD^2 to b/2": f"{half[0]:.2e} +- {half[1]:.1e}" if half else "",
        "biased, to b/2": f"{half[2]:.2e}" if half else "",
    }


def _markdown(rows: list[dict[str, str]]) -> str:
    """Rows of the same columns; a column in which nothing stands is left out."""
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    return markdown_table(columns, ([row[name] for name in columns] for row in rows))
