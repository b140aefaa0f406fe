"""How long do `import uidd` and `uidd --help` take, and what would importing JAX alone cost?"""

import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": "pass",
    "import uidd": "import uidd",
    "uidd --help": "import sys; sys.argv = ['uidd', '--help']; from uidd.cli.main import run; run()",
    "import jax": "import jax",
    "uidd.fit (everything training needs)": "import uidd; uidd.fit",
}


def main(rounds: int = 5) -> None:
    """Print the best of several fresh processes."""
    for name, program in COMMANDS.items():
        best = float("inf")
        for _ in range(rounds):
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)
            best = min(best, time.perf_counter() - begun)
        print(f"{name:40}{best:6.2f} s")


if __name__ == "__main__":
    main()
