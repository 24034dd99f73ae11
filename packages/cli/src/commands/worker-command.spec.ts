import { TestApp } from '../../../../test/support/app.js';
import { waitFor } from '../../../../test/support/redis.js';
import { Pumphouse, type Worker } from '@pumphouse/client';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../program.js';

describe('pumphouse worker', () => {
  let app: TestApp;
  let client: Pumphouse;
  let worker: Worker;
  let running: Promise<void>;
  let folder: string;
  let options: string[];

  beforeAll(async () => {
    app = await TestApp.start();
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-cli-'));
    const file = join(folder, 'token');
    writeFileSync(file, `${app.token}\n`, { mode: 0o600 });
    const url = `http://127.0.0.1:${String(app.port)}`;
    options = ['--url', url, '--namespace', app.namespace, '--token', `@${file}`];
    client = new Pumphouse({ url, namespace: app.namespace, token: app.token });
  });
  afterAll(async () => {
    client.close();
    rmSync(folder, { recursive: true });
    await app.stop();
  });
  beforeEach(async () => {
    worker = client.worker({
      queues: ['mail', 'sms'],
      name: 'mailer',
      concurrency: 4,
      ttrMs: 5_000,
      waitMs: 500,
    });
    running = worker.run();
    await waitFor(async () => (await client.workers.list()).items.some(({ name }) => name === worker.id));
  });
  afterEach(() => worker.stop());

  async function call(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    let [out, err] = ['', ''];
    const code = await run(args, { out: (text) => (out += text), err: (text) => (err += text) });
    return { code, out, err };
  }

  it('lists workers in columns and as JSON', async () => {
    const { code, out } = await call('worker', 'ls', ...options);
    expect(code).toBe(0);
    const [headings, row] = out.split('\n').map((line) => line.split(/\s{2,}/));
    expect(headings?.slice(0, 7)).toEqual(['ID', 'NAME', 'HOST', 'PID', 'STATE', 'JOBS', 'QUEUES']);
    expect([row?.[0], row?.[1], ...(row?.slice(3, 7) ?? [])]).toEqual([
      ...[worker.id, 'mailer', String(process.pid), 'running', '0/4', 'mail,sms'],
    ]);
    const printed = await call('--json', 'worker', 'ls', ...options);
    expect(JSON.parse(printed.out)).toMatchObject([{ name: worker.id, display_name: 'mailer' }]);
  });

  it('makes a worker quiet, and stops a worker', async () => {
    expect(await call('worker', 'quiet', worker.id, ...options)).toEqual({
      ...{ code: 0, out: `requested of ${worker.id}\n`, err: '' },
    });
    expect((await call('worker', 'ls', ...options)).out).toContain('quiet');
    expect((await call('worker', 'stop', worker.id, ...options)).code).toBe(0);
    await running;
  });

  it('exits with 1 or 2 after an error, and prints its code but never the token', async () => {
    const unknown = await call('worker', 'stop', 'unknown-1', ...options);
    expect([unknown.code, unknown.out]).toEqual([1, '']);
    expect(unknown.err).toContain('worker_not_found');
    const refused = await call('worker', 'ls', ...options.slice(0, 4), '--token', 'secret-1');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('token_invalid');
    expect(refused.err).not.toContain('secret-1');
    expect((await call('worker', 'ls', ...options.slice(0, 4))).err).toContain(
      'no token: give --token, set PUMPHOUSE_TOKEN, or run `pumphouse login` once',
    );
    const away = await call(
      'worker',
      'ls',
      '--url',
      'http://127.0.0.1:1',
      '--timeout',
      '0.3',
      ...options.slice(2),
    );
    expect(away.code).toBe(2);
  });
});
