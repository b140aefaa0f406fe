"""One self-contained HTML file."""

import base64
import hashlib
from importlib import resources
from string import Template

import numpy as np

from .analysis import Analysis
from .barrier_section import barrier_section
from .headline import cards, headline
from .landscape_section import landscape_sections
from .markup import Panel, Section, text
from .provenance_section import provenance_section
from .run_folder import RunFolder
from .sections import checks_section, comparison_section, numbers_section, training_section


def render_page(run: RunFolder, analysis: Analysis) -> str:
    """The report of a run as HTML that needs no network.

    Scripts are inside the page and named by their hash in its content security policy: no other script
    runs, whatever a coordinate is called, and nothing is loaded from anywhere.
    """
    from plotly.offline import get_plotlyjs

    model, config, held_out = run.model(), run.config(), run.held_out()
    sections = [
        *landscape_sections(model, analysis, np.concatenate(held_out.states)),
        barrier_section(model, analysis),
        checks_section(model, analysis),
        training_section(run.history(), run.fit_summary()["kept_epoch"]),
        comparison_section(model, analysis),
        numbers_section(model, analysis),
        provenance_section(run, analysis),
    ]
    count, body = 0, []
    for section in sections:
        body.append(_section(section, first=count))
        count += len(section.panels)
    plotly, script = get_plotlyjs(), _file("page.js")
    summary, names = run.fit_summary(), ", ".join(model.coordinates)
    subtitle = (
        f"{model.dimension} coordinate{'s' if model.dimension > 1 else ''}: {names}. Trained on paths of "
        f"{summary['total_time']:.4g} {model.time_unit or 'time units'} in all, compared with "
        f"{len(held_out)} held out."
    )
    return Template(_file("page.html")).substitute(
        title=text(run.path.resolve().name),
        policy=" ".join(_hash(part) for part in (plotly, script)),
        style=_file("page.css"),
        subtitle=text(subtitle),
        headline=headline(model, analysis, config.get("exact")),
        cards=cards(model, analysis, summary),
        body="\n".join(body),
        plotly=plotly,
        script=script,
    )


def _section(section: Section, *, first: int) -> str:
    """A section; its panels are numbered from `first`."""
    panels = "".join(_panel(panel, first + k) for k, panel in enumerate(section.panels))
    title = f"<h2>{section.title}</h2>" if section.title else ""
    intro = f'<p class="intro">{section.intro}</p>' if section.intro else ""
    grid = f'<div class="panels {section.columns}">{panels}</div>' if panels else ""
    return f'<section><div class="head">{title}{intro}</div>{grid}{section.after}</section>'


def _panel(panel: Panel, index: int) -> str:
    """A figure's data stand beside its place as JSON, which no browser runs."""
    if panel.figure is None:
        return (
            f'<figure class="empty"><h4>{panel.title}</h4><figcaption>{panel.caption}</figcaption></figure>'
        )
    data = str(panel.figure.to_json()).replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
    height = int(panel.figure.layout.height)
    return (
        f'<figure><h4>{panel.title}</h4><div class="plot" id="plot-{index}" role="img" style="height: '
        f'{height}px" '
        f'aria-label="{panel.title}"></div><script type="application/json" '
        f'id="plot-{index}-data">{data}</script>'
        f"<figcaption>{panel.caption}</figcaption></figure>"
    )


def _file(name: str) -> str:
    return resources.files("uidd.report").joinpath(name).read_text("utf-8")


def _hash(script: str) -> str:
    """How a content security policy names an inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
