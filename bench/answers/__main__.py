"""`./run bench answers`: how many questions about data and knowledge are answered right.

The questions of `data_questions.py` are asked about the small demo data, through the endpoint, and
each has the SQL of its answer. `knowledge.tsv` has questions about the documents of `knowledge/`,
each with the document and a text that the passage has to have, or `-` twice if nothing answers it.
Exits with 1 if a goal is missed; tests/data_tools/test_data_answers.py and
tests/workspace/test_knowledge_answers.py hold them too.
"""

import sys
from collections.abc import Mapping
from typing import Any

import httpx2

from bench import harness, protocol
from bench.answers import data_questions, knowledge_questions
from bench.answers.data_questions import DataFigures
from bench.answers.knowledge_questions import DEPTH, AnswerFigures
from bench.harness import Bench


def main() -> int:
    parser = harness.options_parser("answers", __doc__)
    parser.set_defaults(store="sqlite")
    options = parser.parse_args()
    limits = ("TOOLS_CALL", "OTHER")
    with harness.prepare(options, limits, kept=("HALO_EMBEDDER", "HALO_RERANKER")) as bench:
        data = _ask_about_data(bench)
        knowledge = _ask_about_knowledge()
    lines = [
        f"{data.asked} questions about data",
        "| right | wrong without a hint | characters of an answer, mean |",
        "|---|---|---|",
        f"| {data.right} | {len(data.without_hint)} | {data.mean_characters:.0f} |",
        f"| goal {data_questions.MIN_RIGHT} | 0 | < {data_questions.MAX_MEAN_CHARACTERS} |",
        "Wrong:",
        *(f"- {text}" for text in data.wrong),
        "",
        *_describe_knowledge(knowledge),
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return harness.GOOD if data.meets_goals and knowledge.meets_goals else harness.MISSED


def _ask_about_data(bench: Bench) -> DataFigures:
    from django.utils import timezone  # noqa: PLC0415  settings first

    from bench import tenant  # noqa: PLC0415  the same

    organization = tenant.create_organization()
    organization.time_zone = data_questions.TIME_ZONE
    organization.save()
    tenant.seed_demo_data("small")
    (pair,) = tenant.create_grants(organization, "data:read")
    with bench.serve() as server, httpx2.Client(base_url=server.url, timeout=30) as http:

        def ask(tool: str, arguments: Mapping[str, Any]) -> str:
            request = protocol.call_tool(protocol.MODERN, tool, arguments, pair.access)
            reply = http.post(protocol.PATH, headers=dict(request.headers), content=request.body)
            (block,) = reply.json()["result"]["content"]
            return str(block["text"])

        parameters = data_questions.make_parameters(organization.slug, timezone.now())
        return data_questions.measure(ask, parameters)


def _ask_about_knowledge() -> AnswerFigures:
    from bench import tenant  # noqa: PLC0415  settings first
    from knowledge import search  # noqa: PLC0415  the same
    from workspace.access import Access  # noqa: PLC0415  the same

    organization = tenant.create_organization("answers")
    knowledge_questions.index_documents(organization)
    access = Access(organization.pk)
    return knowledge_questions.measure(lambda text: search(access, text, limit=DEPTH).hits)


def _describe_knowledge(figures: AnswerFigures) -> list[str]:
    shares = [*map(figures.share_within, (1, 3, DEPTH)), figures.nothing_share]
    goals = knowledge_questions.GOALS
    return [
        f"{len(figures.places)} questions about knowledge, {len(figures.nothing)} without answer",
        "| hit at 1 | at 3 | at 5 | nothing fits |",
        "|---|---|---|---|",
        "| " + " | ".join(f"{share:.2f}" for share in shares) + " |",
        f"| goal {goals.first:.2f} | | {goals.among_five:.2f} | {goals.nothing:.2f} |",
        "Not right at 1:",
        *(f"- {text}" for text in figures.missed),
    ]


if __name__ == "__main__":
    harness.run(main)
