/** What the page's modules take from a browser, for Node; import it before them. */

const fetchAnywhere = globalThis.fetch;

export function asBrowser(origin, tag = "en") {
  Object.defineProperty(globalThis, "navigator", { value: { languages: [tag] }, configurable: true });
  globalThis.location = new URL(origin);
  globalThis.fetch = (address, options) => fetchAnywhere(new URL(address, origin), options);
  globalThis.requestAnimationFrame = (act) => setImmediate(act);
}
