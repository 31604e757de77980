/** Addresses of what the server makes of a finished turn. */

/**
 * @param {string} threadId
 * @param {string} what "answer.md", "suggestions/0", …
 * @param {string|null} messageId the answer's; null for the thread's last
 */
export function runAddress(threadId, what, messageId) {
  const query = messageId ? `?message=${encodeURIComponent(messageId)}` : "";
  return `/app/runs/${encodeURIComponent(threadId)}/${what}${query}`;
}

/** A thread's own address, to open it again. */
export function threadAddress(threadId) {
  return `${location.origin}/app?thread=${encodeURIComponent(threadId)}`;
}
