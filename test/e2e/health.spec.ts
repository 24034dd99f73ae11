import { jest } from '@jest/globals';
import { RedisPool } from '../../src/redis/pool.js';
import { TestApp } from '../support/app.js';

describe('probes', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());
  afterEach(() => jest.restoreAllMocks());

  const state = (up: boolean, ...degraded: string[]): void =>
    void jest.spyOn(RedisPool.prototype, 'status', 'get').mockReturnValue({ up, degraded });

  it('answer on both ports', async () => {
    for (const call of [app.get.bind(app), (path: string) => app.admin('GET', path)]) {
      expect(await call('/healthz')).toMatchObject({ status: 200, json: { status: 'ok' } });
      expect(await call('/readyz')).toMatchObject({ status: 200, json: { degraded: [], status: 'ready' } });
    }
  });

  it('stay ready, and say what is wrong, while the store is full', async () => {
    state(true, 'full');
    const expected = { status: 200, json: { degraded: ['default: full'], status: 'degraded' } };
    expect(await app.get('/readyz')).toMatchObject(expected);
    expect(await app.get('/readyz?pool=default')).toMatchObject(expected);
    expect(await app.admin('GET', '/readyz')).toMatchObject(expected);
  });

  it('say no when no pool works', async () => {
    state(false);
    expect(await app.get('/readyz')).toMatchObject({ status: 503, json: { status: 'unavailable' } });
    expect(await app.get('/readyz?pool=default')).toMatchObject({ status: 503 });
    expect(await app.get('/healthz')).toMatchObject({ status: 200 });
  });

  it('do not know other pools', async () => {
    expect(await app.get('/readyz?pool=nopool')).toMatchObject({
      status: 404,
      json: { error: 'pool not found' },
    });
  });

  it('say no while the server drains, and everything else goes on', async () => {
    const other = await TestApp.start();
    other.server.announceEnd();
    expect(await other.get('/readyz')).toMatchObject({ status: 503, json: { status: 'draining' } });
    expect(await other.admin('GET', '/readyz')).toMatchObject({ status: 503 });
    expect(await other.put('q')).toMatchObject({ status: 201 });
    await other.stop();
  });
});
