from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mead.values import Allocation, Resources

RESOURCES = st.builds(Resources, st.floats(0.1, 2.0), st.integers(1, 4))
ENTRIES = st.dictionaries(st.sampled_from("abcdef"), RESOURCES, min_size=1)


@given(entries=ENTRIES, data=st.data())
def test_the_order_of_operators_does_not_matter(entries: dict[str, Resources], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(entries.items()))))
    assert Allocation.of(entries) == Allocation.of(shuffled)
    assert hash(Allocation.of(entries)) == hash(Allocation.of(shuffled))


@given(entries=ENTRIES)
def test_other_resources_are_another_allocation(entries: dict[str, Resources]) -> None:
    name = next(iter(entries))
    more = Resources(entries[name].share, entries[name].replicas + 1)
    assert Allocation.of(entries).with_(name, more) != Allocation.of(entries)
    assert Allocation.of(entries) != entries
