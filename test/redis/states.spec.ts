import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JOB_STATES, TRANSITIONS, type PlainState, type Transition } from '../../src/domain/states.js';
import { EngineFixture, newJob } from './fixture.js';

const ROOT = join(import.meta.dirname, '..', '..');

it('docs/states.md shows every step, and no other', () => {
  // Those of the full lane have a test of their own.
  const [page = ''] = readFileSync(join(ROOT, 'docs/states.md'), 'utf8').split('## The full lane');
  const shown = [...page.matchAll(/^ +(\S+) --> (\S+) : (.+)$/gm)];

  expect(shown.map(([, from, to, by]) => ({ from, to, by }))).toEqual(
    TRANSITIONS.map(({ from, to, by }) => ({
      from: from === 'start' ? '[*]' : from,
      to: to === 'gone' ? '[*]' : to,
      by,
    })),
  );
});

it('numbers the states as the scripts do', () => {
  const lua = readFileSync(join(ROOT, 'lua/lib/job.lua'), 'utf8');
  const names = Object.keys(JOB_STATES).map((name) => name.toUpperCase());

  expect(lua).toContain(`local ${names.join(', ')} = ${Object.values(JOB_STATES).join(', ')}`);
});

/** Brings a job into a state; one try, a ttl of 100 s. */
const ENTER: Record<Transition['from'], (f: EngineFixture) => Promise<string>> = {
  start: () => Promise.resolve('none'),
  ready: (f) => f.publish('q', { ttlMs: 100_000, tries: 2 }),
  scheduled: (f) => f.publish('q', { ttlMs: 100_000, delayMs: 100_000 }),
  leased: async (f) => {
    const id = await f.publish('q', { ttlMs: 100_000, tries: 2 });
    await f.reserve('q', { ttrMs: 10_000 });
    return id;
  },
  dead: async (f) => {
    const id = await f.publish('q', { ttlMs: 100_000 });
    await f.reserve('q', { ttrMs: 0 });
    await f.engine.pumpNow(f.ns);
    return id;
  },
};

const later = (f: EngineFixture, ms: number): Promise<void> => f.pass(ms);

async function imported(f: EngineFixture, state: PlainState): Promise<string> {
  const [id, body] = ['imported', Buffer.from('body')];
  const job = { id, source: id, queue: 'q', body, state, triesLeft: 1, attempts: 1, ttlLeftMs: 0 };
  await f.engine.importJobs(f.ns, [{ ...job, atMs: f.nowMs + 10_000, attributes: null }]);
  return id;
}

/** Takes a step with the job `id`; returns the id of the job to look at. */
const TAKE: Record<string, (f: EngineFixture, id: string) => Promise<string | undefined>> = {
  publish: (f) => f.publish('q'),
  'publish with a delay': (f) => f.publish('q', { delayMs: 1 }),
  import: (f) => imported(f, 'ready'),
  'import of a scheduled job': (f) => imported(f, 'scheduled'),
  'import of a leased job': (f) => imported(f, 'leased'),
  'import of a dead job': (f) => imported(f, 'dead'),
  'its time comes': async (f) => {
    // The ttl must outlive it.
    const id = await f.publish('q', { delayMs: 50_000, ttlMs: 90_000 });
    await later(f, 50_000);
    return id;
  },
  reserve: (f) => f.reserve('q').then(() => undefined),
  'the lease runs out, tries left or not charged': (f) => later(f, 10_000).then(() => undefined),
  'the lease runs out, no try left': async (f) => {
    await later(f, 10_000);
    await f.reserve('q', { ttrMs: 10_000 });
    await later(f, 10_000);
    return undefined;
  },
  undo: (f, id) => f.engine.undo(f.ns, [{ id, lease: 1 }]).then(() => undefined),
  respawn: (f) => f.engine.respawn(f.ns, 'q', 1, 0).then(() => undefined),
  ack: (f, id) => f.engine.ack(f.ns, 'q', id).then(() => undefined),
  republish: async (f, id) => {
    const fresh = await f.engine.republish(f.ns, 'q', id, newJob());
    await f.engine.ack(f.ns, 'q', fresh);
    return undefined;
  },
  destroy: (f) => f.engine.destroy(f.ns, 'q').then(() => undefined),
  'delete dead': (f) => f.engine.deleteDead(f.ns, 'q', 1).then(() => undefined),
  'the ttl ends': async (f) => {
    f.nowMs += 100_000;
    await f.engine.pumpNow(f.ns);
    return undefined;
  },
};

describe('a job', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock();
  });
  afterEach(() => f.close());

  it.each(TRANSITIONS)('goes from $from to $to: $by', async ({ from, to, by }) => {
    const id = await ENTER[from](f);
    if (from !== 'start') expect(await f.engine.peekJob(f.ns, 'q', id)).toMatchObject({ state: from });

    const followed = (await TAKE[by]?.(f, id)) ?? id;

    const job = await f.engine.peekJob(f.ns, 'q', followed);
    if (to === 'gone') {
      expect(job).toBeNull();
      await f.engine.tidyNow(f.ns);
      await f.engine.destroy(f.ns, 'q');
      await f.engine.tidyNow(f.ns);
      expect(await f.keys()).toEqual([]);
    } else expect(job).toMatchObject({ state: to });
  });
});
