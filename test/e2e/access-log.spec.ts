import { TestApp } from '../support/app.js';

describe('the access log', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const lines = (): object[] =>
    app.log.filter(({ message }) => message === 'access').map(({ details }) => details);
  const turn = (status: string): Promise<unknown> => app.admin('POST', `/accesslog?status=${status}`);

  it('is written while it is switched on', async () => {
    await app.put('q');
    expect(lines()).toHaveLength(0);
    await turn('enable');
    const { headers } = await app.put('q?ttl=60');
    await app.get('/nope');
    await turn('disable');
    await app.put('q');
    expect(lines()).toEqual([
      {
        request_id: headers['x-request-id'],
        method: 'PUT',
        url: `/api/${app.namespace}/q?ttl=60`,
        status: 201,
        ms: expect.any(Number) as number,
        remote: '127.0.0.1',
      },
      expect.objectContaining({ url: '/nope', status: 404 }),
    ]);
  });

  it('never holds a token or a body', async () => {
    await turn('enable');
    const secret = 'the-secret-body';
    for (const query of [
      'token=',
      '%74oken=',
      'ttl=1&token=',
      'token=x&token=',
      'x;token=',
      'token=x;token=',
    ])
      await app.put(`q?${query}${app.token}`, secret, { token: null });
    await app.put('q?ttl=x', secret);
    await app.put(`q?token=${app.token}&ttl=x`, secret, { token: null });
    await app.put('q', secret, { token: `wrong-${app.token}` });
    const everything = JSON.stringify(app.log);
    expect(lines().length).toBeGreaterThanOrEqual(9);
    expect(everything).not.toContain(app.token);
    expect(everything).not.toContain(secret);
  });
});
