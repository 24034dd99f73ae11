import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TestApp } from '../support/app.js';
import { run } from '../support/packed.js';
import { hasPython, PYTHON, PYTHON_ENV } from './languages.js';

const LIMIT_MS = 600_000;

describe('the Python client', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const tests = readdirSync(join(PYTHON, 'test')).filter((file) => /^test_.*\.py$/.test(file));
  if (!hasPython) {
    it.skip('is not tested without Python', () => undefined);
    return;
  }
  it.each(tests)(
    'passes its own tests against a server: %s',
    async (file) => {
      const admin = await app.server.admin.app.getUrl();
      await run('python3', [file], join(PYTHON, 'test'), {
        ...PYTHON_ENV,
        PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
        PUMPHOUSE_ADMIN_URL: admin.replace('[::1]', '127.0.0.1'),
        PUMPHOUSE_NAMESPACE: app.namespace,
        PUMPHOUSE_TOKEN: app.token,
      });
    },
    LIMIT_MS,
  );
});
