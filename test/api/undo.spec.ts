import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { Engines } from '../../src/engine/engines.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { PoolRegistry } from '../../src/redis/redis.module.js';
import {
  ended,
  type Operation,
  run as runOperation,
  start as startOperation,
  token,
} from '../support/native-operations.js';
import { waitFor } from '../support/redis.js';
import type { Answer } from '../support/app.js';
import { app, call, find, fresh, given, leaseOne, publish, useNativeApi } from '../support/native-api.js';

describe('the undo of an operation over the native API', () => {
  useNativeApi();

  const UNDOABLE = { undo_ms: 60_000 };
  const start = (body: object, by?: string): Promise<Answer> => startOperation({ ...UNDOABLE, ...body }, by);
  const run = (body: object, by?: string): Promise<Operation> => runOperation({ ...UNDOABLE, ...body }, by);
  const undo = (id: string, by?: string): Promise<Answer> =>
    call('POST', `operations/${id}/undo`, undefined, by === undefined ? {} : { token: by });
  /** Changes a field of a stored token. */
  const changeToken = (its: string, field: string, value: string): Promise<unknown> =>
    app.server.admin.app
      .get(PoolRegistry, { strict: false })
      .get('default')!
      .read('HSET', new TokenKeys('').token(tokenDigest('default', app.namespace, its)), field, value);
  /** Takes a queue from a token, and waits until the server knows. */
  const takeQueue = async (its: string, queue: string): Promise<void> => {
    await changeToken(its, 'queues', 'elsewhere');
    await waitFor(
      async () => (await call('GET', `queues/${queue}`, undefined, { token: its })).status === 403,
    );
  };

  it('brings jobs back as they were, with an event of it in their timelines', async () => {
    const queue = fresh();
    const data = { text: 'Ada\u2028\u0000', n: 1.5 };
    const options = {
      type: 't',
      tags: ['a'],
      priority: -7,
      tries: 9,
      ttl_ms: 3_600_000,
      attributes: { k: 'v' },
    };
    const ids = [
      (await publish({ queue, data, ...options })).id,
      (await publish({ queue, data: 2, delay_ms: 300_000 })).id,
      (await publish({ queue, type: 't', tries: 1, data: 3 })).id,
    ];
    const dead = await leaseOne(queue);
    const other = await leaseOne(queue);
    const [fails, waits] = dead.id === ids[2] ? [dead, other] : [other, dead];
    await given('POST', `jobs/${fails.id}/fail`, { lease: fails.lease, group: 'net', message: 'm' });
    await given('POST', `jobs/${waits.id}/release`, { lease: waits.lease });
    const before = await Promise.all(ids.map((id) => find(id)));
    const filter = { queue, state: ['ready', 'scheduled', 'dead'] };
    const deleted = await run({ action: 'delete', filter });
    expect(deleted).toMatchObject({ done: 3, undo: { state: 'kept', jobs: 3, restored: 0, message: null } });
    expect(Date.parse(deleted.undo!['ends_at'] as string)).toBe(Date.parse(deleted.ended_at) + 60_000);
    expect((await call('GET', `jobs/${ids[0]!}`)).status).toBe(404);
    const begun = await undo(deleted.id);
    expect(begun).toMatchObject({ status: 202, json: { id: deleted.id } });
    expect((await ended(deleted.id)).undo).toMatchObject({
      ...{ state: 'done', restored: 3, failed: 0, refusals: [], incomplete: [] },
    });
    for (const [i, id] of ids.entries()) {
      const { timeline, ...job } = await find(id);
      const { timeline: earlier, ...was } = before[i]!;
      expect(job).toEqual(was);
      if ((earlier as unknown[]).length > 1)
        expect(timeline).toEqual([
          ...(earlier as unknown[]),
          expect.objectContaining({ what: 'restored', operation: deleted.id }),
        ]);
    }
    expect((await undo(deleted.id)).json).toMatchObject({ undo: { state: 'done', restored: 3 } });
  });

  it('is refused with the field, the rule and the remedy', async () => {
    const filter = { queue: fresh() };
    for (const undo_ms of [0, 59_999, 86_400_001, 'long'])
      expect((await start({ action: 'cancel', filter, undo_ms })).json).toMatchObject({
        ...{ code: 'invalid_argument', errors: [{ field: 'undo_ms' }] },
      });
    expect((await start({ action: 'respawn', filter })).json).toMatchObject({
      ...{
        code: 'invalid_argument',
        errors: [{ field: 'undo_ms', rule: expect.stringContaining('cancel') as unknown }],
      },
    });
    const plain = await run({ action: 'delete', filter, undo_ms: undefined });
    expect(plain.undo).toBeNull();
    expect(await undo(plain.id)).toMatchObject({
      ...{
        status: 409,
        json: { code: 'undo_gone', detail: expect.stringContaining('without undo_ms') as unknown },
      },
    });
    expect(await undo('01M7Z17XME660YPHBY512QCVQF')).toMatchObject({ status: 404 });
  });

  it('waits for a stop of the operation', async () => {
    const queue = fresh();
    for (let i = 0; i < 9; i++) await publish({ queue });
    const { json } = await start({ action: 'delete', filter: { queue }, rate_per_s: 1 });
    const { id } = json as Operation;
    await waitFor(async () => (await given<Operation>('GET', `operations/${id}`)).done > 0);
    expect(await undo(id)).toMatchObject({ status: 409, json: { code: 'operation_running' } });
    await given('POST', `operations/${id}/stop`);
    expect((await undo(id)).status).toBe(202);
    expect((await ended(id)).undo).toMatchObject({ state: 'done', failed: 0 });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 9 } });
  });

  it('needs the permission and the queues of the operation', async () => {
    const [mine, theirs] = [fresh('mine-'), fresh('theirs-')];
    for (const queue of [mine, theirs]) await publish({ queue, type: mine });
    const [limited, elsewhere, producer, consumer] = [
      await token('verbs=consume&queues=mine-*'),
      await token('verbs=consume&queues=other'),
      await token('verbs=publish'),
      await token('verbs=consume'),
    ];
    const own = await run({ action: 'delete', filter: {} }, limited);
    const all = await run({ action: 'delete', filter: { type: mine } });
    const ofQueue = await run({ action: 'delete', filter: { queue: mine } });
    const codes = async (id: string): Promise<unknown[]> => {
      const answers = await Promise.all([elsewhere, producer].map((by) => undo(id, by)));
      return answers.map(({ json }) => (json as { code: string }).code);
    };
    for (const { id } of [own, all, ofQueue])
      expect(await codes(id)).toEqual(['operation_not_found', 'verb_missing']);
    expect((await undo(all.id, limited)).json).toMatchObject({ code: 'operation_not_found' });
    expect((await undo(own.id, limited)).status).toBe(202);
    expect((await undo(ofQueue.id, limited)).status).toBe(202);
    expect((await undo(all.id, consumer)).status).toBe(202);
    for (const { id } of [own, all, ofQueue])
      expect((await ended(id)).undo).toMatchObject({ state: 'done', failed: 0 });
    for (const queue of [mine, theirs])
      expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 1 } });
  });

  it('is refused to a token that may not use the queues any more', async () => {
    const queue = fresh('mine-');
    await publish({ queue });
    const mine = await token('verbs=consume&queues=mine-*');
    const { id } = await run({ action: 'delete', filter: {} }, mine);
    await takeQueue(mine, queue);
    expect((await undo(id, mine)).json).toMatchObject({ code: 'queue_not_allowed' });
    expect((await undo(id)).status).toBe(202);
    expect((await ended(id)).undo).toMatchObject({ state: 'done', failed: 0 });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 1 } });
  });

  it.each([
    [
      'is deleted',
      async (mine: string) => {
        expect((await app.admin('DELETE', `/token/${app.namespace}/${mine}`)).status).toBe(204);
      },
      'The token that began to undo it was deleted, or has expired.',
    ],
    [
      'loses the queue',
      (mine: string, queue: string) => takeQueue(mine, queue),
      'The rights of the token or account that began to undo it have changed.',
    ],
    [
      'loses the permission',
      async (mine: string, queue: string) => {
        await changeToken(mine, 'verbs', 'publish');
        const leases = { queues: [queue] };
        await waitFor(async () => (await call('POST', 'leases', leases, { token: mine })).status === 403);
      },
      'The rights of the token or account that began to undo it have changed.',
    ],
  ])('stops when the token that undoes %s, and goes on by another one', async (_what, change, message) => {
    const queue = fresh('mine-');
    for (let i = 0; i < 60; i++) await publish({ queue });
    const { id } = await run({ action: 'delete', filter: { queue } });
    const mine = await token('verbs=consume&queues=mine-*');
    const { operationRunner } = (
      app.server.api.app.get(Engines, { strict: false }).of('default') as PoolEngine
    ).components;
    const check = operationRunner['check']!;
    const changed = new Promise<void>((resolve, reject) =>
      operationRunner.useGrants(async (...of) => {
        await change(mine, queue).then(resolve, reject);
        return check(...of);
      }),
    );
    expect((await undo(id, mine)).status).toBe(202);
    await changed;
    const { undo: stopped } = await ended(id);
    operationRunner.useGrants(check);
    expect(stopped).toMatchObject({ state: 'stopped', restored: 0, failed: 0, message });
    expect((await undo(id)).status).toBe(202);
    expect((await ended(id)).undo).toMatchObject({ state: 'done', restored: 60 });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ counts: { ready: 60 } });
  });
});
