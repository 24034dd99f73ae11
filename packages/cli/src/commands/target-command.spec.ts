import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pumphouse } from '@pumphouse/client';
import { TestApp } from '../../../../test/support/app.js';
import { Cli } from '../../../../test/support/cli.js';
import { waitFor } from '../../../../test/support/redis.js';

describe('pumphouse target', () => {
  let app: TestApp;
  let cli: Cli;
  let client: Pumphouse;
  let receiver: Server;
  let hook: string;
  let status = 200;
  const paths: string[] = [];

  beforeAll(async () => {
    app = await TestApp.start({
      ...{ PUMPHOUSE_PUSH__ENABLED: 'true', PUMPHOUSE_PUSH__ALLOW_HTTP: 'true' },
      ...{ PUMPHOUSE_PUSH__ALLOW: '127.0.0.1', PUMPHOUSE_PUSH__PORTS: '443,1024-65535' },
    });
    const url = `http://127.0.0.1:${String(app.port)}`;
    const { namespace, token } = app;
    cli = new Cli({ PUMPHOUSE_URL: url, PUMPHOUSE_NAMESPACE: namespace, PUMPHOUSE_TOKEN: token });
    client = new Pumphouse({ url, namespace, token });
    receiver = createServer((request, response) => {
      request.resume();
      paths.push(request.url ?? '');
      response.writeHead(status).end('\u001b[2Jowned');
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    hook = `http://127.0.0.1:${String((receiver.address() as AddressInfo).port)}/hook`;
  });
  afterAll(async () => {
    client.close();
    cli.remove();
    receiver.closeAllConnections();
    receiver.close();
    await app.stop();
  });

  it('stores and changes a target, prints its secret only when it is created, and never prints its headers', async () => {
    const made = await cli.call(
      ...['target', 'set', 'billing', hook, '--header', 'Authorization: Bearer hidden', '--json'],
      ...['--header', 'X-Shop: north', '--request-timeout', '5s', '--on-status', '404=fail'],
    );
    expect(JSON.parse(made.out)).toMatchObject({
      ...{ name: 'billing', url: hook, timeout_ms: 5_000, on_status: { '404': 'fail' } },
      ...{ header_names: ['authorization', 'x-shop'], secret: expect.stringMatching(/^whsec_/) as string },
    });
    const origins = 'https://ada.example,https://ben.example';
    const later = await cli.call(
      ...['target', 'set', 'billing', '--origins', origins, '--body', 'job', '--json'],
    );
    expect(JSON.parse(later.out)).toMatchObject({
      ...{ origins: origins.split(','), body: 'job', ack: 'response', origin_breakers: [] },
    });
    const settings = 'failures=3,open=10s,failure-percent=20';
    const opened = await cli.call('target', 'set', 'billing', '--breaker', settings, '--json');
    expect(JSON.parse(opened.out)).toMatchObject({
      breaker: { settings: { failures: 3, open_ms: 10_000, failure_percent: 20, min_requests: 10 } },
    });
    const off = await cli.call('target', 'set', 'billing', '--breaker', 'off', '--json');
    expect(JSON.parse(off.out)).toMatchObject({ breaker: { state: 'off', settings: null } });
    const wrong = await cli.call('target', 'set', 'billing', '--breaker', 'closes=3');
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('It must have failures')]);
    const changed = await cli.call(
      'target',
      'set',
      'billing',
      '--request-timeout',
      '6s',
      '--breaker',
      'open=1m',
    );
    expect(changed.out).toMatch(/^timeout_ms +6000$/m);
    const outputs = [changed, await cli.call('target', 'show', 'billing'), await cli.call('target', 'ls')];
    for (const { code, out, err } of outputs) {
      expect(code).toBe(0);
      expect(out + err).not.toMatch(/whsec_|hidden/);
    }
    expect(outputs[2]?.out).toMatch(
      /^NAME +URL +STATE +BREAKER +QUEUES\nbilling +http\S+ +active +closed +-\n$/,
    );
    expect(made.out).not.toContain('hidden');
  });

  it('refuses a new target without a URL or with a URL that is not http', async () => {
    const { code, err } = await cli.call('target', 'set', 'unknown', '--sign', 'none');
    expect([code, err]).toEqual([1, expect.stringContaining('target_not_found')]);
    const wrong = await cli.call('target', 'set', 'unknown', 'ftp://x');
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringMatching(/url: must be a URL/)]);
  });

  it('sends a test request, and fails without a successful answer', async () => {
    await cli.call('target', 'set', 'tested', hook);
    const fine = await cli.call('target', 'test', 'tested');
    expect([fine.code, fine.err]).toEqual([0, '']);
    expect(fine.out).toMatch(/^status +200$/m);
    expect(fine.out).toContain('\\u001b[2Jowned');
    status = 500;
    const failed = await cli.call('target', 'test', 'tested', '--json');
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.err)).toEqual({
      error: { code: 'refused', message: 'the target answers 500', status: 500 },
    });
    expect(JSON.parse(failed.out)).toMatchObject({ status: 500, action: 'retry' });
    await cli.call('target', 'set', 'tested', 'http://127.0.0.1:1024/none');
    expect((await cli.call('target', 'test', 'tested')).err).toMatch(/^pumphouse: no answer: connect: /);
  });

  it('allows origins, and `job publish --push-url` sends the job to a URL of such an origin', async () => {
    status = 200;
    await cli.call('target', 'set', 'shops', hook, '--origins', new URL(hook).origin);
    await cli.call('queue', 'set', 'orders', 'push={"target":"shops"}');
    const url = new URL('/orders/17', hook).href;
    expect((await cli.call('job', 'publish', 'orders', '{}', '--push-url', url)).code).toBe(0);
    await waitFor(() => paths.includes('/orders/17'), 5_000);
    await cli.call('queue', 'set', 'orders', 'push=null');
  });

  it('rotates the secret of a target, and pauses, resumes and deletes the target', async () => {
    await cli.call('target', 'set', 'rotated', hook);
    const rotated = await cli.call('target', 'rotate', 'rotated', '--keep-old', '1h');
    expect(rotated).toEqual({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/) as string, err: '' });
    const file = join(cli.configHome, 'secret');
    const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
    writeFileSync(file, `${secret}\n`);
    expect((await cli.call('target', 'rotate', 'rotated', '--secret', `@${file}`)).out).toBe(`${secret}\n`);
    expect((await cli.call('target', 'pause', 'rotated')).out).toBe('paused rotated\n');
    expect((await cli.call('target', 'ls')).out).toContain('paused (operator)');
    expect((await cli.call('target', 'resume', 'rotated')).out).toBe('resumed rotated\n');
    await cli.call('queue', 'set', 'invoices', 'push={"target":"rotated"}');
    expect((await cli.call('target', 'rm', 'rotated')).err).toContain('target_in_use');
    await cli.call('queue', 'set', 'invoices', 'push=null');
    expect((await cli.call('target', 'rm', 'rotated')).out).toBe('deleted rotated\n');
    expect((await cli.call('target', 'rm', 'rotated')).code).toBe(1);
  });
});
