import { setTimeout as sleep } from 'node:timers/promises';
import { OwnTime } from '../../../test/support/own-time.js';
import { waitFor } from '../../../test/support/redis.js';
import {
  defineJob,
  isPumphouseError,
  type PlacedEvent,
  Pumphouse,
  PumphouseError,
  type StandardSchema,
} from '../src/node.js';
import { app, client, clientOf, counts, faulty, fresh, proxy, useServer, workerOf } from './fixture.js';

useServer();

/** A schema of the kind that zod makes: refuses what `check` throws at, and gives what it returns. */
export function schema<In, Out>(check: (value: In) => Out): StandardSchema<In, Out> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        try {
          return { value: check(value as In) };
        } catch (error) {
          return { issues: [{ message: (error as Error).message, path: ['to'] }] };
        }
      },
    },
  };
}

const refused = (promise: Promise<unknown>): Promise<PumphouseError> =>
  promise.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => {
      if (error instanceof PumphouseError) return error;
      throw error;
    },
  );

describe('the options of new Pumphouse', () => {
  const right = { url: 'http://127.0.0.1:7777', namespace: 'demo', token: 'a-token' };

  it.each<[object, string]>([
    [{ url: undefined }, 'url is missing: give the option url, or set PUMPHOUSE_URL'],
    [{ url: 'localhost:7777' }, 'url is invalid'],
    [{ retry: { attemptMs: NaN } }, 'retry.attemptMs must be a number of milliseconds above 0'],
    [{ retry: { withinMs: 0 } }, 'retry.withinMs must be a number of milliseconds above 0'],
    [{ retry: { tries: 1.5 } }, 'retry.tries must be a whole number from 1'],
    [{ namespace: undefined }, 'namespace is missing: give the option namespace, or set PUMPHOUSE_NAMESPACE'],
    [{ token: undefined }, 'token is missing: give the option token, or set PUMPHOUSE_TOKEN'],
    [{ token: '' }, 'token is missing'],
    [{ token: 'hush…' }, 'token is invalid'],
    [{ token: 17 }, 'token is invalid'],
  ])('refuse %j with the name of the option and without its value', (options, message) => {
    const make = (): unknown => new Pumphouse({ ...right, ...options });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/hush|17/);
  });
});

describe('new Pumphouse() without options', () => {
  const names = ['PUMPHOUSE_URL', 'PUMPHOUSE_NAMESPACE', 'PUMPHOUSE_TOKEN'];
  const before = names.map((name) => process.env[name]);
  const set = (values: readonly (string | undefined)[]): void =>
    names.forEach((name, i) => {
      const value = values[i];
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    });
  afterEach(() => set(before));

  it('takes the url, the namespace and the token from the environment', async () => {
    set([proxy.url, app.namespace, app.token]);
    const named = new Pumphouse();
    await named.queues.list();
    expect(proxy.seen).toHaveLength(1);
    named.close();
  });

  it('prefers an option to the environment, and counts an empty variable as missing', async () => {
    set(['http://127.0.0.1:1', '', 'nonsense']);
    expect(() => new Pumphouse()).toThrow('namespace is missing');
    const { namespace, token } = app;
    const named = new Pumphouse({ url: proxy.url, namespace, token });
    await named.queues.list();
    expect(proxy.seen).toHaveLength(1);
    named.close();
  });
});

