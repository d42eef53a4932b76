"""The words of an index and of a query, so that every database finds the same.

`make_index_words` makes the text that a database indexes: words with single spaces between them,
which its tokenizer only has to split. `parse_query` makes what is looked up among them.

Index words are folded and without English inflections. Of a compound (`sign-up`, `v2.3.1`) the
parts follow each other, and the joined word comes after all others, as does the form with ae, oe
and ue of a word with umlauts. Of Hangul and of a script that is written without spaces, each two
adjacent signs are a word, and the last sign of a run is one by itself: one sign is the beginning of
a word at any place of the run.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from foundation.text.folding import MARKS, compose, fold, list_ranges
from foundation.text.stems import stem

MAX_WORD: Final = 60
# PostgreSQL's tsvector has at most one megabyte.
MAX_INDEX_WORDS: Final = 50_000
MAX_JOINED_PARTS: Final = 4
# Between words that are not adjacent. No word has this sign, of an index or of a query, and the
# tokenizer of SQLite's index takes it for a word, so that no phrase goes across it.
END: Final = "\u00a7"
# Han, Hiragana, Katakana and Bopomofo; Thai, Lao, Myanmar, Khmer.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u3035\u3040-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Particles follow a word without a space, also a Latin one.
_HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
_BY_SIGNS: Final = f"{_UNSPACED}{_HANGUL}"


# Pictures, each of which is a word.
_SYMBOLS: Final = list_ranges("So")
TOKEN: Final = re.compile(r"\S+")
_LETTER: Final = f"(?:(?![{_BY_SIGNS}{_SYMBOLS}])[^\\W_]|[{MARKS}])"
PART: Final = re.compile(f"[{_UNSPACED}]+|[{_HANGUL}]+|[{_SYMBOLS}]|{_LETTER}+")
_SIGNS: Final = re.compile(f"[{_BY_SIGNS}]+")
# What joins the parts of one word; other signs separate words that are looked for in a row.
_JOINING: Final = re.compile(r"[-._']*")
_VERSION: Final = re.compile(r"(?<![^\W_])v(?=\d+\.\d)")
_TERM: Final = re.compile(r'"([^"]*)"|(\S+)')
_OR: Final = "OR"
# Words that say little by themselves. Those that change what a report means are no such words: not,
# no, on, off, out, up, down.
IGNORED_WORDS: Final = frozenset(
    TOKEN.findall("""
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
    her hers herself it its itself they them their theirs themselves what which who whom this that
    these those am is are was were be been being have has had having do does did doing a an the
    and but if or because as until while of at by for with about against between into through
    during before after above below to from in over under again further then once here when where
    why how all any both each few more most other some such only own same so than too very s can
    will just should now
    """)
)
# Two words that are also written as one.
_WRITTEN_AS_ONE: Final = TOKEN.findall("""
    sign:up sign:in sign:out sign:on sign:off log:in log:out log:on log:off set:up back:up
    check:in check:out shut:down roll:back roll:out pop:up follow:up start:up clean:up look:up
    drop:down plug:in opt:in opt:out add:on time:out lock:out work:around work:flow data:base
    web:hook web:site web:page file:name user:name pass:word end:point time:stamp time:zone
    white:list black:list dash:board help:desk road:map down:time up:time up:load down:load
    over:view chat:bot hot:fix bug:fix code:base sub:domain play:book e:mail
""")
# ä, ö and ü in German, where they are not on the keyboard.
_UMLAUT: Final = re.compile(r"ae|oe|(?<![aeq])ue")
_MARKED: Final = re.compile("[äöü]")
_MARKED_WORD: Final = re.compile(r"[^\W_]*[äöü][^\W_]*")
SHORTEST_WITH_UMLAUT: Final = 5

# Index words in a row; the last one ends with * if it is only the beginning of a word.
Form = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What a text has to have: of each group, one of the forms.

    `typed` has the terms of each group as they were written, `ignored` the words not looked for.
    """

    groups: tuple[tuple[Form, ...], ...] = ()
    typed: tuple[tuple[str, ...], ...] = ()
    ignored: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups)


@dataclass(frozen=True, slots=True)
class _Compound:
    """Parts of a text without a space between them."""

    parts: tuple[str, ...]
    joined: str = ""


