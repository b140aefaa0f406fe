"""The command `uidd`. One verb a file; nothing heavy is imported before a verb runs."""

import sys
from typing import Any

import typer

from .._checks import InputError
from .analyze import analyze
from .benchmark import benchmark
from .demo import demo
from .fit import fit
from .landscape import landscape
from .report import report
from .reproduce import reproduce
from .sgld_diagnose import sgld_diagnose
from .simulate import simulate

# What typer raises for wrong usage, whichever package it takes that class from.
USAGE_ERRORS: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="uidd",
    help="""Learn identifiable dissipative dynamics from trajectories: energy landscape, irreversible
    drift, entropy production.

    \b
    uidd simulate linear --out data.npz             make data with a known answer
    uidd fit tracks.csv --dt 0.01 --out runs/mine   learn a model from your data
    uidd analyze runs/mine                          entropy production, minima
    uidd landscape runs/mine                        minima, saddles, barriers
    uidd report runs/mine                           one page to look at
    uidd reproduce linear --size quick              an experiment of the paper
    uidd benchmark accuracy --only linear           how right it is on known systems
    uidd sgld-diagnose chains.npz --step 0.01       which batch size a sampler needs
    uidd demo                                       all of it on a known system
    """,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (fit, analyze, landscape, report, simulate, reproduce, benchmark, sgld_diagnose, demo):
    app.command()(verb)


def run() -> None:
    """Entry point: one line and exit 1 for what failed, 2 for wrong usage; never a traceback."""
    try:
        code = app(standalone_mode=False)
    except USAGE_ERRORS as error:
        told = error.format_message()
        if "\n" in told or not told:  # no verb at all: the help page
            print(told)
            sys.exit(error.exit_code)
        sys.exit(_information_shares(told, code=error.exit_code))
    except InputError as error:
        sys.exit(_information_shares(str(error)))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_information_shares("Interrupted."))
    except OSError as error:
        sys.exit(
            _information_shares(
                f"{error.strerror or error}" + (f": '{error.filename}'." if error.filename else ".")
            )
        )
    except MemoryError:
        sys.exit(
            _information_shares("There is not enough memory for this; use less data or a smaller batch.")
        )
    sys.exit(_information_shares("Interrupted.") if code == 130 else code or 0)


def _information_shares(sentence: str, *, code: int = 1) -> int:
    print(f"uidd: {sentence}", file=sys.stderr)
    return code