describe('publish() of the client', () => {
  it('stores the data, type, tries, priority, tags and attributes of a job', async () => {
    const queue = fresh();
    const { id, state, existing } = await client.publish({
      queue,
      data: { to: 'ada', camelCase: { a_b: 1 } },
      type: 'welcome',
      delayMs: 60_000,
      tries: 5,
      priority: -3,
      tags: ['vip'],
      attributes: { shopName: 'north' },
      retry: { kind: 'exponential', delayMs: 1_000, maxMs: 60_000, nonRetryable: ['address'] },
      unique: { key: fresh('key'), mode: 'reject', windowMs: 1_000 },
      retentionMs: 1_000,
      history: true,
    });
    expect({ state, existing }).toEqual({ state: 'scheduled', existing: false });
    expect(await client.jobs.get(id)).toMatchObject({
      queue,
      data: { to: 'ada', camelCase: { a_b: 1 } },
      type: 'welcome',
      triesLeft: 5,
      priority: -3,
      tags: ['vip'],
      attributes: { shopName: 'north' },
      contentType: 'application/json',
    });
  });

  it('keeps bytes, text of another content type and long numbers unchanged', async () => {
    const queue = fresh();
    const bytes = Uint8Array.from([0, 255, 128, 10]);
    const [a, b, c] = await client.publishMany([
      { queue, data: bytes },
      { queue, data: '<a>ö</a>', contentType: 'application/xml' },
      { queue, json: '{"n":12345678901234567890.10}' },
    ]);
    const jobs = await Promise.all([a, b, c].map((job) => client.jobs.get(job!.id)));
    expect(Buffer.from(jobs[0]!.data as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(Buffer.from(jobs[1]!.data as Uint8Array).toString()).toBe('<a>ö</a>');
    expect(jobs[1]!.contentType).toBe('application/xml');
    const raw = await app.get(`/v1/${app.namespace}/jobs/${c!.id}`);
    expect(raw.text).toContain('12345678901234567890.10');
  });

  it('rounds fractions of milliseconds up', async () => {
    const [queue, data] = [fresh(), { delayMs: 1.5 }];
    const { id } = await client.publish({
      ...{ queue, data, delayMs: 59_999.01, ttrMs: 1_000.2, retentionMs: 1_000 * 1.1 ** 3 },
      retry: { kind: 'exponential', delayMs: 0.4, maxMs: 99.5 },
    });
    const [other] = await client.publishAll(defineJob({ queue }), [data], { delayMs: 60_000.5 });
    expect(await client.jobs.get(id)).toMatchObject({
      ...{ data, ttrMs: 1_001, retentionMs: 1_332 },
      retry: { delayMs: 1, maxMs: 100 },
    });
    await client.jobs.update(id, { delayMs: 70_000.1, retry: { kind: 'list', delaysMs: [0.1, 2] } });
    expect(await client.jobs.get(id)).toMatchObject({ retry: { kind: 'list', delaysMs: [1, 2] } });
    expect(await client.jobs.get(other!.id)).toMatchObject({ state: 'scheduled' });
    expect(await client.queues.update(queue, { leaseGraceMs: 10.5 })).toMatchObject({ leaseGraceMs: 11 });
  });

  it('refuses the name of a queue in place of a job, without a request', async () => {
    // @ts-expect-error as with other libraries
    await expect(faulty.publish('mail', { to: 'ada' })).rejects.toThrow('takes a job, as { queue, data }');
    expect(proxy.seen).toEqual([]);
  });

  const NO_TIME = new Date(NaN);
  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['runAt', (queue) => faulty.publish({ queue, runAt: NO_TIME })],
    ['jobs[1].runAt', (queue) => faulty.publishMany([{ queue }, { queue, runAt: new Date('tomorrow') }])],
    ['runAt', (queue) => faulty.publishAndWait({ queue, runAt: NO_TIME })],
    ['runAt', (queue) => faulty.publish(defineJob({ queue }), 1, { runAt: NO_TIME })],
    ['delayMs', (queue) => faulty.publish({ queue, delayMs: NaN })],
    ['ttlMs', (queue) => faulty.publish({ queue, ttlMs: Infinity })],
    ['retry.delaysMs[1]', (queue) => faulty.publish({ queue, retry: { kind: 'list', delaysMs: [1, NaN] } })],
    ['unique.windowMs', (queue) => faulty.publish({ queue, unique: { key: 'k', windowMs: NaN } })],
    ['priority', (queue) => faulty.publish({ queue, priority: 1n as unknown as number })],
    [
      'idempotencyTtlMs',
      (queue) => faulty.publish({ queue }, { idempotencyKey: 'k', idempotencyTtlMs: NaN }),
    ],
    ['set.delayMs', () => faulty.operations.start({ action: 'patch', filter: {}, set: { delayMs: NaN } })],
    ['dueAt', () => faulty.jobs.update('a', { dueAt: NO_TIME })],
    ['from', () => faulty.deadLetter.list({ from: NO_TIME })],
    ['maxRunning', (queue) => faulty.queues.update(queue, { maxRunning: NaN })],
    [
      'schedule.endAt',
      (queue) =>
        faulty.recurring.put('r', {
          schedule: { cron: '@daily', tz: 'UTC', endAt: NO_TIME },
          job: { queue },
        }),
    ],
    [
      'job.ttlMs',
      (queue) => faulty.recurring.put('r', { schedule: { everyMs: 1_000 }, job: { queue, ttlMs: NaN } }),
    ],
  ])(
    'refuses a time or a number that is none, names the field %s, and sends no request',
    async (field, call) => {
      const error = await call(fresh()).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toMatch(
        new RegExp(`^${field.replaceAll(/[[\].]/g, String.raw`\$&`)}: must be `),
      );
      expect(proxy.seen).toEqual([]);
    },
  );

  it('refuses data that is not JSON, without a request', async () => {
    const queue = fresh();
    await expect(faulty.publish({ queue, data: () => 1 })).rejects.toThrow(TypeError);
    await expect(faulty.publish({ queue, json: '1,"tries":9' })).rejects.toThrow(SyntaxError);
    await expect(faulty.publish({ queue, data: { a: 1 }, contentType: 'text/plain' })).rejects.toThrow(
      TypeError,
    );
    expect(proxy.seen).toEqual([]);
  });

  it.each([
    ['a lost answer', 'lose'],
    ['a reset before the request', 'drop'],
    ['503 overloaded', { status: 503 }],
    [
      '429 with Retry-After',
      { status: 429, headers: { 'retry-after': '1' }, body: { code: 'rate_limited' } },
    ],
  ] as const)(
    'stores one job after two failures of its request (%s), with one idempotency key for all attempts',
    async (_, fault) => {
      const queue = fresh();
      proxy.next('/jobs', fault, fault);
      const { id, replayed } = await faulty.publish({ queue, data: 1 });
      expect(replayed).toBe(false);
      const requests = proxy.of('/jobs');
      expect(requests).toHaveLength(3);
      expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
      expect(requests[0]!.headers['idempotency-ttl-ms']).toBe('120000');
      expect(await counts(queue)).toMatchObject({ ready: 1 });
      expect((await client.jobs.get(id)).queue).toBe(queue);
      if (fault instanceof Object && fault.status === 429) {
        expect(requests[1]!.atMs - requests[0]!.atMs).toBeGreaterThan(950);
      }
    },
  );

  it('fails after the attempts of retry.tries, and the error has their number', async () => {
    proxy.rule = () => 'drop';
    const five = clientOf({ url: proxy.url, retry: { tries: 5 } });
    const error = await refused(five.publish({ queue: fresh() }));
    five.close();
    expect(error).toMatchObject({
      code: 'network',
      status: 0,
      retryable: true,
      attempts: 5,
      requestId: null,
    });
    expect(proxy.seen).toHaveLength(5);
  });

  it('waits for a server that is away for three seconds, as while it starts again', async () => {
    const backMs = performance.now() + 3_000;
    proxy.rule = () => (performance.now() < backMs ? 'drop' : 'pass');
    const { state } = await faulty.publish({ queue: fresh() });
    expect(state).toBe('ready');
    expect(performance.now()).toBeGreaterThanOrEqual(backMs);
  });

  it('fails at its timeout before all attempts are used', async () => {
    proxy.rule = () => 'hang';
    const hasty = clientOf({ url: proxy.url, retry: { attemptMs: 500, withinMs: 2_000 } });
    const time = new OwnTime();
    expect(await refused(hasty.publish({ queue: fresh() }))).toMatchObject({
      code: 'timeout',
      retryable: true,
    });
    expect(time.end()).toBeLessThan(4_000);
    expect(proxy.seen.length).toBeGreaterThan(1);
    hasty.close();
  });

  it('sends no second request after 400 or 401', async () => {
    const error = await refused(faulty.publish({ queue: fresh(), priority: 200 }));
    expect(error).toMatchObject({ code: 'invalid_argument', status: 400, retryable: false, attempts: 1 });
    expect(error.fields).toEqual([{ field: 'priority', rule: expect.any(String) as string }]);
    expect(error.requestId).toMatch(/\S/);
    expect(proxy.seen).toHaveLength(1);
    const wrong = clientOf({ token: 'nonsense' });
    const unknown = await refused(wrong.publish({ queue: fresh() }));
    expect(unknown).toMatchObject({ code: 'token_invalid', status: 401 });
    expect(`${unknown.message} ${JSON.stringify(unknown)}`).not.toContain('nonsense');
    wrong.close();
  });

  it('stores one job for a given idempotency key, and sends no lifetime for that key', async () => {
    const queue = fresh();
    const idempotencyKey = fresh('key');
    const first = await faulty.publish({ queue, data: 1 }, { idempotencyKey });
    expect(first.replayed).toBe(false);
    expect(await faulty.publish({ queue, data: 1 }, { idempotencyKey })).toEqual({
      ...first,
      replayed: true,
    });
    expect(proxy.seen.map(({ headers }) => headers['idempotency-ttl-ms'])).toEqual([undefined, undefined]);
    expect(await counts(queue)).toMatchObject({ ready: 1 });
    const other = await refused(faulty.publish({ queue, data: 2 }, { idempotencyKey }));
    expect(other).toMatchObject({ code: 'idempotency_key_reused', status: 422 });
  });

  it('sends how long a given key counts with every kind of publish', async () => {
    const [queue, idempotencyTtlMs] = [fresh(), 3_600_000.5];
    const key = (): object => ({ idempotencyKey: fresh('key'), idempotencyTtlMs });
    const definition = defineJob({ queue });
    await faulty.publish({ queue }, key());
    await faulty.publish(definition, 1, key());
    await faulty.publishMany([{ queue }], key());
    await faulty.publishAll(definition, [1], key());
    await faulty.publishAndWait(definition, 1, { ...key(), waitMs: 1 });
    expect(proxy.seen.map(({ headers }) => headers['idempotency-ttl-ms'])).toEqual(
      Array.from({ length: 5 }, () => '3600001'),
    );
    await expect(faulty.publish({ queue }, { idempotencyTtlMs: 60_000 })).rejects.toThrow(
      'idempotencyTtlMs says how long an idempotencyKey is kept: give both or neither',
    );
  });

  it.each(['before', 'during', 'between the attempts of'])(
    'rejects with the reason of a signal that aborts %s the call',
    async (when) => {
      const abort = new AbortController();
      const reason = new Error('enough');
      proxy.rule = () => (when === 'during' ? 'hang' : { status: 503, headers: { 'retry-after': '5' } });
      if (when === 'before') abort.abort(reason);
      const published = faulty.publish({ queue: fresh() }, { signal: abort.signal });
      const ended = expect(published).rejects.toBe(reason);
      if (when !== 'before') {
        await waitFor(() => proxy.seen.length === 1);
        await sleep(30);
        abort.abort(reason);
      }
      await ended;
      expect(proxy.seen.length).toBe(when === 'before' ? 0 : 1);
    },
  );
});

