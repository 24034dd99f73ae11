import type { Counted } from '../../engine/history/counts.js';
import type { Sample } from '../../engine/history/samples.js';

/** A queue by its names. */
export interface QueuePlace {
  readonly namespace: string;
  readonly queue: string;
}

/** A queue as it was read last. */
export interface Read extends Pick<
  Sample,
  | ('ready' | 'scheduled' | 'leased' | 'dead' | 'blocked' | 'stuck' | 'held' | 'done' | 'cancelled')
  | ('oldestAtMs' | 'pausedAtMs' | 'drainingSinceMs' | 'atMs')
> {
  /** Worker sessions that lease from it. */
  readonly workers: number;
}

/** A queue of the overview. */
export interface Row extends QueuePlace {
  readonly pool: string;
  sample: Sample;
  /** Null: it was not read since the server runs. */
  read: Read | null;
  /** What happened to it a second, over the last five minutes; null where no history is collected. */
  rates: Counted | null;
}
