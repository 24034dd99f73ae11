import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { endWithUs } from './redis-process.mjs';
import { waitFor } from './redis.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Between two looks whether a server is ready. It takes a second, and shares the CPU with the probes. */
const PROBE_MS = 40;

/** The built server as a process of its own, with its embedded Redis and a data folder that outlives its crashes. */
export class BuiltServer {
  private child: ChildProcess | null = null;
  private watch: ChildProcess | null = null;

  private constructor(
    readonly dir: string,
    readonly apiPort: number,
    readonly adminPort: number,
    private readonly env: Readonly<Record<string, string>>,
    /** What its next start runs. */
    public main: string,
  ) {}

  /**
   * @param env settings in the form `PUMPHOUSE_…`, over free ports and a new data folder
   * @param main of another build
   */
  static async create(env: Readonly<Record<string, string>> = {}, main = MAIN): Promise<BuiltServer> {
    if (!existsSync(main)) throw new Error(`${main} is missing: run \`npm run build\` first`);
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-server-'));
    return new BuiltServer(dir, await freePort(), await freePort(), env, main);
  }

  get url(): string {
    return `http://127.0.0.1:${this.apiPort}`;
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${this.adminPort}`;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** All that it has printed, over all its lives. */
  get output(): string {
    return readFileSync(join(this.dir, 'server.log'), 'utf8');
  }

  /** Process id of the embedded Redis, as its own log tells it. */
  get redisPid(): number {
    const log = readFileSync(join(this.dir, 'data', 'default', 'redis.log'), 'utf8');
    return Number([...log.matchAll(/^(\d+):M .*ready to accept connections/gim)].at(-1)?.[1]);
  }

  /** Starts it and waits until both ports are ready. @param env more settings, for this start */
  async start(withinMs = 40_000, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const log = openSync(join(this.dir, 'server.log'), 'a');
    const child = spawn(process.execPath, [this.main], {
      env: { ...process.env, ...this.settings(), ...this.env, ...env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.child = child;
    this.watch = endWithUs(this.pid);
    const isReady = async (): Promise<boolean> => {
      if (child.exitCode !== null) return true;
      return (await fetch(`${this.url}/readyz`)).ok && (await fetch(`${this.adminUrl}/readyz`)).ok;
    };
    await waitFor(isReady, withinMs, PROBE_MS).catch((cause: unknown) => {
      throw new Error(`the server does not get ready:\n${this.output}`, { cause });
    });
    if (child.exitCode !== null) throw new Error(`the server has ended:\n${this.output}`);
  }

  /** Makes a token over the admin port. */
  async token(namespace: string): Promise<string> {
    const body = new URLSearchParams({ description: 'test' });
    const answer = await fetch(`${this.adminUrl}/token/${namespace}`, { method: 'POST', body });
    return ((await answer.json()) as { token: string }).token;
  }

  /** Ends it by a signal and waits for the end. @returns its exit code; null if the signal ended it */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null)
      return child?.exitCode ?? null;
    this.watch?.kill('SIGKILL');
    const exit = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    const [code] = await exit;
    return code;
  }

  /** Ends it and its Redis in order, and removes the data. */
  async remove(): Promise<void> {
    await this.end('SIGTERM');
    await this.endRedis();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A server that was killed leaves its Redis running. To start another server that stops it would take seconds. */
  private async endRedis(): Promise<void> {
    const log = join(this.dir, 'data', 'default', 'redis.log');
    const pid = existsSync(log) ? this.redisPid : Number.NaN;
    if (!isRedisRunning(pid)) return;
    process.kill(pid, 'SIGTERM');
    await waitFor(() => !isRedisRunning(pid), 10_000);
  }

  private settings(): Record<string, string> {
    return {
      PUMPHOUSE_SERVER__HOST: '127.0.0.1',
      PUMPHOUSE_SERVER__PORT: String(this.apiPort),
      PUMPHOUSE_SERVER__READY_LAG_MS: '0',
      PUMPHOUSE_ADMIN__PORT: String(this.adminPort),
      PUMPHOUSE_DATA__DIR: join(this.dir, 'data'),
    };
  }
}

/** True while this process is a Redis. One that has ended and was not waited for has no command line. */
export function isRedisRunning(pid: number): boolean {
  try {
    return /redis|valkey/.test(readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8'));
  } catch {
    return false;
  }
}
