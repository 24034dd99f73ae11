import { setTimeout as sleep } from 'node:timers/promises';
import { tokenDigest } from '../../src/auth/credentials.js';
import { LastUsed } from '../../src/auth/last-used.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { TokenStore } from '../../src/auth/token-store.js';
import { PoolRegistry } from '../../src/redis/redis.module.js';
import { type Answer, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { type Route, withRoutes } from '../support/routes.js';
import { EventClient } from '../support/sse.js';

describe('permissions of tokens', () => {
  /** The same path, spelt so that the fast path leaves it to the router. */
  const overRouter = (path: string): string => path.replace('/mail', '/%6Dail');

  describe('tokens with permissions', () => {
    let app: TestApp;
    beforeAll(async () => {
      app = await TestApp.start();
    });
    afterAll(() => app.stop());

    /** Makes a token over the admin port. */
    async function make(query: string): Promise<string> {
      const { status, json, text } = await app.admin(
        'POST',
        `/token/${app.namespace}?description=d&${query}`,
      );
      if (status !== 201) throw new Error(text);
      return (json as { token: string }).token;
    }
    const redis = () => app.server.admin.app.get(PoolRegistry, { strict: false }).get('default')!;
    const keyOf = (token: string): string =>
      new TokenKeys(redis().options.keyPrefix).token(tokenDigest('default', app.namespace, token));
    const show = async (token: string): Promise<Record<string, unknown>> =>
      (await app.admin('GET', `/token/${app.namespace}/${token}`)).json as Record<string, unknown>;

    describe('the verbs of a token', () => {
      it('allow the calls that need them, and refuse other calls with the name of the missing verb', async () => {
        const producer = await make('verbs=publish');
        const worker = await make('verbs=consume');
        const operator = await make('verbs=admin');
        const id = await app.publish('mail', 'x', { token: producer });
        expect(await app.get('mail', { token: producer })).toMatchObject({
          status: 403,
          text: '{"code":"verb_missing","error":"the token lacks the permission consume"}',
        });
        expect(await app.put('mail', 'x', { token: worker })).toMatchObject({
          status: 403,
          text: '{"code":"verb_missing","error":"the token lacks the permission publish"}',
        });
        for (const token of [producer, worker])
          expect(await app.delete('mail', { token })).toMatchObject({
            status: 403,
            text: '{"code":"verb_missing","error":"the token lacks the permission admin"}',
          });
        expect(await app.get('mail/size', { token: worker })).toMatchObject({ json: { size: 1 } });
        expect(await app.get(`mail/job/${id}`, { token: worker })).toMatchObject({ status: 200 });
        expect(await app.delete('mail', { token: operator })).toMatchObject({ status: 204 });
        expect(await app.get('mail/size', { token: worker })).toMatchObject({ json: { size: 0 } });
      });

      it('refuse a call in the same way on fast path and router, and with problem details on the native API', async () => {
        const producer = await make('verbs=publish');
        const path = `/api/${app.namespace}/mail`;
        const [fastPath, router] = [
          await app.get(path, { token: producer }),
          await app.get(overRouter(path), { token: producer }),
        ];
        expect(fastPath.status).toBe(403);
        expect({ status: router.status, text: router.text }).toEqual({
          status: fastPath.status,
          text: fastPath.text,
        });
        const acks = { body: `{"acks":[{"queue":"mail","id":"x"}]}`, token: producer };
        expect(await app.call('POST', `/v1/${app.namespace}/acks`, acks)).toMatchObject({
          status: 403,
          json: {
            code: 'verb_missing',
            detail: 'the token lacks the permission consume: use a token that has it',
            status: 403,
          },
        });
      });

      it('count no call that they refuse against the limit of the token', async () => {
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

    describe('the queue patterns of a token', () => {
      it('allow the queues that match and no other, on fast path and router', async () => {
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

      it('refuse a consume from several queues if one queue does not match', async () => {
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

      it('refuse a batch acknowledgement as a whole if the queue of one entry does not match', async () => {
        const token = await make('queues=mail-*');
        const [mine, other] = [await app.publish('mail-3'), await app.publish('else')];
        const mail = { queue: 'mail-3', force: true };
        const acks = (...list: object[]): Promise<Answer> =>
          app.call('POST', `/v1/${app.namespace}/acks`, { body: JSON.stringify({ acks: list }), token });
        expect(await acks({ ...mail, id: mine }, { queue: 'else', id: other, force: true })).toMatchObject({
          status: 403,
          json: {
            code: 'queue_not_allowed',
            detail: 'the token is for the queues mail-* and not for else: use a token for it',
          },
        });
        expect(await app.get(`mail-3/job/${mine}`)).toMatchObject({ status: 200 });
        expect(await acks({ ...mail, id: mine })).toMatchObject({ status: 200 });
        expect(await app.get(`else/job/${other}`)).toMatchObject({ status: 200 });
        expect(await app.get(`mail-3/job/${mine}`)).toMatchObject({ status: 404 });
      });
    });

    it('are stored so that a server older than permissions does not find them', async () => {
      const read = async (token: string) => redis().read('HMGET', keyOf(token), 'pool', 'namespace', 'token');
      const limited = await make('verbs=publish');
      expect(await read(limited)).toEqual(['default', app.namespace, null]);
      const full = await make('verbs=publish,consume,admin,push&queues=*');
      expect(await read(full)).toEqual(['default', app.namespace, full]);
    });

    it('allow everything if the token is older than permissions', async () => {
      const token = 'stored-by-0.1.0-a-long-time-ago';
      const fields = ['pool', 'default', 'namespace', app.namespace, 'token', token, 'description', 'old'];
      await redis().read('HSET', keyOf(token), ...fields);
      await app.publish('old', 'x', { token });
      expect(await app.get('old', { token })).toMatchObject({ status: 200 });
      expect(await app.put('old/deadletter', '', { token })).toMatchObject({ status: 200 });
      expect(await app.delete('old/deadletter', { token })).toMatchObject({ status: 204 });
      expect(await app.delete('old', { token })).toMatchObject({ status: 204 });
    });

    it('grant nothing for a verb of a later version', async () => {
      const token = await make('verbs=consume');
      await redis().read('HSET', keyOf(token), 'verbs', 'audit');
      expect(await app.get('mail', { token })).toMatchObject({ status: 403 });
      expect(await app.put('mail', 'x', { token })).toMatchObject({ status: 403 });
    });

    it.each([
      ['verbs=', 'verbs must be one or more of publish, consume, admin, push, separated by commas'],
      ['queues=a%20b', expect.stringMatching(/^queues must be 1 to 32 names/) as unknown],
      ['expires=soon', expect.stringMatching(/^expires must be a whole number/) as unknown],
      ['expires=2001-01-01', 'expires must be in the future'],
    ])('are refused if malformed: %s', async (query, error) => {
      const path = `/token/${app.namespace}?description=d&${query}`;
      expect(await app.admin('POST', path)).toMatchObject({ status: 400, json: { error } });
    });

    describe('the expiry of a token', () => {
      it('ends the token, and removes it from all lists', async () => {
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

      it('is shown with all other fields', async () => {
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
        expect(await app.admin('GET', `/token/${app.namespace}/missing`)).toMatchObject({ status: 404 });
      });
    });

    describe('the last use of a token', () => {
      it('is recorded at intervals, and never for a deleted token', async () => {
        const token = await make('verbs=publish');
        await app.publish('mail', 'x', { token });
        const lastUsed = app.server.api.app.get(LastUsed, { strict: false });
        await lastUsed.flush();
        const { last_used_at: first } = await show(token);
        expect(Math.abs(Date.parse(first as string) - Date.now())).toBeLessThan(60_000);
        const store = app.server.admin.app.get(TokenStore, { strict: false });
        const digest = tokenDigest('default', app.namespace, token);
        await store.recordUse([digest, digest], 60_000);
        expect((await show(token))['last_used_at']).toBe(first);
        await sleep(2);
        await store.recordUse([digest], 0);
        expect((await show(token))['last_used_at']).not.toBe(first);
        await app.admin('DELETE', `/token/${app.namespace}/${token}`);
        await store.recordUse([digest], 0);
        expect(await redis().read('EXISTS', keyOf(token))).toBe(0);
      });
    });

    describe('the rotation of a token', () => {
      const rotate = (token: string, query = ''): Promise<Answer> =>
        app.admin('POST', `/token/${app.namespace}/${token}/rotate${query}`);

      it('copies permissions, expiry and limit to the new token, and ends the old one', async () => {
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

      it('keeps the old token valid for the grace, but not beyond its old expiry', async () => {
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

      it('changes nothing if it is refused', async () => {
        const [old, taken] = [await make(''), await make('')];
        const refusals = [
          [
            '?grace=long',
            'grace must be a whole number with s, m, h or d, such as 90s or 30d, at most 3650d',
          ],
          ['?expires=2001-01-01', 'expires must be in the future'],
          [`?token=${taken}`, 'the token has already existed'],
          ['?token=short', 'the user token was too short'],
        ];
        for (const [query, error] of refusals)
          expect(await rotate(old, query)).toMatchObject({ status: 400, json: { error } });
        expect(await show(old)).toMatchObject({ replaced: false, expires_at: null });
        await app.publish('mail', 'x', { token: old });
      });

      it('is in the audit log with four characters of each token', async () => {
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

    it('a long poll leases nothing after its token was revoked', async () => {
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

    it('a publish that waits shows no result after its token was revoked', async () => {
      const token = await make('verbs=publish,consume');
      const path = `/v1/${app.namespace}/jobs?wait_ms=20000`;
      const waiting = app.call('POST', path, { body: '{"queue":"asked"}', token });
      await sleep(1_100);
      await app.admin('DELETE', `/token/${app.namespace}/${token}`);
      const leased = await app.call('POST', `/v1/${app.namespace}/leases`, { body: '{"queues":["asked"]}' });
      const [{ id, lease }] = (leased.json as { jobs: [{ id: string; lease: number }] }).jobs;
      const body = JSON.stringify({ lease, result: 'secret-result' });
      expect((await app.call('POST', `/v1/${app.namespace}/jobs/${id}/ack`, { body })).status).toBe(200);
      const { status, text } = await waiting;
      expect([status, text.includes('secret-result')]).toEqual([401, false]);
    });

    it('a long poll with a valid token leases its job', async () => {
      const token = await make('queues=keep');
      const poll = app.get('keep?timeout=20', { token });
      await sleep(1_100);
      const id = await app.publish('keep');
      expect(await poll).toMatchObject({ status: 200, json: { job_id: id } });
    });
  });
});

describe('permissions by queue', () => {
  let app: TestApp;
  let routes: Route[];
  beforeAll(async () => {
    ({ started: app, routes } = await withRoutes(() => TestApp.start()));
  });
  afterAll(() => app.stop());

  const redis = () => app.server.admin.app.get(PoolRegistry, { strict: false }).get('default')!;

  type Call = (
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ) => Promise<Answer>;

  const callWith =
    (token: string): Call =>
    (method, path, body, headers = {}) =>
      app.call(method, path.startsWith('/') ? path : `/v1/${app.namespace}/${path}`, {
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        headers,
        token,
      });
  const call: Call = (...args) => callWith(app.token)(...args);

  /** Makes calls with a token that is for queue `mine` alone. */
  async function limited(verbs = 'publish,consume,admin', queues = 'mine'): Promise<Call> {
    const path = `/token/${app.namespace}?description=d&queues=${queues}&verbs=${verbs}`;
    return callWith(((await app.admin('POST', path)).json as { token: string }).token);
  }

  async function publish(job: object): Promise<string> {
    const { json, text } = await call('POST', 'jobs', { ...job });
    const { id } = json as { id?: string };
    if (id === undefined) throw new Error(text);
    return id;
  }

  /** Leases what there is in `mine`. @returns one of the jobs */
  async function leaseOf(wanted: string): Promise<{ lease: number }> {
    const { json } = await call('POST', 'leases', { queues: ['mine'], count: 100 });
    const { jobs } = json as { jobs: { id: string; lease: number }[] };
    return jobs.find(({ id }) => id === wanted)!;
  }

  const slotsOf = async (id: string): Promise<{ skipped?: number }> =>
    (await call('GET', `recurring/${id}`)).json as object;
  const find = async (id: string): Promise<unknown> => (await call('GET', `jobs/${id}`)).json;

  describe('a token for some queues', () => {
    it('replaces and debounces no job of another queue by a unique key', async () => {
      const mine = await limited();
      await publish({ queue: 'theirs', id: 'holder', data: 1, unique: { key: 'k', mode: 'reject' } });

      for (const mode of ['replace', 'debounce']) {
        const job = { queue: 'mine', data: 2, unique: { key: 'k', mode } };
        expect(await mine('POST', 'jobs', job)).toMatchObject({
          status: 409,
          json: { code: 'unique_key_taken' },
        });
        const recurring = { id: mode, schedule: { every_ms: 3_600_000 }, job };
        expect(await mine('POST', 'recurring', recurring)).toMatchObject({ status: 201 });
        await waitFor(async () => (await slotsOf(mode)).skipped === 1);
      }

      expect(await find('holder')).toMatchObject({ state: 'ready', queue: 'theirs', data: 1 });
    });

    it('cannot cancel dependents of a job, which may be in any queue', async () => {
      const mine = await limited();
      await publish({ queue: 'mine', id: 'first' });
      await publish({ queue: 'theirs', id: 'waits', depends_on: ['first'] });

      expect(await mine('POST', 'jobs/first/cancel', { cascade: true })).toMatchObject({
        status: 403,
        json: { code: 'queue_not_allowed' },
      });
      expect(await find('waits')).toMatchObject({ state: 'blocked' });
      expect(await call('POST', 'jobs/first/cancel', { cascade: true })).toMatchObject({ status: 200 });
    });

    it('cannot cancel a job of another queue by a cancel of many, nor a job that one depends on', async () => {
      const mine = await limited();
      await publish({ queue: 'mine', id: 'own' });
      await publish({ queue: 'theirs', id: 'foreign' });
      const cancel = (ids: string[], more: object = {}) => mine('POST', 'jobs/cancel', { ids, ...more });

      expect(await cancel(['own'], { cascade: true })).toMatchObject({
        status: 403,
        json: { code: 'queue_not_allowed' },
      });
      // A foreign job and one that does not exist are told alike.
      const missing = (id: string) => ({ id, outcome: 'not_found', revoked_at: null });
      const alone = await cancel(['foreign', 'no-such-job']);
      expect(alone.json).toEqual({ results: [missing('foreign'), missing('no-such-job')] });
      expect((await cancel(['foreign', 'own', 'no-such-job'])).json).toEqual({
        results: [missing('foreign'), { ...missing('own'), outcome: 'cancelled' }, missing('no-such-job')],
      });
      expect(await find('foreign')).toMatchObject({ state: 'ready' });

      await publish({ queue: 'mine', id: 'needed-by-foreign' });
      await publish({ queue: 'theirs', id: 'foreign-waits', depends_on: ['needed-by-foreign'] });
      // To name the foreign job does not help.
      const refused = await cancel(['foreign-waits', 'needed-by-foreign']);
      expect(refused).toMatchObject({ status: 409, json: { code: 'has_dependents', dependents: [] } });
      expect(JSON.stringify(refused.json)).not.toContain('foreign-waits');
      expect(await find('needed-by-foreign')).toMatchObject({ state: 'ready' });
      expect(await find('foreign-waits')).toMatchObject({ state: 'blocked' });
    });

    describe('a worker session', () => {
      const beat = { ttr_ms: 60_000, leases: [] };
      const begin = (who: Call, name: string, info: object = {}): Promise<Answer> =>
        who('POST', `workers/${name}/heartbeat`, { ...beat, info: { name: 'n', ...info } });
      const show = async (name: string): Promise<unknown> => (await call('GET', `workers/${name}`)).json;

      it('is not changed, lost or ended by a token for other queues, and keeps the stop of an operator', async () => {
        const mine = await limited('consume');
        const theirs = await limited('consume', 'theirs,other');
        for (const [name, owner] of [
          ['session-of-all', call],
          ['session-of-theirs', theirs],
        ] as const) {
          await begin(owner, name, { host: 'theirs' });
          await call('POST', `workers/${name}/stop`);
          const missing = { status: 404, json: { code: 'worker_not_found' } };
          const lost = { ...beat, ttr_ms: 1 };
          for (const body of [beat, lost, { ...lost, info: { name: 'n', host: 'mine' } }])
            expect(await mine('POST', `workers/${name}/heartbeat`, body)).toMatchObject(missing);
          expect(await mine('DELETE', `workers/${name}`)).toMatchObject(missing);
          expect(await show(name)).toMatchObject({ host: 'theirs', stop: true, lost: false });
          expect(await owner('POST', `workers/${name}/heartbeat`, beat)).toMatchObject({
            json: { stop: true },
          });
          expect((await owner('DELETE', `workers/${name}`)).status).toBe(204);
        }
      });

      it('keeps its waiting lease requests if a token for other queues ends them', async () => {
        const [mine, theirs] = [await limited('consume'), await limited('consume', 'later')];
        await begin(theirs, 'waits-long');
        const lease = { queues: ['later'], worker: 'waits-long', wait_ms: 60_000 };
        const answer = theirs('POST', 'leases', lease);
        const metrics = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
        await waitFor(async () => /^pumphouse_waiters\{.*\} 1$/m.test(await metrics()));
        // A foreign session and none are answered in the same way.
        expect((await mine('DELETE', 'workers/waits-long/waits')).status).toBe(204);
        const id = await publish({ queue: 'later' });
        expect((await answer).json).toMatchObject({ jobs: [{ id }] });
        await call('DELETE', `jobs/${id}?force=true`);
      });

      it.each([
        ['the end of the session', (name: string) => `workers/${name}`],
        ['the call on its waits', (name: string) => `workers/${name}/waits`],
        ['its loss', null],
      ])(
        'ends by %s only waits that its token could have begun, under the name of a worker that leased from other queues',
        async (_how, path) => {
          const [mine, name] = [
            await limited('consume', 'mine-waits'),
            `only-leases-${String(path?.('')).length}`,
          ];
          const wait = (queues: string[]): Promise<Answer> =>
            call('POST', 'leases', { queues, worker: name, wait_ms: 60_000 });
          const own = mine('POST', 'leases', { queues: ['mine-waits'], worker: name, wait_ms: 60_000 });
          const others = [wait(['other-jobs']), wait(['mine-waits', 'other-jobs'])];
          const metrics = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
          await waitFor(async () => /^pumphouse_waiters\{.*\} 3$/m.test(await metrics()));

          const body = { ...beat, ttr_ms: path === null ? 1 : 60_000, info: { name: 'n' } };
          expect(await mine('POST', `workers/${name}/heartbeat`, body)).toMatchObject({ status: 200 });
          if (path !== null) expect((await mine('DELETE', path(name))).status).toBe(204);
          expect((await own).json).toEqual({ jobs: [] });
          const ids = await Promise.all(others.map(() => publish({ queue: 'other-jobs' })));
          const got = (await Promise.all(others)).map(
            ({ json }) => (json as { jobs: [{ id: string }] }).jobs[0].id,
          );
          expect(got.toSorted()).toEqual(ids.toSorted());
          for (const id of ids) await call('DELETE', `jobs/${id}?force=true`);
        },
      );

      it('leaves the leases of a worker of its name, which leased from other queues', async () => {
        const mine = await limited('consume');
        const id = await publish({ queue: 'theirs-leased', type: 't' });
        await begin(mine, 'has-leases');
        await call('POST', 'leases', { queues: ['theirs-leased'], worker: 'has-leases' });
        expect((await mine('DELETE', 'workers/has-leases')).status).toBe(204);
        expect(await show('has-leases')).toMatchObject({ leased: 1, display_name: null });
        expect((await mine('DELETE', 'workers/has-leases')).status).toBe(404);
        expect((await call('DELETE', 'workers/has-leases')).status).toBe(204);
        expect((await call('GET', 'workers/has-leases')).status).toBe(404);
        await call('DELETE', `jobs/${id}?force=true`);
      });

      it('is taken over by a token for all queues that introduces its worker', async () => {
        const mine = await limited('consume');
        await begin(mine, 'taken-over');
        await begin(call, 'taken-over', { host: 'theirs' });
        expect((await mine('POST', 'workers/taken-over/heartbeat', beat)).status).toBe(404);
        expect((await mine('DELETE', 'workers/taken-over')).status).toBe(404);
        expect(await show('taken-over')).toMatchObject({ host: 'theirs', lost: false });
      });

      it('is continued by another token for its queues, or for all', async () => {
        const first = await limited('consume', 'b,a');
        const rotated = await limited('consume,publish', 'a,b');
        await begin(first, 'rotates');
        for (const each of [rotated, call, first])
          expect(await each('POST', 'workers/rotates/heartbeat', beat)).toMatchObject({ status: 200 });
        expect((await rotated('DELETE', 'workers/rotates')).status).toBe(204);
      });

      it('belongs to the token of its next heartbeat if an older server created it', async () => {
        const [mine, theirs] = [await limited('consume'), await limited('consume', 'theirs')];
        await begin(theirs, 'earlier');
        const { pool, keys } = { pool: redis(), keys: redis().keys };
        await pool.read('HDEL', keys.session(app.namespace, 'earlier'), 'scope');
        expect((await mine('DELETE', 'workers/earlier')).status).toBe(404);
        expect((await theirs('POST', 'workers/earlier/heartbeat', beat)).status).toBe(200);
        expect((await mine('POST', 'workers/earlier/heartbeat', beat)).status).toBe(404);
      });

      it('is the only kind of worker that the token can forget: one known by name stays', async () => {
        const mine = await limited('consume');
        await publish({ queue: 'theirs', type: 't' });
        await call('POST', 'leases', { queues: ['theirs'], worker: 'by-name' });
        await waitFor(async () => (await call('GET', 'workers/by-name')).status === 200);
        expect((await mine('DELETE', 'workers/by-name')).status).toBe(404);
        expect(await show('by-name')).toMatchObject({ leased: 1 });
      });
    });

    it('cannot fail dependents by deleting a job, not even by force', async () => {
      const mine = await limited();
      const consumer = await limited('consume');
      await publish({ queue: 'mine', id: 'to-delete' });
      await publish({
        queue: 'theirs',
        id: 'waits-for-it',
        depends_on: ['to-delete'],
        on_dependency_failure: 'fail',
      });

      const refused = { status: 409, json: { code: 'has_dependents', dependents: [] } };
      expect(await consumer('DELETE', 'jobs/to-delete')).toMatchObject(refused);
      expect(await consumer('DELETE', 'jobs/to-delete?force=true')).toMatchObject({ status: 403 });
      expect(await mine('DELETE', 'jobs/to-delete?force=true')).toMatchObject(refused);
      expect(await find('to-delete')).toMatchObject({ state: 'ready' });
      expect(await find('waits-for-it')).toMatchObject({ state: 'blocked' });
      expect(await call('DELETE', 'jobs/to-delete?force=true')).toMatchObject({ status: 204 });
    });
  });

  /** What no answer to a token for `mine` may have: of each foreign job the queue, the data, the result and the failure have it. */
  const SECRET = /secret/i;
  const ULID = /\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b/g;

  /** Calls that find a job by its id: each is answered as for an id that no job has. */
  const BY_ID: Readonly<Record<string, { readonly body?: object; readonly query?: string }>> = {
    'GET /v1/:namespace/jobs/:id': {},
    'POST /v1/:namespace/jobs/:id/ack': { body: { lease: 1 } },
    'POST /v1/:namespace/jobs/:id/heartbeat': { body: { lease: 1 } },
    'POST /v1/:namespace/jobs/:id/release': { body: { lease: 1 } },
    'POST /v1/:namespace/jobs/:id/retry': { body: { lease: 1 } },
    'POST /v1/:namespace/jobs/:id/fail': { body: { lease: 1 } },
    'POST /v1/:namespace/jobs/:id/cancel': { body: {} },
    'POST /v1/:namespace/jobs/:id/revoke': { body: {} },
    'DELETE /v1/:namespace/jobs/:id': {},
    'PATCH /v1/:namespace/jobs/:id': { body: { priority: 1 } },
    'POST /v1/:namespace/jobs/:id/dependencies': { body: { depends_on: ['x'] } },
    'DELETE /v1/:namespace/jobs/:id/dependencies': { body: { depends_on: ['x'] } },
    'POST /v1/:namespace/jobs/:id/log': { body: { message: 'm' } },
    'GET /v1/:namespace/jobs/:id/explain': {},
    'GET /v1/:namespace/jobs/:id/tags': {},
    'GET /v1/:namespace/operations/:id': {},
    'POST /v1/:namespace/operations/:id/stop': {},
    'POST /v1/:namespace/operations/:id/undo': {},
    'POST /v1/:namespace/jobs/:id/tags': { body: { tags: ['a'] } },
    'DELETE /v1/:namespace/jobs/:id/tags': { query: '?tags=a' },
    'PUT /v1/:namespace/tracked/:id': {},
    'DELETE /v1/:namespace/tracked/:id': {},
    'GET /v1/:namespace/recurring/:id': {},
    'PATCH /v1/:namespace/recurring/:id': { body: { paused: true } },
    'DELETE /v1/:namespace/recurring/:id': {},
    'POST /v1/:namespace/recurring/:id/pause': { body: {} },
    'POST /v1/:namespace/recurring/:id/resume': { body: {} },
    'POST /v1/:namespace/recurring/:id/run': { body: {} },
    'GET /v1/:namespace/recurring/:id/next': {},
    'GET /v1/:namespace/recurring/:id/explain': {},
    'GET /api/:namespace/:queue/job/:job_id': {},
    'DELETE /api/:namespace/:queue/job/:job_id': {},
    'PUT /api/:namespace/:queue/job/:job_id': { body: {} },
  };
  /** They store under an id, and so have to say that it is taken. */
  const STORES_BY_ID = ['PUT /v1/:namespace/recurring/:id', 'PUT /v1/:namespace/jobs/:id'];

  describe("T50: a job in a queue outside the token's queues", () => {
    let mine: Call;
    /** Foreign jobs by state, each with a recurring job of the same id. */
    const foreign: Record<string, string> = {};

    beforeAll(async () => {
      mine = await limited();
      // Only of a queue with extended jobs a batch of acknowledgements looks at the jobs by their ids.
      await publish({ queue: 'mine', id: 'extended', type: 't', delay_ms: 600_000 });
      const job = { queue: 'secret-queue', data: 'secret-data', type: 'secret-type', retention_ms: 600_000 };
      const schedule = { every_ms: 3_600_000, offset_ms: 1_800_000 };
      for (const state of ['leased', 'done', 'dead', 'ready']) {
        const id = await publish({
          ...job,
          unique: { key: `key-${state}`, mode: 'reject', window_ms: 600_000 },
        });
        foreign[state] = id;
        await call('PUT', `recurring/${id}`, { schedule, job, paused: true });
        if (state === 'ready') continue;
        const { json } = await call('POST', 'leases', { queues: ['secret-queue'] });
        const [{ lease } = { lease: 0 }] = (json as { jobs: { lease: number }[] }).jobs;
        const ends = { lease, result: 'secret-result' };
        if (state === 'done') await call('POST', `jobs/${id}/ack`, ends);
        const failure = { lease, group: 'secret-group', message: 'secret-message' };
        if (state === 'dead') await call('POST', `jobs/${id}/fail`, failure);
        expect(await find(id)).toMatchObject({ state });
      }
    });

    it('is not revealed or changed by any call by id', async () => {
      const named = routes.map(({ method, template }) => `${method} ${template}`);
      const byId = named.filter((name) => /:(job_)?id/.test(name));
      expect([...Object.keys(BY_ID), ...STORES_BY_ID].sort()).toEqual(byId.sort());

      const before = await Promise.all(Object.values(foreign).map(find));
      for (const [name, { body, query = '' }] of Object.entries(BY_ID)) {
        const [method = '', template = ''] = name.split(' ');
        const find2 = async (id: string): Promise<object> => {
          const path = template
            .replace(':namespace', app.namespace)
            .replace(':queue', 'mine')
            .replace(':id', id);
          const { status, text } = await mine(method, path + query, body);
          return { name, status, text: text.replaceAll(ULID, '<id>') };
        };
        const unknown = await find2('01ARZ3NDEKTSV4RRFFQ69G5FAV');
        for (const id of Object.values(foreign)) expect(await find2(id)).toEqual(unknown);
      }
      expect(await Promise.all(Object.values(foreign).map(find))).toEqual(before);
      for (const id of Object.values(foreign))
        expect((await call('GET', `recurring/${id}`)).status).toBe(200);
    });

    it('is not revealed by a recurring job that uses its id', async () => {
      const recurring = { schedule: { every_ms: 3_600_000 }, job: { queue: 'mine' } };
      const { status, text } = await mine('PUT', `recurring/${foreign['ready']!}`, recurring);
      expect(status).toBe(403);
      expect(text).not.toMatch(SECRET);
    });

    it.each<[string, (id: string) => Promise<Answer>]>([
      ['acks', (id) => mine('POST', 'acks', { acks: [{ queue: 'mine', id, lease: 1 }] })],
      ['respawn', (id) => mine('POST', 'dead-letter/respawn', { ids: [id], filter: { queue: 'mine' } })],
      ['delete', (id) => mine('POST', 'dead-letter/delete', { ids: [id], filter: { queue: 'mine' } })],
      [
        'dry run',
        (id) => mine('POST', 'dead-letter/delete', { ids: [id], filter: { queue: 'mine' }, dry_run: true }),
      ],
      ['list by worker', (id) => mine('GET', `jobs?queue=mine&worker=${id}`)],
      ['dead letter', () => mine('GET', 'dead-letter?queue=mine')],
      ['queues', () => mine('GET', 'queues')],
    ])('is not revealed by a batch or list: %s', async (_name, find2) => {
      const ofNone = await find2('01ARZ3NDEKTSV4RRFFQ69G5FAV');
      expect(ofNone.status).toBe(200);
      for (const id of Object.values(foreign)) {
        const { status, text } = await find2(id);
        expect([status, text.replaceAll(ULID, '<id>')]).toEqual([200, ofNone.text.replaceAll(ULID, '<id>')]);
        expect(text).not.toMatch(SECRET);
      }
    });

    it('is answered as a new job to a publish with its id in X-Job-ID', async () => {
      for (const [state, id] of Object.entries(foreign)) {
        for (const [job, shown] of [
          [{}, 'ready'],
          [{ type: 't' }, 'ready'],
          [{ type: 't', delay_ms: 60_000 }, 'scheduled'],
        ] as const) {
          const answer = await mine('POST', 'jobs', { queue: 'mine', ...job }, { 'X-Job-ID': id });
          expect([state, answer.status, answer.json]).toEqual([
            state,
            201,
            { id, state: shown, existing: false },
          ]);
        }
      }
    });

    it('is answered as a removed job to a waiting publish with its id in X-Job-ID', async () => {
      for (const [state, id] of Object.entries(foreign)) {
        const args = performance.now();
        const answer = await mine('POST', 'jobs?wait_ms=20000', { queue: 'mine' }, { 'X-Job-ID': id });
        expect({ state, status: answer.status, json: answer.json }).toEqual({
          ...{ state, status: 200 },
          json: {
            ...{ id, state: null, existing: false, published_at: null, tries: null },
            ...{ result: null, failure: null },
          },
        });
        expect(performance.now() - args).toBeLessThan(15_000);
      }
    });

    it.each(['reject', 'existing', 'replace', 'debounce'])(
      'is not revealed by a unique key that it holds: %s',
      async (mode) => {
        for (const state of Object.keys(foreign)) {
          const job = { queue: 'mine', unique: { key: `key-${state}`, mode } };
          for (const wait of ['', '?wait_ms=5000']) {
            const { status, text } = await mine('POST', `jobs${wait}`, job);
            expect([mode, state, status]).toEqual([mode, state, 409]);
            expect(text).toContain('unique_key_taken');
            expect(text).not.toContain('holder_id');
            expect(text).not.toContain(foreign[state]!);
          }
          // All or none: a refusal leaves nothing of its call.
          const jobs = [{ queue: 'mine', id: `free-${mode}` }, job];
          expect(await mine('POST', 'jobs', { jobs })).toMatchObject({ status: 409 });
          expect((await call('GET', `jobs/free-${mode}`)).status).toBe(404);
        }
      },
    );

    it('is not revealed by an idempotency key', async () => {
      await publish({ queue: 'secret-queue', id: 'held', unique: { key: 'held', mode: 'reject' } });
      const job = { queue: 'mine', unique: { key: 'held', mode: 'existing' } };
      const key = { 'Idempotency-Key': 'known' };
      expect(await call('POST', 'jobs', job, key)).toMatchObject({ json: { id: 'held', existing: true } });
      const again = await mine('POST', 'jobs', job, key);
      expect([again.status, again.text.includes('held"')]).toEqual([409, false]);

      // The same request, whose job has moved on meanwhile.
      const own = { queue: 'mine', id: 'moves' };
      const other = { 'Idempotency-Key': 'other' };
      await mine('POST', 'jobs?wait_ms=1', own, other);
      const { lease } = await leaseOf('moves');
      await call('POST', 'jobs/moves/ack', { lease, next: { queue: 'secret-queue' } });
      const waited = await mine('POST', 'jobs?wait_ms=1', own, other);
      expect(waited).toMatchObject({ status: 200, json: { id: 'moves', state: null, result: null } });
    });

    it('is refused as a dependency in every call', async () => {
      const own = await publish({ queue: 'mine', id: 'depends', type: 't', delay_ms: 600_000 });
      await publish({ queue: 'mine', id: 'leased', type: 't' });
      const { lease } = await leaseOf('leased');
      const depends_on = [foreign['ready']!];
      const next = { lease, next: { queue: 'mine', depends_on } };
      const job = { queue: 'mine', depends_on };
      const schedule = { every_ms: 3_600_000 };
      await mine('PUT', 'recurring/own', { schedule, job: { queue: 'mine' }, paused: true });
      for (const [method, path, body] of [
        ['POST', 'jobs', job],
        ['POST', 'jobs', { jobs: [{ queue: 'mine' }, job] }],
        ['PATCH', `jobs/${own}`, { depends_on }],
        ['POST', `jobs/${own}/dependencies`, { depends_on }],
        ['POST', 'jobs/leased/ack', next],
        ['POST', 'acks', { acks: [{ queue: 'mine', id: 'leased', ...next }] }],
        ['POST', 'recurring', { schedule, job }],
        ['PUT', 'recurring/own', { schedule, job }],
        ['PATCH', 'recurring/own', { job: { depends_on } }],
      ] as const) {
        const { status, text } = await mine(method, path, body);
        expect([path, status, text]).toEqual([path, 403, expect.stringContaining('queue_not_allowed')]);
        expect(text).not.toMatch(SECRET);
      }
      expect(await find(foreign['ready']!)).toMatchObject({ dependents: [] });
      // Jobs of its own queue, of its own call, and such as are not there any more, may be named.
      const jobs = [
        { queue: 'mine', id: 'a' },
        { queue: 'mine', depends_on: ['a', own, 'gone'] },
      ];
      expect((await mine('POST', 'jobs', { jobs })).status).toBe(201);
    });

    it('is not revealed as a dependent of another job', async () => {
      await publish({ queue: 'mine', id: 'needed' });
      await publish({ queue: 'mine', id: 'own-dependent', depends_on: ['needed'] });
      await publish({ queue: 'secret-queue', id: 'foreign-dependent', depends_on: ['needed'] });
      expect((await mine('GET', 'jobs/needed')).json).toMatchObject({ dependents: ['own-dependent'] });
      expect(await find('needed')).toMatchObject({ dependents: ['foreign-dependent', 'own-dependent'] });
      expect(await mine('POST', 'jobs/needed/cancel', {})).toMatchObject({
        status: 409,
        json: { code: 'has_dependents', dependents: ['own-dependent'] },
      });
    });

    it('is not revealed by an event', async () => {
      const made = await app.admin('POST', `/token/${app.namespace}?description=d&queues=mine`);
      const { token } = made.json as { token: string };
      const path = `/v1/${app.namespace}/events?job=${foreign['ready']!},seen`;
      const client = await (await EventClient.open(app.port, path, token)).begun();
      try {
        await call('POST', `jobs/${foreign['ready']!}/log`, { message: 'secret' });
        await publish({ queue: 'mine', id: 'seen', type: 't' });
        const [first] = await client.until(1);
        expect(first?.data).toMatchObject({ id: 'seen' });
      } finally {
        client.cut();
      }
    });
  });

  describe('a push target', () => {
    const hook = { url: 'https://192.0.2.1/', origins: ['https://192.0.2.2'] };
    const url = 'https://192.0.2.2/';
    beforeAll(async () => {
      expect((await call('PUT', 'targets/billing', hook)).status).toBe(200);
    });

    it('is not shown to a token for some queues, nor set on a queue by it', async () => {
      const mine = await limited('publish,consume,admin,push');
      const refusals = [
        await mine('GET', 'targets/billing'),
        await mine('PATCH', 'queues/mine', { push: { target: 'billing' } }),
        // Not even whether there is such a target.
        await mine('PATCH', 'queues/mine', { push: { target: 'no-such-target' } }),
      ];
      for (const { status, json } of refusals)
        expect({ status, json }).toMatchObject({
          status: 403,
          json: {
            detail: 'the token is for the queues mine and not for a whole namespace: use a token for it',
          },
        });
      expect((await call('GET', 'queues/mine')).json).toMatchObject({ push: null });

      await call('PATCH', 'queues/mine', { push: { target: 'billing' } });
      // Its own queue may be pushed no longer, and have other settings.
      expect(await mine('PATCH', 'queues/mine', { max_running: 7 })).toMatchObject({ status: 200 });
      expect(await mine('PATCH', 'queues/mine', { push: null })).toMatchObject({
        ...{ status: 200, json: { push: null } },
      });
      const all = await limited('admin,push', '*');
      expect((await all('PATCH', 'queues/other', { push: { target: 'billing' } })).status).toBe(200);
    });

    it('gets no job with a URL that a token without the permission push publishes, changes or runs', async () => {
      const publisher = await limited('publish');
      const job = { queue: 'mine', data: 1, push: { url } };
      await call('POST', 'jobs', { ...job, id: 'to-url', delay_ms: 600_000 });
      const schedule = { every_ms: 3_600_000, offset_ms: 1_800_000 };
      await call('PUT', 'recurring/to-url', { schedule, job });
      for (const [method, path, body] of [
        ['POST', 'jobs', job],
        ['PATCH', 'jobs/to-url', { data: 2 }],
        ['PATCH', 'jobs/to-url', { queue: 'mine' }],
        ['PUT', 'recurring/own', { schedule, job }],
        ['PATCH', 'recurring/to-url', { job: { data: 2 } }],
        ['PATCH', 'recurring/to-url', { job: { queue: 'mine' } }],
        ['POST', 'recurring/to-url/run', undefined],
      ] as const) {
        const { status, text } = await publisher(method, path, body);
        expect([path, status, text]).toEqual([path, 403, expect.stringContaining('permission push')]);
      }
      expect(await find('to-url')).toMatchObject({ data: 1 });
      // What changes neither the data nor the place is as for any job.
      expect((await publisher('PATCH', 'jobs/to-url', { priority: 1 })).status).toBe(200);
      expect((await publisher('POST', 'recurring/to-url/pause')).status).toBe(200);
    });

    it('gets nothing from a token without push at the URL of a job', async () => {
      const worker = await limited('publish,consume,admin', '*');
      const job = { queue: 'work', data: 1, push: { url }, tries: 9, retention_ms: 60_000 };
      const leaseOf = async (id: string): Promise<string> => {
        expect((await call('POST', 'jobs', { ...job, id })).status).toBe(201);
        const { json } = await worker('POST', 'leases', { queues: ['work'] });
        return (json as { jobs: { lease: string }[] }).jobs[0]!.lease;
      };
      const lease = await leaseOf('url-leased');
      const key = { key: 'of-url', mode: 'debounce' };
      await call('POST', 'jobs', { ...job, id: 'url-waiting', delay_ms: 600_000, unique: key });
      for (const [path, body] of [
        ['jobs/url-leased/ack', { lease, data: 2 }],
        ['jobs/url-leased/ack', { lease, next: { queue: 'pushed' } }],
        ['jobs/url-leased/heartbeat', { lease, data: 2 }],
        ['jobs/url-leased/retry', { lease, data: 2, group: 'g', message: 'm' }],
        ['jobs/url-leased/fail', { lease, data: 2, group: 'g', message: 'm' }],
        ['jobs', { queue: 'work', data: 2, delay_ms: 600_000, unique: key }],
      ] as const) {
        const { status, text } = await worker('POST', path, body);
        expect([path, status, text]).toEqual([path, 403, expect.stringContaining('permission push')]);
      }
      const acks = [{ queue: 'work', id: 'url-leased', lease, next: { queue: 'pushed' } }];
      expect((await worker('POST', 'acks', { acks })).json).toEqual({
        results: [{ id: 'url-leased', status: 'verb_missing' }],
      });
      expect(await find('url-leased')).toMatchObject({ data: 1, queue: 'work', state: 'leased' });
      expect(await find('url-waiting')).toMatchObject({ data: 1 });

      // What ends the lease without other data and in the same queue is as for any job.
      const failed = { lease, group: 'g', message: 'm' };
      expect((await worker('POST', 'jobs/url-leased/fail', failed)).status).toBe(200);
      const ids = ['url-leased'];
      const moved = { ids, to_queue: 'pushed' };
      expect((await worker('POST', 'dead-letter/move', moved)).json).toMatchObject({ jobs: 0 });
      const all = { filter: { queue: 'work' }, to_queue: 'pushed' };
      expect((await worker('POST', 'dead-letter/move', all)).json).toMatchObject({ jobs: 0 });
      expect(await find('url-leased')).toMatchObject({ state: 'dead', queue: 'work' });
      expect((await worker('POST', 'dead-letter/respawn', { ids })).json).toMatchObject({ jobs: 1 });
      await call('POST', 'jobs/url-leased/cancel');

      // A token with push may do it all.
      const pusher = await limited('publish,consume,push', '*');
      const next = { lease: await leaseOf('url-next'), data: 3, next: { queue: 'elsewhere' } };
      expect((await pusher('POST', 'jobs/url-next/ack', next)).status).toBe(200);
      expect(await find('url-next')).toMatchObject({ data: 3, queue: 'elsewhere' });
      const again = { queue: 'work', data: 3, delay_ms: 600_000, unique: key };
      expect((await pusher('POST', 'jobs', again)).status).toBe(201);
      expect(await find('url-waiting')).toMatchObject({ data: 3 });
    });
  });

  it('refuses a publish that waits to a token without the permission consume, and stores no job', async () => {
    const publisher = await limited('publish', 'mine');
    const job = { queue: 'mine', id: 'not-stored' };
    expect(await publisher('POST', 'jobs?wait_ms=1', job)).toMatchObject({
      status: 403,
      json: {
        code: 'verb_missing',
        detail: 'the token lacks the permission consume: use a token that has it',
      },
    });
    expect((await call('GET', 'jobs/not-stored')).status).toBe(404);
    expect((await publisher('POST', 'jobs', job)).status).toBe(201);
  });
});
