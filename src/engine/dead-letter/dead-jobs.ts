import { ArgumentError } from '../../contract/fields/problems.js';
import type { DeadSelection } from '../../contract/job/dead-jobs.js';
import type { DeadFilter, DeadStep, Respawn } from '../../domain/job/job-lists.js';
import { MAX_TRIES } from '../../domain/limits.js';
import { bytesAt, integerAt, type Item } from '../../redis/scripts/script.js';
import { deadLetterStep } from '../../redis/scripts/extended.js';
import { checkNames, checkNumber } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import type { EngineObserver } from '../core/observer.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { checkPlace, cursorOf, filterText, type Place, placeOf } from '../jobs/sources.js';

/**
 * Maximum number of dead jobs that one script checks, and that it moves: about a millisecond and a half of Redis each.
 */
const PAGE = 200;
const ACT = 24;
/** Longest duration of one call, in milliseconds; then it returns a cursor. */
const PATIENCE_MS = 500;
const MAX_TIME_MS = 2 ** 46;
const NOWHERE = Buffer.alloc(0);

/** `try`: counts those that `respawn` would put back now. */
type Verb = 'count' | 'respawn' | 'try' | 'delete';

/** An operation on dead jobs, and the jobs that it applies to. */
interface Order {
  readonly verb: Verb;
  readonly filter: DeadFilter;
  readonly options: Respawn | null;
}

