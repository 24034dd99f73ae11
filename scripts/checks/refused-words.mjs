/**
 * Words that were once used in place of those of docs/glossary.md.
 */

/** Refused everywhere in code, comments and test names, also as a part of an identifier; and what to write. */
export const INSTEAD = new Map([
  ['lane', 'path: simple, extended or fast'],
  ['door', 'API'],
  ['shelf', 'delivery log'],
  ['shelves', 'delivery logs'],
  ['ghost', 'stale entry'],
  ['haunted', 'has stale entries'],
  ['doom', 'mark for deletion'],
  ['doomed', 'to delete'],
  ['teller', 'event writer'],
  ['bell', 'timer handler'],
  ['somebody', 'a client, a worker, a server'],
  ['nobody', 'no client, no worker, no server'],
  ['whoever', 'the client, worker or server that …'],
  ['waiting room', 'long-poll manager'],
]);

/**
 * Refused as whole identifiers. Instead: request context, fetch, emit, receive, lease operation, check, schedule wake-up,
 * timer, idempotency record, expired lease …
 */
export const REFUSED_IDENTIFIERS = [
  'exchange exchanges ask asks asked question questions tell tells told hear heard say says said look',
  'looks looking party parties wave waves seats arm alarm alarms ring recall unheard spared',
  'noted notes owners marks lapse lapses blame outbox assemble unblank purging cancelling changing',
  'rich alike',
].flatMap((line) => line.split(' '));

/** Words that no test name has: a name says which part of the program does what. */
export const REFUSED_IN_TITLES =
  'who whom whoever somebody nobody someone he him his she her alike dear dearer anew aside'.split(' ');

/** A title that begins with one of these begins in mid-sentence. */
export const NOT_FIRST_IN_A_TITLE =
  'that who whose which while where when whatever of with without to for by from at on in and or but if as although beyond via than'.split(
    ' ',
  );

/** Words of the code, of which users need to know nothing: refused in the pages that are written for them; and what to write. */
export const INSIDE = new Map([
  ['simple job', 'job without a history'],
  ['extended job', 'job with a history'],
  ['simple queue', 'queue without settings'],
  ['extended queue', 'queue with settings'],
  ['simple path', 'what the client sees'],
  ['extended path', 'what the client sees'],
  ['fast path', 'what the client sees'],
  ['stale entry', 'what the client sees'],
  ['delivery log', 'what the client sees'],
]);
