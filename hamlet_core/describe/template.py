"""A merged template as lines of text and as a Mermaid flowchart; read-only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hamlet_core.template.merged import Label, MergedTemplate, Transition


def quoted(text: str) -> str:
    """Text as a label of a Mermaid picture may hold it.

    >>> quoted('b.v < "odd"')
    'b.v &lt; &quot;odd&quot;'
    """
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def names_of(chosen: Sequence[str], everyone: Sequence[str]) -> str:
    """Some names of a group in few words; both in the same order.

    >>> names_of(["a", "b"], ["a", "b"]), names_of(["a"], ["a"]), names_of(list("abcdefgi"), list("abcdefghi"))
    ('all', 'a', 'all but h')
    """
    missing = [name for name in everyone if name not in chosen]
    if len(everyone) == 1 or 4 * len(missing) >= len(chosen):
        return ", ".join(chosen)
    return f"all but {', '.join(missing)}" if missing else "all"


def template_lines(template: MergedTemplate) -> Iterator[str]:
    """Each start, step and end on a line of its own, with the queries that take it."""
    lines = [(_ends(template, one), takers(template, one)) for one in template.transitions]
    width = max(len(ends) for ends, _ in lines)
    for ends, queries in lines:
        yield f"  {ends:{width}}  {queries}"


def template_mermaid(template: MergedTemplate) -> Iterator[str]:
    """The template as lines of a Mermaid flowchart; the queries stand on the arrows."""
    yield "flowchart LR"
    for state in template.states:
        yield f'  s{state.index}(["{quoted(state.name)}"])'
    for one in template.transitions:
        source = "start((start))" if one.source is None else f"s{one.source}"
        target = "finish((end))" if one.target is None else f"s{one.target}"
        yield f'  {source} -->|"{quoted(takers(template, one))}"| {target}'


def takers(template: MergedTemplate, transition: Transition) -> str:
    """The queries of a transition: `all`, or their names; those that ask for a clean gap together, with the gap."""
    groups: dict[str, list[Label]] = {}
    for label in transition.labels:
        absent = " and ".join(f"no {template.negated[label.query][index]}" for index in sorted(label.gap))
        groups.setdefault(absent, []).append(label)
    return "; ".join(
        _names(template, labels) + (f" ({absent})" if absent else "") for absent, labels in groups.items()
    )


def _names(template: MergedTemplate, labels: list[Label]) -> str:
    return names_of([template.queries[label.query] for label in labels], template.queries)


def _ends(template: MergedTemplate, transition: Transition) -> str:
    source = "start" if transition.source is None else template.states[transition.source].name
    target = "end" if transition.target is None else template.states[transition.target].name
    return f"{source} -> {target}"
