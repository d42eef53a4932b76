"""What is wrong with the page that is open: by axe-core, in its colours, in its width."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser import chromium, contrast
from tests.browser.chromium import Visitor

AXE: str = Axe().axe_script
FIND = "options => axe.run(options).then(found => found.violations)"
OF_WEIGHT = frozenset({"serious", "critical"})
OF_ANY_WEIGHT = OF_WEIGHT | {"minor", "moderate"}
# What axe-core preloads are styles, by a style element of its own, which the content security
# policy stops; none of its rules that are on needs them.
ALL_RULES: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
LINKS_IN_TEXT = {**ALL_RULES, "runOnly": ["link-in-text-block"]}
OF_COLOUR = ["color-contrast", "link-in-text-block"]
ALL_BUT_COLOUR = {**ALL_RULES, "rules": {rule: {"enabled": False} for rule in OF_COLOUR}}
# The width, the colours and the rules of a view.
View = tuple[Mapping[str, int], str, Mapping[str, Any]]
# Nothing but colours differs at night, and nothing but the layout on a phone. Contrast takes
# axe-core most of its time; it is measured in every view all the same (`contrast`).
ON_A_PHONE: View = (chromium.PHONE, "light", ALL_BUT_COLOUR)
VIEWS: Sequence[View] = (
    ON_A_PHONE,
    (chromium.DESKTOP, "dark", LINKS_IN_TEXT),
    (chromium.DESKTOP, "light", ALL_RULES),
)
# Colours on their way from day to night are nobody's to judge.
SETTLE = "document.getAnimations().forEach(animation => animation.finish())"
# How many were closed.
UNFOLD = """
[...document.querySelectorAll('details:not([open])')].map(details => { details.open = true }).length
"""


def findings(
    visitor: Visitor,
    weights: frozenset[str] = OF_ANY_WEIGHT,
    views: Sequence[View] = VIEWS,
) -> list[str]:
    """What is wrong on a desktop and on a phone, by day and by night.

    The page is looked at as it opens. Then its details are open, for axe-core.
    """
    found = hard_to_use(visitor)
    visitor.page.evaluate(AXE)  # once a page: it is half a megabyte to be read and compiled
    has_unfolded = visitor.page.evaluate(UNFOLD) > 0
    for size, scheme, options in views:
        _show(visitor.page, size, scheme)
        # What was open from the start has been measured.
        if has_unfolded:
            found += [f"unfolded, {scheme} {text}" for text in contrast.hard_to_read(visitor.page)]
        found += _find_axe_problems(visitor.page, options, weights)
    return found


def hard_to_use(visitor: Visitor) -> list[str]:
    """What is hard to read or too wide; found without scripts of the page, which axe-core needs."""
    found = []
    for size in (chromium.DESKTOP, chromium.PHONE):
        width = f"{size['width']} pixels"
        for scheme in ("light", "dark"):
            _show(visitor.page, size, scheme)
            _keep_picture(visitor, width, scheme)
            found += [f"{width} {scheme} {text}" for text in contrast.hard_to_read(visitor.page)]
        if visitor.too_wide_by:
            found.append(f"{width}: too wide by {visitor.too_wide_by}")
    return found


def _show(page: Page, size: Mapping[str, int], scheme: Any) -> None:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(SETTLE)


def _keep_picture(visitor: Visitor, width: str, scheme: str) -> None:
    """Only if a folder is named: they take a third of all the time."""
    if folder := os.environ.get(chromium.WANTED_PICTURES):
        path = visitor.page.url.removeprefix(visitor.url)
        name = re.sub(r"\W+", "-", f"{path} {width} {scheme}").strip("-")[-90:]
        visitor.page.screenshot(
            path=Path(folder) / f"{name}.png", full_page=True, animations="disabled"
        )


def _find_axe_problems(
    page: Page, options: Mapping[str, Any], weights: frozenset[str]
) -> list[str]:
    violations = page.evaluate(FIND, options)
    return [_summary(each) for each in violations if each["impact"] in weights]


def _summary(violation: Mapping[str, Any]) -> str:
    places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
    return f"{violation['impact']} {violation['id']}: {', '.join(places)}"
