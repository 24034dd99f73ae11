import type { LeaseOfJob } from '../../domain/job/job.js';
import { type JobState, stateOf } from '../../domain/job/states.js';
import { bytesAt, integerAt, type Item } from '../../redis/scripts/script.js';
import { extendedSettle } from '../../redis/scripts/extended.js';
import { Batcher, MAX_BYTES, type ScriptRunner, weightOfOne } from '../core/scripts.js';
import { encodeId } from '../core/ids.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import { DEPENDENCY_WEIGHT } from '../publish/dependencies.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';

/** Lease operations; see lua/commands/extended/settle.lua. */
export type Verb = 'ack' | 'release' | 'retry' | 'fail' | 'heartbeat' | 'undo' | 'revoke' | 'force_fail';

/** A lease operation on a job. */
export interface LeaseOperation {
  readonly verb: Verb;
  readonly id: string;
  /** The lease number; 0 = any, for `ack`, `revoke` and `force_fail`. */
  readonly lease: number;
  /** As the Lua code of the verb reads them. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A result or new data. */
  readonly bytes?: Buffer | undefined;
  /** How many dependencies are in the bytes. */
  readonly dependencies?: number | undefined;
}

/** Codes of lua/commands/extended/settle.lua. */
export const SETTLED = {
  missing: 0,
  done: 1,
  lost: 2,
  late: 3,
  possible: 4,
  neverLeased: 5,
  refused: 6,
  notLeased: 7,
} as const;
/** Not done: its search for cycles needs a script of its own. */
const ALONE = 8;
/** No other operation fits into a script beside it. */
const WEIGHT_ALONE = weightOfOne(1);

/** Result of a lease operation. */
export interface Settled {
  readonly code: number;
  /** State of the job now; null = it is deleted, or there was none. */
  readonly state: JobState | null;
  /** When it is due or its lease expires, Unix ms; 0 = neither. */
  readonly atMs: number;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly nowMs: number;
}

/** How long the lease that the operation ended ran, in milliseconds, if the store knows it. */
export function ranOf({ ran_ms: ranMs }: Settled['facts']): number | undefined {
  return typeof ranMs === 'number' ? ranMs : undefined;
}

/** How old the job was, ms; undefined if the script did not return it. */
export function ageOf({ age_ms: ageMs }: Settled['facts']): number | undefined {
  return typeof ageMs === 'number' ? ageMs : undefined;
}

/** The queue of the job; empty if there was none. */
export function queueOf({ queue }: Settled['facts']): string {
  return typeof queue === 'string' ? queue : '';
}

const NOTHING = Buffer.alloc(0);
/** Lease operations in one script call: about a millisecond and a half of Redis. */
const OPERATIONS_PER_SCRIPT = 32;
/** Approximate size of a lease operation in a batch, without its bytes. */
const OPERATION_BYTES = 200;
/** Replaces an id that no job can have. */
const NO_ID = Buffer.alloc(0);

/** Sends lease operations to the extended path: one script call per turn of the event loop and namespace. */
export class Settler {
  private readonly batcher: Batcher<Item, Settled>;

  constructor(
    runner: ScriptRunner,
    scheduleWakeup: ScheduleWakeup,
    private readonly quotas: NamespaceQuotas,
  ) {
    this.batcher = new Batcher(async (namespace, items) => {
      const { raw, nowMs } = await runner.run(extendedSettle, namespace, {}, items);
      scheduleWakeup(namespace, integerAt(raw, 2));
      return items.map((_item, i) => settledOf(raw, 3 + i * 4, nowMs));
    }, OPERATIONS_PER_SCRIPT);
  }

  /** @throws {QueueError} an error of the store; the operations may have been executed */
  async settle(namespace: string, operations: readonly LeaseOperation[]): Promise<Settled[]> {
    const batches = scriptsOf(operations).map((part) => this.settleBatch(namespace, part));
    const settled = (await Promise.all(batches)).flat();
    if (settled.every(({ code }) => code !== ALONE)) return settled;
    const again = settled.map((one, i) => {
      const operation = operations[i];
      return operation && one.code === ALONE
        ? this.settleBatch(namespace, [operation], WEIGHT_ALONE)
        : Promise.resolve([one]);
    });
    return (await Promise.all(again)).flat();
  }

  /**
   * Gives back leases that did not reach their client, the last one first: each job goes to the front of its ready
   * list, so their order is restored. One script after the other, because scripts under way at the same time may run
   * in any order.
   *
   * @throws {QueueError} the first error of the store; the leases of other scripts are given back all the same
   */
  async undo(
    namespace: string,
    leases: readonly Pick<LeaseOfJob, 'id' | 'lease' | 'leasedAtMs'>[],
  ): Promise<void> {
    const operations = /* guard: undo-in-reverse-order */ leases
      .map(({ id, lease, leasedAtMs }): LeaseOperation => ({
        verb: 'undo',
        id,
        lease,
        options: leasedAtMs === undefined ? {} : { leased_ms: leasedAtMs },
      }))
      .reverse();
    const errors: unknown[] = [];
    for (const part of scriptsOf(operations)) {
      await /* guard: undo-goes-on-after-a-failure */ /* guard: undo-scripts-run-one-by-one */ this.settleBatch(
        namespace,
        part,
      ).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }

  private settleBatch(
    namespace: string,
    operations: readonly LeaseOperation[],
    weight = operations.reduce((sum, one) => sum + weightOf(one), 0),
  ): Promise<Settled[]> {
    return new Promise((resolve, reject) => {
      const most = this.quotas.mostOf(namespace);
      const items = operations.map((operation) => itemOf(operation, most));
      this.batcher.add(namespace, items, weight, {
        done: (all, first) => resolve(all.slice(first, first + operations.length)),
        failed: reject,
      });
    });
  }
}

function weightOf({ bytes, dependencies = 0 }: LeaseOperation): number {
  return OPERATION_BYTES + (bytes?.length ?? 0) + dependencies * DEPENDENCY_WEIGHT;
}

/** The operations of each script, in order. */
function scriptsOf(operations: readonly LeaseOperation[]): (readonly LeaseOperation[])[] {
  const parts: LeaseOperation[][] = [];
  let part: LeaseOperation[] = [];
  let weight = 0;
  for (const operation of operations) {
    const more = weightOf(operation);
    const isFull =
      part.length >= OPERATIONS_PER_SCRIPT ||
      /* guard: settle-weighs-each-script */ weight + more > MAX_BYTES;
    if (parts.length === 0 || isFull) {
      part = [];
      parts.push(part);
      weight = 0;
    }
    part.push(operation);
    weight += more;
  }
  return parts;
}

/** @param most see `NamespaceQuotas.mostOf` */
function itemOf({ verb, id, lease, options = {}, bytes = NOTHING }: LeaseOperation, most?: object): Item {
  const all = most ? { ...options, ...most } : options;
  return [verb, encodeId(id) ?? NO_ID, lease, JSON.stringify(all), bytes];
}

function settledOf(raw: readonly (number | Buffer)[], at: number, nowMs: number): Settled {
  const state = integerAt(raw, at + 1);
  const facts = bytesAt(raw, at + 3).toString();
  return {
    code: integerAt(raw, at),
    state: state === 0 ? null : stateOf(state),
    atMs: Math.floor(integerAt(raw, at + 2)),
    facts: facts === '' ? {} : (JSON.parse(facts) as Record<string, unknown>),
    nowMs,
  };
}
