"""How well the text of a page can be read: WCAG 2.2 contrast ratios, measured in the page."""

from dataclasses import dataclass

from playwright.sync_api import Page

# WCAG 2.2, success criterion 1.4.3: text, and text of 24 px or of 18.66 px in bold.
LEAST, LEAST_WHEN_LARGE = 4.5, 3.0

MEASURE = """() => {
    // Colours on their way from day to night are nobody's to judge.
    document.getAnimations().forEach(animation => animation.finish())
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true})
    const CLEAR = 'rgba(0, 0, 0, 0)', painted = new Map(), layers = new Map()
    const over = (colors) => {
        // Any CSS colour, painted one over the other: what is seen in the end.
        const key = colors.join()
        if (!painted.has(key)) {
            canvas.clearRect(0, 0, 1, 1)
            for (const color of colors) { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1) }
            painted.set(key, [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)])
        }
        return painted.get(key)
    }
    const backgrounds = (element) => {
        if (!element) return ['Canvas']
        if (!layers.has(element)) {
            const own = getComputedStyle(element).backgroundColor
            const below = backgrounds(element.parentElement)
            layers.set(element, own === CLEAR ? below : [...below, own])
        }
        return layers.get(element)
    }
    const FIELDS = 'input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea'
    const texts = [...document.body.querySelectorAll('*')].filter(element =>
        element.checkVisibility({opacityProperty: true, visibilityProperty: true})
        && !element.matches(':disabled, [aria-hidden=true]')
        && (element.matches(FIELDS)
            || [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())))
    return texts.map(element => {
        const style = getComputedStyle(element), behind = backgrounds(element)
        return {
            text: (element.value || element.textContent).toString().trim().slice(0, 40),
            size: parseFloat(style.fontSize) * (style.fontWeight >= 700 ? 24 / 18.66 : 1),
            front: over([...behind, style.color]),
            behind: over(behind),
        }
    })
}"""


@dataclass(frozen=True)
class PageText:
    """One piece of text, its colours as red, green and blue from 0 to 255."""

    text: str
    size: float
    front: list[int]
    behind: list[int]

    @property
    def ratio(self) -> float:
        """From 1, invisible, to 21, black on white."""
        lighter, darker = sorted((luminance(self.front), luminance(self.behind)), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)

    @property
    def is_hard_to_read(self) -> bool:
        return self.ratio < (LEAST_WHEN_LARGE if self.size >= 24 else LEAST)


def texts_on(page: Page) -> list[PageText]:
    """Every piece of text that is shown, and every field that takes some."""
    return [PageText(**measured) for measured in page.evaluate(MEASURE)]


def hard_to_read(page: Page) -> list[str]:
    return [f"{each.text!r}: {each.ratio:.1f}" for each in texts_on(page) if each.is_hard_to_read]


def luminance(color: list[int]) -> float:
    """The relative luminance of a colour, 0 to 1 (WCAG 2.2)."""
    shares = (value / 255 for value in color)
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
