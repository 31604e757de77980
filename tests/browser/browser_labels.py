"""The names that a page has for those who do not see it."""

from typing import Any

from tests.support.browser import Page

_ROLES = {
    "button", "link", "textbox", "searchbox", "checkbox", "switch", "radio", "combobox", "listbox",
    "option", "slider", "spinbutton", "tab", "menuitem", "dialog", "image", "img", "radiogroup",
    "DisclosureTriangle", "Iframe",
}  # fmt: skip


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
