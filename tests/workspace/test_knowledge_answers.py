"""The questions of bench/answers, which ./run bench answers prints, meet their goals."""

import json
from typing import Any
from unittest.mock import patch

import pytest

import knowledge
from bench.answers.knowledge_questions import DEPTH, GOALS, index_documents, measure
from retrieval.documents import process
from tests.drivers.grants import Grant
from workspace.access import Access


def read_here(documents: Any) -> list[process.Read]:
    return [
        process._decode_line(json.dumps(process._read_as_json(*each)).encode())
        for each in documents
    ]


@pytest.mark.django_db
def test_questions_are_answered_by_the_right_passage_or_by_none(grant: Grant) -> None:
    with patch.object(process, "read_all", read_here):
        index_documents(grant.organization)
    access = Access(grant.organization.pk)
    figures = measure(lambda text: knowledge.search(access, text, limit=DEPTH).hits)
    assert (len(figures.places), len(figures.nothing)) == (60, 10)
    assert figures.share_within(1) >= GOALS.first, figures.missed
    assert figures.share_within(DEPTH) >= GOALS.among_five, figures.missed
    assert figures.nothing_share >= GOALS.nothing, figures.missed
