"""What a search by words finds, without a database: both find the same."""

from foundation.text.words import make_index_words, parse_query


def finds(query: str, text: str) -> bool:
    """Whether the index words of a text have what the query looks for."""
    words = make_index_words(text).split()
    groups = parse_query(query).groups
    return bool(groups) and all(any(_has_form(words, form) for form in each) for each in groups)


def _has_form(words: list[str], form: tuple[str, ...]) -> bool:
    *exact, last = form
    for place in range(len(words) - len(form) + 1):
        part = words[place : place + len(form)]
        is_beginning = last.endswith("*") and part[-1].startswith(last.removesuffix("*"))
        if part[:-1] == exact and (is_beginning or part[-1] == last):
            return True
    return False
