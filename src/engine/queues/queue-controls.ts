import { FAIR_SINCE, PAUSES_SINCE, STRICT_SINCE } from '../../domain/data-format.js';
import { formatTooOld, notFound, QueueError } from '../../domain/errors.js';
import type { QueueSettings, SettingsChange, SomeJobs } from '../../contract/queue-settings.js';
import type { RedisPool } from '../../redis/pool.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import { integerAt } from '../../redis/scripts/script.js';
import { changeQueue, deleteQueue, readQueueSettings } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { textsOf } from '../core/flat-lists.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import type { ScheduleWakeup } from '../timers/schedule-wakeup.js';
import { checkSettings } from './check-settings.js';
import type { ExtendedQueues } from './extended-queues.js';
import { fieldOfPause, isPauseField, settingsIn, storedChange } from './stored-settings.js';

/** Fields that are the state of limits. */
const TRANSIENT = ['tat', 'last_held', 'seen'];
/** Codes of lua/commands/extended/delete_queue.lua. */
const DROP = { done: 0, missing: 1, queues: 2 } as const;
/** Codes of lua/commands/extended/change_queue.lua. */
const FOUND = { missing: 0, made: 2, tooMany: 3, tooManyRunning: 4, tooManyPauses: 5, notFair: 6 } as const;
/** Queues per script call. */
const MOST_QUEUES = 64;

/** `true`: set to the current time, unless it is set; `false`: removed; an object: stored with the time of the pause. */
type Changes = Readonly<
  Record<string, string | boolean | Omit<Pauser, 'forMs'> | readonly [before: string, after: string]>
>;

/** Who pauses a queue or some of its jobs, why, and for how long. */
export interface Pauser {
  /** Null = not known. */
  readonly by: string | null;
  readonly note: string | null;
  /** Left out: until it is resumed. */
  readonly forMs?: number | undefined;
}
const UNKNOWN_PAUSER: Pauser = { by: null, note: null };

