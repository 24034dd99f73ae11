import { QueueError } from '../../domain/errors.js';
import type { QueueDefaults, QueueSettings, Rate, SettingsChange } from '../../domain/queue-settings.js';
import { integerAt } from '../../redis/scripts/script.js';
import { fullControl, fullDrop, fullSettings } from '../../redis/scripts/full.js';
import { checkNames } from '../checks.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';
import { checkSettings } from './check-settings.js';
import type { FullQueues } from './full-queues.js';

/** What lua/lib/full/settings.lua calls them. */
const FIELDS = {
  maxRunning: 'max',
  maxRunningPerKey: 'kmax',
  rate: 'rate',
  ratePerKey: 'krate',
  defaults: 'defaults',
  maxKept: 'kept',
} as const;
/** Codes of lua/scripts/full_drop.lua. */
const DROP = { done: 0, missing: 1, full: 2 } as const;
/** Queues of one script call. */
const MOST_QUEUES = 64;

/** `true`: this moment, unless it is set; `false`: not any more. */
type Changes = Readonly<Record<string, string | boolean>>;

/** What operators say of queues: settings, pause and resume. All servers heed them from the same moment. */
export class QueueControls {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: Arm,
    private readonly full: FullQueues,
  ) {}

  /** The settings of queues, in order; null for one that does not exist. */
  async settings(namespace: string, queues: readonly string[]): Promise<(QueueSettings | null)[]> {
    const found: (QueueSettings | null)[] = [];
    for (let i = 0; i < queues.length; i += MOST_QUEUES) {
      const part = queues.slice(i, i + MOST_QUEUES);
      const { items } = await this.runner.run(
        fullSettings,
        namespace,
        {},
        part.map((queue) => [queue]),
      );
      found.push(...part.map((_queue, at) => settingsOf(items[at * 2], items[at * 2 + 1])));
    }
    return found;
  }

  /**
   * Changes a queue's settings; it is made if there is none. What runs already goes on, and counts.
   *
   * @throws {QueueError} `invalid_argument`, naming the field and the rule; or the store's own
   */
  async change(namespace: string, queue: string, change: SettingsChange): Promise<void> {
    checkSettings(change);
    const changes: Record<string, string | boolean> = {};
    for (const [name, field] of Object.entries(FIELDS)) {
      const value = change[name as keyof SettingsChange];
      if (value === null) changes[field] = false;
      else if (value !== undefined) changes[field] = JSON.stringify(value);
    }
    // Whoever had to wait by the old rate does not owe it to the new one.
    if (change.rate !== undefined) changes['tat'] = false;
    await this.say(namespace, queue, changes);
  }

  /** Nobody gets jobs of the queue until `resume`; who has some goes on, and publishes do. */
  async pause(namespace: string, queue: string): Promise<void> {
    await this.say(namespace, queue, { paused: true }, 'paused');
  }

  /** Ends a pause and a drain; consumers that wait look at once. */
  async resume(namespace: string, queue: string): Promise<void> {
    await this.say(namespace, queue, { paused: false, draining: false }, 'resumed');
  }

  /**
   * The queue takes no new jobs (`queue_draining`) until those that are still to run have gone: ready, scheduled, leased, blocked and held
   * ones. Then it is over. Jobs that come back, move on to it or are made by a schedule are let in.
   */
  async drain(namespace: string, queue: string): Promise<void> {
    await this.say(namespace, queue, { draining: true }, 'drained');
  }

  /**
   * Forgets an empty queue, and its settings.
   *
   * @throws {QueueError} `queue_not_found`; `queue_not_empty`: there are jobs in it, in whatever state
   */
  async forget(namespace: string, queue: string): Promise<void> {
    checkNames(namespace, queue);
    for (;;) {
      const { raw } = await this.runner.run(fullDrop, namespace, { queue });
      const code = integerAt(raw, 2);
      if (code === DROP.missing) throw new QueueError('queue_not_found', `there is no queue ${queue}`);
      if (code === DROP.full) throw new QueueError('queue_not_empty', `there are jobs in queue ${queue}`);
      if (code === DROP.done) break;
    }
    this.full.delete(namespace, [queue]);
  }

  private async say(namespace: string, queue: string, changes: Changes, event = ''): Promise<void> {
    checkNames(namespace, queue);
    const args = { queue, changes: JSON.stringify(changes), event };
    const { raw } = await this.runner.run(fullControl, namespace, args);
    this.full.add(namespace, [queue]);
    this.arm(namespace, integerAt(raw, 2));
  }
}

function settingsOf(found: unknown, list: unknown): QueueSettings | null {
  if (!Array.isArray(list)) throw new QueueError('internal', 'full_settings has no answer');
  if (found !== 1) return null;
  const texts = new Map<string, string>();
  for (let i = 0; i + 1 < list.length; i += 2) texts.set(String(list[i]), String(list[i + 1]));
  const number = (field: string): number | null => (texts.has(field) ? Number(texts.get(field)) : null);
  const json = (field: string): unknown => JSON.parse(texts.get(field) ?? 'null');
  return {
    maxRunning: number(FIELDS.maxRunning),
    maxRunningPerKey: number(FIELDS.maxRunningPerKey),
    rate: json(FIELDS.rate) as Rate | null,
    ratePerKey: json(FIELDS.ratePerKey) as Rate | null,
    defaults: (json(FIELDS.defaults) as QueueDefaults | null) ?? {},
    maxKept: number(FIELDS.maxKept),
    pausedAtMs: number('paused'),
    drainingSinceMs: number('draining'),
  };
}
