import { jest } from '@jest/globals';
import type { PoolOptions } from '../../src/domain/pool.js';
import type { Role } from '../../src/domain/roles.js';
import { unavailable } from '../../src/redis/errors.js';
import { basicOf, testAccounts } from '../support/accounts.js';
import { Engines } from '../../src/engine/engines.js';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { SLOWNESS } from '../support/scale.js';
import { type Answer, request, startAdmin, testParts, testPools } from './admin-fixture.js';

type Admin = Awaited<ReturnType<typeof startAdmin>>;
type Accounts = ReturnType<typeof testAccounts>;
interface Operation {
  readonly id: string;
  readonly state: string;
  readonly [field: string]: unknown;
}

/** Longer than a server waits before it takes over what another one has left. */
const TAKEOVER_MS = 20_000;
const CONSOLE = { 'x-pumphouse-console': '1' };
jest.setTimeout(60_000 * SLOWNESS);

describe('an operation that an account of the admin port started', () => {
  let namespace: string;
  let pools: Record<string, PoolOptions>;
  const running: Admin[] = [];
  beforeEach(() => {
    namespace = randomNamespace('own-');
    pools = testPools(undefined, 10_000);
  });
  afterEach(async () => {
    for (const { server } of running.splice(0)) await server.stop();
  });

  async function start(accounts: Accounts | Record<string, never> = testAccounts()): Promise<Admin> {
    const { parts } = testParts(pools, (config) => {
      config.admin.accounts = accounts;
    });
    const admin = await startAdmin(parts);
    running.push(admin);
    return admin;
  }

  /** A server with another configuration in the place of the one that runs. */
  async function restart(accounts: Accounts): Promise<Admin> {
    for (const { server } of running.splice(0)) await server.stop();
    return start(accounts);
  }

  const call = (
    admin: Admin,
    headers: Record<string, string>,
    method: string,
    path: string,
    body?: object,
  ): Promise<Answer> =>
    request(`${admin.url}/v1/${namespace}/${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const publish = async (admin: Admin, count: number): Promise<void> => {
    const jobs = Array.from({ length: count }, () => ({ queue: 'mail', type: 't' }));
    expect((await call(admin, basicOf('adam'), 'POST', 'jobs', { jobs })).status).toBe(201);
  };
  const operate = async (
    admin: Admin,
    headers: Record<string, string>,
    more: object = {},
  ): Promise<Operation> => {
    const operation = { action: 'cancel', filter: { queue: 'mail' }, ...more };
    const { status, body, text } = await call(admin, headers, 'POST', 'operations', operation);
    expect([status, status === 202 ? '' : text]).toEqual([202, '']);
    return body as Operation;
  };
  const find = async (admin: Admin, { id }: Operation, account = 'adam'): Promise<Operation> =>
    (await call(admin, basicOf(account), 'GET', `operations/${id}`)).body as Operation;
  const hasEnded = async (admin: Admin, operation: Operation): Promise<Operation> => {
    await waitFor(async () => (await find(admin, operation)).state !== 'running', TAKEOVER_MS);
    return find(admin, operation);
  };

  it('runs with basic authentication and with a session, and names the account', async () => {
    const admin = await start();
    await publish(admin, 30);
    const byPassword = await operate(admin, basicOf('olga'), { action: 'patch', set: { priority: 3 } });
    expect(await hasEnded(admin, byPassword)).toMatchObject({ state: 'done', done: 30, created_by: 'olga' });
    const signIn = { account: 'olga', password: 'secret-of-olga' };
    const answer = await request(`${admin.url}/session`, { method: 'POST', body: JSON.stringify(signIn) });
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const bySession = await operate(admin, { cookie, ...CONSOLE });
    expect(await hasEnded(admin, bySession)).toMatchObject({ state: 'done', done: 30, created_by: 'olga' });
  });

  it('runs on a server without accounts', async () => {
    const admin = await start({});
    await publish(admin, 10);
    const operation = await operate(admin, {});
    expect(await hasEnded(admin, operation)).toMatchObject({ state: 'done', done: 10, created_by: null });
  });

  it('is refused to a viewer, and to an account of other namespaces', async () => {
    const admin = await start(testAccounts(['other-*']));
    const operation = { action: 'cancel', filter: {} };
    for (const account of ['vera', 'dana', 'nora']) {
      const { status } = await call(admin, basicOf(account), 'POST', 'operations', operation);
      expect([account, status]).toEqual([account, account === 'nora' ? 404 : 403]);
    }
  });

  const { olga, ...others } = testAccounts();
  const olgaAs = (role: Role): Accounts => ({
    ...others,
    olga: { password_hash: olga!.password_hash, role },
  });
  const CHANGES: readonly (readonly [string, string, Accounts])[] = [
    ['its account is removed', 'olga', others],
    ['its account becomes a viewer', 'olga', olgaAs('viewer')],
    ['its account is for other namespaces by now', 'nora', testAccounts(['other-*'])],
  ];
  it.each(CHANGES)('stops when %s, and acts on no job after that', async (_change, account, accounts) => {
    const admin = await start();
    await publish(admin, 60);
    const operation = await operate(admin, basicOf(account), { rate_per_s: 2 });
    await waitFor(async () => Number((await find(admin, operation))['done']) > 0, TAKEOVER_MS);
    const next = await restart(accounts);
    const before = await find(next, operation);
    expect(before).toMatchObject({ state: 'running' });
    expect(await hasEnded(next, operation)).toMatchObject({
      ...{ state: 'stopped', reason: 'rights_changed', done: before['done'] },
    });
  });

  it('stops an undo when its account becomes a viewer, and another account can undo the rest', async () => {
    const admin = await start();
    await publish(admin, 20);
    const operation = await operate(admin, basicOf('olga'), { undo_ms: 60_000 });
    expect(await hasEnded(admin, operation)).toMatchObject({ state: 'done', done: 20 });
    // This server asks what the account may do, gets no answer, and so does not begin.
    const { operationRunner } = (
      admin.calls.api!.app.get(Engines, { strict: false }).of('default') as PoolEngine
    ).components;
    const isAsked = new Promise<void>((resolve) =>
      operationRunner.useGrants(() => {
        resolve();
        throw unavailable('tokens');
      }),
    );
    const path = `operations/${operation.id}/undo`;
    expect((await call(admin, basicOf('olga'), 'POST', path)).status).toBe(202);
    await isAsked;

    const next = await restart(olgaAs('viewer'));
    const undo = async () => (await find(next, operation))['undo'] as { readonly state: string };
    await waitFor(async () => (await undo()).state === 'stopped', TAKEOVER_MS);
    expect(await undo()).toMatchObject({
      restored: 0,
      message: 'The rights of the token or account that began to undo it have changed.',
    });
    expect((await call(next, basicOf('adam'), 'POST', path)).status).toBe(202);
    await waitFor(async () => (await undo()).state === 'done', TAKEOVER_MS);
    expect(await undo()).toMatchObject({ restored: 20, failed: 0 });
  });

  it('goes on when its account has another role that may start it', async () => {
    const admin = await start();
    await publish(admin, 20);
    const operation = await operate(admin, basicOf('olga'), { rate_per_s: 10 });
    const next = await restart(olgaAs('admin'));
    expect(await hasEnded(next, operation)).toMatchObject({ state: 'done', done: 20 });
  });
});
