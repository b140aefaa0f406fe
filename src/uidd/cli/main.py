"""The command `uidd`. One verb a file; nothing heavy is imported before a verb runs."""

import sys

import typer

from .._checks import ComputationError, InputError
from .analyze import analyze
from .demo import demo
from .fit import fit
from .report import report
from .reproduce import reproduce
from .simulate import simulate

app = typer.Typer(
    name="uidd",
    help=(
        "Learn identifiable dissipative dynamics from trajectories: energy landscape, "
        "irreversible drift, entropy production.\n\n"
        "  uidd simulate linear --out data.npz            make data with a known answer\n\n"
        "  uidd fit tracks.csv --dt 0.01 --out runs/mine  learn a model from your data\n\n"
        "  uidd analyze runs/mine                         entropy production, minima\n\n"
        "  uidd report runs/mine                          one page to look at\n\n"
        "  uidd reproduce linear --size quick             an experiment of the paper\n\n"
        "  uidd demo                                      all of it on the paper's linear case"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (fit, analyze, report, simulate, reproduce, demo):
    app.command()(verb)


def run() -> None:
    """Entry point: one line and exit 1 for what failed, 2 for wrong usage; never a traceback."""
    try:
        app()
    except (InputError, ComputationError) as error:
        sys.exit(_told(str(error)))
    except KeyboardInterrupt:
        sys.exit(_told("Interrupted."))
    except OSError as error:
        sys.exit(_told(f"{error.strerror or error}" + (f": '{error.filename}'." if error.filename else ".")))
    except MemoryError:
        sys.exit(_told("There is not enough memory for this; use less data or a smaller batch."))


def _told(sentence: str) -> int:
    print(f"uidd: {sentence}", file=sys.stderr)
    return 1
