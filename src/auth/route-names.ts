import { QueueError } from '../domain/errors.js';
import { MAX_NAME_LENGTH } from '../domain/limits.js';
import { hasLegalCharacters } from '../domain/names.js';

const QUEUE_LIST = /^[-_,A-Za-z0-9]+$/;

/**
 * Refuses names that no queue can have, in the order and with the words of lmstfy.
 *
 * @param queue left out on routes of a whole namespace
 * @throws {QueueError} `invalid_argument`
 */
export function checkNames(namespace: string, queue?: string): void {
  if (isTooLong(namespace) || (queue !== undefined && isTooLong(queue))) {
    throw new QueueError('invalid_argument', 'namespace or queue name too long');
  }
  checkNamespace(namespace);
  if (queue !== undefined && (queue.startsWith('_') || !hasLegalCharacters(queue))) throw forbiddenQueue();
}

/**
 * As `checkNames`, for the queues of a consume call: lmstfy looks at their characters only, so over-long names and a leading
 * underscore go through, and find nothing.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function checkListedNames(namespace: string, queues: string): void {
  checkNamespace(namespace);
  if (!QUEUE_LIST.test(queues)) throw forbiddenQueue();
}

function checkNamespace(namespace: string): void {
  if (hasLegalCharacters(namespace)) return;
  throw new QueueError('invalid_argument', 'namespace name contains forbidden characters');
}

function forbiddenQueue(): QueueError {
  return new QueueError('invalid_argument', 'queue name contains forbidden characters');
}

/** In bytes: the limit is the same for a name that is refused for its characters next. No character has more than three. */
function isTooLong(name: string): boolean {
  return name.length * 3 > MAX_NAME_LENGTH && Buffer.byteLength(name) > MAX_NAME_LENGTH;
}
