import { TestApp } from '../support/app.js';

/** The most that limits.max_json_depth may be. */
const DEPTH = 10_000;
const DEEP = `${'['.repeat(DEPTH)}1${']'.repeat(DEPTH)}`;

describe('JSON of 10,000 levels, where the server allows it', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_JSON_DEPTH: String(DEPTH) });
  });
  afterAll(() => app.stop());

  const call = async (
    method: string,
    path: string,
    body?: string,
  ): Promise<{ text: string; json: unknown }> => {
    const answer = await app.call(method, `/v1/${app.namespace}/${path}`, body === undefined ? {} : { body });
    expect([path, answer.status < 300 ? 'done' : answer.text.slice(0, 300)]).toEqual([path, 'done']);
    return answer;
  };
  const leaseOne = async (queue: string): Promise<{ id: string; lease: number }> => {
    const { json } = await call('POST', 'leases', JSON.stringify({ queues: [queue] }));
    return (json as { jobs: { id: string; lease: number }[] }).jobs[0]!;
  };

  it('is stored and shown as the data of a job', async () => {
    await call('POST', 'jobs', `{"queue":"data","id":"data","type":"t","data":${DEEP}}`);
    expect((await call('GET', 'jobs/data')).text).toContain(`"data":${DEEP}`);
    expect((await call('GET', 'jobs?queue=data&fields=data')).text).toContain(`"data":${DEEP}`);
    expect((await call('POST', 'leases', '{"queues":["data"]}')).text).toContain(`"data":${DEEP}`);
  });

  it('is stored and shown as the progress and the result of a job', async () => {
    await call('POST', 'jobs', '{"queue":"settled","id":"settled","retention_ms":60000}');
    const { lease } = await leaseOne('settled');
    await call('POST', 'jobs/settled/heartbeat', `{"lease":${String(lease)},"progress":${DEEP}}`);
    expect((await call('GET', 'jobs/settled')).text).toContain(`"progress":${DEEP}`);
    expect((await call('GET', 'jobs?queue=settled')).text).toContain(`"progress":${DEEP}`);
    await call('POST', 'jobs/settled/ack', `{"lease":${String(lease)},"result":${DEEP}}`);
    expect((await call('GET', 'jobs/settled')).text).toContain(DEEP);
  });

  it('is stored and shown as the data of a recurring job', async () => {
    const schedule = '"schedule":{"every_ms":3600000}';
    await call('PUT', 'recurring/deep', `{${schedule},"job":{"queue":"recurring","data":${DEEP}}}`);
    expect((await call('GET', 'recurring/deep')).text).toContain(`"data":${DEEP}`);
  });

  it('is stored as the new data of a job that is retried', async () => {
    await call('POST', 'jobs', '{"queue":"retried","id":"retried"}');
    const { lease } = await leaseOne('retried');
    const failure = '"group":"g","message":"m","delay_ms":0';
    await call('POST', 'jobs/retried/retry', `{"lease":${String(lease)},${failure},"data":${DEEP}}`);
    expect((await call('GET', 'jobs/retried')).text).toContain(`"data":${DEEP}`);
  });
});
