import type { Ack } from '../../domain/job/job.js';
import { packUlidAt } from '../../domain/ids.js';
import type { Item } from '../../redis/scripts/script.js';
import { encodeId, ULID_BYTES } from '../core/ids.js';

/** Replaces an id that no job can have: there is no entry with this one. */
const NO_ID = Buffer.alloc(1);

/**
 * Encodes acknowledgements as lua/commands/simple/ack.lua takes them: in runs with the same lease, queue and id length, their
 * ids concatenated. Most batches are one run.
 */
export function runsOf(acks: readonly Ack[]): Item[] {
  const packed = Buffer.allocUnsafe(acks.length * ULID_BYTES);
  const runs: Item[] = [];
  let from = 0;
  let end = 0;
  let queue: string | undefined;
  let lease = -1;
  const close = (): void => {
    if (end > from) runs.push([claimOf(queue, lease), ULID_BYTES, packed.subarray(from, end)]);
    from = end;
  };
  for (const ack of acks) {
    const { lease: its = 0 } = ack;
    if (/* guard: ack-runs-by-lease */ its !== lease || /* guard: ack-runs-by-queue */ ack.queue !== queue) {
      close();
      queue = ack.queue;
      lease = its;
    }
    if (packUlidAt(ack.id, packed, end)) end += ULID_BYTES;
    else {
      close();
      const id = encodeId(ack.id) ?? NO_ID;
      runs.push([claimOf(queue, lease), id.length, id]);
    }
  }
  close();
  return runs;
}

/** What the acknowledgements of a run share. */
function claimOf(queue = '', lease: number): string {
  return `${String(lease)},${queue}`;
}
