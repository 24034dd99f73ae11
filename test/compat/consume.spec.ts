import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

const NO_JOB = { status: 404, json: { msg: 'no job available' } };

describe('consume', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it('gives a job as an object, keys in order', async () => {
    const id = await app.publish('one?tries=3&ttl=100');
    const { status, json, text } = await app.get('one?ttr=2&timeout=3');
    expect(status).toBe(200);
    expect(json).toEqual({
      attributes: null,
      data: 'aGVsbG8=',
      elapsed_ms: expect.any(Number) as number,
      job_id: id,
      msg: 'new job',
      namespace: app.namespace,
      queue: 'one',
      remain_tries: 2,
      ttl: 100,
    });
    const keys = Object.keys(json as object);
    expect(keys).toEqual([...keys].sort());
    expect(text).not.toContain('\n');
  });

  it('says when there is none, at once or after the wait', async () => {
    expect(await app.get('none')).toMatchObject(NO_JOB);
    const start = performance.now();
    expect(await app.get('none?timeout=1')).toMatchObject(NO_JOB);
    expect(performance.now() - start).toBeGreaterThanOrEqual(990);
  });

  it('shows a ttl of 0 for a job that never expires', async () => {
    await app.publish('forever?ttl=0');
    expect(await app.get('forever')).toMatchObject({ json: { ttl: 0 } });
  });

  it.each(['ttr', 'timeout', 'count'])('refuses a %s that is no number', async (name) => {
    for (const value of ['abc', '-1', '1.5', '', '4294967296', '+1', '%201']) {
      expect(await app.get(`none?${name}=${value}`)).toMatchObject({
        status: 400,
        json: { error: `invalid ${name}` },
      });
    }
  });

  it.each(['0', '101'])('refuses a count of %s', async (count) => {
    expect(await app.get(`none?count=${count}`)).toMatchObject({
      status: 400,
      json: { error: 'invalid count' },
    });
  });

  it('looks at ttr, timeout and count before the list of queues', async () => {
    expect(await app.get(',?ttr=x')).toMatchObject({ json: { error: 'invalid ttr' } });
    expect(await app.get(',?count=0')).toMatchObject({ json: { error: 'invalid count' } });
    expect(await app.get(',')).toMatchObject({ status: 400, json: { error: 'invalid queue name(s)' } });
    expect(await app.get(',,,?timeout=1')).toMatchObject({
      status: 400,
      json: { error: 'invalid queue name(s)' },
    });
  });

  it('takes queues in the order of the list', async () => {
    await app.publish('m1', 'in m1');
    await app.publish('m2', 'in m2');
    expect(await app.get('m2,m1?timeout=1')).toMatchObject({ json: { queue: 'm2' } });
    expect(await app.get('m2,m1')).toMatchObject({ json: { queue: 'm1' } });
    expect(await app.get('m2,m1')).toMatchObject(NO_JOB);
  });

  it('does not mind empty names, doubles, escaped commas and hundreds of queues', async () => {
    expect(await app.get(',c0,')).toMatchObject(NO_JOB);
    expect(await app.get('c0,c0')).toMatchObject(NO_JOB);
    await app.publish('esc');
    expect(await app.get('c0%2Cesc')).toMatchObject({ json: { queue: 'esc' } });
    const many = Array.from({ length: 200 }, (_, i) => `k${String(i)}`).join(',');
    await app.publish('k199');
    expect(await app.get(`${many}?timeout=1`)).toMatchObject({ json: { queue: 'k199' } });
  });

  it('looks at the characters of listed names only', async () => {
    expect(await app.get('m2,%20m1')).toMatchObject({ status: 400 });
    expect(await app.get('_m1')).toMatchObject(NO_JOB);
    expect(await app.get('q'.repeat(256))).toMatchObject(NO_JOB);
  });

  it('gives an array when more than one is asked for', async () => {
    for (let i = 0; i < 5; i++) await app.publish('cc', `j${String(i)}`);
    const three = (await app.get('cc?count=3')).json as { data: string }[];
    expect(three.map(({ data }) => Buffer.from(data, 'base64').toString())).toEqual(['j0', 'j1', 'j2']);
    expect(await app.get('cc?count=1')).toMatchObject({ json: { data: 'ajM=' } });
    expect((await app.get('cc?count=100')).json).toHaveLength(1);
    expect(await app.get('cc?count=2')).toMatchObject(NO_JOB);
    expect(await app.get('cc?count=2&timeout=1')).toMatchObject(NO_JOB);
  });

  it('wakes a waiting consumer, with a list of one if it asked for more', async () => {
    const [one, list] = [app.get('w1?timeout=5'), app.get('w2?timeout=5&count=10')];
    await waitFor(() => app.log.length >= 0);
    await app.publish('w1');
    await app.publish('w2');
    expect(await one).toMatchObject({ status: 200, json: { queue: 'w1' } });
    expect((await list).json).toHaveLength(1);
  });

  it('counts the tries, and what is over them goes to the dead letter', async () => {
    const id = await app.publish('tries?tries=2');
    expect(await app.get('tries?ttr=1')).toMatchObject({ json: { remain_tries: 1 } });
    expect(await app.get('tries?ttr=0&timeout=4')).toMatchObject({ json: { job_id: id, remain_tries: 0 } });
    expect(await waitFor(async () => (await deadHead(app, 'tries')) === id)).toBe(true);
    expect(await app.get('tries')).toMatchObject(NO_JOB);
    expect(await app.get(`tries/job/${id}`)).toMatchObject({ status: 200, json: { ttl: 0 } });
  });
});

async function deadHead(app: TestApp, queue: string): Promise<unknown> {
  return ((await app.get(`${queue}/deadletter`)).json as { deadletter_head: string }).deadletter_head;
}
