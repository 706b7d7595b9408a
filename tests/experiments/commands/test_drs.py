"""``mead evaluate drs-...`` as people and scripts meet it; what must come out is tested beside the experiments."""

from __future__ import annotations

from experiments.drs.table2 import PUBLISHED_MS
from tests.cli.program import answer, complaint, run


def test_fig10_is_one_document_with_the_paper_beside_it() -> None:
    document = answer("evaluate", "drs-fig10", "--seeds", 1)
    assert document["experiment"] == "drs-fig10"
    assert [rate["frames_per_s"] for rate in document["rates"]] == [5.0, 6.0]
    assert document["rates"][0]["paper"] == {"mmk": [3, 3, 1], "ggk_ac": [2, 4, 1], "measured": [2, 4, 1]}


def test_table2_is_shown_beside_the_paper() -> None:
    lines = run("evaluate", "drs-table2").stdout.splitlines()
    for k_max, published_ms in PUBLISHED_MS.items():
        assert any(line.startswith(str(k_max)) and f"{published_ms:.3f}" in line for line in lines)


def test_fig9_takes_another_t_min() -> None:
    document = answer("evaluate", "drs-fig9", "--seeds", 1, "--t-min", "0.45")
    first = document["runs"][0]["events"][0]
    assert (first["minute"], first["action"]) == (6.0, "scale in")  # with the paper's T_min, once T_ra is over


def test_no_seeds_are_refused() -> None:
    assert "--seeds" in complaint("evaluate", "drs-fig6", "--seeds", 0)
