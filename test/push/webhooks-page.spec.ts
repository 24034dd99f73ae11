import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { tabGroupsOf } from '../../site/.vitepress/tabs.mjs';
import { TestApp } from '../support/app.js';
import { GO_ENV, hasProgram, Project, ROOT, run } from '../support/packed.js';
import { PUSH } from '../support/receiver.js';
import { waitFor } from '../support/redis.js';
import { writeGoModule } from '../support/samples.js';

const LIMIT_MS = 600_000;
const page = readFileSync(join(ROOT, 'docs/how-to/webhooks.md'), 'utf8');
const [{ tabs } = { tabs: [] }] = tabGroupsOf(page);
const bodies = [...page.matchAll(/^v1 -X (\w+) "\$V1(\/\S+)" -d '(.*)'$/gm)];

describe('docs/how-to/webhooks.md', () => {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-webhooks-'));
  const project = new Project();
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start(PUSH);
  });
  afterAll(async () => {
    project.remove();
    rmSync(dir, { recursive: true, force: true });
    await app.stop();
  });

  /** Makes the endpoint of the page in one language, on another port. @returns the command that runs it */
  async function commandOf(label: string, code: string): Promise<string[]> {
    if (label === 'TypeScript') {
      await project.unpack(['@pumphouse/client'], ['@types/node']);
      project.write('endpoint.ts', code);
      await project.compile('endpoint.ts');
      return [process.execPath, 'endpoint.js'];
    }
    if (label === 'Python') {
      writeFileSync(join(dir, 'endpoint.py'), code);
      if (hasProgram('mypy'))
        await run('mypy', ['--strict', '--cache-dir', join(dir, 'cache'), 'endpoint.py'], dir, {
          MYPYPATH: join(ROOT, 'packages', 'python', 'src'),
        });
      return ['python3', join(dir, 'endpoint.py')];
    }
    writeGoModule(dir, { 'main.go': code });
    await run('go', ['vet', '.'], dir, GO_ENV);
    await run('go', ['build', '-o', 'endpoint', '.'], dir, GO_ENV);
    return [join(dir, 'endpoint')];
  }

  it('has the endpoint in three languages', () =>
    expect(tabs.map(({ label }) => label)).toEqual(['TypeScript', 'Python', 'Go']));

  const isHere = ({ label }: { label: string }): boolean =>
    label === 'TypeScript' || hasProgram(label === 'Go' ? 'go' : 'python3');
  it.each(tabs.filter(isHere).map(({ label, code }): [string, string] => [label, code]))(
    'pushes a queue to its endpoint in %s, which accepts no other requests',
    async (label, code) => {
      const port = await freePort();
      const onLoopback = code
        .replace('listen(8080)', `listen(${String(port)}, '127.0.0.1')`)
        .replace('("", 8080)', `("127.0.0.1", ${String(port)})`)
        .replace('":8080"', `"127.0.0.1:${String(port)}"`);
      expect(onLoopback).not.toContain('8080');
      const command = await commandOf(label, onLoopback);
      const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
      const endpoint = project.startProgram(command, {
        ...{ WEBHOOK_SECRET: secret, PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' },
        PYTHONPATH: join(ROOT, 'packages', 'python', 'src'),
      });
      const url = `http://127.0.0.1:${String(port)}/hooks`;
      const forge = (): Promise<Response> =>
        fetch(url, {
          method: 'POST',
          headers: {
            'webhook-id': 'a',
            'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
            'webhook-signature': 'v1,AAAA',
          },
          body: '{"number":18}',
        });
      await waitFor(
        async () =>
          (await forge().then(
            ({ status }) => status,
            () => 0,
          )) === 401,
        20_000,
      );

      expect(bodies).toHaveLength(2);
      for (const [, method = '', path = '', text = ''] of bodies) {
        const given = JSON.parse(text) as { url?: string };
        const body = JSON.stringify(given.url === undefined ? given : { ...given, url, secret });
        const { status } = await app.call(method, `/v1/${app.namespace}${path}`, { body });
        expect(status).toBe(200);
      }
      const tested = await app.call('POST', `/v1/${app.namespace}/targets/billing/test`);
      expect(tested.json).toMatchObject({ status: 204, action: 'ack' });
      const body = JSON.stringify({ queue: 'invoices', data: { number: 17 } });
      await app.call('POST', `/v1/${app.namespace}/jobs`, { body });
      await endpoint.until((printed) => printed.includes('invoice 17\n'));
      await endpoint.kill();

      expect(endpoint.printed).not.toContain('invoice 18');
    },
    LIMIT_MS,
  );
});
