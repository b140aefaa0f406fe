"""Where the page comes from."""

import json

from .analysis import Analysis
from .markup import Section, table, text
from .run_folder import RunFolder

_EARLIER_ON_THE_PAGE = {"report.html"}


def provenance_section(run: RunFolder, analysis: Analysis) -> Section:
    """Versions, device, commit, seed, command, config and files, folded away."""
    config, surroundings = run.config(), run.environment()
    first = {
        "command": config.get("command", "not recorded"),
        "seed": config.get("seed", "not recorded"),
        "folder": run.path,
        "stationary draws": f"{len(analysis.samples):,}",
        "simulation step": f"{analysis.simulation.step:.4g}",
    }
    rows = [[text(name), f"<code>{text(value)}</code>"] for name, value in {**first, **surroundings}.items()]
    files = [
        [f"<code>{text(file.name)}</code>", f"{file.stat().st_size / 1024:,.1f} kB"]
        for file in sorted(run.path.iterdir())
        if file.is_file() and file.name not in _EARLIER_ON_THE_PAGE and not file.name.startswith(".")
    ]
    body = (
        "<details><summary>Versions, device, commit, seed, command, config and files</summary>"
        + table(["", ""], rows, label="Provenance")
        + f"<h3>Config</h3><pre>{text(json.dumps(config, indent=2, ensure_ascii=False))}</pre>"
        + "<h3>Files of the run</h3>"
        + table(["file", "size"], files, label="Files")
        + "</details>"
    )
    return Section("Provenance", "", after=body)
