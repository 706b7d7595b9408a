"""Reports on past runs as HTML files."""

from mead.reports.pages.compare_page import compare_page
from mead.reports.pages.report_page import report_page
from mead.reports.pages.run_figures import RunFigures
from mead.reports.pages.standalone import html_table

__all__ = ["RunFigures", "compare_page", "html_table", "report_page"]
