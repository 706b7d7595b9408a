"""``python -m experiments drs-...``: documents, tables and refusals."""

from __future__ import annotations

from experiments.drs.table2 import PUBLISHED_MS
from tests.experiments.program import answer, complaint, run


def test_fig10_is_one_document_with_the_paper_beside_it() -> None:
    document = answer("drs-fig10", "--seeds", 1)
    assert document["experiment"] == "drs-fig10"
    assert [rate["frames_per_s"] for rate in document["rates"]] == [5.0, 6.0]
    assert document["rates"][0]["paper"] == {"mmk": [3, 3, 1], "ggk_ac": [2, 4, 1], "measured": [2, 4, 1]}


def test_table2_is_shown_beside_the_paper() -> None:
    lines = run("drs-table2").stdout.splitlines()
    for k_max, published_ms in PUBLISHED_MS.items():
        assert any(line.startswith(str(k_max)) and f"{published_ms:.3f}" in line for line in lines)


def test_fig9_takes_another_t_min() -> None:
    document = answer("drs-fig9", "--seeds", 1, "--t-min", "0.45", "--demands", "fig6")
    first = document["runs"][0]["events"][0]
    assert (first["minute"], first["action"]) == (6.0, "scale in")  # with the paper's T_min, once T_ra is over


def test_unknown_demands_are_refused() -> None:
    assert "choose from fig9, fig6" in complaint("drs-fig9", "--demands", "fig7")


def test_no_seeds_are_refused() -> None:
    assert "--seeds" in complaint("drs-fig6", "--seeds", 0)
