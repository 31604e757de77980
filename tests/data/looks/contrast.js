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
