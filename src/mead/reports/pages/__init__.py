"""Reports on past runs as HTML files."""

from mead.reports.pages.compare_page import render_comparison
from mead.reports.pages.report_page import render_report
from mead.reports.pages.run_figures import RunFigures
from mead.reports.pages.standalone import html_table

__all__ = ["RunFigures", "html_table", "render_comparison", "render_report"]
