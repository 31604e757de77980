/** What the page uses of DOMPurify. */

declare const purify: { sanitize(html: string, options: { RETURN_DOM_FRAGMENT: boolean }): DocumentFragment };
export default purify;
