"""`python -m uidd` is `uidd`."""

import subprocess
import sys


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "uidd", "--help"], capture_output=True, text=True, check=True
    )
    assert "sgld-diagnose" in done.stdout
