/** Where pins and names stand on the map so that they do not cover each other. Pixels; y grows downwards. */

/** @typedef {{x: number, y: number}} Spot */
/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{text: string, x: number, y: number, align: "start"|"end"|"middle", box: Box}} Label */

const MOST_TURNS = 60;
const LINE = 14;
const BESIDE = 20;
/** No map shows more of a name; measuring every length of a very long one would take minutes. */
const MOST_LETTERS = 120;

/**
 * Moves spots that lie on each other apart, outwards in a spiral; earlier ones stay.
 * @param {Spot[]} spots
 * @param {number} gap the least distance of two
 * @returns {Spot[]}
 */
export function spread(spots, gap) {
  const placed = [];
  for (const { x, y } of spots) {
    let spot = { x, y };
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      const [radius, angle] = [4 * turn, 2.4 * turn];
      spot = { x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) };
      if (placed.every((other) => Math.hypot(spot.x - other.x, spot.y - other.y) >= gap)) break;
    }
    placed.push(spot);
  }
  return placed;
}

/** What a pin covers whose tip is at the spot. */
export function pinBox({ x, y }) {
  return { left: x - 15, top: y - 36, right: x + 15, bottom: y + 2 };
}

/** Whether two boxes cover each other anywhere. */
export function meets(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/**
 * The name right, left, below or above of the pin whose tip is at `pin`; null without room.
 * @param {string} text
 * @param {number} width of the text
 * @param {Spot} pin
 * @param {Box[]} taken what must stay free
 * @param {Box} inside what it must not leave
 * @returns {Label|null}
 */
export function placeLabel(text, width, pin, taken, inside) {
  const { x, y } = pin;
  const spots = [
    ["start", x + BESIDE, y - 17, x + BESIDE],
    ["end", x - BESIDE, y - 17, x - BESIDE - width],
    ["middle", x, y + 15, x - width / 2],
    ["middle", x, y - 40, x - width / 2],
  ];
  for (const [align, atX, atY, left] of spots) {
    const box = { left, top: atY - LINE + 2, right: left + width, bottom: atY + 4 };
    const fits = box.left >= inside.left && box.right <= inside.right &&
      box.top >= inside.top && box.bottom <= inside.bottom;
    if (fits && !taken.some((other) => meets(box, other))) return { text, x: atX, y: atY, align, box };
  }
  return null;
}

/** The text cut so that it is at most as wide, by the measure given. */
export function shortened(text, longest, widthOf) {
  const told = text.split(/\s+/).filter(Boolean).join(" ");
  const letters = [...told].slice(0, MOST_LETTERS);
  if (letters.join("") === told && widthOf(told) <= longest) return told;
  while (letters.length && widthOf(`${letters.join("")}…`) > longest) letters.pop();
  return `${letters.join("").trimEnd()}…`;
}
