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
