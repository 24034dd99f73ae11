import { app, call, fresh, given, type Job, post, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

const RUN_MS = 60_000;
const HOUR_MS = 3_600_000;

describe('`max_run_ms` over HTTP', () => {
  useNativeApi();

  const take = async (queue: string): Promise<Job> => {
    const leased = await given<{ jobs: Job[] }>('POST', 'leases', { queues: [queue], ttr_ms: HOUR_MS });
    return leased.jobs[0]!;
  };
  const lmstfy = async (method: string, path: string, body?: string): Promise<Record<string, unknown>> => {
    const options = body === undefined ? {} : { body };
    const answer = await app.call(method, `/api/${app.namespace}/${path}`, options);
    expect(answer.status).toBeLessThan(300);
    return (answer.json ?? {}) as Record<string, unknown>;
  };
  const msOf = (moment: unknown): number => Date.parse(String(moment));

  it.each<[string, (job: Record<string, unknown>) => Promise<unknown>]>([
    ['a publish of one', (job) => given('POST', 'jobs', job)],
    ['a publish of many', (job) => given('POST', 'jobs', { jobs: [job] })],
    ['a put', (job) => given('PUT', `jobs/${fresh('id')}`, job)],
    [
      'the defaults of the queue',
      async ({ queue, max_run_ms }) => {
        await given('PATCH', `queues/${String(queue)}`, { defaults: { max_run_ms } });
        await given('POST', 'jobs', { queue });
      },
    ],
  ])('cuts leases and heartbeats: %s', async (_name, store) => {
    const queue = fresh();
    const before = Date.now();
    await store({ queue, max_run_ms: RUN_MS });
    const job = await take(queue);
    const endsMs = msOf(job['lease_ends_at']);
    expect(endsMs).toBeGreaterThanOrEqual(before + RUN_MS);
    expect(endsMs).toBeLessThanOrEqual(Date.now() + RUN_MS + 1);
    expect(job).toMatchObject({ max_run_ms: RUN_MS });
    const beat = await given<Job>('POST', `jobs/${job.id}/heartbeat`, { lease: job.lease, ttr_ms: HOUR_MS });
    expect(msOf(beat['lease_ends_at'])).toBe(endsMs);
    expect(await given('GET', `jobs/${job.id}`)).toMatchObject({ max_run_ms: RUN_MS });
  });

  it('fails the job in the group max_run_exceeded, and refuses its worker', async () => {
    const queue = fresh();
    await given('POST', 'jobs', { queue, max_run_ms: 1, retry: { kind: 'none' } });
    const job = await take(queue);
    await waitFor(async () => (await given<Job>('GET', `jobs/${job.id}`))['state'] === 'dead', 5_000);
    expect(await given('GET', `jobs/${job.id}`)).toMatchObject({
      failure: { group: 'max_run_exceeded' },
    });
    expect(await post(`jobs/${job.id}/ack`, { lease: job.lease })).toMatchObject({
      status: 409,
      json: { code: 'lease_lost' },
    });
  });

  it('leaves the limit out of leased jobs that have none', async () => {
    const queue = fresh();
    await given('POST', 'jobs', { jobs: [{ queue }, { queue, type: 't' }] });
    expect([await take(queue), await take(queue)]).not.toContainEqual(
      expect.objectContaining({ max_run_ms: expect.anything() as unknown }),
    );
  });

  it('ends the run of a job that an lmstfy client published and leased', async () => {
    const queue = fresh();
    await given('PATCH', `queues/${queue}`, { defaults: { max_run_ms: 50 } });
    const published = await lmstfy('PUT', `${queue}?tries=2`, 'x');
    const id = String(published['job_id']);
    expect(await lmstfy('GET', `${queue}?ttr=3600`)).toMatchObject({ job_id: id });
    await waitFor(async () => (await given<Job>('GET', `jobs/${id}`))['state'] === 'ready', 5_000);
    expect(await given('GET', `jobs/${id}`)).toMatchObject({
      ...{ crashes: 1, failure: { group: 'max_run_exceeded' } },
    });
    // Its wire has no lease numbers: an ack in any state deletes the job.
    await lmstfy('DELETE', `${queue}/job/${id}`);
    expect(await call('GET', `jobs/${id}`)).toMatchObject({ status: 404 });
  });

  describe('a heartbeat with `begin`', () => {
    const begin = (job: Job, more: object = {}) =>
      given<Job>('POST', `jobs/${job.id}/heartbeat`, {
        ...{ lease: job.lease, ttr_ms: HOUR_MS, begin: true },
        ...more,
      });

    it('restarts the run once', async () => {
      const queue = fresh();
      await given('POST', 'jobs', { queue, max_run_ms: RUN_MS });
      const job = await take(queue);
      await waitFor(() => Date.now() > msOf(job['lease_ends_at']) - RUN_MS + 5, 5_000);
      const { lease_ends_at: endsAt } = await begin(job);
      expect(msOf(endsAt)).toBeGreaterThan(msOf(job['lease_ends_at']));
      expect(await begin(job)).toMatchObject({ lease_ends_at: endsAt });
      const { facts } = await given<{ facts: unknown }>('GET', `jobs/${job.id}/explain`);
      expect(facts).toMatchObject({ run_ends_at: endsAt, lease_ends_at: endsAt });
    });

    it('limits a job without a limit, and fails it', async () => {
      const queue = fresh();
      await given('POST', 'jobs', { queue });
      const job = await take(queue);
      await begin(job, { max_run_ms: 20 });
      await waitFor(async () => (await given<Job>('GET', `jobs/${job.id}`))['state'] !== 'leased', 5_000);
      expect(await post(`jobs/${job.id}/ack`, { lease: job.lease })).toMatchObject({ status: 409 });
      expect(await given('GET', `jobs/${job.id}`)).toMatchObject({
        ...{ max_run_ms: null, failure: { group: 'max_run_exceeded' } },
      });
    });

    it.each([
      [{ max_run_ms: 5 }, 'max_run_ms', 'needs `begin`'],
      [{ max_run_ms: 5, begin: false }, 'max_run_ms', 'needs `begin`'],
      [{ max_run_ms: 0, begin: true }, 'max_run_ms', 'from 1'],
      [{ begin: 1 }, 'begin', 'true or false'],
    ])('is refused with %j', async (fields, field, rule) => {
      const answer = await post('jobs/none/heartbeat', { lease: 1, ...fields });
      expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_argument' } });
      expect((answer.json as { errors: unknown }).errors).toEqual([
        expect.objectContaining({ field, rule: expect.stringContaining(rule) as unknown }),
      ]);
    });
  });

  it.each([0, -1, 4_294_967_295_001, 1.5, '5s', true])('is refused as %p', async (value) => {
    const queue = fresh();
    const rule = { status: 400, json: { code: 'invalid_argument', errors: [{ field: 'max_run_ms' }] } };
    expect(await call('POST', 'jobs', { queue, max_run_ms: value })).toMatchObject(rule);
    const ofQueue = await call('PATCH', `queues/${queue}`, { defaults: { max_run_ms: value } });
    expect(ofQueue).toMatchObject({ status: 400, json: { errors: [{ field: 'defaults.max_run_ms' }] } });
  });
});
