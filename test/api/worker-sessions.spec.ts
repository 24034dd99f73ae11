import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { TokenStore } from '../../src/auth/token-store.js';
import type { Rights } from '../../src/domain/rights.js';
import { Engines } from '../../src/engine/engines.js';
import { Audit } from '../engine/audit.js';
import { auditIndexes } from '../engine/index-audit.js';
import {
  app,
  call,
  code,
  find,
  fresh,
  given,
  lease,
  leaseOne,
  post,
  publish,
  useNativeApi,
  wrongFields,
} from '../support/native-api.js';
import { TestApp } from '../support/app.js';
import { testRedisUrl, waitFor } from '../support/redis.js';

interface Beat {
  readonly lease_ends_at: string;
  readonly jobs: readonly {
    readonly id: string;
    readonly status: string;
    readonly cancel_requested: boolean;
  }[];
  readonly quiet: boolean;
  readonly stop: boolean;
}

const TTR = { ttr_ms: 30_000 };
const INFO = {
  name: 'mailer',
  host: 'host-1',
  pid: 7,
  version: '1.2',
  language: 'TypeScript',
  concurrency: 4,
};
const BY_NAME = {
  ...{ display_name: null, host: null, pid: null, version: null, language: null, queues: null },
  ...{ concurrency: null, jobs_at_hand: null, started_at: null, heartbeat_at: null },
  ...{ quiet: false, stop: false, lost: false },
};

