import type { KillWorld } from './kill-world.js';

/** A request in whose midst the server is killed, with what comes before and after it. */
export interface KillOperation {
  readonly name: string;
  /** Over the same server, before. */
  readonly seed?: (world: KillWorld) => Promise<unknown>;
  /** The request. Sent again, it must be answered with one of `answers`. */
  readonly run: (world: KillWorld) => Promise<number>;
  readonly answers: readonly number[];
  /** What the client does with the answer. @returns whether that went well */
  readonly finish?: (world: KillWorld) => Promise<boolean>;
  /** What is sent again is done again, if it was done: lmstfy's publish without a key. */
  readonly doubles?: boolean;
  /** How many steps it has depends on the clock too: a play may be over before its server dies. */
  readonly isTimed?: boolean;
  /** The bodies that are there to be worked on when all is over; those of a doubled request once. */
  readonly left: readonly string[];
}

/** Jobs of an operation: it acts on ten in each of its steps. */
const MANY = Array.from({ length: 24 }, (_, i) => `job ${String(i).padStart(2, '0')}`);
const QUOTED = MANY.map((body) => JSON.stringify(body));

/** An action over all jobs of a filter, from the call that starts it until it has ended. */
function overMany(
  request: { readonly action: string; readonly [field: string]: unknown },
  left: readonly string[],
  fails?: 'dead' | 'waiting',
): KillOperation {
  return {
    name: `operation: ${request.action}${fails === undefined ? '' : ` of ${fails} jobs`}`,
    seed: async (world) => {
      await world.publishMany(MANY, fails === 'dead' ? 1 : 2);
      if (fails !== undefined) await world.failAll(MANY.length);
    },
    run: (world) => world.operate({ filter: { type: 't' }, rate_per_s: 100, ...request }),
    answers: [200],
    finish: (world) => world.hasActedOnce(MANY.length),
    isTimed: true,
    left,
  };
}

