import { randomBytes } from 'node:crypto';
import type { Pumphouse } from '@pumphouse/client';
import { Command } from 'commander';
import { positiveNumber } from '../parse.js';
import { json, table } from '../print.js';
import { type Progress, withProgress } from '../progress.js';
import type { OpenSession, Session } from '../session.js';

const DEFAULT_JOBS = 5_000;
const DEFAULT_CLIENTS = 16;
const DEFAULT_BYTES = 200;
/** Jobs of one publish, of one lease and of one acknowledgement. */
const DEFAULT_BATCH = 10;
const MAX_BATCH = 64;
const TTR_MS = 60_000;
const WAIT_MS = 1_000;
/** Jobs that were left over end by themselves, in milliseconds. */
const TTL_MS = 600_000;

interface BenchOptions {
  readonly jobs: number;
  readonly clients: number;
  readonly size: number;
  readonly batch: number;
}

/** One step of the load: how many jobs in which time, and how long its calls took. */
interface Measured {
  readonly step: 'publish' | 'lease and ack';
  readonly jobs: number;
  readonly seconds: number;
  readonly jobsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** `pumphouse bench` */
export function benchCommand(open: OpenSession): Command {
  return new Command('bench')
    .description('measure a server under a short load: publish, lease and acknowledge jobs')
    .option('--jobs <n>', 'number of jobs', positiveNumber, DEFAULT_JOBS)
    .option('--clients <n>', 'number of calls at the same time', positiveNumber, DEFAULT_CLIENTS)
    .option('--size <bytes>', 'size of the data of a job, in bytes', positiveNumber, DEFAULT_BYTES)
    .option('--batch <n>', 'jobs per call, 1 to 64', positiveNumber, DEFAULT_BATCH)
    .addHelpText(
      'after',
      `
It uses a queue of its own, bench-…, and deletes its jobs.
The statistics of the queue stay for a day.
The token needs the permissions publish, consume and admin.
The results include this client and this network: run it where your workers run.`,
    )
    .action(async (options: BenchOptions, command: Command) => {
      if (options.batch > MAX_BATCH) command.error(`error: --batch must be at most ${String(MAX_BATCH)}`);
      const session = open(command);
      const { client, isJson, out } = session;
      const queue = `bench-${randomBytes(6).toString('hex')}`;
      try {
        const measured = [
          await measure(session, 'publish', options, (jobs) => publish(client, queue, jobs, options)),
          await measure(session, 'lease and ack', options, (jobs) => consume(client, queue, jobs)),
        ];
        out(isJson ? json(measured) : table(session, HEADINGS, measured.map(rowOf)));
      } finally {
        await removeQueue(client, queue);
      }
    });
}

const HEADINGS = ['STEP', 'JOBS', 'SECONDS', 'JOBS/S', 'P50 MS', 'P99 MS', 'MAX MS'];

function rowOf({ step, jobs, seconds, jobsPerSecond, p50Ms, p99Ms, maxMs }: Measured): string[] {
  return [step, jobs, seconds, jobsPerSecond, p50Ms, p99Ms, maxMs].map(String);
}

/** Calls `work` by `clients` at the same time until all jobs are done. @param work does at most so many; returns how many it did */
async function measure(
  session: Session,
  step: Measured['step'],
  { jobs, clients, batch }: BenchOptions,
  work: (jobs: number) => Promise<number>,
): Promise<Measured> {
  const callsMs: number[] = [];
  let [begun, done] = [0, 0];
  const client = async (progress: Progress): Promise<void> => {
    while (begun < jobs) {
      const many = Math.min(batch, jobs - begun);
      begun += many;
      const startMs = performance.now();
      const did = await work(many);
      callsMs.push(performance.now() - startMs);
      begun -= many - did;
      done += did;
      progress(done);
      if (did === 0) return;
    }
  };
  const startMs = performance.now();
  await withProgress(session, jobs, (progress) =>
    Promise.all(Array.from({ length: Math.min(clients, jobs) }, () => client(progress))),
  );
  const seconds = (performance.now() - startMs) / 1_000;
  callsMs.sort((a, b) => a - b);
  const part = (share: number): number => rounded(callsMs[Math.floor((callsMs.length - 1) * share)] ?? 0);
  return {
    ...{ step, jobs: done, seconds: rounded(seconds), jobsPerSecond: Math.round(done / seconds) },
    ...{ p50Ms: part(0.5), p99Ms: part(0.99), maxMs: part(1) },
  };
}

async function publish(
  client: Pumphouse,
  queue: string,
  jobs: number,
  { size }: BenchOptions,
): Promise<number> {
  const data = 'x'.repeat(size);
  await client.publishMany(Array.from({ length: jobs }, () => ({ queue, data, ttlMs: TTL_MS, tries: 1 })));
  return jobs;
}

async function consume(client: Pumphouse, queue: string, count: number): Promise<number> {
  const { signal } = new AbortController();
  const leased = await client.driver.lease({
    queues: [queue],
    count,
    waitMs: WAIT_MS,
    ttrMs: TTR_MS,
    signal,
  });
  if (leased.length > 0)
    await client.driver.ack(leased.map(({ id, queue: of, lease }) => ({ id, queue: of, lease })));
  return leased.length;
}

/** Also after an error: what cannot be removed ends by its ttl. */
async function removeQueue(client: Pumphouse, queue: string): Promise<void> {
  try {
    await client.queues.purge(queue, ['ready', 'leased', 'dead']);
    await client.queues.delete(queue);
  } catch {
    // The error of the load is the one to show; an empty queue is forgotten by itself.
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