describe('publishMany() of the client', () => {
  it('stores 100 jobs in order with two requests, and repeats requests after lost answers without duplicates', async () => {
    const queue = fresh();
    proxy.next('/jobs', 'lose', 'pass', 'lose');
    const jobs = await faulty.publishMany(Array.from({ length: 100 }, (_, i) => ({ queue, data: i })));
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(100);
    expect(jobs.filter(({ replayed }) => replayed)).toEqual([]);
    expect(await counts(queue)).toMatchObject({ ready: 100 });
    const { items } = await client.jobs.list({ queue, limit: 1_000 });
    expect(items.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    const keys = proxy.of('/jobs').map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([4, 2]);
  });

  it('stores no job twice when it is called again with the same idempotency key', async () => {
    const queue = fresh();
    const jobs = Array.from({ length: 70 }, (_, i) => ({ queue, data: i }));
    const idempotencyKey = fresh('key');
    const first = await client.publishMany(jobs.slice(0, 64), { idempotencyKey });
    const all = await client.publishMany(jobs, { idempotencyKey });
    expect(all.slice(0, 64)).toEqual(first.map((job) => ({ ...job, replayed: true })));
    expect(all.slice(64).map(({ replayed }) => replayed)).toEqual(Array.from({ length: 6 }, () => false));
    expect(await counts(queue)).toMatchObject({ ready: 70 });
  });
});

describe('the client with typed jobs', () => {
  const sums = schema((value: { to: string }) => {
    if (typeof value.to !== 'string') throw new Error('must be text');
    return { to: value.to.toUpperCase() };
  });

  it('refuses invalid data without a request, and publishes valid data unchanged', async () => {
    const mail = defineJob({ queue: fresh(), type: 'mail', input: sums, tries: 7 });
    // @ts-expect-error the input has no such form
    const error = await refused(faulty.publish(mail, { to: 5 }));
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('to: must be text') as string,
    });
    expect(proxy.seen).toEqual([]);
    const { id } = await faulty.publish(mail, { to: 'ada' }, { priority: 2 });
    expect(await client.jobs.get(id)).toMatchObject({
      data: { to: 'ada' },
      type: 'mail',
      tries: 7,
      priority: 2,
    });
    const again = await client.publish(mail, { to: 'ada' }, { tries: undefined });
    expect(await client.jobs.get(again.id)).toMatchObject({ tries: 7 });
    const all = await client.publishAll(mail, [{ to: 'b' }, { to: 'c' }]);
    expect(all).toHaveLength(2);
  });

  it('returns the result of a job, parsed by its schema', async () => {
    const add = defineJob({
      queue: fresh(),
      input: schema((pair: [number, number]) => pair),
      output: schema((sum: number) => ({ sum })),
    });
    const { worker } = workerOf(add.queue);
    worker.handle(add, ({ data: [a, b] }) => a + b);
    void worker.run();
    const ended = await client.publishAndWait(add, [2, 3], { waitMs: 5_000 });
    expect(ended).toMatchObject({ state: 'done', result: { sum: 5 }, failure: null });
    expect(ended.result?.sum).toBe(5);
  });
});

