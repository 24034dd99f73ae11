import type { AckStatus, Completion, ExtendedAck } from '../../domain/job/extended-job.js';
import type { Ack, AckResult } from '../../domain/job/job.js';
import type { LeaseOperationResult } from './lease-operations.js';

/** The acknowledgements of an engine. */
interface AckPaths {
  ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]>;
  readonly settle: {
    complete(namespace: string, completions: readonly Completion[]): Promise<LeaseOperationResult[]>;
  };
}

/**
 * Acknowledges each job on its own. Those without an outcome begin on the simple path.
 *
 * @returns the result of each, in order
 * @throws {QueueError} an error of the store: some may have been acknowledged
 */
export async function ackEach(
  paths: AckPaths,
  namespace: string,
  acks: readonly ExtendedAck[],
): Promise<AckStatus[]> {
  const withOutcome = acks.filter(({ outcome }) => outcome !== undefined);
  // Most batches have none.
  if (withOutcome.length === 0) return paths.ackMany(namespace, acks);
  const plain = acks.filter(({ outcome }) => outcome === undefined);
  const [completed, acked] = await Promise.all([
    paths.settle.complete(namespace, withOutcome.map(completionOf)),
    plain.length > 0 ? paths.ackMany(namespace, plain) : [],
  ]);
  const [ofCompleted, ofAcked] = [completed.values(), acked.values()];
  return acks.map(({ outcome }) => {
    const status = (outcome === undefined ? ofAcked : ofCompleted).next().value ?? 'not_found';
    return status === 'done' ? (outcome?.next === undefined ? 'acked' : 'moved') : status;
  });
}

function completionOf({ queue, id, lease = 0, outcome }: ExtendedAck): Completion {
  return { ...(queue === undefined ? {} : { queue }), id, lease, ...outcome };
}
