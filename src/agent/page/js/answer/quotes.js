/** Which of a source's sentences a citation rests on. Pure. */

/**
 * The sentences, those most like the text before the citation first.
 * @param {string[]} quotes
 * @param {string} context the text that the citation ends
 */
export function nearestFirst(quotes, context) {
  const said = pairs(context);
  const scored = quotes.map((quote, index) => ({ quote, index, score: likeness(quote, said) }));
  return scored.sort((a, b) => b.score - a.score || a.index - b.index).map(({ quote }) => quote);
}

function likeness(quote, said) {
  const own = pairs(quote);
  if (own.size === 0) return 0;
  let shared = 0;
  for (const pair of own) if (said.has(pair)) shared += 1;
  return shared / own.size;
}

/** Pairs of neighbouring characters: they tell Chinese apart as well as English. */
function pairs(text) {
  const letters = [...text.toLowerCase().replace(/[\p{P}\p{Z}\p{S}\p{C}]+/gu, "")];
  return new Set(letters.slice(1).map((letter, index) => letters[index] + letter));
}
