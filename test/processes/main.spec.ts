import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BuiltServer } from '../support/built-server.js';
import { testRedisUrl, waitFor } from '../support/redis.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built server's program to its end. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(ROOT, 'dist', 'main.js'), ...args],
      { env: { ...process.env, ...env } },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

describe('the program', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'pumphouse-main-'));
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('prints its version and its default configuration', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await run(['-v'])).toMatchObject({ code: 0, stdout: `${version}\n` });
    const { code, stdout } = await run(['--print-default-config']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: readFileSync(join(ROOT, 'config', 'default.toml'), 'utf8'),
    });
  });

  it('reports all errors of a configuration and exits with 78', async () => {
    const file = join(dir, 'wrong.toml');
    writeFileSync(file, '[server]\nport = 70000\nprot = 1\n');
    const { code, stderr, stdout } = await run(['-c', file, '--check-config'], {
      PUMPHOUSE_LIMITS__MAX_BODY_BYTES: 'x',
    });
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    for (const key of ['server.port', 'prot', 'limits.max_body_bytes']) expect(stderr).toContain(key);
    expect((await run(['-c', join(dir, 'none.toml')])).code).toBe(78);
    expect((await run(['--no-such-option'])).code).toBe(78);
  });

  it('confirms a correct configuration', async () => {
    expect(await run(['--check-config'])).toMatchObject({ code: 0, stderr: '' });
  });

  it("accepts lmstfy's flags and file, and reports that -sv has no effect", async () => {
    const file = join(ROOT, 'config', 'lmstfy-example.toml');
    const { code, stdout } = await run(['-c', file, '-bt', 'debug', '-sv', '--check-config']);

    expect(code).toBe(0);
    expect(stdout).toContain('-sv of lmstfy has no effect here: every call needs its token');
  });

  it('refuses to start without its Redis, with the reason', async () => {
    const { code, stderr } = await run([], {
      PUMPHOUSE_POOLS__DEFAULT__URL: 'redis://127.0.0.1:1',
      PUMPHOUSE_SERVER__PORT: '0',
      PUMPHOUSE_ADMIN__PORT: '0',
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '200',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^pumphouse: .*default at 127\.0\.0\.1:1 .*ECONNREFUSED/);
  });

  it('names the port in use and its setting', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await run([], {
      PUMPHOUSE_POOLS__DEFAULT__URL: testRedisUrl(),
      PUMPHOUSE_POOLS__DEFAULT__ALLOW_UNSAFE: 'true',
      PUMPHOUSE_SERVER__HOST: '127.0.0.1',
      PUMPHOUSE_SERVER__PORT: String(port),
      PUMPHOUSE_ADMIN__PORT: '0',
    });
    taken.close();

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^pumphouse: port ${String(port)} of 127.0.0.1 is in use.*PUMPHOUSE_SERVER__PORT`),
      ) as string,
    });
  });

  it('shows its commit at /version, and writes only JSON lines, without a token, if not on a terminal', async () => {
    const server = await BuiltServer.create();
    try {
      await server.start();
      await waitFor(() => server.output.includes('"serving"'));
      const built = readFileSync(join(ROOT, 'dist', 'commit'), 'utf8').trim();
      expect(built).toMatch(/^([0-9a-f]{40}(-dirty)?)?$/);
      const version = (await (await fetch(`${server.adminUrl}/version`)).json()) as object;
      expect(version).toMatchObject({ build_commit: built });
      await server.end('SIGTERM');
      const lines = server.output.trim().split('\n');
      const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(entries).toContainEqual(
        expect.objectContaining({
          ...{ msg: 'serving', api: server.url, admin: server.adminUrl },
          console: `${server.adminUrl}/ui/`,
        }),
      );
      // It says how to make a token, and makes none: a log is no place for it.
      const hint = `no token exists yet; make one: pumphouse token create demo --description test --admin ${server.adminUrl}`;
      expect(entries.filter(({ msg }) => msg === hint)).toHaveLength(1);
      expect(server.output.replaceAll(hint, '')).not.toMatch(/token/i);
    } finally {
      await server.remove();
    }
  });

  it('says nothing of tokens at a start after the first one was made', async () => {
    const server = await BuiltServer.create();
    try {
      await server.start();
      await fetch(`${server.adminUrl}/token/demo?description=d`, { method: 'POST' });
      await server.end('SIGTERM');
      const before = server.output.length;
      await server.start();
      await waitFor(() => server.output.slice(before).includes('"serving"'));
      await server.end('SIGTERM');
      expect(server.output.slice(before)).not.toContain('no token exists');
    } finally {
      await server.remove();
    }
  });

  it.each(['1', '2'])(
    "names the address of later's API, and warns once that later.allow is empty: %s processes",
    async (workers) => {
      const server = await BuiltServer.create({
        PUMPHOUSE_SERVER__WORKERS: workers,
        PUMPHOUSE_LATER__PORT: '0',
      });
      try {
        await server.start();
        await waitFor(() => server.output.includes('"serving"'));
        const lines = server.output.trim().split('\n');
        const entries = lines.map((line) => JSON.parse(line) as { msg: string; later?: string });
        const later = entries.find(({ msg }) => msg === 'serving')?.later ?? '';
        const answer = await fetch(`${later}/create`, { method: 'POST', body: '{}' });
        expect([answer.status, await answer.text()]).toEqual([
          400,
          expect.stringContaining('its later.allow is empty'),
        ]);
        expect(entries.filter(({ msg }) => msg.startsWith('later.port is set'))).toHaveLength(1);
      } finally {
        await server.remove();
      }
    },
  );

  it.each(['1', '2'])(
    'serves the native API to accounts on the admin port with %s API processes',
    async (workers) => {
      const server = await BuiltServer.create({
        PUMPHOUSE_SERVER__WORKERS: workers,
        PUMPHOUSE_ADMIN__ACCOUNTS__OPS: 'secret',
      });
      try {
        await server.start();
        const { url: api, adminUrl: admin } = server;
        const headers = { authorization: `Basic ${Buffer.from('ops:secret').toString('base64')}` };
        const made = await fetch(`${admin}/token/shop?description=d`, { method: 'POST', headers });
        const { token } = (await made.json()) as { token: string };
        const call = { method: 'POST', headers, body: '{"queue":"mail","id":"one"}' };
        expect((await fetch(`${admin}/v1/shop/jobs`, call)).status).toBe(201);
        const shown = await fetch(`${api}/v1/shop/jobs/one`, { headers: { 'x-token': token } });
        expect(await shown.json()).toMatchObject({ id: 'one', state: 'ready' });
        const { loops } = (await (await fetch(`${admin}/loops`, { headers })).json()) as {
          loops: { pid: number }[];
        };
        // The primary has loops since the first call.
        expect(new Set(loops.map(({ pid }) => pid)).size).toBe(workers === '1' ? 1 : 3);
      } finally {
        await server.remove();
      }
    },
  );

  it('prints example calls on its first start on a terminal, and not on the second', async () => {
    const cores = availableParallelism();
    const server = await BuiltServer.create({
      PUMPHOUSE_SERVER__WORKERS: String(cores + 1),
      NODE_OPTIONS: '--import=data:text/javascript,process.stdout.isTTY=true',
    });
    try {
      await server.start();
      await waitFor(() => server.output.includes('/ack"'));
      const [page = ''] = /(?<=console  )\S+/.exec(server.output) ?? [];
      expect(page).toBe(`${server.adminUrl}/ui/`);
      expect(await (await fetch(page)).text()).toContain('<title>Pumphouse console</title>');
      await server.end('SIGTERM');
      const first = server.output;
      expect(first).toContain(`API      ${server.url}\n`);
      expect(first).toContain(`admin    ${server.adminUrl}\n`);
      expect(first.match(/curl -s/g)).toHaveLength(3);
      expect(first).toContain(`server.workers is ${String(cores + 1)}`);
      await server.start();
      await waitFor(() => server.output.split('Pumphouse is ready.').length === 3);
      expect(server.output.slice(first.length)).not.toContain('curl');
    } finally {
      await server.remove();
    }
  });
});
