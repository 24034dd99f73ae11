import { jobNotFound, QueueError } from '../../domain/errors.js';
import { type JobState, stateOf } from '../../domain/states.js';
import { integerAt } from '../../redis/scripts/script.js';
import { fullChange } from '../../redis/scripts/full.js';
import { checkNames } from '../checks.js';
import { encodeId } from '../ids.js';
import { DATA_TEXT } from '../log-data.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';
import { checkRichJobs } from './checks.js';
import { checkNumberOf, dependencyError, packIds } from './dependencies.js';
import type { FullQueues } from './full-queues.js';
import { LONGEST_MS } from './options.js';

/** What is to be changed of a job; what is left out stays. */
export interface JobChange {
  readonly priority?: number;
  /** None: it has no tags. */
  readonly tags?: readonly string[];
  readonly data?: { readonly body: Buffer; readonly contentType?: string };
  /** Unix ms; in the past: it is ready now. */
  readonly dueMs?: number;
  /** Instead of `dueMs`: from now on. */
  readonly delayMs?: number;
  /** How long it may exist from now on; 0 = for ever. */
  readonly ttlMs?: number;
  readonly queue?: string;
  /** It waits for these and no others. */
  readonly dependsOn?: readonly string[];
  /** It waits for these too. */
  readonly moreDependencies?: readonly string[];
  /** It waits for these no more. */
  readonly lessDependencies?: readonly string[];
}

/** Where a job stands after a change. */
export interface Changed {
  readonly state: JobState | null;
  /** Unix ms; null = it is not scheduled, or nobody knows: a plain job's time far ahead stands nowhere by its name. */
  readonly dueAtMs: number | null;
}

/** What is asked of the script. */
interface Order {
  readonly options: object;
  readonly data: Buffer;
  /** Packed ids: what it is to wait for, and what no more. */
  readonly adds: Buffer;
  readonly drops: Buffer;
}

const NOTHING = Buffer.alloc(0);
const NO_MORE = { data: NOTHING, adds: NOTHING, drops: NOTHING };
const CODE = { missing: 0, changed: 1, notWaiting: 2, cycle: 3, tooMany: 4, dueUnknown: 5 } as const;

/** Changes jobs that wait, and writes lines into timelines. */
export class Changing {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: Arm,
    private readonly full: FullQueues,
  ) {}

  /**
   * Changes a job that is ready, scheduled, blocked or held. With another priority it keeps its place in time among those that have it;
   * in another queue it begins at the end of the line.
   *
   * @throws {QueueError} `invalid_argument`, `job_not_found`; `not_waiting`: it is leased, dead or has ended; `dependency_cycle`,
   * `too_many_dependencies`; `due_unknown`: a plain job far ahead is moved without a new due time; nothing has changed then. Or the store's own
   */
  async change(namespace: string, id: string, change: JobChange): Promise<Changed> {
    const { queue, data, lessDependencies: less = [] } = change;
    const more = change.dependsOn ?? change.moreDependencies ?? [];
    checkNames(namespace, ...(queue === undefined ? [] : [queue]));
    checkNumberOf(more);
    checkNumberOf(less);
    checkFields(change);
    if (more.includes(id)) throw dependencyError('dependency_cycle');
    const changed = await this.run(namespace, id, {
      options: optionsOf(change),
      data: data?.body ?? NOTHING,
      adds: packIds(more),
      drops: packIds(less),
    });
    if (queue !== undefined) this.full.add(namespace, [queue]);
    return changed;
  }

  /**
   * Writes a line into the timeline of a job, in whatever state it is.
   *
   * @param data JSON of the caller's own
   * @throws {QueueError} `job_not_found`, or the store's own
   */
  async log(namespace: string, id: string, message: string, data?: unknown): Promise<void> {
    const options = { log: { message, [DATA_TEXT]: JSON.stringify(data) } };
    await this.run(namespace, id, { options, ...NO_MORE });
  }

  private async run(namespace: string, id: string, { options, ...order }: Order): Promise<Changed> {
    const encoded = encodeId(id);
    if (!encoded) throw jobNotFound(id);
    const args = { id: encoded, options: JSON.stringify(options), ...order };
    const { raw } = await this.runner.run(fullChange, namespace, args);
    this.arm(namespace, integerAt(raw, 2));
    const state = integerAt(raw, 4);
    const name = state === 0 ? null : stateOf(state);
    if (integerAt(raw, 3) !== CODE.changed) throw refusalOf(integerAt(raw, 3), id, name ?? '');
    const dueMs = Math.floor(integerAt(raw, 5));
    return { state: name, dueAtMs: dueMs === 0 ? null : dueMs };
  }
}

/** @throws {QueueError} `invalid_argument`: a value that no job may be published with either */
function checkFields({ priority, dueMs, delayMs, ttlMs, queue = '' }: JobChange): void {
  const fields = Object.entries({ priority, dueMs, delayMs, ttlMs }).filter(
    ([, value]) => value !== undefined,
  );
  checkRichJobs([{ queue, body: NOTHING, ...Object.fromEntries(fields) }]);
}

/** A change as lua/scripts/full_change.lua reads it. */
function optionsOf({ priority, tags, data, dueMs, delayMs, ttlMs, queue, dependsOn }: JobChange): object {
  return {
    priority,
    queue,
    due_ms: dueMs,
    delay_ms: delayMs === undefined ? undefined : Math.min(delayMs, LONGEST_MS),
    ttl_ms: ttlMs === undefined ? undefined : Math.min(ttlMs, LONGEST_MS),
    tags: tags && (tags.length === 0 ? '' : JSON.stringify([...new Set(tags)])),
    has_data: data && true,
    ctype: data?.contentType,
    only: dependsOn && true,
  };
}

function refusalOf(code: number, id: string, state: string): QueueError {
  switch (code) {
    case CODE.notWaiting:
      return new QueueError('not_waiting', `the job is ${state}: only one that waits can be changed`);
    case CODE.cycle:
      return dependencyError('dependency_cycle');
    case CODE.tooMany:
      return dependencyError('too_many_dependencies');
    case CODE.dueUnknown:
      return new QueueError('due_unknown', 'its due time is not known: give a new one with the change');
    default:
      return jobNotFound(id);
  }
}
