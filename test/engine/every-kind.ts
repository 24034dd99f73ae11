import type { Redis } from 'ioredis';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { kindOf, RECORD_KINDS } from '../../src/redis/record-kinds.js';
import type { ExtendedJob } from './fixture.js';
import { newJob } from './fixture.js';

const HOUR_MS = 3_600_000;
/** Keys of the history of queues and of their paces: they have a TTL of Redis, and outlive the queues. */
export const OF_HISTORY = /\}:(?:[aPH]\d+|pace\d+|changed|samples)$/;

/** Fills a namespace with at least one record of every kind. The engine's loops must not run: some records are short-lived. */
export async function fillWithEveryKind(engine: PoolEngine, ns: string): Promise<void> {
  // Statistics of a process that was killed while it moved them.
  engine.stats.of(ns, 'aside').retries += 1;
  await engine.stats.flush();
  await engine.movingStore().records.takeDay(ns, engine.stats.today());
  await fillSimple(engine, ns);
  await fillExtended(engine, ns);
  await fillNamespace(engine, ns);
  await engine.components.requested.flush();
  await fillHistory(engine);
}

/** Points of the ten seconds that are now, and of the five minutes that they are in. */
async function fillHistory({ components }: PoolEngine): Promise<void> {
  const nowMs = Date.now();
  await components.collecting?.activity.flush();
  await components.collecting?.collector.runNow(nowMs + 10_000);
  await components.collecting?.collector.runNow(nowMs + 310_000);
}

async function fillSimple(engine: PoolEngine, ns: string): Promise<void> {
  const publish = (queue: string, job = {}): Promise<string> =>
    engine.publish(ns, queue, newJob({ tries: 2, ...job }));
  const lease = (queue: string, ttrMs: number, confirms = false): Promise<unknown> =>
    engine.lease(ns, { queues: [queue], count: 1, ttrMs, waitMs: 0, confirms });
  await publish('simple', { tries: 1 });
  await lease('simple', 1);
  await new Promise((done) => setTimeout(done, 5));
  await engine.pumpNow(ns);
  await publish('simple');
  await lease('simple', HOUR_MS, true);
  await publish('simple', { ttlMs: HOUR_MS });
  await engine.ack(ns, 'simple', await publish('simple'));
  await publish('simple', { delayMs: 60_000 });
  await publish('simple', { delayMs: 2 * HOUR_MS });
  // Keys are counted where bytes are limited.
  engine.useQuotas(new Map([[ns, { bytes: 1_000_000, keys: 1_000 }]]));
  await engine.publish(ns, 'simple', newJob(), { idempotencyKey: 'once' });
  engine.useQuotas(new Map());
  await engine.importJobs(ns, [
    {
      ...{ id: 'imported', queue: 'simple', body: Buffer.from('x'), source: 'lmstfy 1', state: 'ready' },
      ...{ triesLeft: 1, attempts: 0, ttlLeftMs: 0, atMs: 0, attributes: null },
    },
  ]);
}