@dataclass(frozen=True, slots=True)
class _QueryTerm:
    """A word of a query, a phrase in quotes, or two words that are also written as one."""

    text: str
    is_phrase: bool = False
    is_pair: bool = False

    @property
    def is_or(self) -> bool:
        return self.text == _OR and not self.is_phrase

    @property
    def is_ignored(self) -> bool:
        return not self.is_phrase and IGNORED_WORDS.issuperset(split_words(self.text))


def make_index_words(*texts: str) -> str:
    """Returns the words to index of texts; a phrase does not go from one text to the next."""
    found: list[str] = []
    # Spellings of words that are among the others.
    more: dict[str, None] = {}
    for text in texts:
        for compound in _split_compounds(text):
            found += _make_part_words(compound.parts)
            if compound.joined:
                more[stem(compound.joined)] = None
        more.update(dict.fromkeys(_spell_umlauts_out(text)))
        if len(texts) > 1 and text:
            found.append(END)
    if more:
        found += [END, *more]
    return " ".join(found[:MAX_INDEX_WORDS])


def parse_query(query: str) -> WordQuery:
    """Returns what a query looks for: its words and its phrases in quotes, in any order.

    Words with OR between them are alternatives. No word in quotes is ignored, and none if all words
    of the query are words that say little.
    """
    terms = _read_terms(query)
    ignored = [term.text for term in terms if term.is_ignored and not term.is_or]
    if any(not (term.is_ignored or term.is_or) for term in terms):
        terms = [term for term in terms if term.is_or or not term.is_ignored]
    else:
        ignored = []
    alternatives = _group_alternatives(terms)
    groups: dict[tuple[Form, ...], tuple[str, ...]] = {}
    for each in alternatives:
        for texts in _list_alternatives(each, is_alone=len(alternatives) == 1):
            forms = tuple(dict.fromkeys(form for text in texts for form in _list_forms(text)))
            groups.setdefault(forms, texts)
    return WordQuery(
        tuple(groups), tuple(groups.values()), tuple(dict.fromkeys(map(fold, ignored)))
    )


def split_name_query(query: str) -> list[tuple[str, ...]]:
    """Returns the words and phrases of a query of names, in groups: of each, one is looked for.

    They are as typed. No word is ignored: Will is a name.
    """
    terms = [_QueryTerm(phrase or word, bool(phrase)) for phrase, word in _TERM.findall(query)]
    named = [term for term in terms if split_words(term.text)]
    return [tuple(term.text for term in each) for each in _group_alternatives(named)]


def _group_alternatives(terms: Sequence[_QueryTerm]) -> list[list[_QueryTerm]]:
    """Returns terms in groups: those with OR between them are in one."""
    groups: list[list[_QueryTerm]] = []
    is_alternative = False
    for term in terms:
        if term.is_or:
            is_alternative = bool(groups)
        elif is_alternative:
            groups[-1].append(term)
            is_alternative = False
        else:
            groups.append([term])
    return groups


def _list_alternatives(terms: Sequence[_QueryTerm], *, is_alone: bool) -> Iterator[tuple[str, ...]]:
    """Yields the texts of which a text has to have one.

    Two words that are also written as one (`log in`) are such a term where nothing else is looked
    for. Among other words (`error log in console`) they may as well be words of their own.
    """
    if len(terms) > 1 or is_alone or not terms[0].is_pair:
        yield tuple(term.text for term in terms)
        return
    for word in terms[0].text.split():
        if not _QueryTerm(word).is_ignored:
            yield terms[0].text, word


def split_words(text: str) -> list[str]:
    """Returns the words of a text, folded and with their inflections."""
    return [part for compound in _split_compounds(text) for part in compound.parts]


def _read_terms(query: str) -> list[_QueryTerm]:
    """Returns the terms of a query that have a word; two that are also written as one are one."""
    terms: list[_QueryTerm] = []
    is_single = False
    for phrase, word in _TERM.findall(query):
        term = _QueryTerm(phrase or word, bool(phrase))
        if is_single and not phrase and _make_pair(terms[-1].text, word) in _list_written_as_one():
            terms[-1] = _QueryTerm(f"{terms[-1].text} {word}", is_pair=True)
            is_single = False
        elif split_words(term.text):
            terms.append(term)
            is_single = not phrase
        else:
            is_single = False
    return terms


