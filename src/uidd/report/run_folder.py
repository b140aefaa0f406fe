"""A run on disk: data sample, model, history, metrics, config, environment, page."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import InputError
from .._files import read_json, write_atomically, write_json
from ..data import Trajectories, load_trajectories, save_trajectories
from ..models import Ensemble, Model, environment, load_model, save_model
from ..training import Checks, EpochRecord, Fit

MOST_SAMPLE_FRAMES = 200_000
SUMMARY = (
    "result",
    "message",
    "start",
    "epochs",
    "kept_epoch",
    "seconds",
    "test_loss",
    "total_time",
    "likelihood",
    "networks",
)
RESULT_FILES = (
    "model.uidd",
    "ensemble.uidd",
    "checkpoint.uidd",
    "history.json",
    "fit.json",
    "held-out.npz",
    "metrics.json",
    "environment.json",
    "report.html",
)


@dataclass(frozen=True)
class RunFolder:
    """The files of one run.

    config.json       how it was asked for: data, options, seed, command
    checkpoint.uidd   training state, while it runs and after
    model.uidd        the model
    ensemble.uidd     the model with the members of its ensemble
    history.json      one record an epoch
    fit.json          how training ended
    held-out.npz      trajectories that took no part in training, to compare with
    metrics.json      what `analyze` found
    environment.json  versions, device, commit
    report.html       the page
    """

    path: Path

    @classmethod
    def create(cls, path: str | Path, *, overwrite: bool = False) -> "RunFolder":
        """A place for a new run. Nothing is written or removed before `begin`."""
        folder = cls(Path(path))
        if folder.path.exists() and not folder.path.is_dir():
            raise InputError(f"'{path}' is a file, not a folder. Choose another --out.")
        if folder.config_file.exists() and not overwrite:
            raise InputError(
                f"'{path}' already holds a run. Choose another --out, or --resume it, or --overwrite it."
            )
        return folder

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """A folder that holds a run."""
        folder = cls(Path(path))
        if not folder.config_file.exists():
            raise InputError(f"'{path}' holds no run. Make one with `uidd fit DATA --out {path}`.")
        return folder

    @property
    def config_file(self) -> Path:
        """How the run was asked for."""
        return self.path / "config.json"

    @property
    def checkpoint_file(self) -> Path:
        """Training state."""
        return self.path / "checkpoint.uidd"

    @property
    def model_file(self) -> Path:
        """The model, once training has ended."""
        return self.path / "model.uidd"

    @property
    def report_file(self) -> Path:
        """The page."""
        return self.path / "report.html"

    def begin(self, config: dict[str, Any]) -> None:
        """Say what will be done, before training, so that an interrupted run can be resumed."""
        for name in RESULT_FILES:
            (self.path / name).unlink(missing_ok=True)
        write_json(self.config_file, config)

    def config(self) -> dict[str, Any]:
        """How the run was asked for."""
        return read_json(self.config_file)

    def write_fit(self, fit: Fit, config: dict[str, Any]) -> None:
        """Everything that training gave; the model last, since its presence says that all is there."""
        surroundings = environment()
        write_json(self.path / "environment.json", surroundings)
        write_json(self.path / "history.json", [asdict(record) for record in fit.history])
        write_json(
            self.path / "fit.json",
            {
                "result": fit.result.code,
                "message": fit.result.message,
                "start": str(fit.start),
                "epochs": fit.history[-1].epoch,
                "kept_epoch": fit.kept.epoch,
                "seconds": fit.seconds,
                "test_loss": fit.test_loss,
                "total_time": fit.total_time,
                "likelihood": repr(fit.likelihood),
                "networks": [asdict(test) | {"called_for": test.called_for} for test in fit.tests],
                "checks": fit.checks.to_dict(),
            },
        )
        save_trajectories(_capped(fit.test), self.path / "held-out.npz")
        fit.ensemble.save(self.path / "ensemble.uidd", provenance={**surroundings, "config": config})
        save_model(fit.model, self.model_file, provenance={**surroundings, "config": config})

    def model(self) -> Model:
        """The trained model."""
        if not self.model_file.exists():
            raise InputError(
                f"The run in '{self.path}' did not end. Go on with `uidd fit --resume --out {self.path}`."
            )
        return load_model(self.model_file)

    def ensemble(self) -> Ensemble:
        """The trained model with its members."""
        self.model()
        return self._read("ensemble.uidd", Ensemble.load)

    def held_out(self) -> Trajectories:
        """Trajectories that took no part in training."""
        return self._read("held-out.npz", load_trajectories)

    def history(self) -> list[EpochRecord]:
        """One record an epoch."""
        return self._read("history.json", lambda path: [EpochRecord(**record) for record in read_json(path)])

    def fit_summary(self) -> dict[str, Any]:
        """How training ended."""
        return self._read("fit.json", lambda path: {name: read_json(path)[name] for name in SUMMARY})

    def checks(self) -> Checks:
        """What held-out transitions said of the fit."""
        return self._read("fit.json", lambda path: Checks.from_dicts(read_json(path)["checks"]))

    def _read(self, name: str, reader: Callable[[Path], Any]) -> Any:
        path = self.path / name
        try:
            return reader(path)
        except (InputError, KeyError, TypeError) as error:
            state = "damaged" if path.exists() else "missing"
            raise InputError(
                f"The run in '{self.path}' is incomplete: {name} is {state}. Fit again with --overwrite."
            ) from error

    def environment(self) -> dict[str, str]:
        """Versions, device, commit."""
        return read_json(self.path / "environment.json")

    def write_metrics(self, metrics: dict[str, Any]) -> None:
        """What the analysis found."""
        write_json(self.path / "metrics.json", metrics)

    def metrics(self) -> dict[str, Any]:
        """What the analysis found."""
        return read_json(self.path / "metrics.json")

    def write_report(self, html: str) -> Path:
        """The page."""
        return write_atomically(self.report_file, html.encode())


def _capped(data: Trajectories) -> Trajectories:
    """The first trajectories that fit in `MOST_SAMPLE_FRAMES`; at least one, shortened if it must be."""
    frames = np.cumsum([len(states) for states in data.states])
    fitting = data.select(range(max(1, int((frames <= MOST_SAMPLE_FRAMES).sum()))))
    return replace(
        fitting,
        states=tuple(s[:MOST_SAMPLE_FRAMES] for s in fitting.states),
        times=tuple(t[:MOST_SAMPLE_FRAMES] for t in fitting.times),
    )
