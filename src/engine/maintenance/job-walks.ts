import type { RedisPool } from '../../redis/pool.js';
import { integerAt } from '../../redis/scripts/script.js';
import { backfillRecurring, recoverJobs } from '../../redis/scripts/extended.js';
import { backfillQuota } from '../../redis/scripts/simple.js';
import { JobWalk } from './job-walk.js';
import type { EngineObserver } from '../core/observer.js';
import type { ScriptRunner } from '../core/scripts.js';
import type { Timers } from '../timers/timers.js';

/** Interval of the passes, in milliseconds: they find jobs stored by servers without the quota. */
const COUNT_GOOD_FOR_MS = 3_600_000;
/** Recurring jobs that one script counts. */
const STEP = 128;
/** Delay after the start, in milliseconds: a new server has more urgent work. */
const RECOVERY_DELAY_MS = 20_000;
/** Recovered jobs go to the dead-letter queue of this queue, with this failure group. */
const RECOVERED = 'recovered';
const RECOVERED_GROUP = 'queue_deleted';

/**
 * Quota backfill: counts jobs and recurring jobs that were stored while the byte quota was not set. Each records
 * whether it is counted.
 */
export function quotaBackfill(
  pool: RedisPool,
  runner: ScriptRunner,
  observer: EngineObserver,
  timers: Timers,
  isOn: () => boolean,
): JobWalk {
  return new JobWalk(pool, observer, timers, {
    name: 'quota_backfill',
    mark: pool.keys.counted,
    goodForMs: COUNT_GOOD_FOR_MS,
    firstCheckMs: 0,
    isOn,
    visit: async (namespace, ids) =>
      integerAt(
        (
          await runner.run(
            backfillQuota,
            namespace,
            {},
            ids.map((id) => [id]),
          )
        ).raw,
        2,
      ),
    visitNamespace: (namespace) => countRecurring(pool, runner, namespace),
  });
}

/** @returns how many recurring jobs were not counted before */
async function countRecurring(pool: RedisPool, runner: ScriptRunner, namespace: string): Promise<number> {
  let counted = 0;
  for (let first = 0, hasMore = true; hasMore; first += STEP) {
    const key = pool.keys.single(namespace, 'schedules');
    const found = await pool.read('ZRANGE', key, first, first + STEP - 1);
    const ids = Array.isArray(found) ? found.map(String) : [];
    hasMore = ids.length === STEP;
    if (ids.length === 0) return counted;
    const { raw } = await runner.run(
      backfillRecurring,
      namespace,
      {},
      ids.map((id) => [id]),
    );
    counted += integerAt(raw, 2);
  }
  return counted;
}

/**
 * Recovers jobs that were ready in a queue when it was deleted, which versions before 0.2.0 allowed by mistake: moves
 * them to the dead-letter queue of the queue `recovered`. Runs once per store.
 */
export function recovery(
  pool: RedisPool,
  runner: ScriptRunner,
  observer: EngineObserver,
  timers: Timers,
): JobWalk {
  return new JobWalk(pool, observer, timers, {
    name: 'recovery',
    mark: pool.keys.recovered,
    goodForMs: Number.POSITIVE_INFINITY,
    firstCheckMs: RECOVERY_DELAY_MS,
    isOn: () => true,
    visit: async (namespace, ids) => {
      const items = ids.map((id) => [id]);
      const args = { queue: RECOVERED, group: RECOVERED_GROUP };
      const jobs = integerAt((await runner.run(recoverJobs, namespace, args, items)).raw, 2);
      if (jobs > 0) observer.failed(namespace, RECOVERED, jobs);
      return jobs;
    },
  });
}
