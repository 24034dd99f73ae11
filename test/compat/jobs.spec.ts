import { TestApp } from '../support/app.js';

const EMPTY = { status: 404, json: { error: 'the queue is empty' } };
const NOT_FOUND = { status: 404, json: { error: 'job not found' } };
const DONE = { status: 204, text: '' };

describe('peek, acknowledge, size, destroy, republish', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const size = async (queue: string): Promise<unknown> => (await app.get(`${queue}/size`)).json;

  it('shows the job at the head of the line without taking it', async () => {
    expect(await app.get('k1/peek')).toMatchObject(EMPTY);
    const id = await app.publish('k1?tries=4&ttl=50');
    const { json } = await app.get('k1/peek');
    expect(json).toEqual({
      attributes: null,
      data: 'aGVsbG8=',
      elapsed_ms: expect.any(Number) as number,
      job_id: id,
      namespace: app.namespace,
      queue: 'k1',
      remain_tries: 4,
      ttl: 50,
    });
    expect(await size('k1')).toEqual({ namespace: app.namespace, queue: 'k1', size: 1 });
  });

  it('shows a job by its id, in its own queue only', async () => {
    const id = await app.publish('k2?ttl=50');
    expect(await app.get(`k2/job/${id}`)).toMatchObject({ status: 200, json: { job_id: id, ttl: 50 } });
    expect(await app.get(`other/job/${id}`)).toMatchObject(NOT_FOUND);
    expect(await app.get('k2/job/abc')).toMatchObject(NOT_FOUND);
    expect(await app.get('k2/job/01KAK1N5VSJH40000000000000')).toMatchObject(NOT_FOUND);
    expect(await app.get(`k2/job/${'x'.repeat(5_000)}`)).toMatchObject(NOT_FOUND);
    expect(await app.get('k2/job/%FF')).toMatchObject({ status: 400 });
  });

  it('does not count or show delayed jobs as ready', async () => {
    const id = await app.publish('k3?delay=60');
    expect(await app.get('k3/peek')).toMatchObject(EMPTY);
    expect(await size('k3')).toMatchObject({ size: 0 });
    expect(await app.get(`k3/job/${id}`)).toMatchObject({ status: 200 });
    expect(await app.delete(`k3/job/${id}`)).toMatchObject(DONE);
    expect(await app.get(`k3/job/${id}`)).toMatchObject(NOT_FOUND);
  });

  it('acknowledges with 204 whatever the id', async () => {
    const id = await app.publish('k4');
    const { headers, ...answer } = await app.delete(`k4/job/${id}`);
    expect(answer).toMatchObject(DONE);
    expect(headers['content-type']).toBeUndefined();
    expect(await app.delete(`k4/job/${id}`)).toMatchObject(DONE);
    expect(await app.delete('k4/job/abc')).toMatchObject(DONE);
    expect(await app.delete('k4/job/%21%21')).toMatchObject(DONE);
    expect(await size('k4')).toMatchObject({ size: 0 });
  });

  it('removes the body of an acknowledged job that was leased', async () => {
    const id = await app.publish('k5?tries=5');
    await app.get('k5?ttr=60');
    expect(await app.delete(`k5/job/${id}`)).toMatchObject(DONE);
    expect(await app.get(`k5/job/${id}`)).toMatchObject(NOT_FOUND);
  });

  it('destroys the ready jobs and leaves the delayed ones', async () => {
    for (let i = 0; i < 3; i++) await app.publish('d1');
    const delayed = await app.publish('d1?delay=60');
    expect(await app.delete('d1')).toMatchObject(DONE);
    expect(await size('d1')).toMatchObject({ size: 0 });
    expect(await app.get(`d1/job/${delayed}`)).toMatchObject({ status: 200 });
    expect(await app.delete('never')).toMatchObject(DONE);
  });

  it('counts nothing in a queue that never was', async () => {
    expect(await size('never')).toEqual({ namespace: app.namespace, queue: 'never', size: 0 });
  });

  it('puts a new job in the place of an old one', async () => {
    const old = await app.publish('r1', 'old');
    const fresh = await app.put(`r1/job/${old}?tries=2`, 'new');
    expect(fresh).toMatchObject({ status: 201, json: { msg: 'published' } });
    expect((fresh.json as { job_id: string }).job_id).not.toBe(old);
    expect(await app.get(`r1/job/${old}`)).toMatchObject(NOT_FOUND);
    expect(await size('r1')).toMatchObject({ size: 1 });
    expect(await app.put('r1/job/doesnotexist', 'new2')).toMatchObject({ status: 201 });
    expect(await app.put('r1/job/not%20an%20id', 'new3')).toMatchObject({ status: 201 });
    expect(await size('r1')).toMatchObject({ size: 3 });
  });

  it('hands out a reply on a queue that is named after a job', async () => {
    const id = await app.publish('ask');
    await app.publish(id, 'the reply');
    expect(await app.get(`${id}?timeout=1`)).toMatchObject({ status: 200, json: { queue: id } });
  });
});
