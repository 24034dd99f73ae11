import type { RedisPool } from '../../redis/pool.js';
import { PAST, RECENT } from './points.js';

/** How long the points of a slot are kept after its beginning, in milliseconds: as lua/commands/maintenance/write_samples.lua has it. */
const KEPT_MS = { P: 4_200_000, H: 648_000_000 } as const;
/** What a sample takes, about, with its name. */
const SAMPLE_BYTES = 250;
/** Namespaces whose keys one command removes. */
const REMOVED_AT_ONCE = 100;

type Letter = keyof typeof KEPT_MS;

/** How many bytes the history has, by slot: the oldest slots of five-minute points make room for new ones. */
export class CollectedBytes {
  private readonly bySlot = new Map<string, number>();

  constructor(
    private readonly pool: Pick<RedisPool, 'keys' | 'read'>,
    private readonly mostBytes: number,
  ) {}

  /** Takes what earlier collectors have counted. @param fields of the hash `pumphouse:history` */
  load(fields: ReadonlyMap<string, string>): void {
    this.bySlot.clear();
    for (const [field, bytes] of fields) if (/^[PH]\d+$/.test(field)) this.bySlot.set(field, Number(bytes));
  }

  /** Counts bytes that were written. @throws {QueueError} an error of the store */
  async add(letter: Letter, slot: number, bytes: number): Promise<void> {
    if (bytes === 0) return;
    const field = `${letter}${String(slot)}`;
    this.bySlot.set(field, (this.bySlot.get(field) ?? 0) + bytes);
    await this.pool.read('HINCRBY', this.pool.keys.history, field, bytes);
  }

  /**
   * Removes the oldest five-minute points until the history is within its bound; forgets slots that have expired.
   *
   * @param samples how many queues have a sample
   * @returns true if there is no room: nothing is left to remove but the present slot
   * @throws {QueueError} an error of the store
   */
  async makeRoom(nowMs: number, samples: number, namespaces: () => Promise<string[]>): Promise<boolean> {
    const expired = [...this.bySlot.keys()].filter((field) => beginOf(field) + keptOf(field) < nowMs);
    for (const field of expired) await this.forget(field);
    const room = this.mostBytes - samples * SAMPLE_BYTES;
    const present = `H${String(Math.floor(nowMs / (PAST.stepMs * PAST.inSlot)))}`;
    // guard: history-bytes-bounded
    while (this.total > room) {
      const [oldest] = [...this.bySlot.keys()]
        .filter((field) => field.startsWith('H') && field !== present)
        .sort((one, other) => beginOf(one) - beginOf(other));
      if (oldest === undefined) return true;
      await this.remove(Number(oldest.slice(1)), await namespaces());
      await this.forget(oldest);
    }
    return false;
  }

  /** Bytes of all slots. */
  get total(): number {
    return [...this.bySlot.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  private async remove(slot: number, namespaces: readonly string[]): Promise<void> {
    for (let i = 0; i < namespaces.length; i += REMOVED_AT_ONCE) {
      const some = namespaces.slice(i, i + REMOVED_AT_ONCE);
      await Promise.all(some.map((name) => this.pool.read('UNLINK', this.pool.keys.pastPoints(name, slot))));
    }
  }

  private async forget(field: string): Promise<void> {
    this.bySlot.delete(field);
    await this.pool.read('HDEL', this.pool.keys.history, field);
  }
}

function keptOf(field: string): number {
  return field.startsWith('P') ? KEPT_MS.P : KEPT_MS.H;
}

/** When the slot of a field began, Unix ms. */
function beginOf(field: string): number {
  const { stepMs, inSlot } = field.startsWith('P') ? RECENT : PAST;
  return Number(field.slice(1)) * stepMs * inSlot;
}
