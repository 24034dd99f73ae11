import { TestApp } from '../support/app.js';
import { testKeys, waitFor } from '../support/redis.js';

describe('whole namespaces', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const keys = (): Promise<string[]> => testKeys(`{${app.namespace}}*`);

  it('are purged over the admin port, and begun anew by the same token', async () => {
    for (let i = 0; i < 3; i++) await app.publish('mail');
    await app.publish('later?delay=3600');
    await app.get('mail?ttr=60');
    await app.call('PUT', `/v1/${app.namespace}/settings/grace_ms`, { body: '{"value":1}' });
    const path = `/namespaces/${app.namespace}`;

    const dry = await app.admin('DELETE', `${path}?dry_run=true`);
    expect(dry).toMatchObject({
      status: 200,
      json: {
        dry_run: true,
        pool: 'default',
        queues: 2,
        jobs: { ready: 2, scheduled: 1, leased: 1, dead: 0 },
      },
    });
    expect((await app.get('mail/size')).json).toMatchObject({ size: 2 });

    const purged = await app.admin('DELETE', path);
    expect(purged).toMatchObject({
      status: 200,
      json: { dry_run: false, done: true, in_use: false, removed: { jobs: 4, queues: 2 } },
    });
    // What was given out within the last second may be counted a moment later: a key with an end.
    await waitFor(async () => (await keys()).every((key) => /\}:t\d+$/.test(key)));
    expect(app.log.filter(({ message }) => message === 'audit').at(-1)?.details).toMatchObject({
      audit: 'namespace.purge',
      namespace: app.namespace,
      removed: { jobs: 4 },
    });
    const id = await app.publish('mail');
    expect((await app.get('mail?ttr=60')).json).toMatchObject({ job_id: id });
  });

  it('keep their jobs when their tokens are deleted', async () => {
    await app.publish('kept');
    await app.publish('kept?delay=3600');
    const made = await app.admin('POST', `/token/${app.namespace}?description=second`);
    const second = (made.json as { token: string }).token;
    const before = await keys();
    expect((await app.admin('DELETE', `/token/${app.namespace}/${app.token}`)).status).toBe(204);
    expect((await app.get('kept/size')).status).toBe(401);

    const known = (await keys()).filter((key) => !/\}:t\d+$/.test(key));
    expect(known).toEqual(before.filter((key) => !/\}:t\d+$/.test(key)));
    expect((await app.get('kept/size', { token: second })).json).toMatchObject({ size: 1 });
    expect((await app.get('kept?ttr=60', { token: second })).status).toBe(200);
  });

  it.each([
    ['?pool=nowhere', 400, 'the pool was not exists'],
    ['?dry_run=maybe', 400, 'invalid dry_run'],
    ['?dry_run=', 400, 'invalid dry_run'],
  ])('are not purged with %s', async (query, status, error) => {
    const refused = await app.admin('DELETE', `/namespaces/${app.namespace}${query}`);

    expect(refused.status).toBe(status);
    expect(refused.text).toContain(error);
    expect((await app.admin('DELETE', '/namespaces/a%7Db')).status).toBe(400);
  });
});
