import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type EnginePumphouse, type JobDetails } from '../../packages/engine/src/index.js';
import { ROOT } from '../support/packed.js';
import { randomNamespace, testRedisUrl, waitFor } from '../support/redis.js';

describe('a process killed by a handler', () => {
  const namespace = randomNamespace('killed');
  const queue = 'q';
  let pumphouse: EnginePumphouse;
  beforeAll(async () => {
    pumphouse = await connect({ redis: testRedisUrl(), namespace });
  });
  afterAll(() => pumphouse.close());

  it("uses the try of the handler's job, and not the try of a leased job whose handler has not started", async () => {
    const published = await pumphouse.publishMany([
      { queue, tries: 1 },
      { queue, tries: 1 },
    ]);
    const ids = published.map(({ id }) => id);
    const loader = join(ROOT, 'test', 'support', 'typescript-loader.mjs');
    const program = join(ROOT, 'test', 'worker', 'killed-process.ts');
    const args = ['--import', loader, program, testRedisUrl(), namespace, queue];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
    const both = async (): Promise<JobDetails[]> => Promise.all(ids.map((id) => pumphouse.jobs.get(id)));
    await waitFor(async () => (await both()).every(({ state }) => state !== 'leased'), 15_000);
    // The worker asks first whether the leases are there when its process has stood still: either may begin first.
    const [begun, waiting] = (await both()).sort((a, b) => a.state.localeCompare(b.state));
    expect(begun).toMatchObject({ state: 'dead', attempts: 1, failure: { group: 'lease_expired' } });
    expect(waiting).toMatchObject({ state: 'ready', triesLeft: 1, crashes: 0 });
  });
});
