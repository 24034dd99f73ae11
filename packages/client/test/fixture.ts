import { setTimeout as sleep } from 'node:timers/promises';
import { TestApp } from '../../../test/support/app.js';
import { waitFor } from '../../../test/support/redis.js';
import { FaultyProxy } from './faulty-proxy.js';
import { Pumphouse, type PumphouseOptions, type Worker, type WorkerOptions } from '../src/node.js';
import { clock } from '../src/worker/clock.js';

/** The server of a spec file, a proxy in front of it, and clients of both. */
export let app: TestApp;
export let proxy: FaultyProxy;
/** Straight to the server. */
export let client: Pumphouse;
/** Through the proxy. */
export let faulty: Pumphouse;

let count = 0;
/** A name that no other test of the file has. */
export const fresh = (what = 'q'): string => `${what}${String(count++)}`;

const workers: Worker[] = [];

export function useServer(env: Record<string, string> = {}): void {
  beforeAll(async () => {
    app = await TestApp.start(env);
    proxy = await FaultyProxy.start(app.port);
    client = clientOf();
    faulty = clientOf({ url: proxy.url });
  });
  beforeEach(() => {
    proxy.rule = () => 'pass';
    proxy.change = (text) => text;
    proxy.seen.length = 0;
    proxy.open.clear();
  });
  afterEach(async () => {
    proxy.rule = () => 'pass';
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    clock.nowMs = machineMs;
  });
  afterAll(async () => {
    client.close();
    faulty.close();
    await proxy.stop();
    await app.stop();
  });
}

export function clientOf(options: Partial<PumphouseOptions> = {}): Pumphouse {
  const { namespace, token, port } = app;
  return new Pumphouse({ url: `http://127.0.0.1:${String(port)}`, namespace, token, ...options });
}

/** Warnings of the workers of a test. */
export interface LoggedLine {
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface TestWorkerOptions extends WorkerOptions {
  readonly through?: Pumphouse;
}

/** A worker with short waits that is stopped after the test, and what it logs. */
export function workerOf(
  queue: string | undefined,
  options: TestWorkerOptions = {},
): { worker: Worker; log: LoggedLine[] } {
  const { through = client, ...rest } = options;
  const log: LoggedLine[] = [];
  const write = (message: string, details: LoggedLine['details']): void =>
    void log.push({ message, details });
  const worker = through.worker({
    queues: queue === undefined ? undefined : [queue],
    waitMs: 5_000,
    shutdownGraceMs: 500,
    shutdownAbortMs: 200,
    logger: { warn: write, error: write },
    ...rest,
  });
  workers.push(worker);
  return { worker, log };
}

/** The messages of a log, without those of failed attempts. */
export function besidesFailures(log: readonly LoggedLine[]): string[] {
  return log
    .map(({ message }) => message)
    .filter((message) => !/^(?:an attempt at )?a job failed/.test(message));
}

/** A lease that no machine is too slow for: what ends it is `passTime`. */
export const TTR_MS = 30_000;
const machineMs = clock.nowMs;

/** For workers so much time passes at once, in ms. Their timers, and the server, stay in the time of the machine. */
export function passTime(ms: number): void {
  const before = clock.nowMs;
  clock.nowMs = () => before() + ms;
}

/** Heartbeats that have reached the proxy, of sessions and of jobs; with an id those that name this job. */
export function heartbeats(id = ''): number {
  return proxy.of('/heartbeat').filter(({ path, body }) => (path + body).includes(id)).length;
}

/**
 * Lets a part of a lease of `TTR_MS` pass, by default a third and its jitter, and waits for the heartbeat that is due then, and for its end.
 *
 * @param id of a job that it names
 */
export async function nextHeartbeat(id?: string, part = 0.37): Promise<void> {
  const sent = heartbeats(id);
  passTime(TTR_MS * part);
  await waitFor(() => heartbeats(id) > sent && proxy.open.get('heartbeat')?.now === 0);
  // The worker has its end, too: the next one is due from then on.
  await sleep(20);
}

export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

export async function aborted(signal: AbortSignal): Promise<string> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  return (signal.reason as { code: string }).code;
}

export async function counts(queue: string): Promise<Record<string, number>> {
  const { ready, scheduled, leased, dead } = (await client.queues.get(queue)).counts;
  return { ready, scheduled, leased, dead };
}
