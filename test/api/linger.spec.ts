import { setTimeout as sleep } from 'node:timers/promises';
import { head, type RawConnection, TestApp } from '../support/app.js';
import {
  app,
  call,
  code,
  find,
  fresh,
  given,
  type Job,
  lease,
  post,
  publish,
  useNativeApi,
  wrongFields,
} from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

/** Far longer than a test: only what it waits for can end a request before. */
const LONG_MS = 3_600_000;

describe('a lease request that lingers', () => {
  useNativeApi();

  const idsOf = (jobs: readonly Job[]): string[] => jobs.map(({ id }) => id);

  const publishMany = async (queue: string, count: number, more: object = {}): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push((await publish({ queue, data: i, ...more })).id);
    return ids;
  };

  /** Starts a request, and returns when the server has looked for jobs and waits for more. */
  const linger = async (body: object): Promise<[Promise<Job[]>]> => {
    const jobs = lease({ count: 10, linger_ms: LONG_MS, ...body });
    await sleep(100);
    return [jobs];
  };

  /** On a connection of its own. */
  const lingerRaw = async (server: TestApp, body: object): Promise<RawConnection> => {
    const [connection, text] = [await server.open(), JSON.stringify(body)];
    const headers = { 'X-Token': app.token, 'Content-Type': 'application/json' };
    const length = { 'Content-Length': String(text.length) };
    connection.write(head('POST', `/v1/${app.namespace}/leases`, { ...headers, ...length }) + text);
    return connection;
  };

  const untouched = { state: 'ready', attempts: 0, tries_left: 5, lease_ends_at: null };
  const countsOf = async (queue: string): Promise<object> =>
    (await given<{ counts: object }>('GET', `queues/${queue}`)).counts;

  it('is answered with all jobs as soon as its minimum is there', async () => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 3 });
    const ids = await publishMany(queue, 3);
    expect(idsOf(await waiting)).toEqual(ids);
    for (const id of ids) expect(await find(id)).toMatchObject({ state: 'leased', attempts: 1 });
  });

  it('is answered with those that are there when its time is over, counted from the first', async () => {
    const queue = fresh();
    const begunMs = performance.now();
    const waiting = lease({ queues: [queue], count: 10, wait_ms: LONG_MS, linger_ms: 400 });
    await sleep(300);
    const ids = await publishMany(queue, 2);
    expect(idsOf(await waiting)).toEqual(ids);
    expect(performance.now() - begunMs).toBeGreaterThan(690);
  });

  it('lingers without wait_ms if a job is there, and else is answered at once', async () => {
    const queue = fresh();
    expect(await lease({ queues: [queue], count: 5, linger_ms: LONG_MS })).toEqual([]);
    const [first] = await publishMany(queue, 1);
    const [waiting] = await linger({ queues: [queue], min: 2 });
    const [second] = await publishMany(queue, 1);
    expect(idsOf(await waiting)).toEqual([first, second]);
  });

  it('goes on beyond its wait_ms once it has found a job', async () => {
    const queue = fresh();
    const [first] = await publishMany(queue, 1);
    const [waiting] = await linger({ queues: [queue], wait_ms: 1, min: 2 });
    await sleep(200);
    const [second] = await publishMany(queue, 1);
    expect(idsOf(await waiting)).toEqual([first, second]);
  });

  it('takes up to its count, beyond its minimum', async () => {
    const queue = fresh();
    const ids = await publishMany(queue, 7);
    expect(idsOf(await lease({ queues: [queue], count: 6, linger_ms: LONG_MS, min: 2 }))).toEqual(
      ids.slice(0, 6),
    );
  });

  it('takes a minimum of 100 jobs at once', async () => {
    const queue = fresh();
    const job = { queue, data: 1, type: 't' };
    const publishList = (jobs: object[]): Promise<unknown> => given('POST', 'jobs', { jobs });
    await publishList(Array.from({ length: 60 }, () => job));
    const [waiting] = await linger({ queues: [queue], count: 100 });
    await publishList(Array.from({ length: 39 }, () => job));
    await sleep(100);
    expect(await countsOf(queue)).toMatchObject({ ready: 99, leased: 0 });
    await publish(job);
    expect(await waiting).toHaveLength(100);
  });

  it.each([
    ['simple jobs', {}],
    ['extended jobs', { type: 'mail', priority: 1, history: true }],
  ])('leases nothing before its answer, and leaves the jobs to other workers: %s', async (_, more) => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 3, worker: 'w', ttr_ms: 300 });
    const [first, second] = await publishMany(queue, 2, more);
    await sleep(500);
    for (const id of [first!, second!]) expect(await find(id)).toMatchObject(untouched);
    expect(await countsOf(queue)).toMatchObject({ ready: 2, leased: 0 });
    // Another worker takes one: two more are needed.
    expect(idsOf(await lease({ queues: [queue] }))).toEqual([first]);
    const [third, fourth] = await publishMany(queue, 2, more);
    const jobs = await waiting;
    expect(idsOf(jobs)).toEqual([second, third, fourth]);
    for (const job of jobs) {
      expect(job).toMatchObject({ lease: 1, attempts: 1, tries_left: 4 });
      expect(Date.parse(job['lease_ends_at'] as string)).toBeGreaterThan(Date.now() - 50);
    }
  });

  it('waits for a first job again when other workers took all, until its wait_ms is over', async () => {
    const queue = fresh();
    await publishMany(queue, 1);
    const waiting = lease({ queues: [queue], count: 5, wait_ms: 1_500, linger_ms: 600 });
    await sleep(200);
    expect(await lease({ queues: [queue] })).toHaveLength(1);
    await sleep(600);
    const [second] = await publishMany(queue, 1);
    const publishedMs = performance.now();
    expect(idsOf(await waiting)).toEqual([second]);
    expect(performance.now() - publishedMs).toBeGreaterThan(550);

    await publishMany(queue, 1);
    const beginMs = performance.now();
    const [empty] = await Promise.all([
      lease({ queues: [queue], count: 5, wait_ms: 500, linger_ms: 300 }),
      sleep(100).then(() => lease({ queues: [queue] })),
    ]);
    expect(empty).toEqual([]);
    expect(performance.now() - beginMs).toBeGreaterThan(490);
  });

  it('leaves a job to a plain request that waits, on the same server and on another', async () => {
    const other = await TestApp.start();
    try {
      for (const server of [app, other]) {
        const queue = fresh();
        const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 5 });
        for (let i = 0; i < 3; i++) {
          const plain = server.call('POST', `/v1/${app.namespace}/leases`, {
            body: JSON.stringify({ queues: [queue], wait_ms: 5_000 }),
            token: app.token,
          });
          await sleep(100);
          const { id } = await publish({ queue, data: i });
          expect(idsOf(((await plain).json as { jobs: Job[] }).jobs)).toEqual([id]);
        }
        const ids = await publishMany(queue, 5);
        expect(idsOf(await waiting)).toEqual(ids);
      }
    } finally {
      await other.stop();
    }
  });

  it('leaves a job to a plain request that comes later', async () => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 2 });
    const [id] = await publishMany(queue, 1);
    await sleep(100);
    expect(idsOf(await lease({ queues: [queue], wait_ms: 5_000 }))).toEqual([id]);
    await publishMany(queue, 2);
    await waiting;
  });

  it('does not hold up the jobs of many plain requests that wait', async () => {
    const queue = fresh();
    const lingering = await Promise.all(
      Array.from({ length: 3 }, () => linger({ queues: [queue], wait_ms: 3_000, min: 90, count: 90 })),
    );
    const plain = Array.from({ length: 40 }, () => lease({ queues: [queue], wait_ms: 5_000 }));
    await sleep(300);
    await given('POST', 'jobs', { jobs: Array.from({ length: 40 }, () => ({ queue, data: 1 })) });
    for (const jobs of await Promise.all(plain)) expect(jobs).toHaveLength(1);
    for (const jobs of await Promise.all(lingering.flat())) expect(jobs).toEqual([]);
  });

  it('gets jobs that another server publishes', async () => {
    const other = await TestApp.start();
    try {
      const queue = fresh();
      const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 3 });
      for (let i = 0; i < 3; i++)
        await other.call('POST', `/v1/${app.namespace}/jobs`, {
          body: JSON.stringify({ queue, data: i }),
          token: app.token,
        });
      expect(await waiting).toHaveLength(3);
    } finally {
      await other.stop();
    }
  });

  it('shares its queue with a client of lmstfy, which takes its jobs meanwhile', async () => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 2 });
    const put = async (): Promise<string> => ((await app.put(queue, 'x')).json as { job_id: string }).job_id;
    const first = await put();
    expect((await app.get(`${queue}?ttr=60&timeout=5`)).json).toMatchObject({ job_id: first });
    const ids = [await put(), await put()];
    expect(idsOf(await waiting)).toEqual(ids);
    expect((await app.get(`${queue}?ttr=60`)).status).toBe(404);
  });

  it('counts only jobs of its types', async () => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 2, types: ['mail', null] });
    await publishMany(queue, 3, { type: 'sms' });
    const [mail] = await publishMany(queue, 1, { type: 'mail' });
    await sleep(200);
    expect(await countsOf(queue)).toMatchObject({ ready: 4, leased: 0 });
    const [none] = await publishMany(queue, 1);
    expect(idsOf(await waiting).sort()).toEqual([mail, none].sort());
  });

  it('counts the jobs of all its queues together, in both orders', async () => {
    for (const order of ['ordered', 'round_robin']) {
      const [one, two] = [fresh(), fresh()];
      const [waiting] = await linger({ queues: [one, two], order, wait_ms: LONG_MS, min: 3 });
      const [a] = await publishMany(two, 1);
      const [b] = await publishMany(one, 1, { type: 'mail' });
      await sleep(200);
      expect(await countsOf(one)).toMatchObject({ ready: 1, leased: 0 });
      const [c] = await publishMany(two, 1);
      expect(idsOf(await waiting)).toEqual([b, a, c]);
    }
  });

  it('counts no job of a paused queue, and gets its jobs when it goes on', async () => {
    const queue = fresh();
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 2 });
    await post(`queues/${queue}/pause`, {});
    const ids = await publishMany(queue, 3);
    await sleep(300);
    expect(await countsOf(queue)).toMatchObject({ ready: 3, leased: 0 });
    await post(`queues/${queue}/resume`, {});
    expect(idsOf(await waiting)).toEqual(ids);
  });

  it('counts only jobs that limits allow to run', async () => {
    const queue = fresh();
    expect((await call('PATCH', `queues/${queue}`, { max_running: 2 })).status).toBe(200);
    const ids = await publishMany(queue, 4);
    const begunMs = performance.now();
    const jobs = await lease({ queues: [queue], count: 4, wait_ms: LONG_MS, linger_ms: 300, min: 3 });
    expect(idsOf(jobs)).toEqual(ids.slice(0, 2));
    expect(performance.now() - begunMs).toBeGreaterThan(290);
  });

  it('counts no expired jobs', async () => {
    const queue = fresh();
    await publishMany(queue, 3, { ttl_ms: 150 });
    await sleep(200);
    const [waiting] = await linger({ queues: [queue], wait_ms: LONG_MS, min: 2 });
    const ids = await publishMany(queue, 2);
    expect(idsOf(await waiting)).toEqual(ids);
  });

  it('takes nothing if its client hangs up, and lets the jobs be', async () => {
    const queue = fresh();
    const ids = await publishMany(queue, 1);
    const connection = await lingerRaw(app, { queues: [queue], count: 2, wait_ms: LONG_MS, linger_ms: 400 });
    await sleep(200);
    connection.cut();
    await sleep(50);
    ids.push(...(await publishMany(queue, 1)));
    await sleep(500);
    for (const id of ids) expect(await find(id)).toMatchObject(untouched);
  });

  it('is answered with nothing when its server stops, and the jobs stay ready', async () => {
    const other = await TestApp.start();
    const queue = fresh();
    const [id] = await publishMany(queue, 1);
    const connection = await lingerRaw(other, {
      ...{ queues: [queue], count: 2, wait_ms: LONG_MS, linger_ms: LONG_MS },
    });
    await sleep(200);
    await other.stop();
    expect(await connection.untilClosed()).toContain('{"jobs":[]}');
    expect(await find(id!)).toMatchObject(untouched);
  });

  it('is no wait with one job, or with a minimum of one', async () => {
    const queue = fresh();
    const ids = await publishMany(queue, 2);
    expect(idsOf(await lease({ queues: [queue], linger_ms: LONG_MS }))).toEqual(ids.slice(0, 1));
    expect(idsOf(await lease({ queues: [queue], count: 9, min: 1, linger_ms: LONG_MS }))).toEqual(
      ids.slice(1),
    );
  });

  it.each([
    ['min above count', { count: 2, linger_ms: 1, min: 3 }, 'min'],
    ['min above the default count', { linger_ms: 1, min: 2 }, 'min'],
    ['min without linger_ms', { count: 2, min: 2 }, 'min'],
    ['a min of 0', { count: 2, linger_ms: 1, min: 0 }, 'min'],
    ['a negative linger_ms', { count: 2, linger_ms: -1 }, 'linger_ms'],
    ['linger_ms as a text', { count: 2, linger_ms: '1' }, 'linger_ms'],
  ])('is refused with %s, with the name of the field', async (_about, fields, field) => {
    const answer = await post('leases', { queues: ['q'], ...fields });
    expect([answer.status, code(answer), wrongFields(answer)]).toEqual([400, 'invalid_argument', [field]]);
  });

  it('gets its minimum beside another one that lingers for the same jobs', async () => {
    const queue = fresh();
    const two = await Promise.all(
      [1, 2].map(() => linger({ queues: [queue], wait_ms: LONG_MS, min: 4, count: 4 })),
    );
    const ids = await publishMany(queue, 8);
    const got = await Promise.all(two.flat());
    expect(got.flatMap(idsOf).sort()).toEqual(ids.sort());
    await waitFor(async () => (await lease({ queues: [queue] })).length === 0, 1_000);
  });
});
