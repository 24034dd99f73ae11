import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import {
  app,
  fresh,
  given,
  type Job,
  lease,
  post,
  publish,
  useNativeApi,
  WAYS,
  spell,
} from '../support/native-api.js';

useNativeApi();

interface Dependency {
  readonly id: string;
  readonly state: string;
  readonly result?: unknown;
  readonly result_base64?: string;
  readonly result_type?: string;
  readonly truncated?: boolean;
}
const dependenciesOf = ({ dependencies }: Job): readonly Dependency[] | undefined =>
  dependencies as Dependency[] | undefined;
const find = (id: string): Promise<Job> => given<Job>('GET', `jobs/${id}`);
const stateOf = async (id: string): Promise<unknown> => {
  const { status, json } = await app.call('GET', `/v1/${app.namespace}/jobs/${id}`);
  return status === 404 ? null : (json as Job)['state'];
};
/** Leases the next job of a queue, and acknowledges it. */
const finish = async (queue: string, outcome: object = {}): Promise<void> => {
  const [job] = await lease({ queues: [queue], wait_ms: 5_000 });
  const { status, text } = await post(`jobs/${job!.id}/ack`, { lease: job!.lease, ...outcome });
  if (status >= 300) throw new Error(text);
};

describe('results of dependencies in the native API', () => {
  it.each(WAYS)('come with the leased job and with the job itself, by %s', async (_name, spelling) => {
    spell(spelling);
    const [inputs, all] = [fresh(), fresh()];
    const a = await publish({ queue: inputs });
    const b = await publish({ queue: inputs });
    const c = await publish({ queue: all, depends_on: [b.id, a.id] });
    await finish(inputs, { result: { rows: [1, 'é'] } });
    await finish(inputs, { result_base64: 'AP8=', result_type: 'image/png' });
    const [job] = await lease({ queues: [all], wait_ms: 5_000 });
    const expected = [
      { id: b.id, state: 'done', result_base64: 'AP8=', result_type: 'image/png' },
      { id: a.id, state: 'done', result: { rows: [1, 'é'] }, result_type: 'application/json' },
    ];
    expect(dependenciesOf(job!)).toEqual(expected);
    expect(await find(c.id)).toMatchObject({ depends_on: [], dependencies: expected });
    await post(`jobs/${c.id}/ack`, { lease: job!.lease });
    for (const { id } of [a, b]) await waitFor(async () => (await stateOf(id)) === null);
  });

  it('are no field of a leased job without dependencies', async () => {
    const queue = fresh();
    await publish({ queue, type: 't' });
    const [job] = await lease({ queues: [queue] });
    expect(job).not.toHaveProperty('dependencies');
  });

  it('reach a worker on another server when lmstfy ends the dependency', async () => {
    const other = await TestApp.start();
    try {
      const [inputs, all] = [fresh(), fresh()];
      const { job_id: simple } = (await app.put(inputs, 'x')).json as { job_id: string };
      const b = await publish({ queue: inputs, data: 1 });
      await publish({ queue: all, depends_on: [simple, b.id] });
      const waiting = other.call('POST', `/v1/${app.namespace}/leases`, {
        token: app.token,
        body: JSON.stringify({ queues: [all], wait_ms: 10_000 }),
      });
      const got = (await app.get(`${inputs}?ttr=60`)).json as { job_id: string };
      expect(got.job_id).toBe(simple);
      expect((await app.delete(`${inputs}/job/${simple}`)).status).toBe(204);
      await finish(inputs, { result: 'by the native API' });
      const { jobs } = (await waiting).json as { jobs: Job[] };
      expect(dependenciesOf(jobs[0]!)).toEqual([
        { id: simple, state: 'done' },
        { id: b.id, state: 'done', result: 'by the native API', result_type: 'application/json' },
      ]);
    } finally {
      await other.stop();
    }
  });

  it('are left out beyond 64 KiB, and the rest is at the dependency', async () => {
    const [inputs, all] = [fresh(), fresh()];
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) ids.push((await publish({ queue: inputs })).id);
    await publish({ queue: all, depends_on: ids });
    const result = 'x'.repeat(4_000);
    for (const _id of ids) await finish(inputs, { result });
    const [job] = await lease({ queues: [all], wait_ms: 5_000 });
    const list = dependenciesOf(job!)!;
    expect(list.map(({ truncated }) => truncated ?? false)).toEqual(ids.map((_id, i) => i >= 16));
    expect(list[19]).toEqual({ id: ids[19], state: 'done', truncated: true });
    expect(await find(ids[19]!)).toMatchObject({ result: { data: result } });
  });
});

describe('the permission to read results', () => {
  const limited = async (verbs: string, queues: string) => {
    const { json } = await app.admin(
      'POST',
      `/token/${app.namespace}?description=d&verbs=${verbs}&queues=${queues}`,
    );
    const { token } = json as { token: string };
    return (method: string, path: string, body?: object) =>
      app.call(method, `/v1/${app.namespace}/${path}`, {
        token,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
  };

  it('is needed to name dependencies, whether there are such jobs or not', async () => {
    const publisher = await limited('publish', '*');
    const { id } = await publish({ queue: 'inputs' });
    const answers = [];
    for (const depends_on of [[id], ['no-such-job']]) {
      for (const [method, path, body] of [
        ['POST', 'jobs', { queue: 'all', depends_on }],
        ['PUT', 'jobs/all-of-them', { queue: 'all', depends_on }],
        ['POST', 'recurring', { schedule: { every_ms: 3_600_000 }, job: { queue: 'all', depends_on } }],
      ] as const) {
        const { status, json } = await publisher(method, path, body);
        answers.push([status, (json as { code?: string }).code]);
      }
    }
    expect(answers).toEqual(answers.map(() => [403, 'verb_missing']));
    expect((await publisher('POST', 'jobs', { queue: 'all' })).status).toBe(201);
    const both = await limited('publish,consume', '*');
    expect((await both('POST', 'jobs', { queue: 'all', depends_on: [id] })).status).toBe(201);
  });

  it('holds for jobs that get the name of a dependency later', async () => {
    const mine = await limited('publish,consume', 'mine');
    // There is no such job yet: it may be named.
    const job = { queue: 'mine', depends_on: ['nightly'], type: 't' };
    const schedule = { every_ms: 1_000 };
    expect((await mine('POST', 'recurring', { schedule, job })).status).toBe(201);
    await publish({ queue: 'secret', id: 'nightly', retention_ms: 600_000 });
    await finish('secret', { result: 'secret-result' });
    await waitFor(async () => {
      const { json, text } = await mine('POST', 'leases', { queues: ['mine'], wait_ms: 1_000 });
      expect(text).not.toContain('secret');
      const [leased] = (json as { jobs: Job[] }).jobs;
      // One of those that were made after the job was done.
      return dependenciesOf(leased ?? ({} as Job))?.[0]?.state === 'deleted';
    });
  });
});
