import { newJob } from '../engine/fixture.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

describe("lmstfy's API, publish", () => {
  const PUBLISHED = {
    job_id: expect.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/) as string,
    msg: 'published',
  };

  describe('a publish', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    it.each([
      '',
      '?delay=2',
      '?ttl=30',
      '?tries=3',
      '?delay=1&ttl=60&tries=5',
      '?ttl=0&delay=100000',
      '?foo=bar',
    ])('accepts a job with %j', async (query) => {
      const answer = await app.put(`q${query}`);
      expect(answer.status).toBe(201);
      expect(answer.json).toEqual(PUBLISHED);
      expect(answer.text).toMatch(/^\{"job_id":.*,"msg":"published"\}$/);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    });

    const wrong = ['abc', '-1', '1.5', '', '%201', '0x10', '4294967296', '+5', '1e3'];
    describe.each(['delay', 'ttl', 'tries'])('the parameter %s', (name) => {
      it.each(wrong)('refuses %j', async (value) => {
        const answer = await app.put(`q?${name}=${value}&ttl=0`);
        expect(answer).toMatchObject({ status: 400, json: { error: `invalid ${name}` } });
      });
    });

    it.each(['delay=4294967295&ttl=0', 'ttl=4294967295', 'tries=65535'])(
      'accepts the largest values: %s',
      async (query) => {
        expect(await app.put(`q?${query}`)).toMatchObject({ status: 201 });
      },
    );

    it.each([
      ['tries=65536', 'invalid tries'],
      ['tries=0', "tries shouldn't be zero"],
      ['ttl=5&delay=10', 'ttl is shorter than delay'],
      ['delay=86401', 'ttl is shorter than delay'],
      ['delay=x&ttl=x&tries=x', 'invalid delay'],
      ['ttl=x&tries=x', 'invalid ttl'],
      ['tries=0&ttl=5&delay=10', "tries shouldn't be zero"],
    ])('refuses the parameters %s with %j', async (query, error) => {
      expect(await app.put(`q?${query}`)).toMatchObject({ status: 400, json: { error } });
    });

    it('accepts a ttl as long as the delay', async () => {
      expect(await app.put('q?ttl=10&delay=10')).toMatchObject({ status: 201 });
    });

    it('uses the first of repeated parameters, and ignores a parameter that contains a semicolon', async () => {
      expect(await app.put('q?tries=2&tries=abc')).toMatchObject({ status: 201 });
      expect(await app.put('q?tries=abc&tries=2')).toMatchObject({ status: 400 });
      expect(await app.put('q?tries=2;ttl=5')).toMatchObject({ status: 201 });
    });

    it('keeps every byte of its body', async () => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
      await app.publish('bytes', bytes);
      expect(await app.get('bytes')).toMatchObject({ json: { data: bytes.toString('base64') } });
    });

    it('accepts an empty body and no body', async () => {
      await app.publish('empty', '');
      expect(await app.call('PUT', 'empty')).toMatchObject({ status: 201 });
      expect(await app.get('empty')).toMatchObject({ json: { data: '' } });
      expect(await app.get('empty')).toMatchObject({ json: { data: '' } });
    });

    it.each([
      ['multipart/x', 'a body'],
      ['application/json', '{not json'],
      ['nonsense', 'x'],
      ['text/plain; charset=utf-16', 'x'],
    ])('ignores the content type %s', async (type, body) => {
      await app.publish('types', body, { headers: { 'content-type': type } });
      expect(await app.get('types')).toMatchObject({ json: { data: Buffer.from(body).toString('base64') } });
    });

    it('accepts a body of 65,535 bytes and refuses one of 65,536, after the check of the parameters', async () => {
      expect(await app.put('big', Buffer.alloc(65_535))).toMatchObject({ status: 201 });
      expect(await app.put('big', Buffer.alloc(65_536))).toMatchObject({
        status: 413,
        json: { error: 'body too large' },
      });
      expect(await app.put('big?tries=x', Buffer.alloc(65_536))).toMatchObject({ status: 400 });
    });
  });
});

