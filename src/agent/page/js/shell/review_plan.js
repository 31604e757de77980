/** A plan under a person's hands: pure, without a page. */

export const MAX_QUERIES = 10;
export const MAX_QUERY = 400;

/**
 * @typedef {{query: string, map: object|null, onMap: boolean}} Line a query under edit; `onMap`:
 *   whether its map task stays
 */

/**
 * The plan as it can be edited.
 * @param {{query: string, map?: object|null}[]} queries
 * @returns {Line[]}
 */
export function draftOf(queries) {
  return queries.map(({ query, map }) => ({ query: String(query), map: map ?? null, onMap: Boolean(map) }));
}

/** A query of the person's own, for the web alone. */
export const emptyLine = () => ({ query: "", map: null, onMap: false });

/**
 * What goes back to the run: the queries in order, trimmed; those emptied are left out.
 * @param {Line[]} draft
 * @returns {{queries: {query: string, map: object|null}[]}|null} null where nothing is left
 */
export function answerOf(draft) {
  const queries = draft
    .map(({ query, map, onMap }) => ({ query: query.trim(), map: onMap ? map : null }))
    .filter(({ query }) => query !== "");
  return queries.length ? { queries } : null;
}

/** Whether another query may be added. */
export const hasRoom = (draft) => draft.length < MAX_QUERIES;

/** Whether a query may go: one has to stay. */
export const mayRemove = (draft) => draft.length > 1;

/**
 * The plan to edit for a review. Asked about the same plan again, after an answer that could not
 * be used or did not arrive, a person finds it as they left it.
 * @param {{queries: object[]}} review
 * @param {{of: string, lines: Line[]}|null} before
 * @returns {{of: string, lines: Line[]}}
 */
export function draftFor(review, before) {
  const of = JSON.stringify(review.queries ?? []);
  return before?.of === of ? before : { of, lines: draftOf(review.queries ?? []) };
}
