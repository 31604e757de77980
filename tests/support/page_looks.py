"""What can be measured of a page's looks, in the browser that shows it."""

from typing import Any

from tests.support.browser import Page

_OVERFLOW = """
() => {
  const wide = document.documentElement.clientWidth;
  const clips = (node) => node !== document.body && node !== document.documentElement &&
    getComputedStyle(node).overflowX !== "visible";
  const isClipped = (node) => node && (clips(node) || isClipped(node.parentElement));
  const leaves = (node) => {
    const { left, right, width } = node.getBoundingClientRect();
    const isOut = width && (right > wide + 1 || left < -1);
    return isOut && node.checkVisibility({ visibilityProperty: true });
  };
  const found = [...document.body.querySelectorAll("*")]
    .filter((node) => leaves(node) && !isClipped(node.parentElement))
    .map((node) => node.outerHTML.slice(0, 120));
  const { scrollWidth } = document.scrollingElement;
  return scrollWidth > wide ? [`${scrollWidth} of ${wide} px`, ...found] : found;
}
"""
_CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((part, at) => part * a + under[at] * (1 - a)).concat(1);
  const ground = (node) => {
    if (!node) return [255, 255, 255, 1];
    return over(rgba(getComputedStyle(node).backgroundColor), ground(node.parentElement));
  };
  const fade = (node) =>
    (node ? Number(getComputedStyle(node).opacity) * fade(node.parentElement) : 1);
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = (colour) => colour.slice(0, 3)
    .map((part) => linear(part / 255))
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (one, other) => {
    const [dark, bright] = [light(one), light(other)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const found = [];
  const look = (node, text, style) => {
    if (node.closest(":disabled, [aria-disabled='true']")) return;
    const pin = node.closest(".map-pin")?.querySelector("path");
    const under = pin ? rgba(getComputedStyle(pin).fill) : ground(node);
    const [r, g, b, a] = rgba(node instanceof SVGElement ? style.fill : style.color);
    const shown = ratio(over([r, g, b, a * fade(node)], under), under);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const name = node.getAttribute("class") ?? node.tagName;
    const told = `${shown.toFixed(2)} ${name}: ${text.slice(0, 40)}`;
    if (shown < (isLarge ? 3 : 4.5)) found.push(told);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: words, currentNode: { parentElement: node } } = walker;
    const { width, height } = node.getBoundingClientRect();
    if (!words.data.trim() || width < 2 || height < 2) continue;
    const isSeen = node.checkVisibility({ visibilityProperty: true });
    if (isSeen) look(node, words.data.trim(), getComputedStyle(node));
  }
  for (const field of document.querySelectorAll("textarea, input")) {
    const isSeen = field.placeholder && !field.value && field.checkVisibility();
    if (isSeen) look(field, field.placeholder, getComputedStyle(field, "::placeholder"));
  }
  return [...new Set(found)];
}
"""
_SMALL = """
(least) => [...document.querySelectorAll(
  "button, summary, input, select, textarea, a.button, [role=button]:not(.map-pin)")]
  .map((node) => (node.matches("[type=checkbox], [type=radio]") ? node.closest("label") : node))
  .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.closest("[inert]"))
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && (width < least - 0.5 || height < least - 0.5))
  .map(([node, { width, height }]) =>
    `${width.toFixed()} × ${height.toFixed()}: ${node.outerHTML.slice(0, 100)}`)
"""
_MOVES = """
globalThis.moves = new Set();
const look = () => {
  for (const animation of document.getAnimations()) {
    const { duration } = animation.effect.getComputedTiming();
    const name = animation.animationName ?? animation.transitionProperty;
    if (duration > 50) moves.add(`${name} ${duration}`);
  }
  requestAnimationFrame(look);
};
look();
"""


def overflow(page: Page) -> list[str]:
    """What reaches out of the window sideways."""
    return _told(page, _OVERFLOW)


def faint(page: Page) -> list[str]:
    """Visible texts with less contrast than WCAG 2.2 AA asks for (4.5, large ones 3)."""
    return _told(page, _CONTRAST)


def small(page: Page, least: int) -> list[str]:
    """Controls smaller than so many pixels; pins stand too close, and the list has them, too."""
    return _told(page, _SMALL, least)


def watch_moves(page: Page) -> None:
    """From now on what moves is written down."""
    page.evaluate(_MOVES)


def moves(page: Page) -> list[str]:
    """What moved for more than a blink since then."""
    return _told(page, "[...moves]")


def _told(page: Page, script: str, *values: Any) -> list[str]:
    told: list[str] = page.evaluate(script, *values)
    return told
