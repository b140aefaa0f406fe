"""Build the wheel, install it alone in an empty environment elsewhere, and use it there."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
USE = """
import sys, importlib.resources, numpy as np, uidd
assert "jax" not in sys.modules, "import uidd must not import jax"
assert importlib.resources.files("uidd").joinpath("py.typed").is_file()
assert "site-packages" in uidd.__file__, uidd.__file__
data = uidd.systems.Linear().simulate(200, 21)
fit = uidd.fit(data, seed=0, plan=uidd.Plan(steps=20, steps_per_epoch=10, batch=256), progress=False)
uidd.save_model(fit.model, "model.uidd")
model = uidd.load_model("model.uidd")
assert np.isfinite(float(model.potential(np.zeros(2))))
from uidd.report import analyze, render_page, RunFolder
run = RunFolder.create("run")
run.begin({"seed": 0})
run.write_fit(fit, {"seed": 0})
run.write_report(render_page(run, analyze(fit.ensemble, fit.test, fit.total_time, draws=2000)))
"""


def main() -> None:
    """Exit non-zero if the wheel does not work on its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", name, str(ROOT)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("uidd-*.whl")
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        options = ["--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt")]
        subprocess.run([python, "-m", "pip", "install", *options, str(wheel)], check=True)
        subprocess.run([python, "-c", USE], check=True, cwd=folder)
        help_page = [folder / "env" / "bin" / "uidd", "--help"]
        subprocess.run(help_page, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    print(f"wheel: {wheel.name} works installed alone")


if __name__ == "__main__":
    main()
