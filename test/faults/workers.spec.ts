import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { isPumphouseError, type NewJob, Pumphouse } from '../../packages/client/src/node.js';
import { connect, type EnginePumphouse } from '../../packages/engine/src/index.js';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { SEED, SLOWNESS } from '../support/scale.js';
import { FAULTS, type FleetSettings, WorkerFleet } from './worker-fleet.js';
import type { JobData } from './worker-journal.js';
import { judgeWorkers } from './worker-rules.js';

/** `npm run test:full -- workers` has 10,000. */
const JOBS = Number(process.env['PUMPHOUSE_WORKER_JOBS'] ?? 500);
/** While so many are published, each fault happens once. */
const JOBS_PER_PASS = 500;
const PASSES = Math.ceil(JOBS / JOBS_PER_PASS);
const SIZE = FAULTS.length;
const TTR_MS = 1_500;
const BATCH = 10;
/** Between two batches, in milliseconds; so 500 jobs last as long as the faults. */
const PAUSE_MS = 80;
const FAULT_EVERY_MS = 250;
const QUEUE = 'work';
/** Jobs that are looked up at once. */
const AT_ONCE = 100;

jest.setTimeout((60_000 + PASSES * 30_000) * SLOWNESS);

let redis: RedisProcess;
let dir: string;
let fleet: WorkerFleet | undefined;
let server: BuiltServer | undefined;
let direct: EnginePumphouse;
let namespace: string;

beforeEach(async () => {
  redis = await startRedis();
  dir = mkdtempSync(join(tmpdir(), 'pumphouse-workers-'));
  namespace = randomNamespace('workers');
  direct = await connect({ redis: redis.url, namespace });
});
afterEach(async () => {
  await fleet?.remove();
  await direct.close();
  await server?.remove();
  fleet = server = undefined;
  await redis.stop();
  rmSync(dir, { recursive: true, force: true });
});

describe('workers that are killed, stopped, blocked, cut off, drained and upgraded', () => {
  it('T53: lose no job over HTTP, and acknowledge none under a lost lease', async () => {
    server = await BuiltServer.create({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url });
    await server.start();
    const token = await server.token(namespace);
    const producer = new Pumphouse({ url: server.url, namespace, token });
    await play({ mode: 'http', token, port: server.apiPort }, producer);
    producer.close();
  });

  it('T53: lose no job over Redis without a server, and acknowledge none under a lost lease', async () => {
    await play({ mode: 'redis', token: '', port: redis.port }, direct);
  });
});

type Producer = Pick<EnginePumphouse, 'publishMany'>;

async function play(
  where: Pick<FleetSettings, 'mode' | 'token' | 'port'>,
  producer: Producer,
): Promise<void> {
  const begunMs = Date.now();
  fleet = await WorkerFleet.start({ ...where, namespace, queue: QUEUE, ttrMs: TTR_MS, dir }, SIZE);
  const published: string[] = [];
  for (let pass = 0; pass < PASSES; pass++) {
    const count = Math.min(JOBS_PER_PASS, JOBS - published.length);
    await Promise.all([publish(producer, published, count), inflictEach(fleet, pass)]);
  }
  // Faults take workers away: the more jobs there are, the more are left then.
  await waitFor(() => isDone(published), 30_000 + PASSES * 10_000);
  await fleet.stop();
  const { figures, violations } = judgeWorkers(
    published,
    fleet.members,
    (place) => where.mode === 'http' && place % 3 !== 1,
  );
  const seconds = Math.round((Date.now() - begunMs) / 1_000);
  console.log(table(`${where.mode}, seed ${SEED}, ${seconds} s, lost: ${lostOf(violations)}`, figures));
  expect(violations).toEqual([]);
  for (const fault of FAULTS) expect(figures[`fault: ${fault}`]).toBe(PASSES);
  // What the rules are about has happened.
  expect(figures['run again: killed']).toBeGreaterThan(0);
  expect(figures['run again: blocked']).toBeGreaterThan(0);
  // Which of both depends on whether the next run has ended.
  const refused = ['lease_lost', 'not_found'].map(
    (status) => figures[`late ack of a handler: ${status}`] ?? 0,
  );
  expect(Math.max(...refused)).toBeGreaterThan(0);
  const client = new Redis(redis.url, { protocol: 2 });
  expect(await Audit.of(client, namespace)).toEqual([]);
  client.disconnect();
}

/** Each fault once, each time to another slot, and several at once. */
async function inflictEach(workers: WorkerFleet, pass: number): Promise<void> {
  await Promise.all(
    FAULTS.map(async (fault, i) => {
      await sleep(i * FAULT_EVERY_MS);
      await workers.inflict(fault, i + pass);
    }),
  );
}

const random = randomFrom(SEED);

async function publish(producer: Producer, published: string[], count: number): Promise<void> {
  for (let left = count; left > 0; left -= BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, left) }, (_, i) => jobOf(published.length + i));
    published.push(...(await producer.publishMany(jobs)).map(({ id }) => id));
    await sleep(PAUSE_MS);
  }
}

/** Most take a moment, some longer than the lease; each kind of storage has its share. */
function jobOf(n: number): NewJob {
  const ms = n % 25 === 24 ? TTR_MS * 2 : Math.floor(random() * 200);
  const does = n % 125 === 60 ? 'block' : n % 20 === 7 ? 'throw' : 'work';
  const data: JobData = { ms, does };
  const job = { queue: QUEUE, data, tries: 100, retry: { kind: 'fixed', delayMs: 50 } } as const;
  if (n % 3 === 0) return { queue: QUEUE, data, tries: 100 };
  return n % 3 === 1
    ? { ...job, type: 'mail', retentionMs: 3_600_000 }
    : { ...job, priority: 2, tags: ['t'] };
}

/** Each job is done, and kept with its result if it is to be. */
async function isDone(published: readonly string[]): Promise<boolean> {
  const { items } = await direct.jobs.list({
    queue: QUEUE,
    state: ['ready', 'scheduled', 'leased', 'dead', 'blocked', 'held'],
    limit: 1,
  });
  if (items.length > 0) return false;
  for (let at = 0; at < published.length; at += AT_ONCE) {
    const some = published.slice(at, at + AT_ONCE);
    await Promise.all(some.map((id, i) => ((at + i) % 3 === 1 ? checkKept(id) : checkGone(id))));
  }
  return true;
}

async function checkKept(id: string): Promise<void> {
  const { state, result } = await direct.jobs.get(id);
  if (state !== 'done' || result === null) throw new Error(`${id} is ${state}`);
}

async function checkGone(id: string): Promise<void> {
  const isThere = await direct.jobs.get(id).then(
    () => true,
    (error: unknown) => !isPumphouseError(error, 'job_not_found'),
  );
  if (isThere) throw new Error(`${id} is there`);
}

function lostOf(violations: readonly string[]): number {
  return violations.filter((one) => /^\S+ was lost/.test(one)).length;
}

function table(title: string, figures: Readonly<Record<string, number>>): string {
  const rows = Object.entries(figures)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, n]) => `${String(n).padStart(8)}  ${name}`);
  return [title, ...rows].join('\n');
}