/** The path of a request through the server: lmstfy's calls, and those of the native API on extended jobs. */
export const KILL_OPERATIONS: readonly KillOperation[] = [
  {
    name: 'publish into a new namespace',
    run: (world) => world.put('q?tries=1', 'new'),
    answers: [201],
    doubles: true,
    left: ['new'],
  },
  {
    name: 'publish under a key',
    seed: (world) => world.publish('before'),
    run: (world) => world.put('q?tries=1', 'keyed', { 'idempotency-key': 'one' }),
    answers: [201],
    left: ['before', 'keyed'],
  },
  {
    name: 'republish',
    seed: async (world) => world.remember(await world.publish('old')),
    run: (world) => world.put(`q/job/${world.id}?tries=1`, 'fresh'),
    answers: [201],
    doubles: true,
    left: ['fresh'],
  },
  {
    name: 'consume',
    seed: (world) => world.publish('only'),
    // With one try: a lease that did not reach the client does not use it.
    run: (world) => world.consume('only'),
    answers: [200],
    finish: async (world) => (await world.send('DELETE', `q/job/${world.id}`)) === 204,
    left: [],
  },
  {
    name: 'acknowledge',
    seed: async (world) => {
      await world.publish('done');
      await world.publish('next');
      await world.takeOne();
    },
    run: (world) => world.send('DELETE', `q/job/${world.id}`),
    answers: [204],
    left: ['next'],
  },
  {
    name: 'respawn',
    seed: async (world) => {
      for (const body of ['a', 'b', 'c']) await world.publish(body);
      await world.die(3);
    },
    run: (world) => world.put('q/deadletter?limit=3', ''),
    answers: [200],
    left: ['a', 'b', 'c'],
  },
  {
    name: 'publish of a rich job',
    run: (world) => world.native('jobs', { id: 'rich', queue: 'q', data: 'rich', priority: 3, tags: ['t'] }),
    // It is there: its id says so.
    answers: [201, 409],
    left: ['"rich"'],
  },
  {
    name: 'lease of a rich job',
    seed: (world) => world.publishExtended('rich'),
    run: (world) => world.leaseExtended('rich', 1_000),
    answers: [200],
    finish: async (world) => (await world.native('jobs/rich/ack', { lease: world.lease })) === 200,
    left: [],
  },
  {
    name: 'acknowledgement of a rich job that another one waits for',
    seed: async (world) => {
      await world.publishExtended('first');
      await world.publishExtended('second', { depends_on: ['first'] });
      await world.leaseExtended('first');
    },
    run: (world) => world.native('jobs/first/ack', { lease: world.lease }),
    answers: [200, 404],
    left: ['"second"'],
  },
  {
    name: 'acknowledgement with a result that another job reads',
    seed: async (world) => {
      await world.publishExtended('first');
      await world.publishExtended('second', { depends_on: ['first'] });
      await world.leaseExtended('first');
    },
    run: (world) => world.native('jobs/first/ack', { lease: world.lease, result: { n: 1 } }),
    // Its holder is told that it has ended, although it is kept while the other job may read its result.
    answers: [200, 404],
    finish: async (world) => {
      await world.leaseExtended('second');
      expect(world.jobs[0]!.dependencies).toMatchObject([{ id: 'first', state: 'done', result: { n: 1 } }]);
      return world.ackAll();
    },
    left: [],
  },
  {
    name: 'lease by type',
    seed: async (world) => {
      await world.publishExtended('fax', { type: 'fax' });
      await world.publishExtended('mail', { type: 'mail' });
    },
    run: (world) => world.leaseExtended('mail', 1_000, { types: ['mail'] }),
    answers: [200],
    finish: (world) => world.ackAll(),
    left: ['"fax"'],
  },
  {
    name: 'lease of two jobs that lingers',
    seed: async (world) => {
      await world.publishExtended('one');
      await world.publishExtended('two');
    },
    run: (world) => world.leaseAll(['one', 'two'], { ttr_ms: 1_000, count: 2, linger_ms: 5_000 }),
    answers: [200],
    finish: (world) => world.ackAll(),
    left: [],
  },
  {
    name: 'publish into a fair queue',
    seed: (world) => world.change({ fair: true }),
    run: (world) => world.native('jobs', { id: 'fair', queue: 'q', data: 'fair', fair_key: 'a' }),
    answers: [201, 409],
    left: ['"fair"'],
  },
  {
    name: 'lease in a fair queue',
    seed: async (world) => {
      await world.change({ fair: true });
      await world.publishExtended('fair', { fair_key: 'a' });
    },
    run: (world) => world.leaseExtended('fair', 1_000),
    answers: [200],
    finish: (world) => world.ackAll(),
    left: [],
  },
  {
    name: 'switch of a queue to fair',
    seed: async (world) => {
      for (const id of ['one', 'two', 'three']) await world.publishExtended(id, { fair_key: 'a' });
    },
    run: (world) => world.change({ fair: true }),
    answers: [200],
    left: ['"one"', '"two"', '"three"'],
  },
  {
    name: 'acknowledgement in a strict order',
    seed: async (world) => {
      await world.change({ order: 'strict' });
      for (const id of ['first', 'second']) await world.publishExtended(id, { concurrency_key: 'k' });
      await world.leaseExtended('first');
    },
    run: (world) => world.native('jobs/first/ack', { lease: world.lease }),
    answers: [200, 404],
    left: ['"second"'],
  },
  {
    name: 'pause of some jobs',
    seed: async (world) => {
      await world.publishExtended('mail', { type: 'mail' });
      await world.publishExtended('held', { concurrency_key: 'k' });
    },
    run: async (world) => {
      const statuses = [
        await world.native('queues/q/pause', { type: 'mail' }),
        await world.native('queues/q/pause', { concurrency_key: 'k' }),
      ];
      return Math.max(...statuses);
    },
    answers: [200],
    finish: async (world) => {
      const statuses = [
        await world.native('queues/q/resume', { type: 'mail' }),
        await world.native('queues/q/resume', { concurrency_key: 'k' }),
      ];
      return statuses.every((status) => status === 200);
    },
    left: ['"mail"', '"held"'],
  },
  overMany({ action: 'cancel' }, []),
  overMany({ action: 'delete' }, []),
  overMany({ action: 'respawn' }, QUOTED, 'dead'),
  overMany({ action: 'retry' }, QUOTED, 'waiting'),
  overMany({ action: 'move', to: 'aside' }, []),
  overMany({ action: 'patch', set: { tries: 7 } }, QUOTED),
  {
    name: 'undo of an operation',
    seed: async (world) => {
      await world.publishMany(MANY, 1);
      await world.operate({ action: 'delete', filter: { type: 't' }, undo_ms: 600_000 });
    },
    run: (world) => world.undo(),
    answers: [200],
    finish: (world) => world.hasRestoredOnce(MANY.length),
    isTimed: true,
    left: QUOTED,
  },
];
