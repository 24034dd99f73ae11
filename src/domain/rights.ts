import { QueueError } from './errors.js';

/** What there is to do in a queue: put jobs in; take, look at and acknowledge them; change or empty the queue as a whole. */
export const VERBS = ['publish', 'consume', 'admin'] as const;
export type Verb = (typeof VERBS)[number];

/** What a token may do, if it may not do everything. */
export interface Rights {
  readonly verbs: readonly Verb[];
  /** Patterns of queue names, `*` stands for any characters; null = every queue. */
  readonly queues: readonly string[] | null;
}

/* Null instead of rights: a token that may do everything. */

/** @throws {QueueError} `verb_missing` */
export function checkVerb(rights: Rights | null, verb: Verb): void {
  if (rights !== null && !rights.verbs.includes(verb))
    throw new QueueError('verb_missing', `the token lacks the verb ${verb}`);
}

/**
 * @param queue a name of legal characters: it is repeated in the error
 * @throws {QueueError} `queue_not_allowed`
 */
export function checkQueue(rights: Rights | null, queue: string): void {
  const queues = rights?.queues ?? null;
  if (queues === null || queues.some((pattern) => matchesPattern(pattern, queue))) return;
  throw new QueueError(
    'queue_not_allowed',
    `the token is for the queues ${queues.join(',')} and not for ${queue}`,
  );
}

/** @throws {QueueError} `queue_not_allowed`: the token is for some queues, and the call for the whole namespace */
export function checkAllQueues(rights: Rights | null): void {
  const queues = rights?.queues ?? null;
  if (queues === null) return;
  throw new QueueError(
    'queue_not_allowed',
    `the token is for the queues ${queues.join(',')} and not for a whole namespace`,
  );
}

/** For a call on one queue, or on the whole namespace if it names none. @throws as those two */
export function checkQueueOrAll(rights: Rights | null, queue: string | undefined): void {
  if (queue === undefined) checkAllQueues(rights);
  else checkQueue(rights, queue);
}

/**
 * Whether a name is one of a pattern's. The time is bounded by the product of the two lengths: a regular expression of many stars
 * would take for ever over a name that almost fits.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  let [at, inName] = [0, 0];
  // Where the last star stands, and how much of the name it has taken so far.
  let [star, taken] = [-1, 0];
  while (inName < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      taken = inName;
    } else if (pattern[at] === name[inName]) {
      at++;
      inName++;
    } else if (star === -1) {
      return false;
    } else {
      at = star + 1;
      inName = ++taken;
    }
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
