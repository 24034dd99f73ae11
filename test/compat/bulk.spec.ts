import { TestApp } from '../support/app.js';

describe('bulk publish', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BULK_BYTES: '200000' });
  });
  afterAll(() => app.stop());

  const bodies = async (queue: string): Promise<string[]> =>
    ((await app.get(`${queue}?count=100`)).json as { data: string }[]).map(({ data }) =>
      Buffer.from(data, 'base64').toString('latin1'),
    );

  it('makes a job of each element and keeps its text', async () => {
    const text = '[{"msg":"hello"},"hello, neo",13579,["test"],true,null]';
    const answer = await app.put('b1/bulk', text);
    expect(answer.status).toBe(201);
    const { job_ids: ids, msg } = answer.json as { job_ids: string[]; msg: string };
    expect(msg).toBe('published');
    expect(new Set(ids).size).toBe(6);
    expect(await bodies('b1')).toEqual([
      '{"msg":"hello"}',
      '"hello, neo"',
      '13579',
      '["test"]',
      'true',
      'null',
    ]);
  });

  it('keeps blanks, numbers and doubles inside of an element', async () => {
    await app.put('b2/bulk', '[ {"a" : 1 ,\n "b":"\\u00e9"} , 12345678901234567890, 1.50, {"a":1,"a":2} ]');
    expect(await bodies('b2')).toEqual([
      '{"a" : 1 ,\n "b":"\\u00e9"}',
      '12345678901234567890',
      '1.50',
      '{"a":1,"a":2}',
    ]);
  });

  it('takes strings whose bytes are not UTF-8', async () => {
    expect(await app.put('b3/bulk', Buffer.from([0x5b, 0x22, 0xff, 0xfe, 0x22, 0x5d]))).toMatchObject({
      status: 201,
    });
    expect(await bodies('b3')).toEqual(['"\xff\xfe"']);
  });

  it.each(['', '{"a":1}', '"x"', '[1,2', '[1] x', 'nonsense', '[1,]'])(
    'refuses the body %j',
    async (body) => {
      expect(await app.put('b4/bulk', body)).toMatchObject({
        status: 400,
        json: { error: 'request body should be an array of objects' },
      });
    },
  );

  it.each(['[]', ' null ', 'null'])('finds no jobs in %j', async (body) => {
    expect(await app.put('b4/bulk', body)).toMatchObject({ status: 400, json: { error: 'no jobs' } });
  });

  it('takes 64 jobs and not 65', async () => {
    const numbers = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, i) => i));
    expect(((await app.put('b5/bulk', numbers(64))).json as { job_ids: string[] }).job_ids).toHaveLength(64);
    expect(await app.put('b5/bulk', numbers(65))).toMatchObject({
      status: 400,
      json: { error: 'too many jobs' },
    });
  });

  it('limits each job and the whole', async () => {
    const job = (length: number): string => JSON.stringify(['a'.repeat(length - 2)]);
    expect(await app.put('b6/bulk', job(65_535))).toMatchObject({ status: 201 });
    expect(await app.put('b6/bulk', job(65_536))).toMatchObject({
      status: 413,
      json: { error: 'job too large' },
    });
    const whole = JSON.stringify(Array.from({ length: 4 }, () => 'a'.repeat(60_000)));
    expect(await app.put('b6/bulk', whole)).toMatchObject({ status: 413, json: { error: 'body too large' } });
    expect(await app.get('b6/size')).toMatchObject({ json: { size: 1 } });
  });

  it.each([
    ['tries=0', "tries shouldn't be zero"],
    ['ttl=x', 'invalid ttl'],
    ['delay=x', 'invalid delay'],
    ['tries=x', 'invalid tries'],
    ['ttl=1&delay=2', 'ttl is shorter than delay'],
  ])('checks %s before the body', async (query, error) => {
    expect(await app.put(`b7/bulk?${query}`, 'nonsense')).toMatchObject({ status: 400, json: { error } });
  });

  it('delays all of them', async () => {
    expect(await app.put('b8/bulk?delay=60&ttl=100&tries=2', '[1,2]')).toMatchObject({ status: 201 });
    expect(await app.get('b8/size')).toMatchObject({ json: { size: 0 } });
  });
});
