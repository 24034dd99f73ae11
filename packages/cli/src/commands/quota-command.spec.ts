import { TestApp } from '../../../../test/support/app.js';
import { run } from '../program.js';

describe('pumphouse quota', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  async function call(...args: string[]): Promise<string> {
    let out = '';
    const admin = `http://127.0.0.1:${String(app.server.admin.port)}`;
    const code = await run(['quota', ...args, '--admin', admin], {
      out: (text) => (out += text),
      err: (text) => (out += text),
    });
    expect(code).toBe(0);
    return out;
  }

  it('shows a quota that does not limit as no limit, and as 0 in JSON', async () => {
    const shown = await call('set', app.namespace, '--max-jobs-per-queue', '2');
    expect(shown).toMatch(/^max_jobs_per_queue +2 +default no limit$/m);
    expect(shown).toMatch(/^max_bytes_per_namespace +no limit +default no limit$/m);
    expect(JSON.parse(await call('show', app.namespace, '--json'))).toMatchObject({
      quotas: { max_bytes_per_namespace: { value: 0, default: 0 } },
    });
  });
});
