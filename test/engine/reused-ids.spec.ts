import type { JobChange } from '../../src/engine/jobs/job-updater.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  EXTENDED_TRANSITIONS,
  JOB_STATES,
  type SimpleState,
  type Transition,
  TRANSITIONS,
} from '../../src/domain/job/states.js';
import { register } from '../../src/redis/scripts/simple.js';
import { testRedisUrl } from '../support/redis.js';
import { Audit } from './audit.js';
import { EngineFixture, newJob } from './fixture.js';
import { ExtendedPathFixture } from './extended-path-fixture.js';

describe('ids used again', () => {
  let redis: Redis;
  beforeAll(() => (redis = new Redis(testRedisUrl(), { protocol: 2 })));
  afterAll(() => redis.disconnect());

  let f: ExtendedPathFixture;
  beforeEach(async () => (f = await ExtendedPathFixture.open()));
  afterEach(() => f.close());

  const engine = () => f.fixture.engine;
  const simple = (id: string, job = {}) => f.fixture.publish('q', { id, text: id, tries: 3, ...job });
  const audit = () => Audit.of(redis, f.ns);

  /** Every way for `j1`, ready behind nothing in `q`, to leave the ready list other than by a lease. */
  const LEAVE: Record<string, () => Promise<unknown>> = {
    'is acknowledged without a lease': () => engine().ack(f.ns, 'q', 'j1'),
    'is cancelled': () => f.components.jobCanceller.cancel(f.ns, 'j1'),
    'moves to another queue and is cancelled there': async () => {
      await f.components.jobUpdater.change(f.ns, 'j1', { queue: 'elsewhere' });
      await f.components.jobCanceller.cancel(f.ns, 'j1');
    },
    'gets another priority and is cancelled': async () => {
      await f.components.jobUpdater.change(f.ns, 'j1', { priority: 5 });
      await f.components.jobCanceller.cancel(f.ns, 'j1');
    },
    'is scheduled and cancelled': async () => {
      await f.components.jobUpdater.change(f.ns, 'j1', { delayMs: 5_000 });
      await f.components.jobCanceller.cancel(f.ns, 'j1');
    },
    'gives its unique key to another job': async () => {
      await f.put('j2', { queue: 'elsewhere', unique: { key: 'k', mode: 'replace' } });
    },
    'is replaced by a republish': async () => {
      await engine().republish(f.ns, 'q', 'j1', {
        body: Buffer.from('new'),
        delayMs: 60_000,
        ttlMs: 0,
        tries: 1,
      });
    },
    'is blocked by a dependency and cancelled': async () => {
      await f.components.jobUpdater.change(f.ns, 'j1', { dependsOn: ['blocker'] });
      await f.components.jobCanceller.cancel(f.ns, 'j1');
    },
    expires: async () => {
      await f.components.jobUpdater.change(f.ns, 'j1', { ttlMs: 1_000 });
      await f.pass(1_000);
    },
  };

  /** Every way for `j1` to come back, with its place among `before`, of priority -1, `other`, of priority 0, and `after`, of priority 9. */
  const COME_BACK: Record<string, { readonly come: () => Promise<unknown>; readonly place: number }> = {
    'as a simple job': { come: () => simple('j1'), place: 2 },
    'as a simple job, later': {
      come: async () => {
        await simple('j1', { delayMs: 100 });
        await f.pass(100);
      },
      place: 2,
    },
    'with a type': { come: () => f.put('j1', { type: 't' }), place: 2 },
    'with a priority behind the others': { come: () => f.put('j1', { priority: 9 }), place: 3 },
    'with a priority before the others': { come: () => f.put('j1', { priority: -9 }), place: 0 },
    'with a priority, later': {
      come: async () => {
        await f.put('j1', { priority: 9, delayMs: 100 });
        await f.pass(100);
      },
      place: 3,
    },
    'with a priority and a concurrency key': {
      come: () => f.put('j1', { priority: 9, concurrencyKey: 'c' }),
      place: 3,
    },
    'with a priority and a unique key': {
      come: () => f.put('j1', { priority: 9, unique: { key: 'k', mode: 'replace' } }),
      place: 3,
    },
    'with a priority that is changed': {
      come: async () => {
        await f.put('j1', { priority: 9 });
        await f.components.jobUpdater.change(f.ns, 'j1', { priority: -9 });
      },
      place: 0,
    },
    'with a priority that is taken back': {
      come: async () => {
        await f.put('j1', { priority: 9 });
        await f.components.jobUpdater.change(f.ns, 'j1', { priority: 0 });
      },
      place: 2,
    },
    'with a priority, after a dependency': {
      come: async () => {
        await f.put('first', { queue: 'elsewhere' });
        await f.put('j1', { priority: 9, dependsOn: ['first'] });
        await f.work('elsewhere');
      },
      place: 3,
    },
    'from another queue, with a priority': {
      come: async () => {
        await f.put('j1', { queue: 'elsewhere', priority: 9 });
        await f.components.jobUpdater.change(f.ns, 'j1', { queue: 'q' });
      },
      place: 3,
    },
  };

  /** T48. */
  describe.each(Object.entries(LEAVE))('a chosen id whose job %s', (_how, leave) => {
    beforeEach(async () => {
      await f.put('blocker', { queue: 'elsewhere', delayMs: 3_600_000 });
      await f.put('j1', { unique: { key: 'k', mode: 'reject' } });
      await f.put('before', { priority: -1 });
      await f.put('other');
      await f.put('after', { priority: 9 });
      await leave();
      expect(await f.find('j1')).toBeNull();
      await f.pass(1);
    });

    it.each(Object.entries(COME_BACK))(
      'is leased once, in order, when it is used again %s',
      async (_as, back) => {
        const expected: string[] = ['before', 'other', 'after'];
        if (back.place === 2) expected.splice(2, 0, 'j1');
        else expected.splice(back.place, 0, 'j1');
        await back.come();

        expect(await audit()).toEqual([]);
        expect(await f.counts()).toMatchObject({ ready: 4 });
        expect(await f.fixture.size('q')).toBe(4);
        const listed = await f.components.lists.list(f.ns, { queue: 'q', state: 'ready' }, { limit: 100 });
        expect(listed.items.map(({ id }) => id).sort()).toEqual([...expected].sort());
        const jobs = await f.lease();
        expect(jobs.map(({ id }) => id)).toEqual(expected);
        expect(await f.lease()).toEqual([]);
        const acks = jobs.map(({ id, lease }) => ({ id, lease }));
        expect(await f.components.leaseOperations.complete(f.ns, acks)).toEqual(acks.map(() => 'done'));
        await f.pump();
        expect(await audit()).toEqual([]);
        expect(await f.counts()).toMatchObject({ ready: 0, leased: 0 });
      },
    );
  });

  describe('a chosen id that is used again with a priority', () => {
    beforeEach(async () => {
      await f.put('j1');
      await f.put('other');
      await f.components.jobCanceller.cancel(f.ns, 'j1');
      await f.put('j1', { priority: 9 });
    });

    it('is removed by a complete purge', async () => {
      expect(await f.components.queuePurger.purge(f.ns, 'q', ['ready'])).toMatchObject({
        removed: { ready: 2 },
      });
      expect(await audit()).toEqual([]);
      expect([await f.find('j1'), await f.find('other')]).toEqual([null, null]);
    });

    it('keeps its queue from being removed while one of its jobs is there', async () => {
      await f.lease('q', 1);
      await expect(f.components.queueControls.forget(f.ns, 'q')).rejects.toMatchObject({
        code: 'queue_not_empty',
      });
    });
  });

  describe('an id whose 256 entry numbers are all stale entries of one ready list', () => {
    const leaveOften = async (times: number): Promise<void> => {
      await f.fixture.publish('q', { text: 'first' });
      for (let i = 0; i < times; i++) {
        await simple('j1');
        await engine().ack(f.ns, 'q', 'j1');
      }
    };

    it.each([{}, { priority: 9 }])('is leased once, in order, when it is used again with %j', async (job) => {
      await leaveOften(257);
      await f.put('j1', job);
      await f.fixture.publish('q', { text: 'last' });
      expect(await audit()).toEqual([]);
      expect(await f.counts()).toMatchObject({ ready: 3 });
      const drained = await f.fixture.drain('q');
      expect(drained).toEqual('priority' in job ? ['first', 'last', 'j1'] : ['first', 'j1', 'last']);
      expect(await audit()).toEqual([]);
      expect(await f.counts()).toMatchObject({ ready: 0, leased: 3 });
    });
  });

  describe('an id that was scheduled far ahead and cancelled', () => {
    it('is due at its own time when it is used again, not at the former one', async () => {
      const id = await f.fixture.publish('q', { delayMs: 3_600_000 });
      await f.components.jobCanceller.cancel(f.ns, id);
      await f.put(id, { type: 't', delayMs: 7_200_000 });
      expect(await audit()).toEqual([]);
      await f.pass(3_600_000);
      expect(await f.lease()).toEqual([]);
      await f.pass(3_600_000);
      expect((await f.lease()).map((job) => job.id)).toEqual([id]);
      expect(await audit()).toEqual([]);
    });
  });

  describe('the window of a unique key', () => {
    it('outlives its job, also for a job published with the same id', async () => {
      await f.put('j1', { unique: { key: 'k', mode: 'reject', windowMs: 2_000 } });
      await f.work();
      const again = f.put('j1', { unique: { key: 'k', mode: 'reject' } });
      await expect(again).rejects.toMatchObject({ code: 'unique_key_taken' });
      await f.pass(2_000);
      expect(await f.put('j1', { unique: { key: 'k', mode: 'reject' } })).toBe('ready');
      expect(await audit()).toEqual([]);
    });
  });

  describe('a failed dependency whose id is used again', () => {
    beforeEach(async () => {
      await f.put('first');
      await f.put('other');
      await f.put('waits', { queue: 'elsewhere', dependsOn: ['first'] });
      await f.fail('first');
      await f.components.deadJobs.deleteIds(f.ns, ['first']);
      await f.pump();
      await f.put('first');
      expect(await f.find('waits')).toMatchObject({
        dependsOn: [],
        failedDependencies: { first: 'deleted' },
      });
    });

    it.each<[string, JobChange]>([
      ['adds it again', { moreDependencies: ['first'] }],
      ['removes and adds it', { lessDependencies: ['first'], moreDependencies: ['first'] }],
      ['replaces all dependencies by it', { dependsOn: ['first'] }],
    ])('is waited for after an update that %s', async (_title, change) => {
      const changed = await f.components.jobUpdater.change(f.ns, 'waits', change);
      expect(changed).toMatchObject({ state: 'blocked' });
      expect(await f.find('waits')).toMatchObject({ dependsOn: ['first'], failedDependencies: {} });
      expect(await f.work('elsewhere')).toEqual([]);
      expect((await f.work()).sort()).toEqual(['first', 'other']);
      expect(await f.work('elsewhere')).toEqual(['waits']);
      expect(await audit()).toEqual([]);
    });

    it('leaves the others when an update removes it twice', async () => {
      await f.components.jobUpdater.change(f.ns, 'waits', { moreDependencies: ['other'] });
      const change = { lessDependencies: ['first', 'first'] };
      expect(await f.components.jobUpdater.change(f.ns, 'waits', change)).toMatchObject({ state: 'blocked' });
      expect(await f.find('waits')).toMatchObject({ dependsOn: ['other'], failedDependencies: {} });
      expect(await audit()).toEqual([]);
    });
  });
});