describe('publishAndWait() of the client', () => {
  it('returns the state of a job that has not ended in time, and the failure of a dead job', async () => {
    const queue = fresh();
    expect(await client.publishAndWait({ queue }, { waitMs: 20 })).toMatchObject({
      state: 'ready',
      result: undefined,
    });
    await client.queues.purge(queue, ['ready']);
    const { worker } = workerOf(queue);
    worker.handle('*', () => {
      throw new Error('broken');
    });
    worker.handle(defineJob({ queue }), () => Promise.reject(new Error('broken')));
    void worker.run();
    const ended = await client.publishAndWait({ queue, tries: 1 }, { waitMs: 5_000 });
    expect(ended).toMatchObject({ state: 'dead', failure: { group: 'Error' } });
    expect(ended.failure?.message).toContain('broken');
  });

  it('returns the result although the first answer was lost', async () => {
    const queue = fresh();
    proxy.next('/jobs', 'lose');
    const { worker } = workerOf(queue);
    worker.handle(defineJob({ queue }), () => 'ok');
    void worker.run();
    const ended = await faulty.publishAndWait({ queue, retentionMs: 60_000 }, { waitMs: 5_000 });
    expect(ended).toMatchObject({ state: 'done', result: 'ok', replayed: false });
    expect(proxy.of('/jobs')).toHaveLength(2);
  });

  it('marks the answer to a repeated call with an idempotency key as replayed', async () => {
    const job = { queue: fresh() };
    const options = { idempotencyKey: fresh('key'), waitMs: 20 };
    const first = await client.publishAndWait(job, options);
    const again = await client.publishAndWait(job, options);
    expect([first, again]).toMatchObject([{ replayed: false }, { id: first.id, replayed: true }]);
  });
});