describe("lmstfy's API, bulk publish", () => {
  describe('a bulk publish', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BULK_BYTES: '200000' });
    });
    afterAll(() => app.stop());

    const bodies = async (queue: string): Promise<string[]> =>
      ((await app.get(`${queue}?count=100`)).json as { data: string }[]).map(({ data }) =>
        Buffer.from(data, 'base64').toString('latin1'),
      );

    it('makes a job of each element of the array, whose body is the text of the element', async () => {
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

    it('keeps blanks, numbers and duplicate keys inside an element', async () => {
      await app.put('b2/bulk', '[ {"a" : 1 ,\n "b":"\\u00e9"} , 12345678901234567890, 1.50, {"a":1,"a":2} ]');
      expect(await bodies('b2')).toEqual([
        '{"a" : 1 ,\n "b":"\\u00e9"}',
        '12345678901234567890',
        '1.50',
        '{"a":1,"a":2}',
      ]);
    });

    it('accepts strings with invalid UTF-8', async () => {
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

    it.each(['[]', ' null ', 'null'])('refuses the body %j, which has no jobs', async (body) => {
      expect(await app.put('b4/bulk', body)).toMatchObject({ status: 400, json: { error: 'no jobs' } });
    });

    it('accepts 64 jobs and refuses 65', async () => {
      const numbers = (count: number): string => JSON.stringify(Array.from({ length: count }, (_, i) => i));
      expect(((await app.put('b5/bulk', numbers(64))).json as { job_ids: string[] }).job_ids).toHaveLength(
        64,
      );
      expect(await app.put('b5/bulk', numbers(65))).toMatchObject({
        status: 400,
        json: { error: 'too many jobs' },
      });
    });

    it('refuses an element of 65,536 bytes, and a body beyond max_bulk_bytes', async () => {
      const job = (length: number): string => JSON.stringify(['a'.repeat(length - 2)]);
      expect(await app.put('b6/bulk', job(65_535))).toMatchObject({ status: 201 });
      expect(await app.put('b6/bulk', job(65_536))).toMatchObject({
        status: 413,
        json: { error: 'job too large' },
      });
      const whole = JSON.stringify(Array.from({ length: 4 }, () => 'a'.repeat(60_000)));
      expect(await app.put('b6/bulk', whole)).toMatchObject({
        status: 413,
        json: { error: 'body too large' },
      });
      expect(await app.get('b6/size')).toMatchObject({ json: { size: 1 } });
    });

    it.each([
      ['tries=0', "tries shouldn't be zero"],
      ['ttl=x', 'invalid ttl'],
      ['delay=x', 'invalid delay'],
      ['tries=x', 'invalid tries'],
      ['ttl=1&delay=2', 'ttl is shorter than delay'],
    ])('checks the parameters %s before the body', async (query, error) => {
      expect(await app.put(`b7/bulk?${query}`, 'nonsense')).toMatchObject({ status: 400, json: { error } });
    });

    it('delays all jobs', async () => {
      expect(await app.put('b8/bulk?delay=60&ttl=100&tries=2', '[1,2]')).toMatchObject({ status: 201 });
      expect(await app.get('b8/size')).toMatchObject({ json: { size: 0 } });
    });
  });
});

