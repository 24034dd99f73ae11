import { QueueError } from './errors.js';

/**
 * Permissions on a queue: publish jobs; lease, read and acknowledge them; administer or empty the queue as a whole; name
 * and use push targets.
 */
export const VERBS = ['publish', 'consume', 'admin', 'push'] as const;
export type Verb = (typeof VERBS)[number];

/** Permissions of a restricted token. */
export interface Rights {
  readonly verbs: readonly Verb[];
  /** Patterns of queue names, `*` matches any characters; null = every queue. */
  readonly queues: readonly string[] | null;
}

/* Null instead of `Rights`: a token that may do everything. */

/** @throws {QueueError} `verb_missing` */
export function checkVerb(rights: Rights | null, verb: Verb): void {
  if (rights !== null && !rights.verbs.includes(verb)) throw verbMissing(verb);
}

/** The error for a call that needs a permission more. */
export function verbMissing(verb: Verb): QueueError {
  return new QueueError('verb_missing', `the token lacks the permission ${verb}`, {
    detail: `the token lacks the permission ${verb}: use a token that has it`,
  });
}

/** True if the rights include a queue, whatever their verbs. */
export function isForQueue(rights: Rights | null, queue: string): boolean {
  const queues = rights?.queues ?? null;
  return queues === null || queues.some((pattern) => matchesPattern(pattern, queue));
}

/**
 * @param queue from the request, with legal characters only: the error contains it
 * @throws {QueueError} `queue_not_allowed`
 */
export function checkQueue(rights: Rights | null, queue: string): void {
  if (!isForQueue(rights, queue)) throw notAllowed(rights, queue);
}

/**
 * The error for a request on a queue outside of the rights. @param what describes it, only in terms of the request
 * itself
 */
export function notAllowed(rights: Rights | null, what: string): QueueError {
  const queues = rights?.queues ?? [];
  const message = `the token is for the queues ${queues.join(',')} and not for ${what}`;
  return new QueueError('queue_not_allowed', message, { detail: `${message}: use a token for it` });
}

/** True if the rights are limited to some queues. */
export function isForSomeQueues(rights: Rights | null): boolean {
  return rights !== null && rights.queues !== null;
}

/** @throws {QueueError} `queue_not_allowed`: the token is for some queues, but the call for the whole namespace */
export function checkAllQueues(rights: Rights | null): void {
  if (isForSomeQueues(rights)) throw notAllowed(rights, 'a whole namespace');
}

/**
 * Checks a call on one queue, or on the whole namespace if it names none. @throws as `checkQueue` and `checkAllQueues`
 */
export function checkQueueOrAll(rights: Rights | null, queue: string | undefined): void {
  // guard: lists-of-all-queues-need-the-right
  if (queue === undefined) checkAllQueues(rights);
  else checkQueue(rights, queue);
}

/**
 * Matches a name with a pattern. The time is bounded by the product of the two lengths: a regular expression with many
 * stars would take practically forever on a name that almost matches.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  let [at, inName] = [0, 0];
  // Position of the last star, and how much of the name it has matched so far.
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