def _split_compounds(text: str) -> Iterator[_Compound]:
    for run in fold(text).split(" "):
        # A long run is unlikely to come again.
        parse = _parse_compound if len(run) <= MAX_WORD else _parse_compound.__wrapped__
        compound = parse(run)
        if compound.parts:
            yield compound


@lru_cache(maxsize=65_536)
def _parse_compound(run: str) -> _Compound:
    """Splits what has no space in it."""
    if run.isascii() and run.isalpha():
        return _Compound((run[:MAX_WORD],))
    run = _VERSION.sub("", run)
    found = list(PART.finditer(run))
    parts = tuple(_limit_part(each.group()) for each in found)
    gaps = (run[first.end() : second.start()] for first, second in pairwise(found))
    is_one = all(gap and _JOINING.fullmatch(gap) for gap in gaps)
    return _Compound(parts, _join_parts(parts) if is_one else "")


def _limit_part(part: str) -> str:
    return part if _SIGNS.match(part) else part[:MAX_WORD]


def _join_parts(parts: Sequence[str]) -> str:
    if not 1 < len(parts) <= MAX_JOINED_PARTS or all(part.isdigit() for part in parts):
        return ""
    if any(_SIGNS.match(part) for part in parts):
        return ""
    joined = "".join(parts)
    return joined if len(joined) <= MAX_WORD else ""


def _make_part_words(parts: Sequence[str]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if not part.isascii() and _SIGNS.match(part):
            found += [first + second for first, second in pairwise(part)]
            found.append(part[-1])
        else:
            found.append(stem(part))
    return found


def _list_forms(term: str) -> Iterator[Form]:
    """Yields the ways in which a text may have a term."""
    compounds = list(_split_compounds(term))
    parts = [part for compound in compounds for part in compound.parts]
    yield _make_form(parts)
    if len(compounds) == 1 and compounds[0].joined:
        yield (stem(compounds[0].joined),)
    if joined := _list_written_as_one().get(tuple(stem(part) for part in parts)):
        yield (joined,)
    if len(parts) == 1:
        word = stem(parts[0])
        yield from (pair for pair, joined in _list_written_as_one().items() if joined == word)
        yield from ((other,) for other in _spell_umlauts_out(term))


def _make_pair(first: str, second: str) -> Form:
    return stem(fold(first)), stem(fold(second))


@cache
def _list_written_as_one() -> dict[Form, str]:
    """Returns the stem of the joined word of each two words that are also written as one."""
    pairs = (pair.split(":") for pair in _WRITTEN_AS_ONE)
    return {_make_pair(first, second): stem(first + second) for first, second in pairs}


def _spell_umlauts_out(text: str) -> Iterator[str]:
    """Yields the stems of words with ä, ö and ü, written with ae, oe and ue.

    Only of such words: `guest` and `poets` are no spellings of `gust` and `pots`.
    """
    if not text.isascii():
        for word in _MARKED_WORD.findall(compose(text).lower()):
            yield from (stem(other) for other in list_umlaut_variants(word, ""))


def list_umlaut_variants(typed: str, folded: str) -> Iterator[str]:
    """Yields the other spelling of a folded word that was typed with ä, ö, ü or with ae, oe, ue."""
    lower = compose(typed).lower()
    if _MARKED.search(lower):
        yield fold(_MARKED.sub(lambda sign: {"ä": "ae", "ö": "oe", "ü": "ue"}[sign.group()], lower))
    elif len(folded) >= SHORTEST_WITH_UMLAUT and _UMLAUT.search(folded):
        yield _UMLAUT.sub(lambda pair: pair.group()[0], folded)


def is_split_by_signs(word: str) -> bool:
    """Whether a word is of Hangul or of a script without spaces: any part of it is found."""
    return _SIGNS.match(word) is not None


def _make_form(parts: Sequence[str]) -> Form:
    found = _make_part_words(parts)
    if _SIGNS.match(parts[-1]):
        # The last sign by itself ends a run, and the text may go on; one sign begins a word.
        found = [*found[:-1], f"{found[-1]}*"] if len(parts[-1]) == 1 else found[:-1]
    return tuple(found)
