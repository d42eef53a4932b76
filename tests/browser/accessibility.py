"""What axe-core finds wrong with the page that is open."""

from collections.abc import Mapping
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser import chromium

AXE: str = Axe().axe_script
FIND = "options => axe.run(options).then(found => found.violations)"
OF_WEIGHT = frozenset({"serious", "critical"})
OF_ANY_WEIGHT = OF_WEIGHT | {"minor", "moderate"}
# Nothing but colours differs at night.
RULES: dict[str, dict[str, Any]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]},
}
# Colours on their way from day to night are nobody's to judge.
SETTLE = "document.getAnimations().forEach(animation => animation.finish())"
UNFOLD = "document.querySelectorAll('details').forEach(details => { details.open = true })"


def findings(page: Page, weights: frozenset[str] = OF_ANY_WEIGHT) -> list[str]:
    """What is wrong on a desktop and on a phone, by day and by night, with all details open.

    The page's context has to bypass the content security policy: axe-core writes a style element
    to read the page's own styles by.
    """
    page.evaluate(UNFOLD)
    # Once a page: it is half a megabyte to be read and compiled.
    page.evaluate(AXE)
    return [
        f"{size['width']} {scheme} {finding}"
        for size in (chromium.DESKTOP, chromium.PHONE)
        for scheme in ("light", "dark")
        for finding in _findings(page, size, scheme, weights)
    ]


def _findings(
    page: Page, size: Mapping[str, int], scheme: Any, weights: frozenset[str]
) -> list[str]:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(SETTLE)
    violations = page.evaluate(FIND, RULES[scheme])
    return [_summary(each) for each in violations if each["impact"] in weights]


def _summary(violation: Mapping[str, Any]) -> str:
    places = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
    return f"{violation['impact']} {violation['id']}: {', '.join(places)}"