/** Counts, respawns and deletes dead jobs by filter or by id, in bounded steps. */
export class DeadJobs {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly queues: (namespace: string) => Promise<string[]>,
    private readonly quotas: NamespaceQuotas,
  ) {}

  /** Counts matching jobs; see `respawn`. */
  count(namespace: string, filter: DeadFilter, cursor?: string): Promise<DeadStep> {
    return this.act(namespace, { verb: 'count', filter, options: null }, Infinity, cursor);
  }

  /**
   * Respawns matching jobs, oldest first, for half a second or up to `limit`; the cursor continues it. Jobs that die
   * after the first call are skipped. If interrupted, it can be started again: respawned jobs are no longer dead.
   *
   * @throws {QueueError} `invalid_argument`, or an error of the store: some jobs may have been respawned then
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

  /** Deletes matching jobs; like `respawn`. */
  delete(
    namespace: string,
    filter: DeadFilter,
    limit: number = Infinity,
    cursor?: string,
  ): Promise<DeadStep> {
    return this.act(namespace, { verb: 'delete', filter, options: null }, limit, cursor);
  }

  /** Repeats `step` until the end is reached, or `limit` jobs are done. @returns how many */
  async all(limit: number, step: (left: number, cursor?: string) => Promise<DeadStep>): Promise<number> {
    let { done, cursor } = await step(limit);
    while (cursor !== null && done < limit) {
      const next = await step(limit - done, cursor);
      done += next.done;
      cursor = next.cursor;
    }
    return done;
  }

  /** Respawns jobs by id; jobs that are not dead or do not match stay as they are. @returns how many were respawned */
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

  /** Respawns selected jobs, or counts them. @throws as `respawn` */
  async respawnSelected(namespace: string, selection: DeadSelection, options: Respawn): Promise<DeadStep> {
    const { filter = {}, ids, dryRun, limit, cursor } = selection;
    checkRespawn(namespace, options);
    const order = { verb: dryRun ? 'try' : 'respawn', filter, options } as const;
    if (ids === undefined) return this.act(namespace, order, limit, cursor);
    return { done: await this.actOnIds(namespace, ids, order), cursor: null };
  }

  /** Deletes selected jobs, or counts them. */
  async deleteSelected(namespace: string, selection: DeadSelection): Promise<DeadStep> {
    const { filter = {}, ids, dryRun, limit, cursor } = selection;
    const order = {
      verb: /* guard: dry-run-changes-nothing */ dryRun ? 'count' : 'delete',
      filter,
      options: null,
    } as const;
    if (ids === undefined) return this.act(namespace, order, limit, cursor);
    return { done: await this.actOnIds(namespace, ids, order), cursor: null };
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

  private async act(namespace: string, order: Order, limit = Infinity, cursor?: string): Promise<DeadStep> {
    const { verb, filter } = order;
    checkNames(namespace, ...(filter.queue === undefined ? [] : [filter.queue]));
    const begun = await this.begin(namespace, filter, cursor);
    const bounded = { ...order, filter: /* guard: dead-letter-pass-ends */ { ...filter, toMs: begun.toMs } };
    const endMs = performance.now() + PATIENCE_MS;
    let { place } = begun;
    let done = 0;
    while (place !== null && done < limit) {
      const most = Math.min(limit - done, verb === 'count' ? PAGE : ACT);
      const step = await this.step(namespace, bounded, place, most);
      done += step.done;
      place = step.place ?? (await this.nextQueue(namespace, filter, place.section));
      if (performance.now() > endMs) break;
    }
    return { done, cursor: place === null ? null : `${String(begun.toMs)}/${cursorOf(place)}` };
  }

  /**
   * Starts or continues an operation. The cursor contains an upper bound for the time of death, so that a continued
   * operation skips jobs that it respawned and that died again.
   */
  private async begin(
    namespace: string,
    filter: DeadFilter,
    cursor: string | undefined,
  ): Promise<{ readonly toMs: number; readonly place: Place | null }> {
    if (cursor !== undefined) {
      const [, toMs = '', rest = ''] = /^(\d{1,16})\/(.*)$/.exec(cursor) ?? [];
      const place = placeOf(rest);
      checkPlace({ kind: 'd' }, place);
      if ((place.section === '') !== (filter.group !== undefined))
        throw new ArgumentError('cursor', 'belongs to another filter: send it with the same group, or none');
      return { toMs: Number(toMs), place };
    }
    const toMs = Math.min(filter.toMs ?? Infinity, Math.floor(this.runner.now()));
    const [first] = filter.group === undefined ? await this.queuesOf(namespace, filter) : [''];
    return { toMs, place: first === undefined ? null : { ...START, section: first } };
  }

  private queuesOf(namespace: string, { queue }: DeadFilter): Promise<string[]> {
    return queue === undefined ? this.queues(namespace) : Promise.resolve([queue]);
  }

  private async nextQueue(namespace: string, filter: DeadFilter, queue: string): Promise<Place | null> {
    if (filter.group !== undefined || filter.queue !== undefined) return null;
    const next = (await this.queues(namespace)).find((name) => name > queue);
    return next === undefined ? null : { ...START, section: next };
  }

  private async step(
    namespace: string,
    { verb, filter, options }: Order,
    { section: queue, at, id }: Place,
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
          no_push: options.withoutPush,
          ...this.quotas.movesOf(namespace),
        },
      ),
      at,
      id,
      limit,
      scan_limit: PAGE,
    };
    const { raw } = await this.runner.run(deadLetterStep, namespace, args, ids);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    let done = 0;
    for (let i = 6; i + 1 < raw.length; i += 2) {
      done += integerAt(raw, i + 1);
      if (verb === 'respawn')
        this.observer.respawned(namespace, bytesAt(raw, i).toString(), integerAt(raw, i + 1));
    }
    const behind = bytesAt(raw, 4).toString();
    return {
      done,
      place: behind === '' ? null : { section: queue, source: 0, at: behind, id: bytesAt(raw, 5) },
    };
  }
}

const START: Place = { section: '', source: 0, at: '', id: NOWHERE };

function checkRespawn(namespace: string, { ttlMs, tries, queue }: Respawn): void {
  checkNames(namespace, ...(queue === undefined ? [] : [queue]));
  checkNumber('ttlMs', ttlMs, 0, Number.MAX_SAFE_INTEGER);
  if (typeof tries === 'number') checkNumber('tries', tries, 1, MAX_TRIES);
}
