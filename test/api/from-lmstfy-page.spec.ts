import { jest } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { LmstfyStore } from '../support/lmstfy-store.js';
import { endWithUs } from '../support/redis-process.mjs';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { SLOWNESS } from '../support/scale.js';

const PAGE = new URL('../../docs/how-to/from-lmstfy.md', import.meta.url);
const PROGRAM = fileURLToPath(new URL('../../dist/cli/pumphouse.js', import.meta.url));
/** The recorded tokens of two namespaces. */
const TOKENS = { mail: 'recorded-token-of-the-mailer', reports: 'recorded-token-of-the-reports' };
jest.setTimeout(120_000 * SLOWNESS);

interface Job {
  readonly job_id: string;
  readonly queue: string;
  readonly data: string;
  readonly attributes: Record<string, string> | null;
}

async function setPassword(url: string, secret: string): Promise<void> {
  const redis = new Redis(url);
  await redis.config('SET', 'requirepass', secret);
  redis.disconnect();
}

/** The script of docs/how-to/from-lmstfy.md, played from its first command to its last, with lmstfy's file of the seeds. */
describe('the script of the guide for lmstfy', () => {
  let stores: [old: RedisProcess, fresh: RedisProcess];
  let lmstfy: LmstfyStore;
  let folder: string;
  let api: string;
  let script: string;
  let child: ChildProcess | undefined;
  let printed = '';

  beforeAll(async () => {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run build\` first`);
    const secret = 'foobared';
    stores = await Promise.all([startRedis(), startRedis()]);
    const [old, fresh] = stores;
    const from = `redis://:${secret}@127.0.0.1:${String(old.port)}`;
    await setPassword(old.url, secret);
    lmstfy = new LmstfyStore(from);
    await lmstfy.restoreRecorded();
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-guide-'));
    const redis = `Addr = "127.0.0.1:${String(old.port)}"\nPassword = "${secret}"\n`;
    writeFileSync(
      join(folder, 'lmstfy.toml'),
      `Host = "127.0.0.1"\nPort = 7777\nAdminPort = 7778\n[AdminRedis]\n${redis}[Pool]\n[Pool.default]\n${redis}`,
    );
    const [port, adminPort] = [await freePort(), await freePort()];
    api = `http://127.0.0.1:${String(port)}`;
    const [, block = ''] = /^```bash\n(.*?)^```$/ms.exec(readFileSync(PAGE, 'utf8')) ?? [];
    script = block
      .replace('redis://10.0.0.9:6379', from)
      .replace('redis://10.0.0.10:6379', fresh.url)
      .replace('/etc/lmstfy.toml', join(folder, 'lmstfy.toml'))
      .replaceAll('17777', String(port))
      .replaceAll('17778', String(adminPort))
      .replaceAll('npx pumphouse', `'${process.execPath}' '${PROGRAM}'`);
  });
  afterAll(async () => {
    if (child?.pid !== undefined) {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    lmstfy.close();
    await Promise.all(stores.map((store) => store.stop()));
    rmSync(folder, { recursive: true });
  });

  /** Waits for a prompt; `read -p` shows it only at a terminal, so the script gets an `echo` before each. */
  const paused = (what: string): Promise<unknown> =>
    waitFor(() => printed.includes(`[${what}`), 60_000 * SLOWNESS);
  const goOn = (): unknown => child?.stdin?.write('\n');

  async function call(method: string, path: string, namespace: keyof typeof TOKENS = 'mail', body?: string) {
    const answer = await fetch(`${api}/api/${namespace}/${path}`, {
      method,
      headers: { 'X-Token': TOKENS[namespace] },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    return { status: answer.status, json: (text === '' ? null : JSON.parse(text)) as unknown };
  }

  async function consumeAll(queue: string, namespace: keyof typeof TOKENS = 'mail'): Promise<Job[]> {
    const all: Job[] = [];
    for (;;) {
      const { status, json } = await call('GET', `${queue}?count=100&ttr=600`, namespace);
      if (status !== 200) return all;
      all.push(...(json as Job[]));
    }
  }
  const bodiesOf = (jobs: readonly Job[]): string[] =>
    jobs.map(({ data }) => Buffer.from(data, 'base64').toString());

  it('moves a recorded store, and the new server works without the old Redis', async () => {
    const text = script.replaceAll(/^read -rp '(.*)'$/gm, "echo '[$1'; read -r _");
    child = spawn('/bin/bash', ['-c', text], {
      detached: true,
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    endWithUs(child.pid ?? 0);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (printed += String(chunk)));
    const ended = once(child, 'exit') as Promise<[number | null]>;

    await paused('Point the workers');
    await waitFor(async () => (await call('GET', 'welcome/size')).status === 200, 30_000 * SLOWNESS);
    await waitFor(async () => (await lmstfy.redis.llen('q/mail/welcome')) === 0, 30_000 * SLOWNESS);
    const welcome = await consumeAll('welcome');
    goOn();
    await paused('Point the producers');
    const late = await lmstfy.publish('mail', 'welcome', { body: 'published to lmstfy' });
    await waitFor(async () => (await call('GET', `welcome/job/${late}`)).status === 200, 30_000 * SLOWNESS);
    await call('PUT', 'welcome', 'mail', 'published here');
    goOn();
    await paused('Stop all lmstfy');
    goOn();
    await paused('Switch the old Redis off');
    lmstfy.close();
    await stores[0].stop();
    goOn();
    const [code] = await ended;

    expect([code, printed]).toEqual([0, expect.any(String)]);
    expect(
      printed.match(/^jobs: +from redis:\/\/127\.0\.0\.1:\d+\/0 to pool default, redis:/gm),
    ).toHaveLength(4);
    // Of step 7: only tokens and limits, which stay.
    expect(printed.split('namespace').at(-1)).toMatch(/mail(?: +0){8} +1 +1\n/);
    expect(printed).not.toContain('foobared');
    expect(printed).toContain('"status":"ready"');
    const texts = Array.from({ length: 70 }, (_, i) => `welcome ${String(i)}`);
    expect(bodiesOf(welcome)).toEqual([...texts, 'for a worker']);
    expect(bodiesOf(await consumeAll('welcome'))).toEqual(['published to lmstfy', 'published here']);
    expect(await consumeAll('attributes')).toMatchObject([{ attributes: { colour: 'Red' } }]);
    expect(bodiesOf(await consumeAll('bulk'))).toEqual(['{"n":1}', '"two"', '3']);
    expect(bodiesOf(await consumeAll('weekly', 'reports'))).toEqual(['a weekly report']);
    const binary = (await consumeAll('binary')).map(({ data }) => [...Buffer.from(data, 'base64')]);
    expect(binary).toEqual([Array.from({ length: 256 }, (_, i) => i)]);
    expect((await call('GET', 'failing/deadletter')).json).toMatchObject({ deadletter_size: 1 });
    // A worker that leased its job from lmstfy acknowledges it here.
    expect((await call('GET', 'leased/job/01M8CZBHMZCV6N32X928000000')).status).toBe(200);
    expect((await call('DELETE', 'leased/job/01M8CZBHMZCV6N32X928000000')).status).toBe(204);
  });
});
