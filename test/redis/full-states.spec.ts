import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LeasedJob } from '../../src/domain/job.js';
import type { Completion } from '../../src/domain/rich-job.js';
import { type JobState, RICH_TRANSITIONS } from '../../src/domain/states.js';
import type { JobChange } from '../../src/engine/full/changing.js';
import { EngineFixture, type RichJob } from './fixture.js';

const STATES_PAGE = join(import.meta.dirname, '..', '..', 'docs', 'states.md');
const KEPT_MS = 60_000;
const TTL_MS = 200_000;

let f: EngineFixture;
beforeEach(async () => (f = await EngineFixture.withClock()));
afterEach(() => f.close());

const put = ({ queue = 'q', ...job }: RichJob = {}): Promise<string> =>
  f.put(queue, { type: 't', retentionMs: KEPT_MS, ttlMs: TTL_MS, ...job });

async function lease(queue = 'q', count = 1): Promise<LeasedJob[]> {
  return f.engine.reserve(f.ns, { queues: [queue], count, ttrMs: 10_000, waitMs: 0, worker: 'w' });
}

const later = (ms: number): Promise<void> => f.pass(ms);

async function numberOf(id: string): Promise<number> {
  return (await f.find(id))?.lease ?? 0;
}

/** A job in another queue that is ended, in whatever way, once somebody waits for it. */
async function other(): Promise<string> {
  return put({ queue: 'other', retentionMs: 0, tries: 1 });
}

async function end(how: 'done' | 'dead'): Promise<void> {
  const [job] = await lease('other');
  const { id = '', lease: number = 0 } = job ?? {};
  if (how === 'done') await f.engine.full.owners.complete(f.ns, [{ id, lease: number }]);
  else await f.engine.full.owners.fail(f.ns, { id, lease: number, group: 'g', message: 'm' });
  await f.engine.pumpNow(f.ns);
}

async function complete(id: string, more: Partial<Completion> = {}): Promise<void> {
  const lease = await numberOf(id);
  expect(await f.engine.full.owners.complete(f.ns, [{ id, lease, ...more }])).toEqual(['done']);
}

const change = (id: string, what: JobChange) => f.engine.full.changing.change(f.ns, id, what);
const cancel = (id: string, graceMs = 0) => f.engine.full.cancelling.cancel(f.ns, id, { graceMs });
const purge = (state: JobState) => f.engine.full.purging.purge(f.ns, 'q', [state]);

/** Brings a job into a state. */
const ENTER: Record<JobState, (by: string) => Promise<string>> = {
  ready: (by) => put(by.includes('limit of its key') ? { concurrencyKey: 'k' } : {}),
  scheduled: () => put({ delayMs: 50_000 }),
  leased: async (by) => {
    const id = await put({ tries: by === 'retry, no try left' ? 1 : 3 });
    await lease();
    return id;
  },
  dead: async () => {
    const id = await put();
    await lease();
    await f.engine.full.owners.fail(f.ns, { id, lease: await numberOf(id), group: 'g', message: 'm' });
    return id;
  },
  blocked: async (by) => {
    const on = await other();
    const policy = by.endsWith('policy fail') ? 'fail' : by.endsWith('policy cancel') ? 'cancel' : 'block';
    const delayMs = by.endsWith('before its time') ? 90_000 : 0;
    return put({ dependsOn: [on], onDependencyFailure: policy, delayMs });
  },
  held: async () => {
    await f.engine.full.controls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    await put({ concurrencyKey: 'k', ttlMs: 0, id: 'first' });
    const id = await put({ concurrencyKey: 'k' });
    await lease('q', 2);
    return id;
  },
  done: async () => {
    const id = await put();
    await lease();
    await complete(id);
    return id;
  },
  cancelled: async () => {
    const id = await put();
    await cancel(id);
    return id;
  },
};

