"""What a run found, as one record, one folder and one page."""

from .analysis import Analysis as Analysis
from .analysis import analyze as analyze
from .page import render_page as render_page
from .run_folder import RunFolder as RunFolder
