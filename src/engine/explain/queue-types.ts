import type { TypeSeen } from '../../contract/queue-settings.js';
import type { Queues, QueueView } from '../queues/queues.js';
import type { Explainer } from './explainer.js';

/** A queue, with the types of its ready jobs from the first lease by type on. */
export async function queueWithTypes(
  engine: { readonly queues: Pick<Queues, 'find'>; readonly explain: Pick<Explainer, 'queue'> },
  namespace: string,
  queue: string,
): Promise<QueueView & { readonly types?: readonly TypeSeen[] }> {
  const [view, { isByType, types }] = await Promise.all([
    engine.queues.find(namespace, queue),
    engine.explain.queue(namespace, queue),
  ]);
  return isByType ? { ...view, types } : view;
}
