import { spawn, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import type { Log } from '../../src/domain/log.js';
import { EmbeddedRedisError } from '../../src/redis/embedded/error.js';
import { EmbeddedRedis } from '../../src/redis/embedded/embedded.js';
import { startRedis, waitFor } from '../support/redis.js';

interface OwnerProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly adopted: boolean;
  readonly error: string | undefined;
}

const support = (name: string) => fileURLToPath(new URL(`../support/${name}`, import.meta.url));
const noop = () => undefined;
const quiet: Log = { debug: noop, info: noop, warn: noop, error: noop };

let dataDir: string;
let opened: EmbeddedRedis[];
let leaseOperations: ChildProcess[];
let clients: Redis[];
let folders: string[];

beforeEach(() => {
  folders = [];
  dataDir = folder();
  opened = [];
  leaseOperations = [];
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.disconnect();
  for (const owner of leaseOperations) owner.kill('SIGKILL');
  for (const redis of opened) await redis.stop();
  // Redis servers of killed owners are adopted once more, so that their owner ends them.
  for (const dir of folders) {
    if (existsSync(join(dir, 'default'))) {
      await EmbeddedRedis.start({ pool: 'default', dataDir: dir, log: quiet }).then(
        (redis) => redis.stop(),
        () => undefined,
      );
    }
    rmSync(dir, { recursive: true, force: true });
  }
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-embedded-'));
  folders.push(dir);
  return dir;
}

async function start(dir = dataDir, log = quiet): Promise<EmbeddedRedis> {
  const redis = await EmbeddedRedis.start({ pool: 'default', dataDir: dir, log });
  opened.push(redis);
  return redis;
}

function client(path: string, enableReadyCheck = true): Redis {
  const redis = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: null, enableReadyCheck });
  redis.on('error', noop);
  clients.push(redis);
  return redis;
}

/** A server in its own process, as far as it has started: an owner, or the error that it printed. */
function spawnOwner(dir = dataDir): Promise<OwnerProcess> {
  const args = ['--import', support('typescript-loader.mjs'), support('embedded-owner.ts'), dir];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  leaseOperations.push(child);
  return new Promise((resolve, reject) => {
    child.stdout.once('data', (line: Buffer) => {
      const message = JSON.parse(line.toString()) as { pid?: number; adopted?: boolean; error?: string };
      resolve({ child, pid: message.pid ?? 0, adopted: message.adopted ?? false, error: message.error });
    });
    child.once('error', reject);
  });
}

async function killed(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
  const exit = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  child.kill(signal);
  return exit;
}

const ownerLog = () => readFileSync(join(dataDir, 'default', 'redis.log'), 'utf8');

