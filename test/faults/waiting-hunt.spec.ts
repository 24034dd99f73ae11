import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture, newJob } from '../engine/fixture.js';
import { IS_LONG, SEED, SLOWNESS } from '../support/scale.js';

const CYCLES = IS_LONG ? 100_000 : 4_000;
const WAITERS = 500;
const QUEUES = 50;

/** Waiters that come and go on two servers, and when each job reached one of them. */
class Hunt {
  readonly deliveredMs = new Map<string, number>();
  twice = 0;
  cancels = 0;
  private readonly halt = new AbortController();
  private readonly random = randomFrom(SEED);

  constructor(private readonly servers: readonly EngineFixture[]) {}

  private get ns(): string {
    return this.servers[0]!.ns;
  }

  begin(): Promise<void>[] {
    return Array.from({ length: WAITERS }, (_, i) => this.consume(this.servers[i % this.servers.length]!));
  }

  end(): void {
    this.halt.abort();
  }

  publish(): Promise<string> {
    const server = this.servers[Math.floor(this.random() * this.servers.length)]!;
    return server.engine.publish(this.ns, this.queue(), newJob());
  }

  private queue(): string {
    return `q${Math.floor(this.random() * QUEUES)}`;
  }

  private async consume(server: EngineFixture): Promise<void> {
    while (!this.halt.signal.aborted) {
      const cancel = new AbortController();
      const isFickle = this.random() < 0.7;
      const timer = isFickle ? setTimeout(() => cancel.abort(), this.random() * 60) : undefined;
      if (isFickle) this.cancels++;
      const queues = [...new Set([this.queue(), this.queue()])];
      const signal = AbortSignal.any([cancel.signal, this.halt.signal]);
      const request = { queues, count: 1, ttrMs: 3_600_000, waitMs: 5_000, signal };
      for (const { id, queue, lease } of await server.engine.lease(this.ns, request)) {
        if (this.deliveredMs.has(id)) this.twice++;
        this.deliveredMs.set(id, performance.now());
        await server.engine.ack(this.ns, queue, id, lease);
      }
      clearTimeout(timer);
    }
  }
}

it(`T20: each of ${CYCLES} jobs reaches exactly one of ${WAITERS} long polls that start and end`, async () => {
  const servers = [await EngineFixture.open(), await EngineFixture.open()];
  const hunt = new Hunt(servers);
  const consumers = hunt.begin();
  const publishedMs = new Map<string, number>();
  for (let i = 0; i < CYCLES; i += 8) {
    const sentMs = performance.now();
    for (const id of await Promise.all(Array.from({ length: 8 }, () => hunt.publish())))
      publishedMs.set(id, sentMs);
    await sleep(i % 80 === 0 ? 4 : 0);
  }
  const missing = (): string[] => [...publishedMs.keys()].filter((id) => !hunt.deliveredMs.has(id));
  // A lease lasts an hour here: a job that is not delivered by now was leased to a client that is gone.
  await waitFor(() => missing().length === 0, 5_000).catch(() => undefined);
  hunt.end();
  await Promise.all(consumers);

  const latencies = [...publishedMs].map(([id, sentMs]) => (hunt.deliveredMs.get(id) ?? Infinity) - sentMs);
  latencies.sort((a, b) => a - b);
  const at = (share: number): string => latencies[Math.floor((latencies.length - 1) * share)]!.toFixed(1);
  console.log(
    `PUMPHOUSE_CHAOS_SEED=${SEED}: ${hunt.cancels} cancels; ms to a waiter: p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)}`,
  );
  expect(missing()).toEqual([]);
  expect(hunt.twice).toBe(0);
  // 100 ms is the goal, and a second where a wake-up was lost; on a busy machine the usual one must do.
  expect(latencies[Math.floor(latencies.length / 2)]).toBeLessThan(500 * SLOWNESS);
  for (const server of servers) await server.close();
}, 600_000);
