import { checkAllQueues, checkQueue, checkVerb, type Rights } from '../domain/rights.js';
import type { AccessRules } from './access.js';

/**
 * Rejects a request that a token with limited rights may not make. Each queue of a list must be allowed.
 *
 * @param queues a queue or a list of queues as it was sent, of legal characters
 * @throws {QueueError} `verb_missing`, `queue_not_allowed`
 */
export function checkRights(rights: Rights, rules: AccessRules, queues: string): void {
  // guard: default-verb-is-admin
  checkVerb(rights, rules.verb ?? 'admin');
  if (rules.queues === 'one') checkQueue(rights, queues);
  else if (rules.queues === 'none') checkAllQueues(rights);
  else if (rules.queues === 'list')
    for (const queue of /* guard: each-queue-of-a-list-is-checked */ queues.split(','))
      if (queue !== '') checkQueue(rights, queue);
}