async function fillExtended(engine: PoolEngine, ns: string): Promise<void> {
  const { components } = engine;
  const operations = components.leaseOperations;
  const put = (id: string, { text = 'x', ...job }: ExtendedJob = {}): Promise<unknown> =>
    components.extendedPublisher.publish(ns, [
      { queue: 'work', id, body: Buffer.from(text), tries: 3, ...job },
    ]);
  const leaseOne = async (): Promise<{ id: string; lease: number }> => {
    const [job] = await engine.lease(ns, {
      ...{ queues: ['work'], count: 1, ttrMs: HOUR_MS, waitMs: 0, worker: 'host-1' },
    });
    return { id: job!.id, lease: job!.lease };
  };
  await put('failed', { type: 'mail', tags: ['t'] });
  await operations.fail(ns, { ...(await leaseOne()), group: 'smtp', message: 'no' });
  await put('stuck', { dependsOn: ['failed'] });
  await put('done', { retentionMs: 24 * HOUR_MS });
  await components.tags.track(ns, 'done');
  await operations.complete(ns, [await leaseOne()]);
  await put('traced', { type: 'mail' });
  await components.tags.track(ns, 'traced');
  await operations.complete(ns, [await leaseOne()]);
  await put('leased', { type: 'mail', tags: ['t'] });
  await leaseOne();
  await put('blocked', { dependsOn: ['leased'] });
  await put('scheduled', { delayMs: 60_000, ttlMs: HOUR_MS, unique: { key: 'u', mode: 'reject' } });
  await put('locks', { unique: { key: 'held', mode: 'reject', windowMs: 24 * HOUR_MS } });
  await put('last', { priority: 5 });
  await put('tracked', { priority: 5 });
  await components.tags.track(ns, 'tracked');
  await components.queueControls.change(ns, 'limited', {
    ...{ maxRunningPerKey: 1, ratePerKey: { rate: 100, periodMs: 24 * HOUR_MS, burst: 100 } },
  });
  await components.queueControls.pause(ns, 'paused');
  await put('typed', { queue: 'typed', type: 'mail' });
  await engine.lease(ns, { queues: ['typed'], types: ['sms'], count: 1, ttrMs: HOUR_MS, waitMs: 0 });
  await components.queueControls.change(ns, 'fair', { fair: true });
  for (const [id, type] of [['fair-1'], ['fair-2'], ['fair-3', 'mail']] as const)
    await put(id, { queue: 'fair', fairKey: id, ...(type && { type }) });
  await engine.lease(ns, { queues: ['fair'], types: ['sms'], count: 1, ttrMs: HOUR_MS, waitMs: 0 });
  await engine.lease(ns, { queues: ['fair'], count: 1, ttrMs: HOUR_MS, waitMs: 0 });
  for (const id of ['running', 'held']) await put(id, { queue: 'limited', concurrencyKey: 'k' });
  await engine.lease(ns, { queues: ['limited'], count: 2, ttrMs: HOUR_MS, waitMs: 0 });
  await put('ends', { priority: -9 });
  await put('after', { dependsOn: ['ends'] });
  await operations.complete(ns, [await leaseOne()]);
  const operation = {
    action: 'cancel',
    filter: { queue: 'nowhere' },
    shown: { filter: {}, to: null, set: null },
  } as const;
  await put('undoable', { queue: 'undoable', type: 'undoable' });
  await components.operations.start(ns, { ...operation, filter: { queue: 'undoable' }, undoMs: HOUR_MS });
  // Its first step comes a moment after its start.
  await new Promise((done) => setTimeout(done, 5));
  await components.operationRunner.runNow();
  await components.operations.start(ns, operation);
  const many = Array.from({ length: 41 }, (_, i) => `d${String(i)}`);
  for (const id of many) await put(id, { queue: 'many' });
  await put('waits-for-many', { dependsOn: many });
}

async function fillNamespace(engine: PoolEngine, ns: string): Promise<void> {
  const { components } = engine;
  const template = { queue: 'made', body: Buffer.from('x') };
  await components.recurrings.set(ns, { id: 'by-interval', schedule: { everyMs: HOUR_MS }, template });
  await components.recurrings.set(ns, {
    id: 'by-cron',
    schedule: { cron: '0 4 * * *', timeZone: 'Europe/Berlin' },
    template,
  });
  await components.workers.heartbeat(ns, 'session-1', {
    ...{ ttrMs: HOUR_MS, leases: [], jobsAtHand: 0, info: { name: 'host-1' } },
  });
  await engine.settings.set(ns, 'ttr_ms', 30_000);
  await engine.variables.set(ns, 'sandbox', 'true');
  await components.targets.change(ns, 'billing', () => ({ value: '{}' }));
  await components.targets.push(ns, 'simple', 'billing');
  await engine.lease(ns, { queues: ['awaited'], count: 1, ttrMs: 1, waitMs: 1 });
  const leave = await engine.events.subscribe(ns, null, {
    begins: () => undefined,
    take: () => undefined,
    missed: () => undefined,
    hasRoom: () => Promise.resolve(),
    ended: () => undefined,
  });
  leave();
  await engine.stats.flush();
}

/** What follows `{ns}` in each key of a namespace, latin1. */
export async function restsOf(redis: Redis, ns: string): Promise<string[]> {
  const keys = await redis.keysBuffer(`{${ns}}*`);
  return keys.map((key) => key.toString('latin1', `{${ns}}`.length)).sort();
}

/** Keys of no kind, and kinds without a key. Empty = the table and the namespace agree. */
export async function kindProblems(redis: Redis, ns: string): Promise<string[]> {
  const seen = new Set<string>();
  const problems: string[] = [];
  for (const rest of await restsOf(redis, ns)) {
    const kind = kindOf(rest);
    if (!kind) problems.push(`${rest} is of no kind`);
    else {
      seen.add(kind.form);
      const type = await redis.type(Buffer.from(`{${ns}}${rest}`, 'latin1'));
      if (type !== kind.type) problems.push(`${rest} is a ${type}, not a ${kind.type}`);
    }
  }
  const missing = RECORD_KINDS.filter(({ form }) => !seen.has(form));
  return [...problems, ...missing.map(({ form }) => `there is no ${form}`)];
}
