(least) => [...document.querySelectorAll(
  "button, summary, input, select, textarea, a.button, [role=button]:not(.map-pin)")]
  .map((node) => (node.matches("[type=checkbox], [type=radio]") ? node.closest("label") : node))
  .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.closest("[inert]"))
  .map((node) => [node, node.getBoundingClientRect()])
  .filter(([, { width, height }]) => width && (width < least - 0.5 || height < least - 0.5))
  .map(([node, { width, height }]) =>
    `${width.toFixed()} × ${height.toFixed()}: ${node.outerHTML.slice(0, 100)}`)
