import { TestApp } from '../support/app.js';
import { GO_ENV, run } from '../support/packed.js';
import { GO, hasGo } from './languages.js';

const LIMIT_MS = 600_000;

(hasGo ? describe : describe.skip)('the Go client', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  it(
    'passes its own tests against a server',
    async () => {
      const admin = await app.server.admin.app.getUrl();
      await run('go', ['test', '-count=1', './...'], GO, {
        ...GO_ENV,
        PUMPHOUSE_URL: `http://127.0.0.1:${String(app.port)}`,
        PUMPHOUSE_ADMIN_URL: admin.replace('[::1]', '127.0.0.1'),
        PUMPHOUSE_NAMESPACE: app.namespace,
        PUMPHOUSE_TOKEN: app.token,
      });
    },
    LIMIT_MS,
  );
});
