/** One timer for everything on the page that shows time passing. */

const painters = new Map();
let timer = null;

/**
 * Calls `paint` once a second while `node` is in the page.
 * @param {Node} node
 * @param {() => void} paint
 */
export function startTicking(node, paint) {
  painters.set(node, paint);
  timer ??= setInterval(tick, 1000);
}

export function stopTicking(node) {
  painters.delete(node);
  if (painters.size === 0) halt();
}

function tick() {
  for (const [node, paint] of painters) {
    if (node.isConnected) paint();
    else painters.delete(node);
  }
  if (painters.size === 0) halt();
}

function halt() {
  clearInterval(timer);
  timer = null;
}
