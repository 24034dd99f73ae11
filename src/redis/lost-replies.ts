const replies = new WeakSet();

/**
 * Remembers a reply to a call that was sent again because the first reply was lost: what it refuses may be what the
 * first one has done.
 */
export function noteRepeat(reply: unknown): void {
  if (typeof reply === 'object' && reply !== null) replies.add(reply);
}

export function isOfRepeat(reply: unknown): boolean {
  return typeof reply === 'object' && reply !== null && replies.has(reply);
}
