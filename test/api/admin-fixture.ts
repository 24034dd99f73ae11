import { AdminServer } from '../../src/app/admin-server.js';
import { ApiServer } from '../../src/app/api-server.js';
import { OwnNativeCalls } from '../../src/app/native-calls.js';
import { Config } from '../../src/config/config.js';
import type { AppParts } from '../../src/app/core.module.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import type { ProcessCommands } from '../../src/domain/process-commands.js';
import { Drain } from '../../src/http/request/drain.js';
import { play } from '../support/play.js';
import { randomNamespace, testTarget } from '../support/redis.js';

/** A line of the log, as it was written. */
export interface LogLine {
  readonly level: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** What a call has beside its URL. */
export interface CallOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | undefined;
  readonly signal?: AbortSignal;
}

/** What an HTTP call brought. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: unknown;
  readonly text: string;
  readonly headers: Headers;
}

/** A switch and a text in place of workers. */
export class FakeProcesses implements ProcessCommands {
  forgotten = 0;
  private isOn = false;

  setAccessLog(on: boolean): void {
    this.isOn = on;
  }

  forgetTokens(): void {
    this.forgotten += 1;
  }

  accessLog(): boolean {
    return this.isOn;
  }

  metrics(): Promise<string> {
    return Promise.resolve('# HELP up x\nup 1\n');
  }

  loops(): Promise<[]> {
    return Promise.resolve([]);
  }
}

/** The pools of a test: two names over the shared store, or the Redis at `url`, kept apart from other tests by a prefix. */
export function testPools(url?: string, commandTimeoutMs = 1_000): Record<string, PoolOptions> {
  const target = url === undefined ? testTarget() : { url };
  const prefix = randomNamespace('prefix');
  const pool = (name: string): PoolOptions => ({
    ...target,
    allowUnsafe: false,
    keyPrefix: `${prefix}:${name}:`,
    commandTimeoutMs,
  });
  return { default: pool('default'), other: pool('other') };
}

/** What both servers are made of: free ports on loopback, no embedded Redis, a log that is collected. */
export function testParts(
  pools: Record<string, PoolOptions>,
  change: (config: Config) => void = () => undefined,
): { parts: AppParts; log: LogLine[] } {
  const config = new Config();
  config.server.host = '127.0.0.1';
  config.server.port = 0;
  config.admin.host = '127.0.0.1';
  config.admin.port = 0;
  change(config);
  const log: LogLine[] = [];
  const write = (level: string) => (details: object, message: string) =>
    void log.push({ level, details: { ...details }, message });
  const parts: AppParts = {
    config,
    pools,
    drain: new Drain(),
    metrics: { reads: false },
    log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
  };
  return { parts, log };
}

/** Starts an admin port for a test, as the primary of a cluster has it. */
export async function startAdmin(
  parts: AppParts,
): Promise<{ server: AdminServer; calls: OwnNativeCalls; url: string }> {
  const calls = new OwnNativeCalls(parts);
  const server = await AdminServer.start(parts, new FakeProcesses(), calls);
  const stop = server.stop.bind(server);
  server.stop = async () => {
    await calls.stop();
    await stop();
  };
  return { server, calls, url: `http://127.0.0.1:${server.port}` };
}

/** Starts a queue API for a test. */
export async function startApi(parts: AppParts): Promise<{ server: ApiServer; url: string }> {
  const server = await ApiServer.start(parts);
  return { server, url: `http://127.0.0.1:${server.port}` };
}

/** Makes a call and reads its answer whole. */
export async function request(url: string, options: CallOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body: sent, signal } = options;
  const type = sent instanceof URLSearchParams ? { 'Content-Type': 'application/x-www-form-urlencoded' } : {};
  const response = await play(url, method, '', {
    headers: { ...type, ...headers },
    body: sent?.toString(),
    signal,
  });
  const { status, text } = response;
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // It is no JSON: the text is the body.
  }
  const received = new Headers(
    Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { status, type: received.get('content-type')?.split(';')[0] ?? '', body, text, headers: received };
}