describe('calls of the client', () => {
  it('read, change, put, cancel, log and delete jobs', async () => {
    const queue = fresh();
    const id = fresh('job');
    expect(await client.jobs.put(id, { queue, data: 1, delayMs: 60_000 })).toMatchObject({
      id,
      state: 'scheduled',
    });
    const taken = await refused(client.jobs.put(id, { queue, data: 2 }, { onlyNew: true }));
    expect(taken.code).toBe('job_exists');
    expect(await client.jobs.update(id, { tags: ['x'], data: { a: 1 }, delayMs: 0 })).toMatchObject({
      state: 'ready',
    });
    await client.jobs.log(id, 'half of it', { rows: 512 });
    const job = await client.jobs.get(id);
    expect(job).toMatchObject({ data: { a: 1 }, tags: ['x'] });
    expect(job.timeline.map(({ what }) => what)).toContain('log');
    expect((await client.jobs.list({ ids: [id], fields: ['data'] })).items).toMatchObject([
      { id, data: { a: 1 } },
    ]);
    expect(await client.jobs.cancel(id)).toMatchObject({ outcome: 'cancelled' });
    expect((await refused(client.jobs.get(id))).code).toBe('job_not_found');
    const { id: other } = await client.publish({ queue });
    proxy.next(other, 'lose');
    await faulty.jobs.delete(other);
    expect(proxy.seen).toHaveLength(2);
    expect((await refused(client.jobs.delete(other))).code).toBe('job_not_found');
  });

  it('read all pages of a list', async () => {
    const queue = fresh();
    const published = await client.publishMany(Array.from({ length: 25 }, () => ({ queue })));
    const ids: string[] = [];
    for await (const { id } of client.jobs.each({ queue, limit: 10 })) ids.push(id);
    expect(ids).toEqual(published.map(({ id }) => id));
  });

  it('configure, pause, resume, drain, purge and delete a queue', async () => {
    const queue = fresh();
    const settings = {
      maxRunning: 3,
      rate: { rate: 100, periodMs: 1_000 },
      defaults: { tries: 5, retry: { kind: 'fixed', delayMs: 5 } },
    } as const;
    expect(await client.queues.update(queue, settings)).toMatchObject({
      maxRunning: 3,
      created: true,
      defaults: settings.defaults,
    });
    expect((await client.queues.pause(queue)).pausedAt).toMatch(/Z$/);
    expect((await client.queues.resume(queue)).pausedAt).toBeNull();
    await client.publish({ queue });
    expect((await client.queues.drain(queue)).drainingAt).toMatch(/Z$/);
    expect((await refused(client.publish({ queue }))).code).toBe('queue_draining');
    expect(await client.queues.purge(queue, ['ready'])).toEqual({
      jobs: { ready: 1 },
      dryRun: false,
      complete: true,
    });
    await client.queues.delete(queue);
    const names: string[] = [];
    for await (const { queue: name, exists } of client.queues.each()) if (exists) names.push(name);
    expect(names).not.toContain(queue);
  });

  it('list, respawn, move and delete dead jobs', async () => {
    const queue = fresh();
    const [a, b, c] = await client.publishMany([1, 2, 3].map((data) => ({ queue, data, tries: 1 })));
    for (const job of await client.driver.lease({
      queues: [queue],
      count: 3,
      waitMs: 0,
      ttrMs: 1_000,
      signal: new AbortController().signal,
    })) {
      await client.driver.fail(job, { group: 'smtp', message: 'no' });
    }
    expect((await client.deadLetter.list({ queue, group: 'smtp' })).items.map(({ id }) => id)).toEqual([
      a!.id,
      b!.id,
      c!.id,
    ]);
    expect(await client.deadLetter.respawn({ ids: [a!.id] })).toEqual({
      jobs: 1,
      dryRun: false,
      nextCursor: null,
    });
    const toQueue = fresh();
    expect(await client.deadLetter.move({ filter: { queue }, limit: 1, toQueue })).toMatchObject({ jobs: 1 });
    expect(await client.deadLetter.delete({ filter: { queue }, dryRun: true })).toMatchObject({
      jobs: 1,
      dryRun: true,
    });
    expect(await client.deadLetter.delete({ filter: { queue } })).toMatchObject({ jobs: 1 });
    expect(await counts(toQueue)).toMatchObject({ ready: 1 });
  });

  it('store, change, pause, resume and delete recurring jobs, and read statistics', async () => {
    const queue = fresh();
    const id = fresh('every');
    const fields = {
      schedule: { everyMs: 60_000, offsetMs: 60_000 },
      job: { queue, data: { report: 'sales' }, retry: { kind: 'none' } },
      maxCatchUp: 2,
    } as const;
    expect(await client.recurring.put(id, fields)).toMatchObject({
      id,
      maxCatchUp: 2,
      job: { queue, data: { report: 'sales' } },
    });
    expect(await client.recurring.update(id, { job: { priority: 4 } })).toMatchObject({
      job: { priority: 4 },
    });
    expect((await client.recurring.pause(id)).nextAt).toBeNull();
    expect((await client.recurring.resume(id)).nextAt).toMatch(/Z$/);
    expect((await client.recurring.list({ queue })).items).toHaveLength(1);
    await client.recurring.delete(id);
    expect((await refused(client.recurring.get(id))).code).toBe('recurring_not_found');
    expect(await client.stats.get({ queue })).toMatchObject({
      queue,
      waits: { count: 0, meanMs: 0 },
      stillDead: 0,
    });
    expect((await refused(client.workers.get('unknown'))).code).toBe('worker_not_found');
  });
});

