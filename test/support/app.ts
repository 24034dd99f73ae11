import { Agent, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { TokenStore } from '../../src/auth/token-store.js';
import type { Config } from '../../src/config/config.js';
import { loadConfig } from '../../src/config/load.js';
import type { Log } from '../../src/domain/log.js';
import { Engines } from '../../src/engine/engines.js';
import type { Engine } from '../../src/engine/engine.js';
import { poolsOf } from '../../src/app/embedded-pools.js';
import { SingleProcess } from '../../src/app/processes/single-process.js';
import { play, type Request, type Response } from './play.js';
import { randomNamespace, type RedisProcess, startRedis, testTargetEnv } from './redis.js';

/** What came back. */
export interface Answer extends Response {
  /** Undefined if it is not JSON. */
  readonly json: unknown;
}

export interface CallOptions extends Omit<Request, 'agent'> {
  /** Null sends none; by default the app's own. */
  readonly token?: string | null;
}

/** A line of the log. */
export interface LogLine {
  readonly level: string;
  readonly details: object;
  readonly message: string;
}

/**
 * A server in this process, API and admin app on free ports, over the tests' Redis, with a namespace and a token of its own.
 * Settings are given as the environment would: `{ PUMPHOUSE_SERVER__DRAIN_MS: '100' }`.
 */
export class TestApp {
  readonly log: LogLine[];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 });
  private store: StoreOfOwn | undefined;

  private constructor(
    readonly server: SingleProcess,
    readonly namespace: string,
    readonly token: string,
    log: LogLine[],
  ) {
    this.log = log;
  }

  /**
   * @param clock moves the time of its queues, Unix ms, and needs a Redis that no other test uses; left out, Redis's
   * own clock is used
   * @param change sets what the environment cannot, such as roles of accounts
   */
  static async start(
    env: Record<string, string> = {},
    clock?: () => number,
    change: (config: Config) => void = () => undefined,
  ): Promise<TestApp> {
    const lines: LogLine[] = [];
    const config = loadConfig({
      env: {
        PUMPHOUSE_SERVER__HOST: '127.0.0.1',
        PUMPHOUSE_SERVER__PORT: '0',
        PUMPHOUSE_ADMIN__PORT: '0',
        PUMPHOUSE_SERVER__READY_LAG_MS: '0',
        // On a busy machine Redis may get no CPU for seconds: that is no subject of most tests.
        PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '8000',
        ...(namesPool(env) ? {} : testTargetEnv()),
        ...env,
      },
    });
    change(config);
    const server = await SingleProcess.start(config, poolsOf(config, {}), collector(lines), clock);
    const namespace = randomNamespace('app');
    const store = server.admin.app.get(TokenStore, { strict: false });
    const token = await store.create(namespace, 'default', 'test');
    return new TestApp(server, namespace, token, lines);
  }

  /** The same over a Redis that no other spec has, with a connection to it. All of it ends with the app. */
  static async alone(
    env: Record<string, string> = {},
    change?: (config: Config) => void,
  ): Promise<StoreOfOwn & { readonly app: TestApp }> {
    const redis = await startRedis();
    const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    const app = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, ...env }, undefined, change);
    app.store = { redis, client };
    return { redis, client, app };
  }

  get port(): number {
    return this.server.apiPort;
  }

  get engine(): Engine {
    return this.server.admin.app.get(Engines, { strict: false }).of('default');
  }

  /** A call on the API port; `path` is taken as it is if it starts with a slash, else it follows `/api/<namespace>/`. */
  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const full = path.startsWith('/') ? path : `/api/${this.namespace}/${path}`;
    return this.send(this.server.api.app.getHttpServer(), method, full, options);
  }

  get(path: string, options?: CallOptions): Promise<Answer> {
    return this.call('GET', path, options);
  }

  put(path: string, body: CallOptions['body'] = 'hello', options: CallOptions = {}): Promise<Answer> {
    return this.call('PUT', path, { body, ...options });
  }

  delete(path: string, options?: CallOptions): Promise<Answer> {
    return this.call('DELETE', path, options);
  }

  /** A call on the admin port. */
  admin(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.send(this.server.admin.app.getHttpServer(), method, path, { token: null, ...options });
  }

  /** Publishes and gives the job's id. */
  async publish(queueAndQuery: string, body?: CallOptions['body'], options?: CallOptions): Promise<string> {
    const { status, json, text } = await this.put(queueAndQuery, body, options);
    if (status !== 201) throw new Error(`publish: ${String(status)} ${text}`);
    return (json as { job_id: string }).job_id;
  }

  /** A connection to send bytes on. */
  open(): Promise<RawConnection> {
    return this.connected({});
  }

  /** The same; its own side may be closed while the server's is open. */
  openHalf(): Promise<RawConnection> {
    return this.connected({ allowHalfOpen: true });
  }

  private async connected(options: { readonly allowHalfOpen?: boolean }): Promise<RawConnection> {
    const socket = connect({ port: this.port, host: '127.0.0.1', ...options });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  /** Sends bytes on a connection of their own and gives back all that comes until it is closed. */
  async raw(bytes: string | Buffer): Promise<string> {
    const connection = await this.open();
    connection.write(bytes);
    return connection.untilClosed();
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    await this.server.stop();
    this.store?.client.disconnect();
    await this.store?.redis.stop();
  }

  private async send(server: Server, method: string, path: string, options: CallOptions): Promise<Answer> {
    const { token = this.token, headers, ...rest } = options;
    const sent = { ...(token === null ? {} : { 'x-token': token }), ...headers };
    const answer = await play(server, method, path, { ...rest, headers: sent, agent: this.agent });
    return { ...answer, json: parse(answer.text) };
  }
}

/** A Redis that no other spec has, and a connection to it. */
export interface StoreOfOwn {
  readonly redis: RedisProcess;
  readonly client: Redis;
}

/** One TCP connection, byte for byte. */
export class RawConnection {
  received = '';

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => (this.received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** Waits until what has come contains `text` as often as said. */
  async until(text: string, times = 1, withinMs = 5_000): Promise<string> {
    const end = Date.now() + withinMs;
    while (this.received.split(text).length - 1 < times) {
      if (Date.now() > end) throw new Error(`no ${JSON.stringify(text)} in ${JSON.stringify(this.received)}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return this.received;
  }

  untilClosed(): Promise<string> {
    if (this.socket.destroyed) return Promise.resolve(this.received);
    return new Promise((resolve) => this.socket.once('close', () => resolve(this.received)));
  }

  /** Gone without a word. */
  cut(): void {
    this.socket.destroy();
  }
}

/** The head of a request, ready to be written. */
export function head(method: string, path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** The environment says where the default pool is. */
function namesPool(env: Record<string, string>): boolean {
  return ['URL', 'CLUSTER', 'SENTINELS'].some((key) => `PUMPHOUSE_POOLS__DEFAULT__${key}` in env);
}

function collector(lines: LogLine[]): Log {
  const take =
    (level: string) =>
    (details: object, message: string): void =>
      void lines.push({ level, details, message });
  return { debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
