import type { LeasedJob } from '../../src/domain/job.js';
import { QueueEngine } from '../../src/engine/engine.js';
import { EngineFixture, newJob } from './fixture.js';

let f: EngineFixture;
beforeEach(async () => (f = await EngineFixture.open()));
afterEach(() => f.close());

const LONG = 100_000;
const SHORT = 10;

async function fill(queue: string, count: number): Promise<void> {
  const bodies = Array.from({ length: 64 }, () => newJob());
  for (let left = count; left > 0;) {
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 50 && left > 0; i++, left -= 64)
      calls.push(f.engine.publishMany(f.ns, queue, bodies.slice(0, Math.min(left, 64))));
    await Promise.all(calls);
  }
}

function take(engine: QueueEngine, queues: string[], count = 1): Promise<LeasedJob[]> {
  return engine.reserve(f.ns, { queues, count, ttrMs: 60_000, waitMs: 0, inTurns: true });
}

it('gives the jobs of a short queue in turns with those of a very long one, whichever server asks (T22)', async () => {
  await fill('long', LONG);
  await fill('short', SHORT);
  const other = new QueueEngine(f.pool);

  const queues: string[] = [];
  for (let claim = 0; claim < 2 * SHORT; claim++) {
    const [job] = await take(claim % 3 === 0 ? f.engine : other, ['long', 'short']);
    queues.push(job?.queue ?? '');
  }

  expect(queues.filter((queue) => queue === 'short')).toHaveLength(SHORT);
  await other.stop();
});

it('shares a call for several jobs out as well', async () => {
  await fill('long', 128);
  await fill('short', SHORT);

  const jobs = await take(f.engine, ['long', 'short'], 2 * SHORT);

  expect(jobs.filter(({ queue }) => queue === 'short')).toHaveLength(SHORT);
  expect(jobs.map(({ queue }) => queue).slice(0, 4)).toEqual(['long', 'short', 'long', 'short']);
});