describe('events() of the client', () => {
  it('resumes after the last event when the connection was cut', async () => {
    const queue = fresh();
    const abort = new AbortController();
    const seen: PlacedEvent[] = [];
    let opened = 0;
    const reading = (async () => {
      for await (const event of faulty.events({
        queues: [queue],
        signal: abort.signal,
        onOpen: () => opened++,
      }))
        seen.push(event);
    })();
    await waitFor(() => opened === 1);
    const first = await client.publish({ queue });
    await waitFor(() => seen.length === 1);
    // The proxy refuses the connection until the second job is there.
    proxy.rule = () => 'drop';
    await proxy.cut();
    const second = await client.publish({ queue });
    proxy.rule = () => 'pass';
    await waitFor(() => seen.length === 2, 10_000);
    expect(seen.map(({ event, id }) => [event, id])).toEqual([
      ['published', first.id],
      ['published', second.id],
    ]);
    expect(proxy.seen.at(-1)?.headers['last-event-id']).toBe(seen[0]?.place);
    abort.abort();
    await expect(reading).rejects.toThrow();
  });

  it('misses no event when the connection was cut before the first one', async () => {
    const queue = fresh();
    let opened = 0;
    const stream = faulty.events({ queues: [queue], onOpen: () => opened++ });
    const first = stream.next();
    await waitFor(() => opened === 1);
    proxy.rule = () => 'drop';
    await proxy.cut();
    const { id } = await client.publish({ queue });
    proxy.rule = () => 'pass';
    expect((await first).value).toMatchObject({ event: 'published', id });
    await stream.return();
  });

  it('ends with an error if the server refuses the token or a filter', async () => {
    const wrong = clientOf({ token: 'nonsense' });
    await expect(wrong.events().next()).rejects.toMatchObject({ code: 'token_invalid' });
    await expect(client.events({ events: ['nonsense'] }).next()).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(isPumphouseError(new PumphouseError('timeout', ''), 'timeout')).toBe(true);
    wrong.close();
  });

  it('reconnects when a server accepts the connection and does not answer', async () => {
    const queue = fresh();
    const hasty = clientOf({ url: proxy.url, retry: { attemptMs: 300 } });
    let requests = 0;
    proxy.rule = ({ path }) => (path.includes('/events') && ++requests < 3 ? 'hang' : 'pass');
    const begunMs = performance.now();
    const stream = hasty.events({ queues: [queue], onOpen: () => void client.publish({ queue }) });
    expect((await stream.next()).value).toMatchObject({ event: 'published' });
    expect(requests).toBe(3);
    expect(performance.now() - begunMs).toBeGreaterThan(550);
    await stream.return();
    hasty.close();
  });

  it('reconnects after the time in Retry-After', async () => {
    const queue = fresh();
    proxy.next('/events', { status: 503, headers: { 'retry-after': '1' } });
    const stream = faulty.events({ queues: [queue], onOpen: () => void client.publish({ queue }) });
    expect((await stream.next()).value).toMatchObject({ event: 'published' });
    const [first, second] = proxy.of('/events');
    expect(second!.atMs - first!.atMs).toBeGreaterThan(950);
    await stream.return();
  });

  it('closes the connection when the reader leaves its loop', async () => {
    const queue = fresh();
    const stream = faulty.events({ queues: [queue], onOpen: () => void client.publish({ queue }) });
    for await (const { event } of stream) {
      expect(event).toBe('published');
      expect(proxy.openStreams).toBe(1);
      break;
    }
    await waitFor(() => proxy.openStreams === 0);
  });
});
