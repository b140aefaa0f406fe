"""`uidd report`: one page to look at."""

from .options import RunPath, Seed


def report(run: RunPath, seed: Seed = 0) -> None:
    """One HTML file with numbers and pictures, no network needed.

    Example: uidd report runs/mine
    """
    from ..report import render_page
    from ..report.run_folder import RunFolder
    from .analyze import analyzed

    folder = RunFolder.open(run)
    folder.history()  # a run that lacks something is refused before the work, not after it
    written = folder.write_report(render_page(folder, analyzed(folder, seed)))
    print(f"Written to {written}. Open it in any browser.")