describe('the embedded Redis', () => {
  it('starts on an empty folder, durable and closed to other users', async () => {
    const redis = await start();

    const settings = await client(redis.socketPath).config(
      'GET',
      'append*',
      'maxmemory-policy',
      'port',
      'save',
    );
    const value = (name: string) => settings[settings.indexOf(name) + 1];
    expect(redis.adopted).toBe(false);
    expect(['appendonly', 'appendfsync', 'maxmemory-policy', 'port', 'save'].map(value)).toEqual([
      'yes',
      'always',
      'noeviction',
      '0',
      '',
    ]);
    expect(statSync(redis.socketPath).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir, 'default')).mode & 0o777).toBe(0o700);
  });

  it('ends while it loads its data, if a signal ends the start', async () => {
    const first = await start();
    const filled = client(first.socketPath);
    await filled.eval('for i = 1, 100000 do redis.call("SET", "key:" .. i, "value") end', 0);
    await first.stop();

    // Half a millisecond for each key: fifty seconds. It answers calls after each 1,024 keys.
    const slow = '--key-load-delay 500';
    const program = join(dataDir, 'slow-redis');
    writeFileSync(
      program,
      `#!/bin/sh\n[ "$1" = --version ] && exec redis-server --version\nexec redis-server "$@" ${slow}\n`,
    );
    chmodSync(program, 0o700);
    const end = new AbortController();
    const options = { pool: 'default', dataDir, log: quiet, program, signal: end.signal };
    const outcome = EmbeddedRedis.start(options).then(
      (redis) => void opened.push(redis),
      (error: unknown) => error,
    );
    const watching = client(first.socketPath, false);
    await waitFor(async () => (await watching.info('persistence')).includes('loading:1'));
    const endedAt = Date.now();
    end.abort();
    expect(await outcome).toBeInstanceOf(Error);
    expect(Date.now() - endedAt).toBeLessThan(25_000);

    const again = await start();
    expect(again.adopted).toBe(false);
    expect(await client(again.socketPath).dbsize()).toBe(100_000);
  });

  it('has the configured memory limit, by default none', async () => {
    const limitOf = async ({ socketPath }: EmbeddedRedis) =>
      (await client(socketPath).config('GET', 'maxmemory'))[1];
    const limited = async (maxMemoryBytes: number) => {
      const redis = await EmbeddedRedis.start({ pool: 'default', dataDir, log: quiet, maxMemoryBytes });
      opened.push(redis);
      return redis;
    };
    const first = await limited(100_000_000);
    expect(await limitOf(first)).toBe('100000000');
    await first.stop();
    const second = await limited(0);
    expect(await limitOf(second)).toBe('0');
  });

  it('fsyncs before it stops, unlocks the folder, and has all data at the next start', async () => {
    const first = await start();
    await client(first.socketPath).set('job', 'kept');
    await first.stop();
    expect(ownerLog()).toContain('Calling fsync() on the AOF file.');

    const second = await start();
    expect(second.adopted).toBe(false);
    expect(await client(second.socketPath).get('job')).toBe('kept');
  });

  it('is adopted by the next server when its owner was killed', async () => {
    const owner = await spawnOwner();
    const writer = client(join(dataDir, 'default', 'redis.sock'));
    await writer.set('job', 'kept');
    await killed(owner.child);

    const redis = await start();
    expect([redis.adopted, redis.pid]).toEqual([true, owner.pid]);
    expect(await writer.get('job')).toBe('kept');
  });

  it('is stopped and restarted by the server that adopted it', async () => {
    const owner = await spawnOwner();
    await killed(owner.child);
    const redis = await start();
    await client(redis.socketPath).set('job', 'kept');

    process.kill(owner.pid, 'SIGKILL');
    await waitFor(() => redis.pid !== null && redis.pid !== owner.pid, 5_000);
    const reader = client(redis.socketPath);
    expect(await reader.get('job')).toBe('kept');

    await redis.stop();
    expect(existsSync(redis.socketPath)).toBe(false);
  });

  it('is adopted during its start when its owner was killed before it wrote a run id', async () => {
    const owner = await spawnOwner();
    await killed(owner.child);
    const lock = lockFile();
    const locked = JSON.parse(readFileSync(lock, 'utf8')) as { redis: Record<string, unknown> };
    writeFileSync(
      lock,
      JSON.stringify({ ...locked, redis: { ...locked.redis, runId: null, process: null } }),
    );

    const redis = await start();
    expect([redis.adopted, redis.pid]).toEqual([true, owner.pid]);
  });

  it("has one owner: a second server on its folder gets the owner's process id", async () => {
    const owner = await spawnOwner();

    const second = await spawnOwner();
    expect(second.error).toContain(`belongs to the server with process id ${String(owner.child.pid)}`);
    await expect(start()).rejects.toThrow(/belongs to the server with process id/);
    expect(await killed(owner.child, 'SIGTERM')).toBe(0);

    await start();
  });

  it('is refused to a second server while its owner runs in another container', async () => {
    const owner = await spawnOwner();
    const lock = lockFile();
    const locked = JSON.parse(readFileSync(lock, 'utf8')) as Record<string, unknown>;
    writeFileSync(lock, JSON.stringify({ ...locked, owner: { pid: 2 ** 22 + 1, born: 'elsewhere' } }));

    await expect(start()).rejects.toThrow(/belongs to another server/);
    await killed(owner.child);
  });

  it('is adopted by one of several servers that find a dead owner at once', async () => {
    await killed((await spawnOwner()).child);

    const contenders = await Promise.all([spawnOwner(), spawnOwner(), spawnOwner(), spawnOwner()]);
    expect(contenders.filter(({ error }) => error === undefined)).toHaveLength(1);
    expect(contenders.filter(({ error }) => error?.includes('belongs to'))).toHaveLength(3);
  });

  it('is restarted with its data after kill -9', async () => {
    const redis = await start();
    const user = client(redis.socketPath);
    await user.set('job', 'kept');
    const before = redis.pid!;

    process.kill(before, 'SIGKILL');
    expect(await user.get('job')).toBe('kept');
    expect(redis.pid).not.toBe(before);
  });

  it('is started again with growing delays while it cannot start', async () => {
    const failures: unknown[] = [];
    const redis = await start(dataDir, {
      ...quiet,
      error: (details, message) => failures.push(message, details),
    });
    const aof = join(dataDir, 'default', 'appendonlydir');
    const manifest = join(
      aof,
      readdirSync(aof).find((name) => name.endsWith('.manifest'))!,
    );
    const good = readFileSync(manifest);
    writeFileSync(manifest, 'not a manifest\n');

    process.kill(redis.pid!, 'SIGKILL');
    await waitFor(
      () => failures.filter((message) => String(message).includes('is not available yet')).length >= 2,
      5_000,
    );
    expect(JSON.stringify(failures, ['err', 'message', 'nextTryMs'])).toMatch(/200.*400/);
    writeFileSync(manifest, good);
    expect(await client(redis.socketPath).ping()).toBe('PONG');
  });

  it('reports the output of a Redis that cannot start, and unlocks the folder', async () => {
    await (await start()).stop();
    const aof = join(dataDir, 'default', 'appendonlydir');
    const manifest = join(
      aof,
      readdirSync(aof).find((name) => name.endsWith('.manifest'))!,
    );
    const good = readFileSync(manifest);
    writeFileSync(manifest, 'not a manifest\n');
    await expect(start()).rejects.toThrow(/ended with 1; the end of its log:[^]*AOF manifest/);

    writeFileSync(manifest, good);
    expect(await client((await start()).socketPath).ping()).toBe('PONG');
  });

  it('refuses a Redis on its socket with other data', async () => {
    const first = await start();
    await first.stop();
    const args = ['--unixsocket', first.socketPath];
    const stranger = await startRedis({ args });
    await expect(start()).rejects.toThrow(/works in .*, not in .*; it is not ours/);
    await stranger.stop();
  });

  it('refuses a Redis on its data that its lock does not name', async () => {
    const first = await start();
    await first.stop();
    const stranger = await startRedis({
      dir: join(dataDir, 'default'),
      args: ['--unixsocket', first.socketPath],
    });
    await expect(start()).rejects.toThrow(/has another run id than the lock/);
    await stranger.stop();
  });

  it('refuses a socket that is not a Redis', async () => {
    const first = await start();
    await first.stop();
    const server = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(first.socketPath, resolve));
    await expect(start()).rejects.toThrow(EmbeddedRedisError);
    await new Promise((resolve) => server.close(resolve));
  });

  it('is not started a second time while the first process runs without its socket', async () => {
    const owner = await spawnOwner();
    await killed(owner.child);
    rmSync(join(dataDir, 'default', 'redis.sock'));
    await expect(start()).rejects.toThrow(/still has the data open but does not answer/);
    process.kill(owner.pid, 'SIGTERM');
    await waitFor(() => ownerLog().includes('bye bye'));
  });

  it('has its socket in a folder of the user if the data path is too long, and refuses a folder that is open to others', async () => {
    const long = join(folder(), 'd'.repeat(120));
    const redis = await start(long);
    expect(Buffer.byteLength(redis.socketPath)).toBeLessThanOrEqual(100);
    expect(await client(redis.socketPath).ping()).toBe('PONG');
    await redis.stop();

    const shared = join(redis.socketPath, '..');
    chmodSync(shared, 0o755);
    await expect(start(long)).rejects.toThrow(/mode 0700/);
    chmodSync(shared, 0o700);
  });

  it('names what to install if there is no redis-server, or an old one', async () => {
    const program = join(dataDir, 'redis-server');
    const withProgram = () => EmbeddedRedis.start({ pool: 'default', dataDir, log: quiet, program });
    await expect(withProgram()).rejects.toThrow(/none of .* can be run; install one, or name a Redis/);
    writeFileSync(program, '#!/bin/sh\necho "Redis server v=5.0.14 sha=00000000:0"\n', { mode: 0o755 });
    await expect(withProgram()).rejects.toThrow(/is 5\.0, too old/);
  });
});

function lockFile(): string {
  const dir = join(dataDir, 'default');
  return join(
    dir,
    readdirSync(dir).find((name) => name.endsWith('.lock'))!,
  );
}