describe('stale entries', () => {
  /** A job with a chosen id may be published again while the ready list still has the entry of the former job. */
  describe('the stale entry of a job that was published again in another queue', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.withClock();
      await f.publish('old', { id: 'mine' });
      await f.engine.ack(f.ns, 'old', 'mine');
      await f.publish('new', { id: 'mine', ttlMs: 5_000 });
    });
    afterEach(() => f.close());

    it('is not shown', async () => {
      expect(await f.engine.queues.peek(f.ns, 'old')).toBeNull();
      expect(await f.engine.queues.peek(f.ns, 'new')).toMatchObject({ id: 'mine', queue: 'new' });
    });

    it('is not leased', async () => {
      expect(await f.drain('old')).toEqual([]);
      expect(await f.drain('new')).toEqual(['body']);
    });

    it('removes nothing of the job when its queue is destroyed', async () => {
      expect(await f.engine.queues.destroy(f.ns, 'old')).toBe(0);
      expect(await f.size('old')).toBe(0);
      expect(await f.drain('new')).toEqual(['body']);
    });

    it('removes nothing of the job when its queue is swept', async () => {
      await f.publish('old', { ttlMs: 1_000 });
      f.nowMs += 1_000;
      await f.engine.tidyNow(f.ns);
      expect(await f.drain('new')).toEqual(['body']);
      f.nowMs += 5_000;
      await f.engine.tidyNow(f.ns);
      expect(await f.size('new')).toBe(0);
    });
  });
});