describe("lmstfy's API, attributes", () => {
  describe('the attributes of a job', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const attributes = async (queue: string): Promise<unknown> =>
      ((await app.get(queue)).json as { attributes: unknown }).attributes;

    it('come from Job-Attr headers, with lower-case sorted keys, without empty ones', async () => {
      await app.publish('a1', 'x', {
        headers: {
          'Enable-Job-Version': 'YES',
          'Job-Attr-Under_score': 'u',
          'Job-Attr-Color': 'Red',
          'job-attr-MiXed-Key': 'V1',
          'Job-Attr-Empty': '',
          'Job-Attr-': 'nokey',
        },
      });
      const { json, text } = await app.get('a1/peek');
      expect(json).toMatchObject({
        attributes: { '': 'nokey', color: 'Red', 'mixed-key': 'V1', under_score: 'u' },
      });
      expect(text).toContain('{"attributes":{"":"nokey","color":"Red","mixed-key":"V1","under_score":"u"},');
    });

    it.each([undefined, 'true', '1'])('are dropped when Enable-Job-Version is %j', async (value) => {
      const enable: Record<string, string> = value === undefined ? {} : { 'Enable-Job-Version': value };
      await app.publish('a2', 'x', { headers: { 'Job-Attr-Color': 'Red', ...enable } });
      expect(await attributes('a2')).toBeNull();
    });

    it('are null for a job without Job-Attr headers', async () => {
      await app.publish('a3', 'x', { headers: { 'Enable-Job-Version': 'yes' } });
      expect(await attributes('a3')).toBeNull();
    });

    it('are at most 16: a publish with 17 is refused', async () => {
      const some = (count: number): Record<string, string> =>
        Object.fromEntries(Array.from({ length: count }, (_, i) => [`Job-Attr-K${String(i)}`, 'v']));
      const on = { 'Enable-Job-Version': 'YES' };
      expect(await app.put('a4', 'x', { headers: { ...on, ...some(16) } })).toMatchObject({ status: 201 });
      expect(await app.put('a4', 'x', { headers: { ...on, ...some(17) } })).toMatchObject({
        status: 400,
        json: { error: 'too many attributes, cannot exceed 16' },
      });
    });

    it('have keys cut to 32 characters, and values cut to 128 bytes of whole characters', async () => {
      const wire = (text: string): string => Buffer.from(text).toString('latin1');
      const headers = {
        'Enable-Job-Version': 'YES',
        [`Job-Attr-${'K'.repeat(40)}`]: 'v'.repeat(200),
        'Job-Attr-Whole': wire('é'.repeat(64)),
        'Job-Attr-Two': wire(`v${'é'.repeat(100)}`),
        'Job-Attr-Three': wire('世'.repeat(100)),
        'Job-Attr-Four': wire(`ab${'😀'.repeat(100)}`),
      };
      await app.publish('a5', 'x', { headers });
      expect(await attributes('a5')).toEqual({
        ['k'.repeat(32)]: 'v'.repeat(128),
        whole: 'é'.repeat(64),
        two: `v${'é'.repeat(63)}`,
        three: '世'.repeat(42),
        four: `ab${'😀'.repeat(31)}`,
      });
    });

    it('are stored with every job of a bulk', async () => {
      const headers = { 'Enable-Job-Version': 'YES', 'Job-Attr-A': 'b, c' };
      await app.put('a6/bulk', '[1,2]', { headers });
      expect((await app.get('a6?count=5')).json).toMatchObject([
        { attributes: { a: 'b, c' } },
        { attributes: { a: 'b, c' } },
      ]);
    });

    it('are stored with the job of a republish', async () => {
      const headers = { 'Enable-Job-Version': 'YES', 'Job-Attr-A': 'b' };
      const id = await app.publish('a7');
      await app.put(`a7/job/${id}`, 'x', { headers });
      expect(await attributes('a7')).toEqual({ a: 'b' });
    });

    it('may have names of JavaScript properties and any text', async () => {
      const value = Buffer.from('é "\\ 日').toString('latin1');
      const request = [
        `PUT /api/${app.namespace}/a8 HTTP/1.1`,
        'Host: x',
        'Connection: close',
        `X-Token: ${app.token}`,
        'Enable-Job-Version: yes',
        'Job-Attr-__proto__: p',
        `Job-Attr-Text: ${value}`,
        'Content-Length: 0',
        '',
        '',
      ];
      expect(await app.raw(Buffer.from(request.join('\r\n'), 'latin1'))).toContain('201 Created');
      const { text } = await app.get('a8');
      expect(text).toContain('"__proto__":"p"');
      expect(JSON.parse(text)).toMatchObject({ attributes: { text: 'é "\\ 日' } });
    });
  });
});

