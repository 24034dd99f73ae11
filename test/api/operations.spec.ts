import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { PoolRegistry } from '../../src/redis/redis.module.js';
import type { Answer } from '../support/app.js';
import { app, call, find, fresh, given, leaseOne, publish, useNativeApi } from '../support/native-api.js';
import { ended, type Operation, run, start, token } from '../support/native-operations.js';

describe('an operation of the native API', () => {
  useNativeApi();

  it('does to each job of its filter what the call for one job does', async () => {
    const queue = fresh();
    const ids = [];
    for (let i = 0; i < 70; i++) ids.push((await publish({ queue, type: i % 2 === 0 ? 'a' : 'b' })).id);
    const dry = await run({ action: 'cancel', filter: { queue, type: 'a' }, dry_run: true });
    expect(dry).toMatchObject({ state: 'done', matched: 35, done: 0, dry_run: true });
    expect(dry['samples']).toHaveLength(5);
    const done = await run({ action: 'cancel', filter: { queue, type: 'a' } });
    expect(done).toMatchObject({ state: 'done', matched: 35, done: 35, refusals: [], set: null, to: null });
    expect(done['filter']).toEqual({
      queue,
      type: 'a',
      state: ['ready', 'scheduled', 'blocked', 'held', 'leased'],
    });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 35 } });
    const patched = await run({
      action: 'patch',
      filter: { queue },
      set: { priority: 3, data: { now: 1 }, due_at: '2020-01-01T00:00:00Z' },
    });
    expect(patched).toMatchObject({
      done: 35,
      set: { priority: 3, data: true, due_at: '2020-01-01T00:00:00.000Z' },
    });
    const job = await find(ids[1]!);
    expect(job).toMatchObject({ priority: 3, data: { now: 1 } });
    expect(job['timeline']).toContainEqual(
      expect.objectContaining({ what: 'changed', operation: patched.id }),
    );
    expect(await run({ action: 'move', filter: { queue }, to: `${queue}-new` })).toMatchObject({
      ...{ done: 35, to: `${queue}-new` },
    });
    expect(await run({ action: 'delete', filter: { queue: `${queue}-new` } })).toMatchObject({ done: 35 });
  });

  it('acts on dead jobs by group, message and time of death', async () => {
    const queue = fresh();
    for (const message of ['timeout after 5 s', 'no such host']) {
      await publish({ queue, tries: 1 });
      const job = await leaseOne(queue);
      await given('POST', `jobs/${job.id}/fail`, { lease: job.lease, group: 'net', message });
    }
    const filter = { queue, group: 'net', text: 'TIMEOUT' };
    const later = new Date(Date.now() + 3_600_000).toISOString();
    expect(await run({ action: 'delete', filter: { ...filter, from: later } })).toMatchObject({ matched: 0 });
    expect(await run({ action: 'respawn', filter: { ...filter, to: later }, tries: 7 })).toMatchObject({
      done: 1,
    });
    expect(await leaseOne(queue)).toMatchObject({ tries_left: 6 });
    expect(await run({ action: 'delete', filter: { queue, state: ['dead'] } })).toMatchObject({ done: 1 });
  });

  it('is listed, newest first, page by page', async () => {
    const queue = fresh();
    const ids = [];
    for (let i = 0; i < 3; i++) ids.unshift((await run({ action: 'cancel', filter: { queue } })).id);
    const first = await given<{ items: Operation[]; next_cursor: string }>('GET', 'operations?limit=2');
    expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const rest = await given<{ items: Operation[] }>('GET', `operations?cursor=${first.next_cursor}`);
    expect(rest.items[0]!.id).toBe(ids[2]);
  });

  it('refuses fields that do not go with its action', async () => {
    const filter = { queue: fresh() };
    for (const [body, field] of [
      [{ action: 'move', filter }, 'to'],
      [{ action: 'patch', filter }, 'set'],
      [{ action: 'cancel', filter, to: 'x' }, 'to'],
      [{ action: 'delete', filter, cascade: true }, 'cascade'],
      [{ action: 'respawn', filter: { ...filter, state: ['ready'] } }, 'filter.state'],
      [{ action: 'respawn', filter, tries: 1, keep_tries: true }, 'tries'],
      [{ action: 'cancel' }, 'filter'],
      [{ action: 'explode', filter }, 'action'],
    ] as const)
      expect((await start(body)).json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
  });

  it('answers the same request with the same idempotency key by the same operation', async () => {
    const body = { action: 'cancel', filter: { queue: fresh() } };
    const headers = { 'Idempotency-Key': fresh('key-') };
    const [first, again] = [await start(body, undefined, headers), await start(body, undefined, headers)];
    expect((again.json as Operation).id).toBe((first.json as Operation).id);
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([
      undefined,
      'true',
    ]);
    expect(await start({ ...body, action: 'delete' }, undefined, headers)).toMatchObject({
      ...{ status: 422, json: { code: 'idempotency_key_reused' } },
    });
  });

  it('is refused with 429 and Retry-After while four others run', async () => {
    const queue = fresh();
    const slow: string[] = [];
    for (let i = 0; i < 4; i++) {
      const own = fresh();
      for (let n = 0; n < 5; n++) await publish({ queue: own });
      const { json } = await start({ action: 'delete', filter: { queue: own }, rate_per_s: 1 });
      slow.push((json as Operation).id);
    }
    const refused = await start({ action: 'delete', filter: { queue } });
    expect(refused).toMatchObject({ status: 429, json: { code: 'too_many_operations' } });
    expect(refused.headers['retry-after']).toBe('1');
    for (const id of slow)
      expect(await given('POST', `operations/${id}/stop`)).toMatchObject({
        state: 'stopped',
        reason: 'stopped',
      });
  });

  describe('an operation that a token started', () => {
    const refusedBy = async (body: object, by: string): Promise<unknown> => (await start(body, by)).json;

    it('needs the permissions of the call for one job', async () => {
      const filter = { queue: fresh() };
      const [consumer, producer, admin] = [
        await token('verbs=consume'),
        await token('verbs=consume,publish'),
        await token('verbs=consume,admin'),
      ];
      for (const [action, more, allowed, refused] of [
        ['cancel', {}, consumer, null],
        ['delete', {}, consumer, null],
        ['patch', { set: { priority: 1 } }, producer, consumer],
        ['move', { to: 'elsewhere' }, producer, consumer],
        ['respawn', {}, admin, producer],
        ['retry', {}, null, admin],
      ] as const) {
        const body = { action, filter, ...more };
        if (allowed !== null) expect([action, (await run(body, allowed)).state]).toEqual([action, 'done']);
        if (refused !== null)
          expect([action, await refusedBy(body, refused)]).toEqual([
            action,
            expect.objectContaining({ code: 'verb_missing' }),
          ]);
      }
      expect(await refusedBy({ action: 'cancel', filter }, await token('verbs=publish'))).toMatchObject({
        code: 'verb_missing',
      });
    });

    it('matches only jobs in the queues of the token, and moves none elsewhere', async () => {
      const [mine, theirs] = [fresh('mine-'), fresh('theirs-')];
      const limited = await token('verbs=consume,publish,admin&queues=mine-*');
      const ids = [];
      for (const queue of [mine, theirs]) ids.push((await publish({ queue, type: mine })).id);
      for (const filter of [{ type: mine }, {}]) {
        const { status, json } = await start({ action: 'cancel', filter, dry_run: true }, limited);
        expect(status).toBe(202);
        const dry = await ended((json as Operation).id);
        expect(
          (dry['samples'] as { queue: string }[]).filter(({ queue }) => !queue.startsWith('mine-')),
        ).toEqual([]);
      }
      for (const body of [
        { action: 'cancel', filter: { queue: theirs } },
        { action: 'move', filter: { queue: mine }, to: theirs },
        { action: 'cancel', filter: { queue: mine }, cascade: true },
      ])
        expect(await refusedBy(body, limited)).toMatchObject({ code: 'queue_not_allowed' });
      expect(await run({ action: 'cancel', filter: { type: mine } }, limited)).toMatchObject({ matched: 1 });
      expect((await call('GET', `jobs/${ids[0]!}`)).status).toBe(404);
      expect(await find(ids[1]!)).toMatchObject({ state: 'ready' });
    });

    it('is seen and stopped by its own token, and not by a token for other queues', async () => {
      const queue = fresh('mine-');
      for (let i = 0; i < 5; i++) await publish({ queue });
      const [mine, theirs] = [
        await token('verbs=consume&queues=mine-*'),
        await token('verbs=consume&queues=other'),
      ];
      const { json } = await start({ action: 'delete', filter: {}, rate_per_s: 1 }, mine);
      const { id } = json as Operation;
      const ofQueue = await run({ action: 'cancel', filter: { queue }, dry_run: true });
      const as = (by: string, method: string, path = ''): Promise<Answer> =>
        call(method, `operations/${id}${path}`, undefined, { token: by });
      expect((await as(theirs, 'GET')).json).toMatchObject({ code: 'operation_not_found' });
      expect((await as(theirs, 'POST', '/stop')).json).toMatchObject({ code: 'operation_not_found' });
      const listed = await call('GET', 'operations', undefined, { token: theirs });
      expect(listed.json).toMatchObject({ items: [] });
      const shown = await call('GET', 'operations', undefined, { token: mine });
      expect((shown.json as { items: Operation[] }).items.map((one) => one.id)).toEqual([ofQueue.id, id]);
      expect((await as(mine, 'GET')).json).toMatchObject({ id });
      expect((await as(mine, 'POST', '/stop')).json).toMatchObject({ state: 'stopped' });
    });

    it('does not show the operation of another token by its idempotency key', async () => {
      const headers = { 'Idempotency-Key': fresh('key-') };
      const body = { action: 'delete', filter: {} };
      const [mine, theirs] = [
        await token('verbs=consume&queues=mine-*'),
        await token('verbs=consume&queues=other'),
      ];
      expect((await start(body, mine, headers)).status).toBe(202);
      expect((await start(body, theirs, headers)).json).toMatchObject({ code: 'idempotency_key_reused' });
    });

    it('stops when its token is deleted', async () => {
      const queue = fresh();
      for (let i = 0; i < 40; i++) await publish({ queue });
      const mine = await token('verbs=consume');
      const { json } = await start({ action: 'delete', filter: { queue }, rate_per_s: 5 }, mine);
      await app.admin('DELETE', `/token/${app.namespace}/${mine}`);
      const { id } = json as Operation;
      const stopped = await ended(id);
      expect(stopped).toMatchObject({ state: 'stopped', reason: 'token_revoked' });
      expect(stopped.done).toBeLessThan(40);
      expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 40 - stopped.done } });
    });

    it('stops when its token loses a permission', async () => {
      const queue = fresh();
      for (let i = 0; i < 40; i++) await publish({ queue });
      const mine = await token('verbs=consume,publish');
      const { json } = await start(
        { action: 'patch', filter: { queue }, set: { priority: 1 }, rate_per_s: 5 },
        mine,
      );
      const redis = app.server.admin.app.get(PoolRegistry, { strict: false }).get('default')!;
      const key = new TokenKeys('').token(tokenDigest('default', app.namespace, mine));
      expect(await redis.read('HSET', key, 'verbs', 'consume')).toBe(0);
      expect(await ended((json as Operation).id)).toMatchObject({
        state: 'stopped',
        reason: 'rights_changed',
      });
    });
  });
});