describe('registration of a namespace', () => {
  /**
   * A namespace with a marker that is not on the pool's list would never be swept: jobs that a dead server scheduled
   * there would stay forever.
   */
  describe('a new namespace', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.open();
    });
    afterEach(() => f.close());

    it('is on the list before it has its marker, so that a dying server leaves none off the list', async () => {
      const { pool } = f;
      const listed: unknown[] = [];
      const run = pool.run.bind(pool);
      jest.spyOn(pool, 'run').mockImplementation(async (binding, ...rest) => {
        if (binding.name === register.name)
          listed.push(await pool.read('SISMEMBER', pool.keys.namespaces, f.ns));
        return run(binding, ...rest);
      });

      await f.publish('q');

      expect(listed).toEqual([1]);
      expect(await f.engine.namespaces()).toContain(f.ns);
    });

    it('is registered again when all of it was removed while its server runs', async () => {
      await f.publish('q');
      await f.pool.read('DEL', ...(await f.keys()));
      await f.pool.read('SREM', f.pool.keys.namespaces, f.ns);

      await f.publish('q');
      expect(await f.engine.namespaces()).toContain(f.ns);
      expect(await f.size('q')).toBe(1);
    });
  });
});

describe('states of simple jobs', () => {
  const ROOT = join(import.meta.dirname, '..', '..');

  it('docs/storage.md shows exactly the transitions', () => {
    // Those of the extended path have a test of their own.
    const [page = ''] = readFileSync(join(ROOT, 'docs/storage.md'), 'utf8').split('## The extended path');
    const shown = [...page.matchAll(/^ +(\S+) --> (\S+) : (.+)$/gm)];

    expect(shown.map(([, from, to, by]) => ({ from, to, by }))).toEqual(
      TRANSITIONS.map(({ from, to, by }) => ({
        from: from === 'start' ? '[*]' : from,
        to: to === 'gone' ? '[*]' : to,
        by,
      })),
    );
  });

  it('docs/states.md shows every state, and only transitions that exist', () => {
    const page = readFileSync(join(ROOT, 'docs/states.md'), 'utf8');
    const shown = [...page.matchAll(/^ +(\S+) --> (\S+) : (.+)$/gm)].map(([, from, to, by]) => ({
      from: from === '[*]' ? 'start' : from,
      to: to === '[*]' ? 'gone' : to,
      by,
    }));

    expect(shown.length).toBeGreaterThan(10);
    expect([...TRANSITIONS, ...EXTENDED_TRANSITIONS]).toEqual(expect.arrayContaining(shown));
    expect(new Set(shown.flatMap(({ from, to }) => [from, to]))).toEqual(
      new Set(['start', 'gone', ...Object.keys(JOB_STATES)]),
    );
  });

  it('have the numbers of the scripts', () => {
    const lua = readFileSync(join(ROOT, 'lua/modules/core/header.lua'), 'utf8');
    const names = Object.keys(JOB_STATES).map((name) => name.toUpperCase());

    expect(lua).toContain(`\n${names.join(', ')} = ${Object.values(JOB_STATES).join(', ')}`);
  });

  /** Brings a job into a state; one try, a ttl of 100 s. */
  const ENTER: Record<Transition['from'], (f: EngineFixture) => Promise<string>> = {
    start: () => Promise.resolve('none'),
    ready: (f) => f.publish('q', { ttlMs: 100_000, tries: 2 }),
    scheduled: (f) => f.publish('q', { ttlMs: 100_000, delayMs: 100_000 }),
    leased: async (f) => {
      const id = await f.publish('q', { ttlMs: 100_000, tries: 2 });
      await f.lease('q', { ttrMs: 10_000 });
      return id;
    },
    dead: async (f) => {
      const id = await f.publish('q', { ttlMs: 100_000 });
      await f.lease('q', { ttrMs: 0 });
      await f.engine.pumpNow(f.ns);
      return id;
    },
  };

  const later = (f: EngineFixture, ms: number): Promise<void> => f.pass(ms);

  async function imported(f: EngineFixture, state: SimpleState): Promise<string> {
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
    'it is due': async (f) => {
      // The ttl must outlive it.
      const id = await f.publish('q', { delayMs: 50_000, ttlMs: 90_000 });
      await later(f, 50_000);
      return id;
    },
    lease: (f) => f.lease('q').then(() => undefined),
    'the lease runs out, tries left or not charged': (f) => later(f, 10_000).then(() => undefined),
    'the lease runs out, no try left': async (f) => {
      await later(f, 10_000);
      await f.lease('q', { ttrMs: 10_000 });
      await later(f, 10_000);
      return undefined;
    },
    undo: (f, id) => f.engine.undo(f.ns, [{ id, lease: 1 }]).then(() => undefined),
    respawn: (f) => f.engine.deadLetter.respawn(f.ns, 'q', 1, 0).then(() => undefined),
    ack: (f, id) => f.engine.ack(f.ns, 'q', id).then(() => undefined),
    republish: async (f, id) => {
      const fresh = await f.engine.republish(f.ns, 'q', id, newJob());
      await f.engine.ack(f.ns, 'q', fresh);
      return undefined;
    },
    destroy: (f) => f.engine.queues.destroy(f.ns, 'q').then(() => undefined),
    'delete dead': (f) => f.engine.deadLetter.delete(f.ns, 'q', 1).then(() => undefined),
    'the ttl ends': async (f) => {
      f.nowMs += 100_000;
      await f.engine.pumpNow(f.ns);
      return undefined;
    },
  };

  describe('a simple job', () => {
    let f: EngineFixture;
    beforeEach(async () => {
      f = await EngineFixture.withClock();
    });
    afterEach(() => f.close());

    it.each(TRANSITIONS)('goes from $from to $to: $by', async ({ from, to, by }) => {
      const id = await ENTER[from](f);
      if (from !== 'start') expect(await f.engine.jobs.peekJob(f.ns, 'q', id)).toMatchObject({ state: from });

      const followed = (await TAKE[by]?.(f, id)) ?? id;

      const job = await f.engine.jobs.peekJob(f.ns, 'q', followed);
      if (to === 'gone') {
        expect(job).toBeNull();
        await f.engine.tidyNow(f.ns);
        await f.engine.queues.destroy(f.ns, 'q');
        await f.engine.tidyNow(f.ns);
        expect(await f.keys()).toEqual([]);
      } else expect(job).toMatchObject({ state: to });
    });
  });
});
