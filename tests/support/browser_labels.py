"""The page as those have it who do not see it or do not point: names, focus, what is read out."""

from typing import Any

from tests.support.browser import Locator, Page

_ROLES = {
    "button", "link", "textbox", "searchbox", "checkbox", "switch", "radio", "combobox", "listbox",
    "option", "slider", "spinbutton", "tab", "menuitem", "dialog", "image", "img", "radiogroup",
    "DisclosureTriangle", "Iframe",
}  # fmt: skip
_MOST_STOPS = 120


def nameless(page: Page) -> list[str]:
    """Controls, pictures, dialogs and frames that a screen reader has no words for."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Accessibility.enable")
    nodes: list[dict[str, Any]] = cdp.send("Accessibility.getFullAXTree")["nodes"]
    found = [
        _told(cdp, node)
        for node in nodes
        if not node["ignored"]
        and node.get("role", {}).get("value") in _ROLES
        and not str(node.get("name", {}).get("value", "")).strip()
    ]
    cdp.detach()
    return found


def _told(cdp: Any, node: dict[str, Any]) -> str:
    role = node["role"]["value"]
    html = cdp.send("DOM.getOuterHTML", {"backendNodeId": node["backendDOMNodeId"]})["outerHTML"]
    return f"{role}: {html[:160]}"


def tab_to(page: Page, wanted: Locator, *, key: str = "Tab") -> Locator:
    """Goes on with the keyboard until this has the focus, which must be seen there."""
    visited = []
    for _ in range(_MOST_STOPS):
        page.keyboard.press(key)
        if wanted.evaluate("(node) => node === document.activeElement"):
            assert is_ringed(wanted), wanted
            return wanted
        visited.append(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
    raise AssertionError(f"{wanted} is not reached with {key}: {visited}")


def is_ringed(focused: Locator) -> bool:
    """Whether one sees that it has the focus: by its outline, or by the border of its box."""
    ringed: bool = focused.evaluate(
        """(node) => {
          const { outlineStyle, outlineWidth } = getComputedStyle(node);
          if (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) return true;
          const box = node.closest(".composer-box");
          if (!node.matches("textarea") || !box) return false;
          const focused = getComputedStyle(box).borderColor;
          node.blur();
          const border = getComputedStyle(box).borderColor;
          node.focus();
          return border !== focused;
        }"""
    )
    return ringed