/** Takes a step with a job. */
const TAKE: Record<string, (id: string, from: JobState | 'start') => Promise<unknown>> = {
  'what it waited for is done': () => end('done'),
  'what it waited for is done before its time': () => end('done'),
  'what it waited for died, policy fail': () => end('dead'),
  'what it waited for died, policy cancel': () => end('dead'),
  'a lease meets the limit of its key': async () => {
    await f.engine.full.controls.change(f.ns, 'q', { maxRunningPerKey: 1 });
    await put({ concurrencyKey: 'k', priority: -1 });
    await lease('q', 2);
  },
  'a slot of its key gets free': () => complete('first'),
  release: async (id) => f.engine.full.owners.release(f.ns, { id, lease: await numberOf(id) }),
  'release with a delay': async (id) =>
    f.engine.full.owners.release(f.ns, { id, lease: await numberOf(id), delayMs: 5_000 }),
  retry: async (id) =>
    f.engine.full.owners.retry(f.ns, { id, lease: await numberOf(id), group: 'g', message: 'm' }),
  'retry with a delay': async (id) =>
    f.engine.full.owners.retry(f.ns, { id, lease: await numberOf(id), group: 'g', message: 'm', delayMs: 1 }),
  'retry, no try left': async (id) =>
    f.engine.full.owners.retry(f.ns, { id, lease: await numberOf(id), group: 'g', message: 'm' }),
  fail: async (id) =>
    f.engine.full.owners.fail(f.ns, { id, lease: await numberOf(id), group: 'g', message: 'm' }),
  'heartbeat of an owner who is late': async (id) => {
    await lease();
    const number = await numberOf(id);
    await later(10_001);
    expect((await f.find(id))?.state).toBe('ready');
    await f.engine.full.owners.heartbeat(f.ns, { id, lease: number });
  },
  'ack, to be kept': (id) => complete(id),
  'ack, and on to a next queue': (id) => complete(id, { next: { queue: 'next' } }),
  'ack, and on to a next queue with a delay': (id) =>
    complete(id, { next: { queue: 'next', delayMs: 5_000 } }),
  'ack, and on to a next queue after other jobs': async (id) =>
    complete(id, { next: { queue: 'next', dependsOn: [await other()] } }),
  cancel: (id) => cancel(id),
  'cancel, and the end of its grace': async (id) => {
    await cancel(id, 5_000);
    expect((await f.find(id))?.state).toBe('leased');
    await later(5_001);
  },
  'change of its time': (id, from) => change(id, from === 'ready' ? { delayMs: 5_000 } : { dueMs: 1 }),
  'a dependency is added': async (id) => change(id, { moreDependencies: [await other()] }),
  'its dependencies are taken away': (id) => change(id, { dependsOn: [] }),
  'its retention ends': () => later(KEPT_MS + 1),
  'the ttl ends': () => later(TTL_MS + 1),
  purge: (_id, from) => purge(from as JobState),
};

describe('a rich job', () => {
  it.each(RICH_TRANSITIONS)('goes from $from to $to: $by', async ({ from, to, by }) => {
    const id = from === 'start' ? await put({ dependsOn: [await other()] }) : await ENTER[from](by);
    if (from !== 'start') expect((await f.find(id))?.state).toBe(from);

    await TAKE[by]?.(id, from);

    expect((await f.find(id))?.state ?? 'gone').toBe(to);
  });

  it('takes these steps and no others in docs/states.md', () => {
    const [, diagram = ''] = readFileSync(STATES_PAGE, 'utf8').split('## The full lane');
    const steps = [...diagram.matchAll(/^ {4}(\S+) --> (\S+) : (.+)$/gm)].map(
      ([, from = '', to = '', by = '']) => ({ from, to, by }),
    );

    expect(steps).toEqual(
      RICH_TRANSITIONS.map(({ from, to, by }) => ({
        from: from === 'start' ? '[*]' : from,
        to: to === 'gone' ? '[*]' : to,
        by,
      })),
    );
  });
});
