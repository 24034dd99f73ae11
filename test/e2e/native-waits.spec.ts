import { type Answer, type CallOptions, TestApp } from '../support/app.js';
import {
  app,
  useNativeApi,
  WAYS,
  spell,
  fresh,
  post,
  leaseOne,
  look,
  code,
  wrongFields,
  type Job,
} from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

useNativeApi();

describe.each(WAYS)('a publish that waits, by %s', (_way, spelling) => {
  beforeAll(() => spell(spelling));

  const fire = (job: object, waitMs = 20_000, options?: CallOptions): Promise<Answer> =>
    post(`jobs?wait_ms=${waitMs}`, job, options);

  it('is answered with the result', async () => {
    const queue = fresh();
    const waiting = fire({ queue, data: 2 });
    const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
    await post(`jobs/${id}/ack`, { lease: number, result: { twice: 4 } });
    const { status, json } = await waiting;
    expect([status, json]).toEqual([
      200,
      {
        ...{ id, state: 'done', existing: false, failure: null },
        result: { data: { twice: 4 }, content_type: 'application/json' },
      },
    ]);
    // It is there for whoever asks once more.
    expect((await look(id))['state']).toBe('done');
  });

  it('is answered with what went wrong', async () => {
    const queue = fresh();
    const waiting = fire({ queue });
    const { id, lease: number } = await leaseOne(queue, { wait_ms: 20_000 });
    await post(`jobs/${id}/fail`, { lease: number, group: 'bad', message: 'no' });
    const { status, json } = await waiting;
    expect(status).toBe(200);
    expect(json).toMatchObject({ id, state: 'dead', result: null, failure: { group: 'bad', message: 'no' } });
  });

  it('is answered with where to ask later when it has waited long enough', async () => {
    const queue = fresh();
    const { status, headers, json } = await fire({ queue }, 1);
    expect(status).toBe(202);
    const { id } = json as Job;
    expect(json).toEqual({ id, state: 'ready', existing: false, result: null, failure: null });
    expect(headers['location']).toBe(`/v1/${app.namespace}/jobs/${id}`);
    const { lease: number } = await leaseOne(queue);
    await post(`jobs/${id}/ack`, { lease: number, result: 'late' });
    expect(await look(id)).toMatchObject({ state: 'done', result: { data: 'late' } });
  });

  it('counts as one that waits, and is refused where no more may, before anything is stored', async () => {
    const other = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_WAITERS_PER_TOKEN: '1' });
    try {
      const url = `/v1/${other.namespace}/jobs?wait_ms=20000`;
      const first = other.call('POST', url, { body: '{"queue":"q"}' });
      await waitFor(async () => (await other.engine.size(other.namespace, 'q')) === 1, 5_000);
      const refused = await other.call('POST', url, { body: '{"queue":"q"}' });
      expect([refused.status, code(refused)]).toEqual([429, 'too_many_waiters']);
      expect(await other.engine.size(other.namespace, 'q')).toBe(1);
      // A server that stops answers whom it can.
      const stopping = other.server.stop();
      expect(await first).toMatchObject({ status: 202, json: { state: 'ready' } });
      await stopping;
    } finally {
      await other.stop().catch(() => undefined);
    }
  });

  it.each<[string, string, object, string]>([
    ['a list of jobs', '1', { jobs: [{ queue: 'q' }] }, 'wait_ms'],
    ['no time', '0', { queue: 'q' }, 'wait_ms'],
    ['more than a day', '86400001', { queue: 'q' }, 'wait_ms'],
    ['a word', 'long', { queue: 'q' }, 'wait_ms'],
    ['another name', '1&wait=1', { queue: 'q' }, 'wait'],
  ])('is refused with %s', async (_, wait, body, field) => {
    const answer = await post(`jobs?wait_ms=${wait}`, body);
    expect([answer.status, wrongFields(answer)]).toEqual([400, [field]]);
  });
});