describe('worker sessions on the native API', () => {
  useNativeApi();
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(() => redis.disconnect());
  const audit = async (): Promise<string[]> => [
    ...(await Audit.of(redis, app.namespace)),
    ...(await auditIndexes(redis, app.namespace)),
  ];
  afterEach(async () => {
    let problems: string[] = [];
    // The pump may move jobs while their keys are read.
    await waitFor(async () => (problems = await audit()).length === 0).catch(() => undefined);
    expect(problems).toEqual([]);
  });

  const beat = (id: string, leases: readonly object[], more: object = {}): Promise<Beat> =>
    given('POST', `workers/${id}/heartbeat`, { ...TTR, leases, ...more });
  const held = (jobs: readonly { id: string; lease: number }[]): object[] =>
    jobs.map(({ id, lease: number }) => ({ id, lease: number }));
  const statuses = ({ jobs }: Beat): string[] => jobs.map(({ status }) => status);
  const grant = (rights: Rights): Promise<string> => {
    const expiry = { lifetimeMs: 0, atMs: 0 };
    const store = app.server.api.app.get(TokenStore, { strict: false });
    return store.grant({ namespace: app.namespace, pool: 'default', description: 'd', rights, expiry });
  };

  it('are separate with the same display name: one is lost, the other keeps its job', async () => {
    const [queue, a, b] = [fresh(), fresh('mailer-'), fresh('mailer-')];
    await Promise.all([publish({ queue, type: 't' }), publish({ queue, type: 't' })]);
    const ofA = await leaseOne(queue, { worker: a, ttr_ms: 30_000 });
    const ofB = await leaseOne(queue, { worker: b, ttr_ms: 200 });
    const startedAt = '2026-01-31T23:59:59.999Z';
    const { lease_ends_at: endsAt } = await beat(a, held([ofA]), {
      info: { ...INFO, queues: [queue], started_at: startedAt },
    });
    await beat(b, held([ofB]), { ttr_ms: 200, info: INFO });
    expect(Date.parse((await find(ofA.id))['lease_ends_at'] as string)).toBeGreaterThanOrEqual(
      Date.parse(endsAt),
    );
    expect(await given('GET', `workers/${a}`)).toMatchObject({
      ...{ name: a, leased: 1, stalled: 0, display_name: 'mailer', host: 'host-1', pid: 7, version: '1.2' },
      ...{ language: 'TypeScript', queues: [queue], concurrency: 4, jobs_at_hand: 1, started_at: startedAt },
      ...{ quiet: false, stop: false, lost: false },
    });

    // The second one falls silent: its job comes back, the other's does not.
    await waitFor(async () => (await given<{ lost: boolean }>('GET', `workers/${b}`)).lost);
    await waitFor(async () => (await find(ofB.id))['leased_by'] === null);
    expect(await find(ofA.id)).toMatchObject({ state: 'leased', leased_by: a });
    expect(await given('GET', `workers/${a}`)).toMatchObject({ lost: false });
    const { items } = await given<{ items: object[] }>('GET', 'workers');
    expect(items).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: a, display_name: 'mailer', lost: false }),
        expect.objectContaining({ name: b, display_name: 'mailer', lost: true }),
      ]),
    );
  });

  it('do not exist for a worker known by its name only, which shows no process', async () => {
    const [queue, worker] = [fresh(), fresh('by-name-')];
    await publish({ queue, type: 't' });
    await lease({ queues: [queue], worker });
    expect(await given('GET', `workers/${worker}`)).toMatchObject({ ...BY_NAME, leased: 1 });
    for (const verb of ['quiet', 'stop'])
      expect(await call('POST', `workers/${worker}/${verb}`)).toMatchObject({
        status: 404,
        json: { code: 'worker_not_found' },
      });
  });

  it('get 404 for a heartbeat without info until they have sent their info', async () => {
    const [queue, id] = [fresh(), fresh('mailer-')];
    await publish({ queue });
    const job = await leaseOne(queue, { ttr_ms: 5_000 });
    const before = (await find(job.id))['lease_ends_at'];
    const answer = await post(`workers/${id}/heartbeat`, { ...TTR, leases: held([job]) });
    expect([answer.status, code(answer)]).toEqual([404, 'worker_not_found']);
    expect((await find(job.id))['lease_ends_at']).toBe(before);
    expect(statuses(await beat(id, held([job]), { info: { name: 'm' } }))).toEqual(['extended']);
    expect((await call('DELETE', `workers/${id}`)).status).toBe(204);
    expect((await post(`workers/${id}/heartbeat`, { ...TTR, leases: [] })).status).toBe(404);
  });

  it('get the state of each of their jobs by a heartbeat', async () => {
    const [queue, id] = [fresh(), fresh('mailer-')];
    for (let i = 0; i < 4; i++) await publish({ queue, ...(i < 2 ? {} : { type: 't' }) });
    const jobs = await lease({ queues: [queue], count: 4, worker: id, ...TTR });
    const [simple, acked, cancelled, revoked] = jobs;
    await given('POST', `jobs/${acked!.id}/ack`, { lease: acked!.lease });
    await given('POST', `jobs/${cancelled!.id}/cancel`, { grace_ms: 60_000 });
    await given('POST', `jobs/${revoked!.id}/revoke`);
    const leases = [...held(jobs), { id: simple!.id, lease: simple!.lease + 1 }, ...held([simple!])];
    const answered = await beat(id, leases, { info: INFO });
    const extended = { status: 'extended', lease_ends_at: expect.any(String) as unknown };
    expect(answered.jobs).toEqual([
      { id: simple!.id, ...extended, cancel_requested: false },
      { id: acked!.id, status: 'not_found', cancel_requested: false },
      { id: cancelled!.id, ...extended, cancel_requested: true },
      {
        ...{ id: revoked!.id, status: 'lease_lost', state: 'ready', reason: 'revoked' },
        cancel_requested: false,
      },
      { id: simple!.id, status: 'lease_lost', state: 'leased', cancel_requested: false },
      { id: simple!.id, ...extended, cancel_requested: false },
    ]);
  });

  it('are told of each lease when it ends: with its session, or sooner with the longest run of its job', async () => {
    const [queue, id] = [fresh(), fresh('mailer-')];
    await publish({ queue, max_run_ms: 5_000 });
    await publish({ queue });
    const jobs = await lease({ queues: [queue], count: 2, worker: id, ...TTR });
    const answer = await beat(id, held(jobs), { info: INFO });
    const stored = await Promise.all(jobs.map((job) => find(job.id)));
    expect(answer.jobs).toMatchObject(stored.map((job) => ({ lease_ends_at: job['lease_ends_at'] })));
    const [short, usual] = stored.map((job) => Date.parse(job['lease_ends_at'] as string));
    expect(short).toBeLessThan(usual! - 10_000);
  });

  it('extend 1,000 leases at once', async () => {
    const [queue, id] = [fresh(), fresh('mailer-')];
    const leases: object[] = [];
    for (let i = 0; i < 16; i++) {
      await given('POST', 'jobs', { jobs: Array.from({ length: i < 15 ? 64 : 40 }, () => ({ queue })) });
      leases.push(...held(await lease({ queues: [queue], count: 64, worker: id, ...TTR })));
    }
    expect(leases).toHaveLength(1_000);
    const result = await beat(id, leases, { info: INFO });
    expect(statuses(result)).toEqual(leases.map(() => 'extended'));
    expect(await given('GET', `workers/${id}`)).toMatchObject({ jobs_at_hand: 1_000 });
    const refused = await post(`workers/${id}/heartbeat`, { ...TTR, leases: [...leases, leases[0]] });
    expect([refused.status, wrongFields(refused)]).toEqual([400, ['leases']]);
  });

  it('show jobs_at_hand of the heartbeat, else its number of leases', async () => {
    const [queue, id] = [fresh(), fresh('mailer-')];
    await publish({ queue });
    const leases = held(await lease({ queues: [queue], ...TTR }));
    await beat(id, leases, { info: INFO, jobs_at_hand: 1_001 });
    expect(await given('GET', `workers/${id}`)).toMatchObject({ jobs_at_hand: 1_001 });
    await beat(id, leases);
    expect(await given('GET', `workers/${id}`)).toMatchObject({ jobs_at_hand: 1 });
  });

  it.each<[string, unknown, string[]]>([
    ['a number of jobs below zero', { ...TTR, leases: [], jobs_at_hand: -1 }, ['jobs_at_hand']],
    ['an empty body', {}, ['ttr_ms', 'leases']],
    ['no time', { ttr_ms: 0, leases: [] }, ['ttr_ms']],
    ['a lease without a number', { ...TTR, leases: [{ id: 'a' }] }, ['leases[0].lease']],
    ['a lease with an illegal id', { ...TTR, leases: [{ id: '{a}', lease: 1 }] }, ['leases[0].id']],
    ['something else in a lease', { ...TTR, leases: [{ id: 'a', lease: 1, n: 1 }] }, ['leases[0].n']],
    ['info without a name', { ...TTR, leases: [], info: {} }, ['info.name']],
    ['info of null', { ...TTR, leases: [], info: null }, ['info']],
    ['an unknown fact', { ...TTR, leases: [], info: { name: 'a', token: 'x' } }, ['info.token']],
    ['a control character', { ...TTR, leases: [], info: { name: 'a\n' } }, ['info.name']],
    ['a pid below zero', { ...TTR, leases: [], info: { name: 'a', pid: -1 } }, ['info.pid']],
    [
      'a start that is no time',
      { ...TTR, leases: [], info: { name: 'a', started_at: 5 } },
      ['info.started_at'],
    ],
  ])('refuse %s', async (_what, body, fields) => {
    const answer = await post(`workers/${fresh('mailer-')}/heartbeat`, body);
    expect([answer.status, wrongFields(answer)]).toEqual([400, fields]);
  });

  it.each(['_x', 'a b', 'a%2Fb', '%7Bx%7D', 'x'.repeat(129), '%00'])('refuse the id %s', async (id) => {
    const answer = await post(`workers/${id}/heartbeat`, { ...TTR, leases: [], info: INFO });
    expect(answer.status).toBe(400);
    expect((await call('POST', `workers/${id}/quiet`)).status).toBe(404);
  });

  it('are set to quiet and stop by a token with admin for all queues only', async () => {
    const [a, b] = [fresh('mailer-'), fresh('mailer-')];
    await beat(a, [], { info: INFO });
    await beat(b, [], { info: INFO });
    const consumer = await grant({ verbs: ['publish', 'consume'], queues: null });
    const ofQueue = await grant({ verbs: ['publish', 'consume', 'admin'], queues: ['q'] });
    for (const verb of ['quiet', 'stop']) {
      for (const token of [consumer, ofQueue])
        expect((await call('POST', `workers/${a}/${verb}`, undefined, { token })).status).toBe(403);
      expect(await beat(a, [])).toMatchObject({ [verb]: false });
      for (let i = 0; i < 2; i++) expect((await call('POST', `workers/${a}/${verb}`)).status).toBe(204);
      expect(await beat(a, [])).toMatchObject({ [verb]: true });
      expect(await beat(b, [])).toMatchObject({ quiet: false, stop: false });
    }
    expect(await beat(a, [], { info: { name: 'new' } })).toMatchObject({ quiet: true, stop: true });
    expect(await given('GET', `workers/${a}`)).toMatchObject({
      display_name: 'new',
      quiet: true,
      stop: true,
    });
    await call('DELETE', `workers/${a}`);
    for (const verb of ['quiet', 'stop']) {
      const answer = await call('POST', `workers/${a}/${verb}`);
      expect([answer.status, code(answer)]).toEqual([404, 'worker_not_found']);
    }
  });

  it('extend only leases in the queues of the token, and get not_found for others', async () => {
    const [mine, other, id] = [fresh(), fresh(), fresh('mailer-')];
    await Promise.all([mine, other].map((queue) => publish({ queue, type: 't' })));
    const [own, foreign] = [await leaseOne(mine, TTR), await leaseOne(other, { ttr_ms: 20_000 })];
    const before = (await find(foreign.id))['lease_ends_at'];
    const token = await grant({ verbs: ['consume'], queues: [mine] });
    const body = { ttr_ms: 60_000, leases: held([foreign, own, foreign, own]), info: INFO };
    const { status, json } = await post(`workers/${id}/heartbeat`, body, { token });
    expect([status, statuses(json as Beat)]).toEqual([
      200,
      ['not_found', 'extended', 'not_found', 'extended'],
    ]);
    expect((await find(foreign.id))['lease_ends_at']).toBe(before);
    const producer = await grant({ verbs: ['publish', 'admin'], queues: null });
    const refused = await post(`workers/${id}/heartbeat`, body, { token: producer });
    expect([refused.status, code(refused)]).toEqual([403, 'verb_missing']);
    expect((await call('DELETE', `workers/${id}`, undefined, { token: producer })).status).toBe(403);
    expect((await call('DELETE', `workers/${id}`, undefined, { token })).status).toBe(204);
  });

  it("do not learn the state of a job that moves outside the token's queues", async () => {
    const [mine, other, id] = [fresh(), fresh(), fresh('mailer-')];
    await publish({ queue: mine, type: 't' });
    const job = await leaseOne(mine, TTR);
    const token = await grant({ verbs: ['consume'], queues: [mine] });
    const { jobs } = app.server.api.app.get(Engines, { strict: false }).of('default');
    const placesOf = jobs.placesOf.bind(jobs);
    // It moves when the server has found it in a queue of the token, before the heartbeat.
    const lookups = jest.spyOn(jobs, 'placesOf').mockImplementationOnce(async (...args) => {
      const places = await placesOf(...args);
      await given('POST', `jobs/${job.id}/ack`, { lease: job.lease, next: { queue: other } });
      return places;
    });
    const body = { ...TTR, leases: held([job]), info: INFO };
    const { json } = await post(`workers/${id}/heartbeat`, body, { token });
    lookups.mockRestore();

    expect((json as Beat).jobs).toEqual([{ id: job.id, status: 'not_found', cancel_requested: false }]);
    expect(await find(job.id)).toMatchObject({ queue: other, state: 'ready' });
  });

  describe('a worker session with waiting lease requests', () => {
    let other: TestApp;
    beforeAll(async () => (other = await TestApp.start()));
    afterAll(() => other.stop());

    /** Lease requests of a worker that wait on both servers. */
    const waitOnBoth = async (queue: string, worker: string): Promise<Promise<unknown>[]> => {
      const body = JSON.stringify({ queues: [queue], wait_ms: 600_000, worker });
      const answers = [app, other].map(async (one) => {
        const path = `/v1/${app.namespace}/leases`;
        return (await one.call('POST', path, { body, token: app.token })).json;
      });
      // A server that stops cuts off what still waits.
      for (const answer of answers) answer.catch(() => undefined);
      for (const { server } of [app, other])
        await waitFor(async () =>
          /^pumphouse_waiters\{pool="default"\} 1$/m.test(await server.api.metrics.text()),
        );
      return answers;
    };
    const NONE = [{ jobs: [] }, { jobs: [] }];
    /** Long before the waits would end. */
    const soon = (answers: readonly Promise<unknown>[]): Promise<unknown> =>
      Promise.race([Promise.all(answers), sleep(20_000, 'no answer', { ref: false })]);

    it.each([
      ['the end of the session', (id: string) => `workers/${id}`],
      ['the call on its waits', (id: string) => `workers/${id}/waits`],
    ])('ends its lease requests on all servers, by %s, and leases no later job', async (_how, path) => {
      const [queue, id] = [fresh(), fresh('mailer-')];
      await given('POST', `workers/${id}/heartbeat`, { ...TTR, leases: [], info: INFO });
      const answers = await waitOnBoth(queue, id);
      expect((await call('DELETE', path(id))).status).toBe(204);
      expect(await soon(answers)).toEqual(NONE);
      const job = await publish({ queue });
      expect(await find(job.id)).toMatchObject({ state: 'ready', attempts: 0 });
    });

    it('ends its lease requests on all servers if it is lost', async () => {
      const [queue, id] = [fresh(), fresh('mailer-')];
      const body = { ttr_ms: 1_000, leases: [], info: INFO };
      await given('POST', `workers/${id}/heartbeat`, body);
      expect(await soon(await waitOnBoth(queue, id))).toEqual(NONE);
    });

    it('ends no lease request of another worker', async () => {
      const [queue, id] = [fresh(), fresh('mailer-')];
      const answers = await waitOnBoth(queue, id);
      expect((await call('DELETE', `workers/${id}x/waits`)).status).toBe(204);
      await Promise.all([publish({ queue }), publish({ queue })]);
      for (const answer of answers) expect((await answer) as object).toMatchObject({ jobs: [{ queue }] });
    });
  });
});