/** Settings of queues, pause, resume and drain. They take effect on all servers at the same moment. */
export class QueueControls {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly scheduleWakeup: ScheduleWakeup,
    private readonly queues: ExtendedQueues,
    private readonly quotas: NamespaceQuotas,
  ) {}

  /** The settings of queues, in order; null for a queue that does not exist. */
  async settings(namespace: string, queues: readonly string[]): Promise<(QueueSettings | null)[]> {
    const found: (QueueSettings | null)[] = [];
    for (let i = 0; i < queues.length; i += MOST_QUEUES) {
      const part = queues.slice(i, i + MOST_QUEUES);
      const { items } = await this.runner.run(
        readQueueSettings,
        namespace,
        {},
        part.map((queue) => [queue]),
      );
      found.push(...part.map((_queue, at) => settingsOf(items[at * 2], items[at * 2 + 1])));
    }
    return found;
  }

  /** What is stored of the settings of queues, in order; null for a queue that does not exist. For a move to another store. */
  async stored(
    namespace: string,
    queues: readonly string[],
  ): Promise<(ReadonlyMap<string, string> | null)[]> {
    const { items } = await this.runner.run(
      readQueueSettings,
      namespace,
      {},
      queues.map((queue) => [queue]),
    );
    return queues.map((_queue, at) => {
      const texts = textsOf(items[at * 2 + 1]);
      for (const field of TRANSIENT) texts.delete(field);
      return items[at * 2] === 1 ? texts : null;
    });
  }

  /** Stores settings as `stored` returns them, where there are none; others stay as they are. */
  async add(namespace: string, queue: string, texts: ReadonlyMap<string, string>): Promise<void> {
    const changes = [...texts].map(([field, text]) => [field, ['', text] as const] as const);
    await this.send(namespace, queue, Object.fromEntries(changes), '', '0');
  }

  /** Removes settings that are as these; others stay as they are. */
  async withdraw(namespace: string, queue: string, texts: ReadonlyMap<string, string>): Promise<void> {
    const changes = [...texts].map(([field, text]) => [field, [text, ''] as const] as const);
    await this.send(namespace, queue, Object.fromEntries(changes));
  }

  /**
   * Changes a queue's settings; creates the queue if there is none. Running jobs continue, and count towards the
   * limits.
   *
   * @returns true if the queue was created
   * @throws {QueueError} `invalid_argument`, naming the field and the rule; `too_many_queues`: a quota; `format_too_old`;
   *   or an error of the store
   */
  async change(namespace: string, queue: string, change: SettingsChange): Promise<boolean> {
    checkSettings(change);
    const isFair = change.fair !== undefined && change.fair !== null && change.fair !== false;
    if (isFair && /* guard: fair-queues-need-their-format */ this.pool.format < FAIR_SINCE)
      throw formatTooOld(this.pool, 'a fair queue', FAIR_SINCE, 'leave `fair` out');
    if (
      change.order === 'strict' &&
      /* guard: strict-order-needs-its-format */ this.pool.format < STRICT_SINCE
    )
      throw formatTooOld(this.pool, 'a strict order', STRICT_SINCE, 'leave `order` out');
    const changes = storedChange(change);
    // Discards the waiting time that the old rate had imposed.
    if (change.rate !== undefined) changes['tat'] = false;
    return this.send(namespace, queue, changes);
  }

  /**
   * Pauses a queue, or some of its jobs: none of them is leased until `resume`; leased jobs and publishes are not
   * affected.
   *
   * @returns true if the queue was created
   * @throws {QueueError} `invalid_argument`: more than one kind of jobs, too many pauses, a fair key of a queue that is
   *   not fair; `format_too_old`; `too_many_queues`: a quota; or an error of the store
   */
  async pause(
    namespace: string,
    queue: string,
    { by, note, forMs }: Pauser = UNKNOWN_PAUSER,
    jobs: SomeJobs = {},
  ): Promise<boolean> {
    const field = this.fieldOf(jobs);
    const pauser = { by, note, ...(forMs === undefined ? {} : { for_ms: forMs }) };
    return this.send(
      namespace,
      queue,
      { ...(isPauseField(field) ? {} : { paused: true }), [field]: pauser },
      'paused',
    );
  }

  /**
   * Ends the pause of some jobs; of the whole queue also a drain. Waiting consumers fetch at once.
   *
   * @throws {QueueError} `queue_not_found`
   */
  async resume(namespace: string, queue: string, jobs: SomeJobs = {}): Promise<void> {
    const field = this.fieldOf(jobs);
    const whole = isPauseField(field) ? {} : { paused: false, draining: false };
    await this.send(namespace, queue, { ...whole, [field]: false }, 'resumed', '');
  }

  private fieldOf(jobs: SomeJobs): string {
    const [name = '', ...others] = Object.keys(jobs);
    if (others.length > 0)
      throw new ArgumentError(name, 'must be the only one of type, fair_key and concurrency_key');
    if (name !== '' && /* guard: pauses-of-some-need-their-format */ this.pool.format < PAUSES_SINCE)
      throw formatTooOld(this.pool, 'a pause of some jobs', PAUSES_SINCE, 'pause the whole queue');
    return fieldOfPause(jobs);
  }

  /**
   * Drains a queue: it accepts no new jobs (`queue_draining`) until all ready, scheduled, leased, blocked and held jobs
   * have left it. Then the drain ends. Jobs that come back, move to it from another queue or are created by a schedule
   * are accepted.
   *
   * @throws {QueueError} `queue_not_found`
   */
  async drain(namespace: string, queue: string): Promise<void> {
    await this.send(namespace, queue, { draining: true }, 'drained', '');
  }

  /**
   * Deletes an empty queue and its settings.
   *
   * @throws {QueueError} `queue_not_found`; `queue_not_empty`: it has jobs, in any state
   */
  async forget(namespace: string, queue: string): Promise<void> {
    checkNames(namespace, queue);
    for (;;) {
      const { raw } = await this.runner.run(deleteQueue, namespace, { queue });
      const code = integerAt(raw, 2);
      if (code === DROP.missing) throw notFound('queue', queue);
      if (code === DROP.queues)
        throw new QueueError('queue_not_empty', `there are jobs in queue ${queue}: purge it first`);
      if (code === DROP.done) break;
    }
    this.queues.delete(namespace, [queue]);
  }

  /** @param makes as the script has it: how many queues there may be; empty = it creates none */
  private async send(
    namespace: string,
    queue: string,
    changes: Changes,
    event = '',
    makes = String(this.quotas.of(namespace).queues),
  ): Promise<boolean> {
    checkNames(namespace, queue);
    const args = { queue, changes: JSON.stringify(changes), event, makes };
    const { raw } = await this.runner.run(changeQueue, namespace, args);
    const found = integerAt(raw, 3);
    if (found === FOUND.missing) throw notFound('queue', queue);
    if (found === FOUND.tooManyPauses)
      throw new ArgumentError(
        'pauses',
        `are at most ${String(integerAt(raw, 2))} of a queue: resume some of them`,
      );
    if (found === FOUND.notFair)
      throw new ArgumentError(
        'fairKey',
        'needs a queue with the setting fair: pause its concurrency_key instead',
      );
    if (found === FOUND.tooManyRunning)
      throw 'strict' in changes
        ? new ArgumentError('order', `needs max_running_per_key 1 or null, not ${String(integerAt(raw, 2))}`)
        : new ArgumentError('maxRunningPerKey', 'must be 1 or null while the order is strict');
    if (found === FOUND.tooMany) throw this.quotas.queuesError(namespace, integerAt(raw, 2));
    // Without any setting a simple queue stays one.
    if (Object.values(changes).some((value) => value !== false)) this.queues.add(namespace, [queue]);
    this.scheduleWakeup(namespace, integerAt(raw, 2));
    return found === FOUND.made;
  }
}

function settingsOf(found: unknown, list: unknown): QueueSettings | null {
  if (!Array.isArray(list))
    throw new QueueError('internal', `${readQueueSettings.label}: the reply has no settings`);
  if (found !== 1) return null;
  return settingsIn(textsOf(list));
}
