"""The potentials that several seeds found, side by side."""

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

# Ours and Stat-PINNs are in kT and share the truth's scale; the others have no scale of their own.
IN_KT = ("exact", "ours", "Stat-PINNs")


def identifiability_figure(
    case: str, grid: np.ndarray, exact: np.ndarray, surfaces: dict[str, list[np.ndarray]]
) -> Figure:
    """A row a model, a column a seed, the exact V above; white where there are no data.

    Args:
        case: The name of the system.
        grid: The two coordinates, (2, n).
        exact: V on the grid, (n, n).
        surfaces: For each model one such array a seed.
    """
    columns = max(map(len, surfaces.values()))
    rows = 1 + len(surfaces)
    figure = Figure(figsize=(2.1 * columns + 1.6, 1.75 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    top = _above(exact)
    highest = float(np.nanquantile(top, 0.95))
    for row, (model, found) in zip(panels, {"exact": [exact], **surfaces}.items(), strict=True):
        lifted = [_above(surface) for surface in found]
        limit = highest if model in IN_KT else float(np.nanquantile(np.stack(lifted), 0.95))
        for panel, values in zip(row, lifted, strict=False):
            panel.contourf(
                grid[0],
                grid[1],
                np.minimum(values, limit).T,
                levels=np.linspace(0, limit, 13),
                cmap="viridis",
            )
        for panel in row[len(lifted) :]:
            panel.set_axis_off()
        row[0].set_ylabel(f"{model}\n$z_2$")
        unit = "$k_B T$" if model in IN_KT else "no unit"
        scale = ScalarMappable(Normalize(0, limit), "viridis")
        bar = figure.colorbar(scale, ax=row, pad=0.01, ticks=[0, limit / 2, limit], format="%.3g")
        bar.set_label(f"V ({unit})", fontsize=8)
        bar.ax.tick_params(labelsize=7)
    for k, panel in enumerate(panels[1]):
        panel.set_title(f"seed {k}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("$z_1$")
    for panel in panels.ravel():
        panel.tick_params(labelsize=7)
    figure.suptitle(f"{case}: V - min V that each model learned from the same data", fontsize=11)
    return figure


def _above(surface: np.ndarray) -> np.ndarray:
    """Above its lowest point."""
    return surface - np.nanmin(surface)
