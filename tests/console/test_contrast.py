"""The palette is legible: WCAG 2.2 contrast (1.4.3 text, 1.4.11 controls), light and dark."""

import re
from pathlib import Path

import pytest

STYLE = Path(__file__).parents[2] / "static" / "halo" / "halo.css"
TOKEN = re.compile(r"--(?P<name>[a-z-]+): light-dark\(#(?P<light>\w{6}), #(?P<dark>\w{6})\);")
TEXT, CONTROL = 4.5, 3.0
PAIRS = [
    *[(ink, ground, TEXT) for ink in ("ink", "quiet") for ground in ("page", "card", "sunken")],
    *[(ink, "accent-soft", TEXT) for ink in ("ink", "quiet", "accent", "warn")],
    ("accent", "page", TEXT),
    ("accent", "card", TEXT),
    ("on-accent", "accent", TEXT),
    ("on-deep", "deep", TEXT),
    ("page", "ink", TEXT),
    ("warn", "warn-soft", TEXT),
    ("warn", "card", TEXT),
    ("bad", "bad-soft", TEXT),
    ("bad", "card", TEXT),
    ("edge", "card", CONTROL),
    ("edge", "page", CONTROL),
]


def palette(scheme: str) -> dict[str, str]:
    return {found["name"]: found[scheme] for found in TOKEN.finditer(STYLE.read_text())}


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    ]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground", "least"), PAIRS)
def test_what_is_written_can_be_read(scheme: str, ink: str, ground: str, least: float) -> None:
    colours = palette(scheme)
    assert contrast(colours[ink], colours[ground]) >= least


def test_the_measure_knows_black_from_white() -> None:
    assert contrast("000000", "ffffff") == pytest.approx(21)
    assert contrast("777777", "ffffff") < TEXT
