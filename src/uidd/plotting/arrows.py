"""Arrows as one broken line."""

import numpy as np

HEAD_ANGLE = np.deg2rad(26)
HEAD_SHARE = 0.4


def arrow_lines(
    tails: np.ndarray, shifts: np.ndarray, size: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The x and y of a line that draws every arrow, with NaN between strokes.

    Args:
        tails: Where arrows start, (n, 2).
        shifts: From tail to tip, (n, 2).
        size: Width and height of the picture in axis units, so that heads look alike on both axes.
    """
    scale = np.asarray(size)
    u = shifts / scale
    tips = (tails + shifts) / scale
    back = -HEAD_SHARE * u
    cos, sin = np.cos(HEAD_ANGLE), np.sin(HEAD_ANGLE)
    left = tips + np.stack([cos * back[:, 0] - sin * back[:, 1], sin * back[:, 0] + cos * back[:, 1]], axis=1)
    right = tips + np.stack(
        [cos * back[:, 0] + sin * back[:, 1], -sin * back[:, 0] + cos * back[:, 1]], axis=1
    )
    gap = np.full_like(u, np.nan)
    strokes = np.stack([tails / scale, tips, gap, left, tips, right, gap], axis=1).reshape(-1, 2) * scale
    return strokes[:, 0].astype(np.float32), strokes[:, 1].astype(np.float32)
