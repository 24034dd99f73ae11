import { app, call, find, fresh, given, leaseOne, publish, useNativeApi } from '../support/native-api.js';
import { Redis } from 'ioredis';
import { newJob } from '../engine/fixture.js';
import { TestApp } from '../support/app.js';
import { testRedisUrl, waitFor } from '../support/redis.js';

interface Explanation {
  readonly cause: string;
  readonly message: string;
  readonly facts: Record<string, unknown>;
  readonly since: string | null;
  readonly next_at: string | null;
  readonly remedies: readonly { about: string; call: string; command: string | null }[];
  readonly also: readonly { cause: string; message: string }[];
}

const HOUR_MS = 3_600_000;

describe('an explanation', () => {
  useNativeApi();
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(() => redis.quit());

  const ofJob = (id: string): Promise<Explanation> => given('GET', `jobs/${id}/explain`);
  const ofQueue = (queue: string): Promise<Explanation> => given('GET', `queues/${queue}/explain`);
  /** Makes the call of a remedy. */
  const doRemedy = async ({ remedies }: Explanation, at = 0): Promise<void> => {
    const [, method = '', path = '', body] = /^(\w+) \/v1\/[^/]+\/(\S+)(?: (.*))?$/.exec(remedies[at]!.call)!;
    const answer = await call(method, path, body);
    expect(answer.status).toBeLessThan(300);
  };
  /** A lease request that names the queue. */
  const requestFrom = (queue: string): Promise<unknown> => given('POST', 'leases', { queues: [queue] });

  it('says that a job waits for its time, and the remedy makes it due', async () => {
    const { id } = await publish({ queue: fresh(), delay_ms: 300_000 });
    const found = await ofJob(id);
    const dueAt = (await find(id))['due_at'];
    expect(found).toMatchObject({ cause: 'scheduled', next_at: dueAt, facts: { due_at: dueAt } });
    expect(found.message).toContain(`it is due at ${String(dueAt)} (in 4 minutes `);
    await doRemedy(found);
    expect((await ofJob(id)).cause).not.toBe('scheduled');
  });

  it('says of a job far ahead that its exact time is not indexed', async () => {
    const { id } = await publish({ queue: fresh(), delay_ms: HOUR_MS });
    const found = await ofJob(id);
    expect(found).toMatchObject({ cause: 'scheduled', next_at: null, facts: { due_at: null } });
    expect(found.message).toContain('more than a minute from now');
    await doRemedy(found);
    expect((await ofJob(id)).cause).not.toBe('scheduled');
  });

  it('promises no due time to a job that expires before', async () => {
    const { id } = await publish({ queue: fresh(), type: 'a', ttl_ms: 20_000 });
    await call('PATCH', `jobs/${id}`, { delay_ms: 50_000 });
    expect(await find(id)).toMatchObject({ state: 'scheduled', due_at: null });
    expect(await ofJob(id)).toMatchObject({ cause: 'scheduled', next_at: null, facts: { due_at: null } });
  });

  it('says which attempt failed, and when the next one is due', async () => {
    const queue = fresh();
    await publish({ queue, tries: 3, retry: { kind: 'fixed', delay_ms: HOUR_MS } });
    const job = await leaseOne(queue);
    await given('POST', `jobs/${job.id}/retry`, { lease: job.lease, group: 'smtp', message: 'refused' });
    const found = await ofJob(job.id);
    expect(found).toMatchObject({ cause: 'backoff', facts: { attempts: 1, failure_group: 'smtp' } });
    expect(found.message).toMatch(/^Attempt 1 failed with smtp \(refused\); attempt 2 is due at /);
    await doRemedy(found);
    expect((await ofJob(job.id)).cause).not.toBe('backoff');
  });

  it.each([
    ['type_paused', { type: 'sms' }],
    ['type_paused', { type: null }],
    ['key_paused', { fair_key: 'ada' }],
    ['key_paused', { concurrency_key: "a'da" }],
  ])(
    'says that some jobs of the queue are paused, and the remedy resumes them: %s by %j',
    async (cause, jobs) => {
      const queue = fresh();
      await given('PATCH', `queues/${queue}`, { fair: true });
      const { id } = await publish({ queue, ...('type' in jobs && jobs.type === null ? {} : jobs) });
      await given('POST', `queues/${queue}/pause`, { ...jobs, note: 'provider is down', for_ms: HOUR_MS });
      const found = await ofJob(id);
      expect(found).toMatchObject({ cause, facts: { ...jobs, note: 'provider is down' } });
      const { pauses } = await given<{ pauses: { ends_at: string }[] }>('GET', `queues/${queue}`);
      expect(found.next_at).toBe(pauses[0]?.ends_at);
      expect((await ofQueue(queue)).also.map((one) => one.cause)).toContain(cause);
      const leased = await given<{ jobs: object[] }>('POST', 'leases', { queues: [queue] });
      expect(leased.jobs).toEqual([]);
      // A lease request holds the jobs of a paused concurrency key.
      const isHeld = 'concurrency_key' in jobs;
      expect((await ofQueue(queue)).cause).toBe(isHeld ? 'empty' : cause);
      await publish({ queue, type: 'other' });
      expect((await ofQueue(queue)).cause).toBe('flowing');
      await doRemedy(found);
      expect((await ofJob(id)).cause).not.toBe(cause);
    },
  );

  it('says that publishes with its unique key restart its delay', async () => {
    const queue = fresh();
    const unique = { key: fresh('key'), mode: 'debounce' };
    const { id } = await publish({ queue, delay_ms: HOUR_MS, unique });
    expect((await ofJob(id)).cause).toBe('scheduled');
    await call('POST', 'jobs', { queue, delay_ms: HOUR_MS, unique });
    const found = await ofJob(id);
    expect(found).toMatchObject({ cause: 'debounce', facts: { unique_key: unique.key } });
    await doRemedy(found);
    expect((await ofJob(id)).cause).not.toBe('debounce');
  });

  it('names the jobs that a blocked job waits for, with their states', async () => {
    const queue = fresh();
    const first = await publish({ queue, delay_ms: HOUR_MS });
    const { id } = await publish({ queue, depends_on: [first.id] });
    const found = await ofJob(id);
    expect(found).toMatchObject({
      cause: 'blocked',
      facts: { depends_on: [{ id: first.id, state: 'scheduled', queue }], depends_on_count: 1 },
    });
    expect(found.message).toContain(`It waits for 1 job: ${first.id} (scheduled).`);
    await doRemedy(found);
    expect((await ofJob(id)).cause).not.toBe('blocked');
  });

  it.each([
    [0, 'runs it again', 'blocked'],
    [1, 'goes on without it', 'behind'],
    [2, 'cancels the job', undefined],
  ])(
    'names the failed dependency that will never release a blocked job; remedy %d %s',
    async (at, _, after) => {
      const queue = fresh();
      const first = await publish({ queue, type: 'first' });
      const { id } = await publish({ queue, depends_on: [first.id] });
      const { lease } = await leaseOne(queue);
      await given('POST', `jobs/${first.id}/fail`, { lease, group: 'bad_input', message: 'no address' });
      await waitFor(async () => (await ofJob(id)).message.includes('never'));
      const found = await ofJob(id);
      expect(found.message).toContain(`It will never run by itself: ${first.id} died.`);
      expect(found.facts).toMatchObject({
        failed_dependencies: { [first.id]: 'died' },
        dead_dependencies: [{ id: first.id, queue }],
      });
      await doRemedy(found, at);
      // It waits for its dependency again: that one runs.
      await waitFor(async () => {
        const { status, text, json } = await call('GET', `jobs/${id}/explain`);
        if (status !== 200) return after === undefined;
        return (json as Explanation).cause === after && !text.includes('never');
      });
      expect((await call('GET', `jobs/${first.id}`)).json).toMatchObject({
        state: at === 0 ? 'ready' : 'dead',
      });
    },
  );

  it('names the dead job that others wait for, and the remedy runs it again', async () => {
    const queue = fresh();
    const root = await publish({ queue, type: 'root' });
    const second = await publish({ queue, depends_on: [root.id] });
    const third = await publish({ queue, depends_on: [second.id] });
    const { id } = await publish({ queue, depends_on: [third.id] });
    const { lease } = await leaseOne(queue);
    await given('POST', `jobs/${root.id}/fail`, { lease, message: 'no address' });
    const found = await waitFor(async () => {
      const explained = await ofJob(id);
      return explained.remedies.length === 3 ? explained : null;
    });
    expect(found.facts['dead_dependencies']).toEqual([{ id: root.id, queue }]);
    expect(found.message).toContain(`Through other jobs it waits for ${root.id}, which is dead.`);
    await doRemedy(found);
    expect(await find(root.id)).toMatchObject({ state: 'ready' });
    expect((await ofJob(id)).facts['dead_dependencies']).toEqual([]);
  });

  it('looks at so many jobs at most for a dead one that others wait for', async () => {
    const queue = fresh();
    const root = await publish({ queue, type: 'root' });
    const { lease } = await leaseOne(queue);
    let last = root.id;
    for (let i = 0; i < 3; i++) last = (await publish({ queue, depends_on: [last] })).id;
    const waits = Array.from({ length: 60 }, () => ({ queue, depends_on: [last] }));
    const { jobs } = await given<{ jobs: { id: string }[] }>('POST', 'jobs', { jobs: waits });
    const { id } = await publish({ queue, depends_on: jobs.map((one) => one.id) });
    await given('POST', `jobs/${root.id}/fail`, { lease, message: 'no address' });
    await waitFor(async () => (await ofJob(jobs[0]!.id)).remedies.length === 3);
    expect(await ofJob(id)).toMatchObject({ cause: 'blocked', facts: { dead_dependencies: [] } });
  });

  it.each([
    [0, 'takes its lease away'],
    [1, 'removes the limit'],
  ])('names the job that has the slot of its concurrency key; remedy %d %s', async (remedy) => {
    const queue = fresh();
    await given('PATCH', `queues/${queue}`, { max_running_per_key: 1 });
    await publish({ queue, concurrency_key: 'customer-1' });
    const { id } = await publish({ queue, concurrency_key: 'customer-1' });
    const holder = await leaseOne(queue, { worker: 'host-1' });
    await requestFrom(queue);
    const found = await ofJob(id);
    const [{ leased_at: leasedAt }] = found.facts['holders'] as [{ leased_at: string }];
    expect(found).toMatchObject({
      cause: 'concurrency_key',
      facts: {
        ...{ concurrency_key: 'customer-1', running: 1, limit: 1 },
        holders: [{ id: holder.id, state: 'leased', worker: 'host-1', leased_at: leasedAt }],
      },
    });
    expect(found.message).toContain(
      `1 job with its concurrency key customer-1 has a slot (${holder.id} leased by host-1 since ${leasedAt}`,
    );
    await doRemedy(found, remedy);
    await waitFor(async () => (await ofJob(id)).cause === 'behind');
  });

  it('says that the queue is paused, and the remedy resumes it', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    await given('POST', `queues/${queue}/pause`, { note: 'stocktaking' });
    const facts = { queue, paused_by: 'test', note: 'stocktaking' };
    for (const found of [await ofJob(id), await ofQueue(queue)]) {
      expect(found).toMatchObject({ cause: 'paused', facts: { ...facts, paused_at: found.since } });
      expect(found.message).toContain(`The queue ${queue} is paused since ${found.since!}`);
      expect(found.message).toContain(' by "test": stocktaking.');
    }
    // The last pause says who and why; the time is that of the first.
    const { since } = await ofJob(id);
    await given('POST', `queues/${queue}/pause`);
    expect(await ofJob(id)).toMatchObject({ since, facts: { paused_by: 'test', note: null } });
    expect((await ofJob(id)).message).toMatch(/ by "test"\.$/);
    expect((await ofJob(id)).also.map(({ cause }) => cause)).toEqual(['no_worker', 'behind']);
    await doRemedy(await ofQueue(queue));
    expect((await ofJob(id)).cause).toBe('no_worker');
  });

  it('says of a queue that it drains, and that its jobs still run', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    await given('POST', `queues/${queue}/drain`, {});
    expect(await ofQueue(queue)).toMatchObject({ cause: 'draining' });
    const found = await ofJob(id);
    expect(found.cause).toBe('no_worker');
    expect(found.also.map(({ cause }) => cause)).toContain('draining');
    await doRemedy(await ofQueue(queue));
    expect((await ofQueue(queue)).cause).not.toBe('draining');
  });

  it('says that as many jobs run as the queue may have', async () => {
    const queue = fresh();
    await given('PATCH', `queues/${queue}`, { max_running: 1 });
    await publish({ queue });
    const { id } = await publish({ queue });
    await leaseOne(queue);
    const found = await ofJob(id);
    expect(found).toMatchObject({ cause: 'max_running', facts: { running: 1, limit: 1 } });
    await doRemedy(found);
    expect((await ofJob(id)).cause).toBe('behind');
  });

  it.each([
    ['the queue', { rate: { rate: 1, period_ms: HOUR_MS } }, {}],
    ['its concurrency key', { rate_per_key: { rate: 1, period_ms: HOUR_MS } }, { concurrency_key: 'k' }],
  ])('says when the rate limit of %s allows the job', async (_of, settings, options) => {
    const queue = fresh();
    await given('PATCH', `queues/${queue}`, settings);
    await publish({ queue, ...options });
    const { id } = await publish({ queue, ...options });
    await leaseOne(queue);
    await requestFrom(queue);
    const found = await ofJob(id);
    expect(found.cause).toBe('rate');
    expect(Date.parse(found.next_at!)).toBeGreaterThan(Date.now() + HOUR_MS - 60_000);
    await doRemedy(found);
    await waitFor(async () => (await ofJob(id)).cause === 'behind');
  });

  it.each([
    ['max_running_per_key', 1, 'and the limit is 1'],
    ['rate_per_key', { rate: 1, period_ms: HOUR_MS }, 'and its rate allows no more before they are leased'],
  ])('names the ready job of the same key behind which %s holds it', async (setting, limit, why) => {
    const queue = fresh();
    await given('PATCH', `queues/${queue}`, { [setting]: limit });
    const first = await publish({ queue, concurrency_key: 'k' });
    const { id } = await publish({ queue, concurrency_key: 'k' });
    const found = await ofJob(id);
    expect(found).toMatchObject({
      cause: 'concurrency_key',
      facts: { holders: [{ id: first.id, state: 'ready' }] },
    });
    expect(found.message).toContain(`has a slot (${first.id}, which is ready), ${why}`);
    expect(found.also.map(({ cause }) => cause)).toContain('no_worker');
    await doRemedy(found);
    await waitFor(async () => (await ofJob(id)).cause === 'no_worker');
  });

  it('shows the token that paused a queue only with its own pause', async () => {
    const queue = fresh();
    await given('POST', `queues/${queue}/pause`, { note: 'first' });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ paused_by: 'test', pause_note: 'first' });
    await given('POST', `queues/${queue}/resume`);
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ paused_by: null, pause_note: null });
    // As a server does that does not know who paused it: it leaves what it does not know.
    await given('POST', `queues/${queue}/pause`, { note: 'second' });
    const number = Math.abs(Number(await redis.hget(`{${app.namespace}}:queues`, queue)));
    await redis.hset(`{${app.namespace}}:o${String(number)}`, 'paused', Date.now() + 1);
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ paused_by: null, pause_note: null });
  });

  it('names the worker that has the job, and the remedy takes the lease away', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, tags: ['a'] });
    await leaseOne(queue, { worker: 'mail-1', ttr_ms: HOUR_MS });
    const found = await ofJob(id);
    expect(found).toMatchObject({
      cause: 'leased',
      facts: { worker: 'mail-1', attempt: 1, heartbeat_at: null },
    });
    expect(found.facts).toMatchObject({ leased_at: found.since, lease_ends_at: found.next_at });
    expect(found.message).toMatch(/the worker mail-1 has leased it for .*; this is attempt 1\.$/);
    await given('POST', 'workers/mail-1/heartbeat', { ttr_ms: HOUR_MS, leases: [], info: { name: 'm' } });
    const seen = await ofJob(id);
    expect(seen.message).toContain(`Its last heartbeat was ${String(seen.facts['heartbeat_at'])}`);
    await doRemedy(found);
    expect((await ofJob(id)).cause).toBe('behind');
  });

  it('says that a cancel is requested and not answered', async () => {
    const queue = fresh();
    const { id } = await publish({ queue, type: 'mail' });
    await leaseOne(queue, { worker: 'mail-1', ttr_ms: HOUR_MS });
    await given('POST', `jobs/${id}/cancel`);
    const found = await ofJob(id);
    expect(found.cause).toBe('cancel_requested');
    expect(found.message).toContain('the worker mail-1 has not answered it');
    await doRemedy(found);
    expect((await ofJob(id)).cause).toBe('cancelled');
  });

  it('says that the session of its worker is silent', async () => {
    const [queue, worker] = [fresh(), fresh('session')];
    const { id } = await publish({ queue, type: 'mail' });
    await given('POST', `workers/${worker}/heartbeat`, {
      ...{ ttr_ms: 1_000, leases: [], info: { name: 'mail' } },
    });
    await leaseOne(queue, { worker, ttr_ms: HOUR_MS });
    await waitFor(async () => (await ofJob(id)).cause === 'lease_silent');
    const found = await ofJob(id);
    expect(found.message).toContain(`The worker ${worker} has the job, and sent its last heartbeat`);
    await doRemedy(found);
    expect((await ofJob(id)).cause).toBe('behind');
  });

  it('says in which group a dead job failed, and the remedy runs it again', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    const job = await leaseOne(queue);
    await given('POST', `jobs/${id}/fail`, { lease: job.lease, group: 'bad_input', message: 'no address' });
    const found = await ofJob(id);
    expect(found).toMatchObject({ cause: 'dead', facts: { failure_group: 'bad_input', attempts: 1 } });
    expect(found.message).toContain('bad_input, no address');
    await doRemedy(found);
    expect((await ofJob(id)).cause).toBe('behind');
  });

  it.each(['done', 'cancelled'])('says that a kept job is %s', async (state) => {
    const queue = fresh();
    const { id } = await publish({ queue, retention_ms: HOUR_MS });
    if (state === 'cancelled') await given('POST', `jobs/${id}/cancel`);
    else await given('POST', `jobs/${id}/ack`, { lease: (await leaseOne(queue)).lease });
    expect(await ofJob(id)).toMatchObject({ cause: state, remedies: [] });
  });

  it.each([
    [0, [200, 'leased']],
    [1, [404, undefined]],
  ])('says how often workers without a handler released the job; remedy %d', async (remedy, after) => {
    const queue = fresh();
    const { id } = await publish({ queue, type: 'fax' });
    const job = await leaseOne(queue, { worker: 'mail-1' });
    await given('POST', `jobs/${id}/release`, { lease: job.lease, reason: 'no_handler' });
    const waits = await ofJob(id);
    expect([waits.cause, ...waits.also.map((one) => one.cause)]).toEqual(['no_handler', 'scheduled']);
    expect(waits.message).toContain(' It is offered again at ');
    expect(waits.next_at).not.toBeNull();
    await waitFor(async () => (await ofJob(id)).also.every(({ cause }) => cause !== 'scheduled'));
    const found = await ofJob(id);
    expect(found).toMatchObject({ facts: { type: 'fax', releases: 1, worker: 'mail-1' } });
    expect(found.message).toContain(
      'No worker that got the job has a handler for the type fax: they released it 1 time in a row, the last one mail-1',
    );
    await doRemedy(found, remedy);
    const { status, json } = await call('GET', `jobs/${id}/explain`);
    expect([status, (json as Explanation).cause]).toEqual(after);
  });

  it('says that no worker asks for the queue, and which queues workers ask for', async () => {
    const [queue, other] = [fresh('mail'), fresh('mial')];
    const { id } = await publish({ queue });
    await given('POST', 'leases', { queues: [other], worker: 'sender' });
    await waitFor(async () => (await ofJob(id)).message.includes(`${other} (sender)`));
    for (const found of [await ofJob(id), await ofQueue(queue)]) {
      expect(found).toMatchObject({ cause: 'no_worker', since: null });
      expect(found.message).toContain(`No worker asks for jobs of the queue ${queue}`);
    }
    await doRemedy(await ofJob(id));
    expect((await ofJob(id)).cause).toBe('leased');
  });

  it('says since when no worker asks, once the last lease request is a minute old', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    await requestFrom(fresh());
    const key = `{${app.namespace}}:requested`;
    await redis.zadd(key, Date.now() - 59_000, queue);
    expect((await ofJob(id)).cause).toBe('behind');
    const atMs = Date.now() - 61_000;
    await redis.zadd(key, atMs, queue);
    expect(await ofJob(id)).toMatchObject({ cause: 'no_worker', since: new Date(atMs).toISOString() });
  });

  it('remembers the lease requests of 10,000 queues at most', async () => {
    const key = `{${app.namespace}}:requested`;
    const names = Array.from({ length: 10_000 }, (_, i) => [i, `old${String(i)}`]);
    await redis.zadd(key, ...names.flat());
    const queue = fresh();
    // In a namespace that does not exist no lease request is remembered.
    await publish({ queue: fresh() });
    await requestFrom(queue);
    await waitFor(async () => (await redis.zscore(key, queue)) !== null);
    expect(await redis.zcard(key)).toBe(10_000);
    expect(await redis.zscore(key, 'old0')).toBeNull();
    await redis.del(key);
  });

  it('counts the jobs in front of a ready job, by priority and age', async () => {
    const queue = fresh();
    await requestFrom(queue);
    for (let i = 0; i < 3; i++) await publish({ queue });
    await publish({ queue, priority: -1 });
    const { id } = await publish({ queue });
    await publish({ queue });
    const low = await publish({ queue, priority: 1 });
    await waitFor(async () => (await ofJob(id)).cause === 'behind');
    const found = await ofJob(id);
    expect(found.facts).toMatchObject({ jobs_in_front: 4, of_higher_priority: 1, older: 3, at_least: false });
    expect(found.message).toContain(
      `behind 4 jobs of the queue ${queue}: 1 of a higher priority and 3 older`,
    );
    expect((await ofJob(low.id)).facts).toMatchObject({ jobs_in_front: 6 });
  });

  it.each([{}, { fair_key: 'k' }, { type: 't' }])(
    'counts jobs in front that got the same priority later: %j',
    async (more) => {
      const queue = fresh();
      await given('PATCH', `queues/${queue}`, { fair: 'fair_key' in more });
      await requestFrom(queue);
      const ids: string[] = [];
      for (let i = 0; i < 4; i++) ids.push((await publish({ queue, ...more })).id);
      for (const id of ids) await given('PATCH', `jobs/${id}`, { priority: -1 });
      const facts = await Promise.all(ids.map(async (id) => (await ofJob(id)).facts));
      const { jobs } = await given<{ jobs: { id: string }[] }>('POST', 'leases', {
        queues: [queue],
        count: 4,
      });
      expect(jobs.map(({ id }) => id)).toEqual(ids);
      expect(facts.map((one) => one['jobs_in_front'])).toEqual([0, 1, 2, 3]);
    },
  );

  it('says that a worker that waits takes no jobs without a type', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    const types = ['mail'];
    const waits = given<object>('POST', 'leases', { queues: [queue], types, wait_ms: 3_000 });
    await waitFor(async () => (await ofJob(id)).cause === 'no_worker_for_type');
    expect((await ofJob(id)).message).toContain('No worker asks for jobs without a type');
    await waits;
  });

  it('says that workers ask for other types of the queue', async () => {
    const queue = fresh();
    const fax = await publish({ queue, type: 'fax' });
    const none = await publish({ queue });
    const mail = await publish({ queue, type: 'mail' });
    const second = await publish({ queue, type: 'mail' });
    const types = ['sms', 'mail'];
    // A request that orders the queue by type, and one that waits.
    const first = await given<{ jobs: { id: string }[] }>('POST', 'leases', { queues: [queue], types });
    expect(first.jobs).toMatchObject([{ id: mail.id }]);
    await waitFor(async () => (await ofJob(fax.id)).cause === 'no_worker_for_type');
    const found = await ofJob(fax.id);
    expect(found).toMatchObject({ since: null, facts: { queue, type: 'fax', last_request_at: null } });
    expect((await ofJob(none.id)).message).toContain(
      `No worker asks for jobs without a type of the queue ${queue}`,
    );
    expect(await ofJob(second.id)).toMatchObject({
      cause: 'behind',
      facts: { jobs_in_front: 0, of_type: 'mail' },
    });
    expect((await ofQueue(queue)).cause).toBe('flowing');
    await doRemedy(found);
    expect((await ofJob(fax.id)).cause).toBe('leased');
    await waitFor(async () => (await ofJob(none.id)).cause === 'behind');
  });

  it('names the types of a queue that no worker asks for, also to another server', async () => {
    const other = await TestApp.start();
    const queue = fresh();
    for (const type of ['fax', 'mail', 'fax', 'mail']) await publish({ queue, type });
    const types = ['mail'];
    await given('POST', 'leases', { queues: [queue], types });
    const found = await ofQueue(queue);
    expect(found).toMatchObject({ cause: 'flowing', also: [{ cause: 'no_worker_for_type' }] });
    expect(found.message).toContain('Nothing holds the jobs of other types');
    expect(found.also[0]!.message).toContain('fax (2 ready)');
    await given('POST', 'leases', { queues: [queue], types });
    const ofOther = async (): Promise<Explanation> =>
      (await other.call('GET', `/v1/${app.namespace}/queues/${queue}/explain`, { token: app.token }))
        .json as Explanation;
    await waitFor(async () => (await ofOther()).cause === 'no_worker_for_type', 5_000);
    for (const one of [await ofQueue(queue), await ofOther()])
      expect(one).toMatchObject({
        ...{ cause: 'no_worker_for_type', also: [] },
        facts: { types: [{ type: 'fax', ready: 2, last_request_at: null }], at_least: false },
      });
    await doRemedy(await ofQueue(queue));
    expect((await ofQueue(queue)).cause).toBe('flowing');
    await other.stop();
  });

  it('says that simple jobs wait while workers name types only', async () => {
    const queue = fresh();
    await publish({ queue });
    await given('POST', 'leases', { queues: [queue], types: ['mail'] });
    const found = await ofQueue(queue);
    expect(found.cause).toBe('no_worker_for_type');
    expect(found.message).toContain('no type (1 ready)');
  });

  it('looks at 64 types of a queue, and says that there are more', async () => {
    const queue = fresh();
    await publish({ queue, type: 'first' });
    await given('POST', 'leases', { queues: [queue], types: ['first'] });
    const jobs = Array.from({ length: 80 }, (_, i) => ({ queue, type: `t${String(i)}` }));
    for (const part of [jobs.slice(0, 40), jobs.slice(40)]) await call('POST', 'jobs', { jobs: part });
    const { cause, facts } = await ofQueue(queue);
    expect([cause, facts['types_without_worker'], facts['at_least']]).toEqual([
      'no_worker_for_type',
      64,
      true,
    ]);
    expect((facts['types'] as { type: string }[]).map(({ type }) => type)).toEqual(
      jobs.slice(0, 16).map(({ type }) => type),
    );
    const { types } = await given<{ types: unknown[] }>('GET', `queues/${queue}`);
    expect(types).toHaveLength(64);
  });

  it('says at least how many jobs are in front of a job in a long queue', async () => {
    const queue = fresh();
    await requestFrom(queue);
    for (let i = 0; i < 20; i++)
      await call('POST', 'jobs', { jobs: Array.from({ length: 60 }, () => ({ queue })) });
    const { id } = await publish({ queue });
    const { facts, message } = await ofJob(id);
    expect(facts).toMatchObject({ jobs_in_front: 1_000, at_least: true });
    expect(message).toContain('behind at least 1000 jobs');
  });

  it('says of a queue that nothing holds it back', async () => {
    const queue = fresh();
    await publish({ queue });
    await publish({ queue });
    await requestFrom(queue);
    await waitFor(async () => (await ofQueue(queue)).cause === 'flowing');
    expect(await ofQueue(queue)).toMatchObject({ remedies: [], also: [], facts: { queue, target: null } });
  });

  it('says of a queue without a job that is ready what its jobs wait for', async () => {
    const queue = fresh();
    const none = await ofQueue(queue);
    expect(none).toMatchObject({ cause: 'empty', facts: { queue, exists: false } });
    expect(none.message).toBe(`There is no queue ${queue}.`);
    await doRemedy(none);
    expect((await ofQueue(queue)).cause).toBe('no_worker');
    await leaseOne(queue);
    await publish({ queue, delay_ms: 30_000 });
    const found = await ofQueue(queue);
    expect(found).toMatchObject({ cause: 'empty', facts: { leased: 1, scheduled: 1, blocked: 0 } });
    expect(found.message).toContain(
      `The queue ${queue} has no job that is ready, but 1 scheduled and 1 leased; the next one is due at ${found.next_at!}`,
    );
    await given('POST', `queues/${queue}/purge`, { states: ['scheduled', 'leased'] });
    expect((await ofQueue(queue)).message).toBe(`The queue ${queue} has no jobs to run.`);
  });

  it('says how many jobs of the queue were leased lately', async () => {
    const queue = fresh();
    await app.engine.publish(app.namespace, queue, newJob());
    await leaseOne(queue);
    const { id } = await publish({ queue });
    await waitFor(async () => (await ofJob(id)).facts['leased_lately'] === 1, 5_000);
    expect((await ofJob(id)).message).toMatch(
      /1 job of the queue was leased in the last \d+ seconds|last 1 minute/,
    );
  });

  it("counts a lease request of lmstfy's API", async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    expect((await ofJob(id)).cause).toBe('no_worker');
    await app.get(`${queue}-other,${queue}?timeout=0`);
    await publish({ queue });
    await waitFor(async () => (await ofQueue(queue)).cause === 'flowing');
  });

  it('knows the lease requests to another server', async () => {
    const other = await TestApp.start();
    const queue = fresh();
    const { id } = await publish({ queue, priority: 1 });
    await publish({ queue });
    expect((await ofJob(id)).cause).toBe('no_worker');
    await other.call('POST', `/v1/${app.namespace}/leases`, {
      ...{ token: app.token, body: JSON.stringify({ queues: [queue], worker: 'far' }) },
    });
    await waitFor(async () => (await ofJob(id)).cause === 'behind', 5_000);
    const ofOther = await other.call('GET', `/v1/${app.namespace}/jobs/${id}/explain`, { token: app.token });
    expect((ofOther.json as Explanation).cause).toBe('behind');
    await other.stop();
  });

  describe('a tracked job that is gone', () => {
    const track = (id: string): Promise<unknown> => given('PUT', `tracked/${id}`);
    const ENDS: Readonly<Record<string, (queue: string) => Promise<string>>> = {
      done: async (queue) => {
        const { id } = await publish({ queue });
        await track(id);
        await given('POST', `jobs/${id}/ack`, { lease: (await leaseOne(queue)).lease });
        return id;
      },
      cancelled: async (queue) => {
        const { id } = await publish({ queue });
        await track(id);
        await given('POST', `jobs/${id}/cancel`);
        return id;
      },
      deleted: async (queue) => {
        const { id } = await publish({ queue });
        await track(id);
        expect((await call('DELETE', `jobs/${id}`)).status).toBe(204);
        return id;
      },
      expired: async (queue) => {
        const { id } = await publish({ queue, ttl_ms: 1_000, delay_ms: 900 });
        await track(id);
        await waitFor(async () => (await call('GET', `jobs/${id}`)).status === 404, 5_000);
        // What finds an expired job removes it.
        await call('POST', 'leases', { queues: [queue] });
        return id;
      },
      replaced: async (queue) => {
        const unique = { key: fresh('key'), mode: 'replace' };
        const { id } = await publish({ queue, unique });
        await track(id);
        await publish({ queue, unique });
        return id;
      },
    };

    it.each(Object.keys(ENDS))('is explained as %s, to tokens of its queue only', async (cause) => {
      const queue = fresh();
      const id = await ENDS[cause]!(queue);
      await waitFor(async () => (await call('GET', `jobs/${id}/explain`)).status === 200, 5_000);
      const found = await ofJob(id);
      expect(found).toMatchObject({ cause, facts: { queue, tracked: true }, remedies: [] });
      expect(found.message).toContain(`The job of the queue ${queue} is gone since ${found.since!}`);
      const made = await app.admin('POST', `/token/${app.namespace}?description=x&queues=${queue}-other`);
      const { token } = made.json as { token: string };
      expect((await call('GET', `jobs/${id}/explain`, undefined, { token })).status).toBe(404);
      await call('DELETE', `tracked/${id}`);
      expect((await call('GET', `jobs/${id}/explain`)).status).toBe(404);
    });
  });

  it('is 404 for a job that leaves no record, and says why there may be none', async () => {
    const { status, json } = await call('GET', 'jobs/nothing/explain');
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: 'job_not_found' });
    expect(JSON.stringify(json)).toContain('without retention_ms');
  });

  it('shows a token for some queues nothing of other queues', async () => {
    const [mine, other] = [fresh('mine'), fresh('other')];
    const made = await app.admin('POST', `/token/${app.namespace}?description=x&queues=${mine}`);
    const { token } = made.json as { token: string };
    const hidden = await publish({ queue: other, delay_ms: HOUR_MS });
    const { id } = await publish({ queue: mine, depends_on: [hidden.id] });
    await requestFrom(other);
    const foreign = await call('GET', `jobs/${hidden.id}/explain`, undefined, { token });
    expect(foreign.status).toBe(404);
    await waitFor(
      async () =>
        (await ofJob(id)).message !== '' &&
        (await redis.zscore(`{${app.namespace}}:requested`, other)) !== null,
    );
    await given('POST', `queues/${mine}/pause`);
    const own = await call('GET', `jobs/${id}/explain`, undefined, { token });
    expect(own.status).toBe(200);
    expect(own.text).not.toContain(other);
    expect(own.text).not.toContain(hidden.id);
    expect((own.json as Explanation).facts).toMatchObject({ depends_on: [], hidden_dependencies: 1 });
    expect((own.json as Explanation).message).toContain(
      'It also depends on 1 job that the token may not see',
    );
    // Also once it has failed.
    expect((await call('DELETE', `jobs/${hidden.id}?force=true`)).status).toBe(204);
    await waitFor(async () => (await ofJob(id)).message.includes('never'));
    const stuck = await call('GET', `jobs/${id}/explain`, undefined, { token });
    expect(stuck.text).not.toContain(hidden.id);
    expect((stuck.json as Explanation).message).toContain(
      'It will never run by itself: a job that it depends on has failed.',
    );
    expect((await call('GET', `queues/${other}/explain`, undefined, { token })).status).toBe(403);
  });

  it('calls no dependency hidden that it has not read', async () => {
    const mine = fresh('mine');
    const made = await app.admin('POST', `/token/${app.namespace}?description=x&queues=${mine}`);
    const { token } = made.json as { token: string };
    const needs = await Promise.all(
      Array.from({ length: 30 }, async () => (await publish({ queue: mine, delay_ms: HOUR_MS })).id),
    );
    const { id } = await publish({ queue: mine, depends_on: needs });
    const { json } = await call('GET', `jobs/${id}/explain`, undefined, { token });
    expect((json as Explanation).facts).toMatchObject({ hidden_dependencies: 0 });
    expect((json as Explanation).message).not.toContain('may not see');
  });

  it('names no dead job of a queue that the token may not see', async () => {
    const [mine, other] = [fresh('mine'), fresh('other')];
    const made = await app.admin('POST', `/token/${app.namespace}?description=x&queues=${mine}`);
    const { token } = made.json as { token: string };
    const root = await publish({ queue: other, type: 'root' });
    const second = await publish({ queue: mine, depends_on: [root.id] });
    const { id } = await publish({ queue: mine, depends_on: [second.id] });
    await given('POST', `jobs/${root.id}/fail`, { lease: (await leaseOne(other)).lease });
    await waitFor(async () => (await ofJob(id)).message.includes(root.id));
    const own = await call('GET', `jobs/${id}/explain`, undefined, { token });
    expect([own.status, own.text.includes(root.id)]).toEqual([200, false]);
  });

  describe('a recurring job', () => {
    const ofRecurring = (id: string): Promise<Explanation> => given('GET', `recurring/${id}/explain`);
    const set = (id: string, more: object, queue = fresh()): Promise<{ next_at: string }> =>
      given('PUT', `recurring/${id}`, { schedule: { every_ms: HOUR_MS }, job: { queue }, ...more });

    it('is explained by its next slot, and the remedy makes a job now', async () => {
      const [id, queue] = [fresh('nightly'), fresh()];
      const first = { every_ms: HOUR_MS, offset_ms: HOUR_MS };
      const { next_at } = await set(id, { schedule: first }, queue);
      const found = await ofRecurring(id);
      expect(found).toMatchObject({
        ...{ cause: 'scheduled', next_at, also: [{ cause: 'no_worker' }] },
        facts: { recurring: id, queue, next_at, last_at: null, last_skip_reason: null, made: 0 },
      });
      expect(found.message).toContain(`The next slot of the recurring job ${id} is ${next_at}`);
      await doRemedy(found);
      expect((await ofRecurring(id)).facts).toMatchObject({ made: 1 });
    });

    it('is explained with the reason why a slot made no job', async () => {
      const [id, queue] = [fresh('often'), fresh()];
      await set(id, { schedule: { every_ms: 1_000 }, overlap: 'skip' }, queue);
      await waitFor(async () => (await ofRecurring(id)).facts['last_skip_reason'] === 'overlap', 10_000);
      const found = await ofRecurring(id);
      expect(found.message).toContain('the job of an earlier slot had not ended');
      expect(Date.parse(String(found.facts['last_skip_at']))).toBeLessThan(Date.now() + 5_000);
      await given('POST', `recurring/${id}/pause`);
    });

    it('is explained as paused, with the note, and the remedy resumes it', async () => {
      const id = fresh('nightly');
      await set(id, {});
      await given('POST', `recurring/${id}/pause`, { note: 'the warehouse is closed' });
      const found = await ofRecurring(id);
      expect(found).toMatchObject({ cause: 'paused', facts: { note: 'the warehouse is closed' } });
      expect(found.message).toContain(`The recurring job ${id} is paused: the warehouse is closed.`);
      await doRemedy(found);
      expect((await ofRecurring(id)).cause).toBe('scheduled');
    });

    it('is explained with the pause of its queue beside its next slot', async () => {
      const [id, queue] = [fresh('nightly'), fresh()];
      await set(id, {}, queue);
      await given('POST', `queues/${queue}/pause`);
      expect(await ofRecurring(id)).toMatchObject({ cause: 'scheduled', also: [{ cause: 'paused' }, {}] });
    });

    it('is explained as done when its schedule has ended', async () => {
      const id = fresh('ends');
      const schedule = { cron: '* * * * * *', tz: 'UTC', end_at: new Date(Date.now() + 2_000).toISOString() };
      await set(id, { schedule });
      await waitFor(async () => (await ofRecurring(id)).cause === 'done', 10_000);
      expect(await ofRecurring(id)).toMatchObject({ next_at: null, facts: { next_at: null } });
    });

    it('is 404 for one that is not there, or whose queue the token may not see', async () => {
      const [id, queue] = [fresh('hidden'), fresh()];
      await set(id, {}, queue);
      const made = await app.admin('POST', `/token/${app.namespace}?description=x&queues=${queue}-other`);
      const { token } = made.json as { token: string };
      const hidden = await call('GET', `recurring/${id}/explain`, undefined, { token });
      const none = await call('GET', 'recurring/none/explain');
      for (const { status, json } of [hidden, none])
        expect([status, (json as { code: string }).code]).toEqual([404, 'recurring_not_found']);
    });
  });
});
