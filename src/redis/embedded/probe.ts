import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** The name of its owner's connection, by which any other process sees that the owner lives. */
export const OWNER_CONNECTION = 'pumphouse-owner';

/** A Redis that listens on a socket, and our connection to it. */
export interface LiveRedis {
  readonly connection: Redis;
  readonly pid: number;
  readonly runId: string;
  /** Its data folder, without symbolic links. */
  readonly dir: string;
}

/** What listens on a socket: nothing, a Redis, or something that does not answer as one. */
export type Answer =
  | { readonly kind: 'nobody' }
  | ({ readonly kind: 'redis' } & LiveRedis)
  | { readonly kind: 'other'; why: string };

/** Asks who listens on `socketPath`. The connection of a 'redis' answer is the caller's to close. Never throws. */
export async function probe(socketPath: string): Promise<Answer> {
  const connection = new Redis({
    path: socketPath,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false, // a Redis that is still loading its AOF is there as well
    connectTimeout: 5_000,
  });
  let why = 'it does not answer';
  connection.on('error', (error: NodeJS.ErrnoException) => (why = error.code ?? error.message));
  try {
    const live = await within(5_000, identify(connection));
    return { kind: 'redis', ...live };
  } catch (error) {
    hangUp(connection);
    if (why === 'ENOENT' || why === 'ECONNREFUSED') return { kind: 'nobody' };
    return { kind: 'other', why: error instanceof Error ? `${why}: ${error.message}` : why };
  }
}

async function identify(connection: Redis): Promise<LiveRedis> {
  await connection.connect();
  const info = await connection.info('server');
  const dir = await configured(connection, 'dir');
  const runId = /run_id:(\w+)/.exec(info)?.[1];
  const pid = /process_id:(\d+)/.exec(info)?.[1];
  if (runId === undefined || pid === undefined) throw new Error('it names no run id');
  return { connection, pid: Number(pid), runId, dir: realpathSync(dir) };
}

async function configured(connection: Redis, name: string): Promise<string> {
  // An array over RESP2, an object over RESP3.
  const reply: unknown = await connection.call('CONFIG', 'GET', name);
  const values: unknown[] =
    typeof reply === 'object' && reply !== null ? Object.values(reply as Record<string, unknown>) : [];
  const value = values.at(-1);
  if (typeof value !== 'string') throw new Error(`CONFIG GET ${name} gives no value`);
  return value;
}

/** Closes a connection. On one that is closed already, the driver's own way would hold the process up for 2 s. */
export function hangUp(connection: Redis): void {
  if (connection.status !== 'end') connection.disconnect();
}

/** Whether the server that owns this Redis is connected to it now: it sees owners that our process table hides. */
export async function hasOwner(connection: Redis): Promise<boolean> {
  const clients: unknown = await connection.call('CLIENT', 'LIST');
  return typeof clients === 'string' && clients.includes(` name=${OWNER_CONNECTION} `);
}

/** Whether it is still reading its AOF; it answers nothing else meanwhile. */
export async function isLoading(connection: Redis): Promise<boolean> {
  return /loading:1/.test(await connection.info('persistence'));
}

/** The promise's outcome, or an error after `ms`. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal }).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}
