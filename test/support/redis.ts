import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export { freePort, startRedis } from './redis-process.mjs';
export type { RedisProcess, RedisProcessOptions } from './redis-process.mjs';

/** The Redis that all specs of this run share. Keep to a random namespace in it; never FLUSHALL. */
export function testRedisUrl(): string {
  const url = process.env['PUMPHOUSE_TEST_REDIS'];
  if (url === undefined) throw new Error('PUMPHOUSE_TEST_REDIS is not set: did the global set-up run?');
  return url;
}

/** A namespace (or key prefix, or pool name) that no other test uses. */
export function randomNamespace(prefix = 'ns'): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

/**
 * Asks again every 10 ms until `probe` answers something truthy, and returns that answer. A probe that throws counts
 * as "not yet"; its last error is the cause of the failure.
 */
export async function waitFor<T>(probe: () => T | Promise<T>, withinMs = 2_000): Promise<NonNullable<T>> {
  const until = Date.now() + withinMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await probe();
      if (answer) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > until) throw new Error(`not so within ${withinMs} ms`, { cause });
    await sleep(10);
  }
}
