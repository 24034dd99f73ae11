import type { DeadFilter, DeadStep, Respawn } from '../../domain/job-lists.js';
import { MAX_TRIES } from '../../domain/limits.js';
import { bytesAt, integerAt, type Item } from '../../redis/scripts/script.js';
import { fullDead } from '../../redis/scripts/lists.js';
import { checkNames, checkNumber } from '../checks.js';
import { encodeId } from '../ids.js';
import type { EngineObserver } from '../observer.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';
import { cursorOf, filterText, type Place, placeOf } from './sources.js';

/** Dead jobs that one script looks at, and that it moves: about a millisecond and a half of Redis each. */
const LOOK = 200;
const ACT = 24;
/** Longest time that one call goes on for, in milliseconds; then it answers with a cursor. */
const PATIENCE_MS = 500;
const MAX_TIME_MS = 2 ** 46;
const NOWHERE = Buffer.alloc(0);

type Verb = 'count' | 'respawn' | 'delete';

/** What is asked of dead jobs, and of which. */
interface Order {
  readonly verb: Verb;
  readonly filter: DeadFilter;
  readonly options: Respawn | null;
}

/** Dead jobs by filter or by name: count them, bring them back, delete them, in bounded steps. */
export class DeadJobs {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: Arm,
    private readonly queues: (namespace: string) => Promise<string[]>,
  ) {}

  /** How many match; see `respawn`. */
  count(namespace: string, filter: DeadFilter, cursor?: string): Promise<DeadStep> {
    return this.act(namespace, { verb: 'count', filter, options: null }, Infinity, cursor);
  }

  /**
   * Brings those back that match, oldest first, for half a second or up to `limit`; with the cursor it goes on. Jobs that die after the
   * first call are left alone. Stopped in the middle, by whatever, it can be begun anew: who came back is dead no more.
   *
   * @throws {QueueError} `invalid_argument`, or the store's own: then some may have come back
   */
  async respawn(
    namespace: string,
    filter: DeadFilter,
    options: Respawn,
    limit: number = Infinity,
    cursor?: string,
  ): Promise<DeadStep> {
    checkRespawn(namespace, options);
    return this.act(namespace, { verb: 'respawn', filter, options }, limit, cursor);
  }

  /** Deletes those that match; as `respawn`. */
  delete(
    namespace: string,
    filter: DeadFilter,
    limit: number = Infinity,
    cursor?: string,
  ): Promise<DeadStep> {
    return this.act(namespace, { verb: 'delete', filter, options: null }, limit, cursor);
  }

  /** Goes on until the end is reached, or `limit` jobs are done. @returns how many were */
  async all(limit: number, step: (left: number, cursor?: string) => Promise<DeadStep>): Promise<number> {
    let { done, cursor } = await step(limit);
    while (cursor !== null && done < limit) {
      const next = await step(limit - done, cursor);
      done += next.done;
      cursor = next.cursor;
    }
    return done;
  }

  /** How many of some are dead, and match. */
  countIds(namespace: string, ids: readonly string[], filter: DeadFilter = {}): Promise<number> {
    return this.actOnIds(namespace, ids, { verb: 'count', filter, options: null });
  }

  /** Brings jobs back by their ids; others than dead ones that match stay as they are. @returns how many came back */
  async respawnIds(
    namespace: string,
    ids: readonly string[],
    options: Respawn,
    filter: DeadFilter = {},
  ): Promise<number> {
    checkRespawn(namespace, options);
    return this.actOnIds(namespace, ids, { verb: 'respawn', filter, options });
  }

  /** @returns how many were deleted */
  deleteIds(namespace: string, ids: readonly string[], filter: DeadFilter = {}): Promise<number> {
    return this.actOnIds(namespace, ids, { verb: 'delete', filter, options: null });
  }

  private async actOnIds(namespace: string, ids: readonly string[], order: Order): Promise<number> {
    checkNames(namespace);
    const known = ids.flatMap((id): Item[] => {
      const encoded = encodeId(id);
      return encoded ? [[encoded]] : [];
    });
    let done = 0;
    for (let i = 0; i < known.length; i += ACT) {
      const step = await this.step(namespace, order, START, ACT, known.slice(i, i + ACT));
      done += step.done;
    }
    return done;
  }

  private async act(namespace: string, order: Order, limit: number, cursor?: string): Promise<DeadStep> {
    const { verb, filter } = order;
    checkNames(namespace, ...(filter.queue === undefined ? [] : [filter.queue]));
    const begun = await this.begin(namespace, filter, cursor);
    const bounded = { ...order, filter: { ...filter, toMs: begun.toMs } };
    const endMs = performance.now() + PATIENCE_MS;
    let { place } = begun;
    let done = 0;
    while (place !== null && done < limit) {
      const most = Math.min(limit - done, verb === 'count' ? LOOK : ACT);
      const step = await this.step(namespace, bounded, place, most);
      done += step.done;
      place = step.place ?? (await this.nextQueue(namespace, filter, place.queue));
      if (performance.now() > endMs) break;
    }
    return { done, cursor: place === null ? null : `${String(begun.toMs)}/${cursorOf(place)}` };
  }

  /** Until when they must have died stands in the cursor: an operation that goes on must not meet those again that it brought back. */
  private async begin(
    namespace: string,
    filter: DeadFilter,
    cursor: string | undefined,
  ): Promise<{ readonly toMs: number; readonly place: Place | null }> {
    if (cursor !== undefined) {
      const [, toMs = '', rest = ''] = /^(\d{1,16})\/(.*)$/.exec(cursor) ?? [];
      return { toMs: Number(toMs), place: placeOf(rest) };
    }
    const toMs = Math.min(filter.toMs ?? Infinity, Math.floor(this.runner.now()));
    const [first] = filter.group === undefined ? await this.queuesOf(namespace, filter) : [''];
    return { toMs, place: first === undefined ? null : { ...START, queue: first } };
  }

  private queuesOf(namespace: string, { queue }: DeadFilter): Promise<string[]> {
    return queue === undefined ? this.queues(namespace) : Promise.resolve([queue]);
  }

  private async nextQueue(namespace: string, filter: DeadFilter, queue: string): Promise<Place | null> {
    if (filter.group !== undefined || filter.queue !== undefined) return null;
    const next = (await this.queues(namespace)).find((name) => name > queue);
    return next === undefined ? null : { ...START, queue: next };
  }

  private async step(
    namespace: string,
    { verb, filter, options }: Order,
    { queue, at, id }: Place,
    limit: number,
    ids: readonly Item[] = [],
  ): Promise<{ readonly done: number; readonly place: Place | null }> {
    const args = {
      verb,
      queue,
      filter: filterText(filter),
      options: JSON.stringify(
        options && {
          ttl_ms: Math.min(options.ttlMs, MAX_TIME_MS),
          tries: options.tries,
          queue: options.queue,
        },
      ),
      at,
      id,
      limit,
      look: LOOK,
    };
    const { raw } = await this.runner.run(fullDead, namespace, args, ids);
    this.arm(namespace, integerAt(raw, 2));
    let done = 0;
    for (let i = 6; i + 1 < raw.length; i += 2) {
      done += integerAt(raw, i + 1);
      if (verb === 'respawn')
        this.observer.respawned(namespace, bytesAt(raw, i).toString(), integerAt(raw, i + 1));
    }
    const behind = bytesAt(raw, 4).toString();
    return { done, place: behind === '' ? null : { queue, source: 0, at: behind, id: bytesAt(raw, 5) } };
  }
}

const START: Place = { queue: '', source: 0, at: '', id: NOWHERE };

function checkRespawn(namespace: string, { ttlMs, tries, queue }: Respawn): void {
  checkNames(namespace, ...(queue === undefined ? [] : [queue]));
  checkNumber('ttlMs', ttlMs, 0, Number.MAX_SAFE_INTEGER);
  if (typeof tries === 'number') checkNumber('tries', tries, 1, MAX_TRIES);
}
