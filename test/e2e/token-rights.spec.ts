import { setTimeout as sleep } from 'node:timers/promises';
import { LastUsed } from '../../src/auth/last-used.js';
import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { type Answer, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { PoolRegistry } from '../../src/redis/redis.module.js';

/** The same path spelt so that the hot lane leaves it to the router. */
const overRouter = (path: string): string => path.replace('/mail', '/%6Dail');

describe('tokens that may not do everything', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  /** Makes a token over the admin port. */
  async function make(query: string): Promise<string> {
    const { status, json, text } = await app.admin('POST', `/token/${app.namespace}?description=d&${query}`);
    if (status !== 201) throw new Error(text);
    return (json as { token: string }).token;
  }
  const redis = () => app.server.admin.app.get(PoolRegistry, { strict: false }).get('default')!;
  const keyOf = (token: string): string =>
    new TokenKeys(redis().options.keyPrefix).token(tokenDigest('default', app.namespace, token));
  const show = async (token: string): Promise<Record<string, unknown>> =>
    (await app.admin('GET', `/token/${app.namespace}/${token}`)).json as Record<string, unknown>;

  describe('verbs', () => {
    it('let through what they name and refuse the rest, saying what is missing', async () => {
      const producer = await make('verbs=publish');
      const worker = await make('verbs=consume');
      const operator = await make('verbs=admin');
      const id = await app.publish('mail', 'x', { token: producer });
      expect(await app.get('mail', { token: producer })).toMatchObject({
        status: 403,
        text: '{"code":"verb_missing","error":"the token lacks the verb consume"}',
      });
      expect(await app.put('mail', 'x', { token: worker })).toMatchObject({
        status: 403,
        text: '{"code":"verb_missing","error":"the token lacks the verb publish"}',
      });
      for (const token of [producer, worker])
        expect(await app.delete('mail', { token })).toMatchObject({
          status: 403,
          text: '{"code":"verb_missing","error":"the token lacks the verb admin"}',
        });
      expect(await app.get('mail/size', { token: worker })).toMatchObject({ json: { size: 1 } });
      expect(await app.get(`mail/job/${id}`, { token: worker })).toMatchObject({ status: 200 });
      expect(await app.delete('mail', { token: operator })).toMatchObject({ status: 204 });
      expect(await app.get('mail/size', { token: worker })).toMatchObject({ json: { size: 0 } });
    });

    it('are answered alike by the hot lane and by the router, and on the native API as a problem', async () => {
      const producer = await make('verbs=publish');
      const path = `/api/${app.namespace}/mail`;
      const [lane, router] = [
        await app.get(path, { token: producer }),
        await app.get(overRouter(path), { token: producer }),
      ];
      expect(lane.status).toBe(403);
      expect({ status: router.status, text: router.text }).toEqual({ status: lane.status, text: lane.text });
      const acks = { body: `{"acks":[{"queue":"mail","id":"x"}]}`, token: producer };
      expect(await app.call('POST', `/v1/${app.namespace}/acks`, acks)).toMatchObject({
        status: 403,
        json: { code: 'verb_missing', detail: 'the token lacks the verb consume', status: 403 },
      });
    });

    it('are not counted against a limit when they refuse', async () => {
      const worker = await make('verbs=consume');
      const limit = `/token/${app.namespace}/${worker}/limit`;
      await app.admin('PUT', limit, { body: '{"read":1,"write":1,"interval":60}' });
      for (let i = 0; i < 3; i++)
        expect(await app.put('mail', 'x', { token: worker })).toMatchObject({ status: 403 });
      await app.publish('mail');
      expect(await app.get('mail', { token: worker })).toMatchObject({ status: 200 });
      expect(await app.get('mail', { token: worker })).toMatchObject({ status: 429 });
    });
  });

  describe('queues', () => {
    it('are those of the patterns and no other, on both ways', async () => {
      const token = await make('queues=mail-*,news');
      for (const queue of ['mail-1', 'mail-', 'news']) await app.publish(queue, 'x', { token });
      for (const queue of ['mail', 'xmail-1', 'newsletter', 'NEWS'])
        for (const path of [queue, queue.replace('m', '%6D').replace('n', '%6E')])
          expect(await app.put(path, 'x', { token })).toMatchObject({
            status: 403,
            json: {
              code: 'queue_not_allowed',
              error: `the token is for the queues mail-*,news and not for ${queue}`,
            },
          });
      expect(await app.get('newsletter/size', { token })).toMatchObject({ status: 403 });
    });

    it('must all be allowed when one call names many', async () => {
      const token = await make('queues=mail-*');
      await app.publish('mail-2');
      await app.publish('secret');
      for (const list of ['mail-1,secret', 'secret,mail-2', 'mail-2,,secret,', 'mail-2%2Csecret'])
        expect(await app.get(list, { token })).toMatchObject({
          status: 403,
          json: { error: 'the token is for the queues mail-* and not for secret' },
        });
      expect(await app.get('mail-1,,mail-2', { token })).toMatchObject({ status: 200 });
      expect(await app.get('secret/size')).toMatchObject({ json: { size: 1 } });
    });

    it('are looked at in the body of a batch of acknowledgements: then none of it is done', async () => {
      const token = await make('queues=mail-*');
      const [mine, other] = [await app.publish('mail-3'), await app.publish('else')];
      const acks = (...list: object[]): Promise<Answer> =>
        app.call('POST', `/v1/${app.namespace}/acks`, { body: JSON.stringify({ acks: list }), token });
      expect(await acks({ queue: 'mail-3', id: mine }, { queue: 'else', id: other })).toMatchObject({
        status: 403,
        json: {
          code: 'queue_not_allowed',
          detail: 'the token is for the queues mail-* and not for else',
        },
      });
      expect(await app.get(`mail-3/job/${mine}`)).toMatchObject({ status: 200 });
      expect(await acks({ queue: 'mail-3', id: mine })).toMatchObject({ status: 200 });
      expect(await app.get(`else/job/${other}`)).toMatchObject({ status: 200 });
      expect(await app.get(`mail-3/job/${mine}`)).toMatchObject({ status: 404 });
    });
  });

  it('are closed to servers that do not know of rights: those find no token', async () => {
    const read = async (token: string) => redis().read('HMGET', keyOf(token), 'pool', 'namespace', 'token');
    const limited = await make('verbs=publish');
    expect(await read(limited)).toEqual(['default', app.namespace, null]);
    const full = await make('verbs=publish,consume,admin&queues=*');
    expect(await read(full)).toEqual(['default', app.namespace, full]);
  });

  it('may do everything if they were stored before there were rights', async () => {
    const token = 'stored-by-0.1.0-a-long-time-ago';
    const fields = ['pool', 'default', 'namespace', app.namespace, 'token', token, 'description', 'old'];
    await redis().read('HSET', keyOf(token), ...fields);
    await app.publish('old', 'x', { token });
    expect(await app.get('old', { token })).toMatchObject({ status: 200 });
    expect(await app.put('old/deadletter', '', { token })).toMatchObject({ status: 200 });
    expect(await app.delete('old/deadletter', { token })).toMatchObject({ status: 204 });
    expect(await app.delete('old', { token })).toMatchObject({ status: 204 });
  });

  it('grant nothing by a verb of a later version', async () => {
    const token = await make('verbs=consume');
    await redis().read('HSET', keyOf(token), 'verbs', 'audit');
    expect(await app.get('mail', { token })).toMatchObject({ status: 403 });
    expect(await app.put('mail', 'x', { token })).toMatchObject({ status: 403 });
  });

  it.each([
    ['verbs=', 'verbs must be one or more of publish, consume, admin, separated by commas'],
    ['queues=a%20b', expect.stringMatching(/^queues must be 1 to 32 names/) as unknown],
    ['expires=soon', expect.stringMatching(/^expires must be a whole number/) as unknown],
    ['expires=2001-01-01', 'expires must be in the future'],
  ])('are not made of nonsense: %s', async (query, error) => {
    const path = `/token/${app.namespace}?description=d&${query}`;
    expect(await app.admin('POST', path)).toMatchObject({ status: 400, json: { error } });
  });

  describe('the end of a token', () => {
    it('comes by the clock of Redis, and leaves nothing in the list', async () => {
      const token = await make('expires=1s&queues=mail');
      await app.admin('PUT', `/token/${app.namespace}/${token}/limit`, {
        body: '{"read":9,"write":9,"interval":60}',
      });
      expect(await app.put('mail', 'x', { token })).toMatchObject({ status: 201 });
      await waitFor(async () => (await app.put('mail', 'x', { token })).status === 401, 5_000);
      expect(await app.put('mail', 'x', { token })).toMatchObject({ json: { error: 'invalid token' } });
      const list = await app.admin('GET', `/token/${app.namespace}`);
      expect(list.text).not.toContain(token);
      expect((await app.admin('GET', '/limits')).text).not.toContain(token);
      const keys = new TokenKeys(redis().options.keyPrefix);
      const digest = tokenDigest('default', app.namespace, token);
      expect(await redis().read('ZSCORE', keys.index('default', app.namespace), digest)).toBeNull();
      expect(await redis().read('SISMEMBER', keys.limited, digest)).toBe(0);
    });

    it('is shown, with all the rest', async () => {
      const token = await make('expires=2030-01-31T12:00:00Z&verbs=consume&queues=mail-*');
      expect(await show(token)).toEqual({
        namespace: app.namespace,
        pool: 'default',
        token,
        description: 'd',
        verbs: ['consume'],
        queues: ['mail-*'],
        made_at: expect.stringMatching(/^20\d\d-.*Z$/) as unknown,
        expires_at: '2030-01-31T12:00:00.000Z',
        last_used_at: null,
        replaced: false,
        limit: null,
      });
      const list = await app.admin('GET', `/token/${app.namespace}?details=true`);
      const { tokens, details } = list.json as { tokens: Record<string, string>; details: object };
      expect(tokens[token]).toBe('d');
      expect(details).toMatchObject({ [token]: { expires_at: '2030-01-31T12:00:00.000Z' } });
      expect(await app.admin('GET', `/token/${app.namespace}/nobody`)).toMatchObject({ status: 404 });
    });
  });

  describe('the last use', () => {
    it('is noted, once in a while, and never of a token that is gone', async () => {
      const token = await make('verbs=publish');
      await app.publish('mail', 'x', { token });
      const lastUsed = app.server.api.app.get(LastUsed, { strict: false });
      await lastUsed.flush();
      const { last_used_at: first } = await show(token);
      expect(Math.abs(Date.parse(first as string) - Date.now())).toBeLessThan(60_000);
      const store = app.server.admin.app.get(TokenStore, { strict: false });
      const digest = tokenDigest('default', app.namespace, token);
      await store.noteUse([digest, digest], 60_000);
      expect((await show(token))['last_used_at']).toBe(first);
      await sleep(2);
      await store.noteUse([digest], 0);
      expect((await show(token))['last_used_at']).not.toBe(first);
      await app.admin('DELETE', `/token/${app.namespace}/${token}`);
      await store.noteUse([digest], 0);
      expect(await redis().read('EXISTS', keyOf(token))).toBe(0);
    });
  });

  describe('rotation', () => {
    const rotate = (token: string, query = ''): Promise<Answer> =>
      app.admin('POST', `/token/${app.namespace}/${token}/rotate${query}`);

    it('gives a new token all that the old one had, and ends the old one', async () => {
      const old = await make('verbs=publish&queues=mail&expires=2030-01-31');
      const limit = '{"interval":60,"read":0,"write":2}';
      await app.admin('PUT', `/token/${app.namespace}/${old}/limit`, { body: limit });
      await app.publish('mail', 'x', { token: old });
      const { status, json } = await rotate(old);
      const { token } = json as { token: string };
      expect(status).toBe(201);
      expect(await app.put('mail', 'x', { token: old })).toMatchObject({ status: 401 });
      for (let i = 0; i < 2; i++) await app.publish('mail', 'x', { token });
      expect(await app.put('mail', 'x', { token })).toMatchObject({ status: 429 });
      expect(await app.get('mail', { token })).toMatchObject({ status: 403 });
      expect(await show(token)).toMatchObject({
        description: 'd',
        verbs: ['publish'],
        queues: ['mail'],
        expires_at: '2030-01-31T00:00:00.000Z',
        limit: { interval: 60, read: 0, write: 2 },
        replaced: false,
      });
      expect((await app.admin('GET', `/token/${app.namespace}`)).text).not.toContain(old);
      expect((await app.admin('GET', '/limits')).text).not.toContain(old);
      expect(await rotate(old)).toMatchObject({ status: 404, json: { error: 'token not found' } });
    });

    it('lets the old one work on for its grace, and no longer than it would have', async () => {
      const old = await make('expires=20h');
      const { json } = await rotate(old, '?grace=1h&expires=30d');
      const { token } = json as { token: string };
      for (const each of [old, token]) await app.publish('mail', 'x', { token: each });
      const hoursLeft = async (of: string): Promise<number> =>
        (Date.parse((await show(of))['expires_at'] as string) - Date.now()) / 3_600_000;
      expect(await hoursLeft(old)).toBeCloseTo(1, 1);
      expect(await hoursLeft(token)).toBeCloseTo(720, 0);
      expect(await show(old)).toMatchObject({ replaced: true });
      const short = await make('expires=1h');
      await rotate(short, '?grace=2d');
      expect(await hoursLeft(short)).toBeCloseTo(1, 1);
      const gone = await make('verbs=publish');
      await rotate(gone, '?grace=1s');
      await waitFor(async () => (await app.put('mail', 'x', { token: gone })).status === 401, 5_000);
    });

    it('changes nothing when it is refused', async () => {
      const [old, taken] = [await make(''), await make('')];
      const refusals = [
        ['?grace=long', 'grace must be a whole number with s, m, h or d, such as 90s or 30d, at most 3650d'],
        ['?expires=2001-01-01', 'expires must be in the future'],
        [`?token=${taken}`, 'the token has already existed'],
        ['?token=short', 'the user token was too short'],
      ];
      for (const [query, error] of refusals)
        expect(await rotate(old, query)).toMatchObject({ status: 400, json: { error } });
      expect(await show(old)).toMatchObject({ replaced: false, expires_at: null });
      await app.publish('mail', 'x', { token: old });
    });

    it('is in the audit log, with four characters of both', async () => {
      const old = await make('');
      const { token } = (await rotate(old)).json as { token: string };
      const audited = app.log.filter(({ message }) => message === 'audit').slice(-2);
      expect(audited.map(({ details }) => details)).toMatchObject([
        { audit: 'token.rotate', token_hint: `${old.slice(0, 4)}…` },
        { audit: 'token.create', token_hint: `${token.slice(0, 4)}…` },
      ]);
      expect(JSON.stringify(app.log)).not.toContain(old);
      expect(JSON.stringify(app.log)).not.toContain(token);
    });
  });

  it('a long poll that began before its token was revoked takes nothing any more', async () => {
    const token = await make('verbs=consume');
    const polls = [app.get('wait?timeout=20&ttr=60', { token }), app.get('w%61it-2?timeout=20', { token })];
    // Longer than an answer of the token store is good for: until then the job would be given out.
    await sleep(1_100);
    await app.admin('DELETE', `/token/${app.namespace}/${token}`);
    const ids = [await app.publish('wait?tries=1'), await app.publish('wait-2?tries=1')];
    for (const poll of polls)
      expect(await poll).toMatchObject({ status: 401, json: { error: 'invalid token' } });
    await waitFor(async () => (await app.get('wait/size')).text.includes('"size":1'));
    expect(await app.get('wait')).toMatchObject({ status: 200, json: { job_id: ids[0], remain_tries: 0 } });
  });

  it('a long poll whose token still holds takes its job', async () => {
    const token = await make('queues=keep');
    const poll = app.get('keep?timeout=20', { token });
    await sleep(1_100);
    const id = await app.publish('keep');
    expect(await poll).toMatchObject({ status: 200, json: { job_id: id } });
  });
});
