"""No text raises anything but a HamletError, and what is read can be written and read again."""

from __future__ import annotations

from random import Random

import pytest

from hamlet_core.errors import HamletError
from hamlet_core.language import parse_syntax, write_workload

SEEDS = (
    """q1: RETURN T.district, COUNT(*), SUM(T.duration)
    PATTERN SEQ(Request R, Travel T+, NOT Pickup P)
    WHERE [driver, rider] AND R.kind = Pool AND T.speed < 10
    GROUP-BY T.district
    WITHIN 30 min SLIDE 1 min""",
    """RETURN g, MIN(a.v) PATTERN ((A a OR SEQ(B b*, C?))+ AND (D, NOT SEQ(E, F))+)
    WHERE NEXT(a).time - a.time < 5 min AND a.s LIKE 'p%'
    AND (a.x IN (1, 2.5, Pool) OR a.y NOT BETWEEN -3 AND 4e2) GROUP BY g WINDOW 1.5 h""",
    """RETURN COUNT(a) PATTERN A a+ -- note
    WHERE a.t >= TIMESTAMP '2015-01-01 08:00' AND a.n IS NOT NULL AND -a.x * 2 % 3 != "b c"."d""e"
    WITHIN 5 s second: RETURN COUNT(*) PATTERN A WITHIN 1 d # end""",
    """RETURN REACH(v), COUNT(PARTITIONS), COUNT("disjoint"), COUNT(DISJOINT), AVG(DURATION), SUM(DURATION.v)
    PATTERN SEQ(View v, DURATION+, DISJOINT disjoint) SEMANTICS skip-till-next-match WHERE [user] WITHIN 1 h
    b: RETURN MAX(duration) PATTERN A semantics Skip_Till any - match GROUP-BY g WITHIN 5 s""",
    """FUNNEL f: View v -> (Cart c OR Wish)+ -> NOT Leave l -> Pay p SEMANTICS any WHERE c.price > 5 AND v.k = x
    BY user, device GROUP-BY g WITHIN 7 days SLIDE 1 d FUNNEL g: a -> b BY u WITHIN 1 h""",
)
WORDS = (
    *(
        "RETURN",
        "PATTERN",
        "WHERE",
        "GROUP-BY",
        "GROUP",
        "BY",
        "WITHIN",
        "WINDOW",
        "SLIDE",
        "SEQ",
        "NOT",
        "OR",
        "AND",
    ),
    *(
        "COUNT",
        "SUM",
        "MIN",
        "NEXT",
        "IN",
        "IS",
        "NULL",
        "LIKE",
        "BETWEEN",
        "TRUE",
        "TIMESTAMP",
        "(",
        ")",
        "[",
        "]",
    ),
    *(
        ",",
        ".",
        ":",
        "+",
        "*",
        "?",
        "-",
        "/",
        "%",
        "=",
        "<",
        ">=",
        "<>",
        "A",
        "a",
        "B",
        "v",
        "min",
        "s",
        "5",
        "2.5",
    ),
    *(
        "'x'",
        "'2015-01-01'",
        '"n"',
        "'",
        '"',
        "--",
        "#",
        "\n",
        "\u2228",
        "\u2227",
        "1e9",
        "SELECT",
        "FROM",
        "q1:",
    ),
    *("SEMANTICS", "skip", "till", "next", "match", "any", "contiguous", "REACH", "PARTITIONS", "DURATION"),
    *("FUNNEL", "->", "f:"),
)
CHARACTERS = (
    *" \t\n\r\v\x00\x1b\x85\u2028\u00a0\ufeff\u200b\u0301\u0661\U0001f600\U0010ffff\ud800\udfff\uffff\u00df\u0130",
    *"aAzZ09_'\"()[]{},.:;+*?-/%=<>!&|@$^~`\\#\u2018\u2264",
)


def mutated(random: Random) -> str:
    """A valid text with some pieces cut out, doubled, moved or replaced."""
    pieces = list(random.choice(SEEDS)) if random.random() < 0.5 else random.choice(SEEDS).split(" ")
    glue = "" if max(map(len, pieces)) == 1 else " "
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(pieces) + 1)
        end = min(len(pieces), start + random.randint(0, 4))
        other = random.choice(
            [[], pieces[start:end] * 2, [random.choice(WORDS)], [random.choice(CHARACTERS)]]
        )
        pieces[start:end] = other
    return glue.join(pieces)


def random_text(random: Random) -> str:
    """Words and characters in any order."""
    alphabet = random.choice([WORDS, CHARACTERS, WORDS + CHARACTERS])
    return random.choice(["", " "]).join(random.choices(alphabet, k=random.randint(0, 40)))


def refusal(text: str) -> HamletError | None:
    """What a text is refused with; None if it reads, and then it must read back from its canonical form."""
    try:
        read = parse_syntax(text)
    except HamletError as error:
        return error
    assert parse_syntax(write_workload(read)) == read, text
    return None


def check(seed: int) -> bool:
    """Whether the text of a seed could be read; if not, its error must stand within the text."""
    random = Random(seed)
    text = mutated(random) if random.random() < 0.8 else random_text(random)
    error = refusal(text)
    if error is None:
        return True
    lines = [*text.splitlines(), ""]
    assert 1 <= error.line <= len(lines), text
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1, text
    assert error.message, text
    assert str(error), text
    return False


def test_random_texts():
    read = sum(check(seed) for seed in range(2_000))
    assert 100 < read < 2_000


@pytest.mark.slow
def test_many_random_texts():
    assert sum(check(seed) for seed in range(2_000, 103_000)) > 5_000