describe("lmstfy's API, consume", () => {
  const NO_JOB = { status: 404, json: { msg: 'no job available' } };

  describe('a consume', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    it("returns a job as an object with keys in lmstfy's order", async () => {
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

    it('answers 404 if the queue has no job, at once or after the timeout', async () => {
      expect(await app.get('none')).toMatchObject(NO_JOB);
      const start = performance.now();
      expect(await app.get('none?timeout=1')).toMatchObject(NO_JOB);
      expect(performance.now() - start).toBeGreaterThanOrEqual(990);
    });

    it('shows a ttl of 0 for a job that never expires', async () => {
      await app.publish('forever?ttl=0');
      expect(await app.get('forever')).toMatchObject({ json: { ttl: 0 } });
    });

    it.each(['ttr', 'timeout', 'count'])('refuses a %s that is not a number', async (name) => {
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

    it('checks ttr, timeout and count before the list of queues', async () => {
      expect(await app.get(',?ttr=x')).toMatchObject({ json: { error: 'invalid ttr' } });
      expect(await app.get(',?count=0')).toMatchObject({ json: { error: 'invalid count' } });
      expect(await app.get(',')).toMatchObject({ status: 400, json: { error: 'invalid queue name(s)' } });
      expect(await app.get(',,,?timeout=1')).toMatchObject({
        status: 400,
        json: { error: 'invalid queue name(s)' },
      });
    });

    it('leases from queues in the order of the list', async () => {
      await app.publish('m1', 'in m1');
      await app.publish('m2', 'in m2');
      expect(await app.get('m2,m1?timeout=1')).toMatchObject({ json: { queue: 'm2' } });
      expect(await app.get('m2,m1')).toMatchObject({ json: { queue: 'm1' } });
      expect(await app.get('m2,m1')).toMatchObject(NO_JOB);
    });

    it('accepts empty names, duplicates, escaped commas and hundreds of queues in a list', async () => {
      expect(await app.get(',c0,')).toMatchObject(NO_JOB);
      expect(await app.get('c0,c0')).toMatchObject(NO_JOB);
      await app.publish('esc');
      expect(await app.get('c0%2Cesc')).toMatchObject({ json: { queue: 'esc' } });
      const many = Array.from({ length: 200 }, (_, i) => `k${String(i)}`).join(',');
      await app.publish('k199');
      expect(await app.get(`${many}?timeout=1`)).toMatchObject({ json: { queue: 'k199' } });
    });

    it('accepts a queue name of 256 characters or with _ as the first, but none with a blank', async () => {
      expect(await app.get('m2,%20m1')).toMatchObject({ status: 400 });
      expect(await app.get('_m1')).toMatchObject(NO_JOB);
      expect(await app.get('q'.repeat(256))).toMatchObject(NO_JOB);
    });

    it('returns an array if the count is more than one', async () => {
      for (let i = 0; i < 5; i++) await app.publish('cc', `j${String(i)}`);
      const three = (await app.get('cc?count=3')).json as { data: string }[];
      expect(three.map(({ data }) => Buffer.from(data, 'base64').toString())).toEqual(['j0', 'j1', 'j2']);
      expect(await app.get('cc?count=1')).toMatchObject({ json: { data: 'ajM=' } });
      expect((await app.get('cc?count=100')).json).toHaveLength(1);
      expect(await app.get('cc?count=2')).toMatchObject(NO_JOB);
      expect(await app.get('cc?count=2&timeout=1')).toMatchObject(NO_JOB);
    });

    it('waits until a job arrives, and returns an array if its count is more than one', async () => {
      const [one, list] = [app.get('w1?timeout=5'), app.get('w2?timeout=5&count=10')];
      const metrics = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
      await waitFor(async () => (await metrics()).includes('pumphouse_waiters{pool="default"} 2'));
      // As another process does: by wake-ups.
      await Promise.all(['w1', 'w2'].map((queue) => app.engine.publish(app.namespace, queue, newJob())));
      expect(await one).toMatchObject({ status: 200, json: { queue: 'w1' } });
      expect((await list).json).toHaveLength(1);
    });

    it('uses a try, and a job whose last try ended goes to the dead-letter queue', async () => {
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
});

describe("lmstfy's API, jobs", () => {
  const EMPTY = { status: 404, json: { error: 'the queue is empty' } };
  const NOT_FOUND = { status: 404, json: { error: 'job not found' } };
  const DONE = { status: 204, text: '' };

  describe('calls on a job: peek, acknowledge, size, destroy, republish', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    const size = async (queue: string): Promise<unknown> => (await app.get(`${queue}/size`)).json;

    it('peek shows the first ready job without a lease', async () => {
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

    it('peek by id shows a job only in its own queue', async () => {
      const id = await app.publish('k2?ttl=50');
      expect(await app.get(`k2/job/${id}`)).toMatchObject({ status: 200, json: { job_id: id, ttl: 50 } });
      expect(await app.get(`other/job/${id}`)).toMatchObject(NOT_FOUND);
      expect(await app.get('k2/job/abc')).toMatchObject(NOT_FOUND);
      expect(await app.get('k2/job/01KAK1N5VSJH40000000000000')).toMatchObject(NOT_FOUND);
      expect(await app.get(`k2/job/${'x'.repeat(5_000)}`)).toMatchObject(NOT_FOUND);
      expect(await app.get('k2/job/%FF')).toMatchObject({ status: 400 });
    });

    it('peek and size ignore delayed jobs', async () => {
      const id = await app.publish('k3?delay=60');
      expect(await app.get('k3/peek')).toMatchObject(EMPTY);
      expect(await size('k3')).toMatchObject({ size: 0 });
      expect(await app.get(`k3/job/${id}`)).toMatchObject({ status: 200 });
      expect(await app.delete(`k3/job/${id}`)).toMatchObject(DONE);
      expect(await app.get(`k3/job/${id}`)).toMatchObject(NOT_FOUND);
    });

    it('acknowledge answers 204 for any id', async () => {
      const id = await app.publish('k4');
      const { headers, ...answer } = await app.delete(`k4/job/${id}`);
      expect(answer).toMatchObject(DONE);
      expect(headers['content-type']).toBeUndefined();
      expect(await app.delete(`k4/job/${id}`)).toMatchObject(DONE);
      expect(await app.delete('k4/job/abc')).toMatchObject(DONE);
      expect(await app.delete('k4/job/%21%21')).toMatchObject(DONE);
      expect(await size('k4')).toMatchObject({ size: 0 });
    });

    it('acknowledge removes the body of a leased job', async () => {
      const id = await app.publish('k5?tries=5');
      await app.get('k5?ttr=60');
      expect(await app.delete(`k5/job/${id}`)).toMatchObject(DONE);
      expect(await app.get(`k5/job/${id}`)).toMatchObject(NOT_FOUND);
    });

    it('destroy removes ready jobs and keeps delayed ones', async () => {
      for (let i = 0; i < 3; i++) await app.publish('d1');
      const delayed = await app.publish('d1?delay=60');
      expect(await app.delete('d1')).toMatchObject(DONE);
      expect(await size('d1')).toMatchObject({ size: 0 });
      expect(await app.get(`d1/job/${delayed}`)).toMatchObject({ status: 200 });
      expect(await app.delete('never')).toMatchObject(DONE);
    });

    it('size is 0 for a queue that never existed', async () => {
      expect(await size('never')).toEqual({ namespace: app.namespace, queue: 'never', size: 0 });
    });

    it('republish replaces the old job by a new one', async () => {
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

    it('publish and consume accept the id of a job as the name of a queue', async () => {
      const id = await app.publish('ask');
      await app.publish(id, 'the reply');
      expect(await app.get(`${id}?timeout=1`)).toMatchObject({ status: 200, json: { queue: id } });
    });
  });
});

describe("lmstfy's API, dead letters", () => {
  describe('the dead-letter queue', () => {
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

    it('shows the job that died first, and the count', async () => {
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

    it('has a size of 0 in a queue without dead jobs, and its calls never answer 404', async () => {
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

    it.each(['0', '-1', 'abc', '', '1.5', '9223372036854775808', '99999999999999999999'])(
      'refuses a limit of %j',
      async (limit) => {
        const refused = { status: 400, json: { error: 'invalid limit' } };
        expect(await app.put(`x0/deadletter?limit=${limit}`)).toMatchObject(refused);
        expect(await app.delete(`x0/deadletter?limit=${limit}`)).toMatchObject(refused);
      },
    );

    it.each(['-1', 'abc', '', '9223372036854775808'])('refuses a ttl of %j', async (ttl) => {
      expect(await app.put(`x0/deadletter?ttl=${ttl}`)).toMatchObject({
        status: 400,
        json: { error: 'invalid ttl' },
      });
    });

    it.each(['4294967296', '9223372036854775807'])('accepts a ttl of %s', async (ttl) => {
      await kill(`x${ttl}`, 1);
      expect(await app.put(`x${ttl}/deadletter?ttl=${ttl}`)).toMatchObject({
        status: 200,
        json: { count: 1 },
      });
      expect(await app.get(`x${ttl}`)).toMatchObject({ status: 200 });
    });

    it('respawns jobs, oldest first, with one try and a new ttl', async () => {
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

    it('deletes the oldest job, or as many as the limit says', async () => {
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
});
