"""`./run bench answers`: how many questions to the knowledge base are answered right.

`knowledge.tsv` has questions about the documents of `knowledge/`, each with the document and a text
that the passage has to have, or `-` twice if nothing answers it. Exits with 1 if a goal is missed;
tests/workspace/test_knowledge_answers.py holds them too.
"""

import sys

from bench import harness
from bench.answers.knowledge_questions import DEPTH, GOALS, index_documents, measure


def main() -> int:
    parser = harness.options_parser("answers", __doc__)
    parser.set_defaults(store="sqlite")
    options = parser.parse_args()
    with harness.prepare(options, kept=("HALO_EMBEDDER", "HALO_RERANKER")):
        from bench import tenant  # noqa: PLC0415  settings first
        from knowledge import search  # noqa: PLC0415  the same
        from workspace.access import Access  # noqa: PLC0415  the same

        organization = tenant.create_organization("answers")
        index_documents(organization)
        access = Access(organization.pk)
        figures = measure(lambda text: search(access, text, limit=DEPTH).hits)
    shares = [*map(figures.share_within, (1, 3, DEPTH)), figures.nothing_share]
    lines = [
        f"{len(figures.places)} questions, and {len(figures.nothing)} that nothing answers",
        "| hit at 1 | at 3 | at 5 | nothing fits |",
        "|---|---|---|---|",
        "| " + " | ".join(f"{share:.2f}" for share in shares) + " |",
        f"| goal {GOALS.first:.2f} | | {GOALS.among_five:.2f} | {GOALS.nothing:.2f} |",
        "Not right at 1:",
        *(f"- {text}" for text in figures.missed),
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    return harness.GOOD if figures.meets_goals else harness.MISSED


if __name__ == "__main__":
    harness.run(main)
