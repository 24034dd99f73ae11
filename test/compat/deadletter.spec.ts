import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

describe('dead letter', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const size = async (queue: string): Promise<number> =>
    ((await app.get(`${queue}/deadletter/size`)).json as { size: number }).size;

  /** Publishes jobs and lets each run out of its only try. @returns their ids, oldest first */
  const kill = async (queue: string, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++)
      ids.push(await app.publish(`${queue}?tries=1&ttl=600`, `dead${String(i)}`));
    await app.get(`${queue}?ttr=0&count=100`);
    await waitFor(async () => (await size(queue)) === count);
    return ids;
  };

  it('shows who died first, and how many', async () => {
    const [first] = await kill('x1', 3);
    expect((await app.get('x1/deadletter')).text).toBe(
      `{"deadletter_head":"${first!}","deadletter_size":3,"namespace":"${app.namespace}","queue":"x1"}`,
    );
    expect((await app.get('x1/deadletter/size')).json).toEqual({
      namespace: app.namespace,
      queue: 'x1',
      size: 3,
    });
  });

  it('is empty where nobody died, never 404', async () => {
    expect(await app.get('x0/deadletter')).toMatchObject({
      status: 200,
      json: { deadletter_head: '', deadletter_size: 0 },
    });
    expect(await size('x0')).toBe(0);
    expect(await app.put('x0/deadletter?limit=5')).toMatchObject({
      status: 200,
      json: { count: 0, msg: 'respawned' },
    });
    expect(await app.delete('x0/deadletter?limit=5')).toMatchObject({ status: 204, text: '' });
  });

  it.each(['0', '-1', 'abc', '', '1.5'])('refuses a limit of %j', async (limit) => {
    const refused = { status: 400, json: { error: 'invalid limit' } };
    expect(await app.put(`x0/deadletter?limit=${limit}`)).toMatchObject(refused);
    expect(await app.delete(`x0/deadletter?limit=${limit}`)).toMatchObject(refused);
  });

  it.each(['-1', 'abc', ''])('refuses a ttl of %j', async (ttl) => {
    expect(await app.put(`x0/deadletter?ttl=${ttl}`)).toMatchObject({
      status: 400,
      json: { error: 'invalid ttl' },
    });
  });

  it.each(['4294967296', '9223372036854775807'])('takes a ttl of %s', async (ttl) => {
    await kill(`x${ttl}`, 1);
    expect(await app.put(`x${ttl}/deadletter?ttl=${ttl}`)).toMatchObject({ status: 200, json: { count: 1 } });
    expect(await app.get(`x${ttl}`)).toMatchObject({ status: 200 });
  });

  it('brings jobs back, oldest first, with one try and a new ttl', async () => {
    const ids = await kill('x2', 4);
    expect(await app.put('x2/deadletter')).toMatchObject({
      status: 200,
      json: { count: 1, msg: 'respawned' },
    });
    expect(await app.get('x2')).toMatchObject({ json: { job_id: ids[0], remain_tries: 0, ttl: 86_400 } });
    expect(await app.put('x2/deadletter?limit=2&ttl=0', 'ignored')).toMatchObject({ json: { count: 2 } });
    expect(await app.get('x2')).toMatchObject({ json: { job_id: ids[1], ttl: 0 } });
    expect(await app.put('x2/deadletter?limit=10&ttl=77')).toMatchObject({ json: { count: 1 } });
    expect(await size('x2')).toBe(0);
  });

  it('deletes the oldest', async () => {
    const ids = await kill('x3', 3);
    expect(await app.delete('x3/deadletter')).toMatchObject({ status: 204, text: '' });
    expect(await app.get('x3/deadletter')).toMatchObject({
      json: { deadletter_head: ids[1], deadletter_size: 2 },
    });
    expect(await app.delete('x3/deadletter?limit=1000')).toMatchObject({ status: 204 });
    expect(await size('x3')).toBe(0);
    expect(await app.get(`x3/job/${ids[2]!}`)).toMatchObject({ status: 404 });
  });
});
