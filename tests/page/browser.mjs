/** What the page's modules take from a browser, for Node; import it before them. */

export function asBrowser(origin, tag = "en") {
  Object.defineProperty(globalThis, "navigator", { value: { languages: [tag] }, configurable: true });
  globalThis.location = new URL(origin);
  globalThis.requestAnimationFrame = (act) => setImmediate(act);
}
