import { realpathSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** Name of the owner's connection, which shows other processes that the owner is alive. */
export const OWNER_CONNECTION = 'pumphouse-owner';

/** A Redis that listens on a socket, and our connection to it. */
export interface LiveRedis {
  readonly connection: Redis;
  readonly pid: number;
  readonly runId: string;
  /** Its data folder, without symbolic links. */
  readonly dir: string;
}

/** What listens on a socket: nothing, a Redis, or something that does not answer like one. */
export type Answer =
  | { readonly kind: 'none' }
  | ({ readonly kind: 'redis' } & LiveRedis)
  | { readonly kind: 'other'; why: string };

/** Finds out what listens on `socketPath`. The caller must close the connection of a 'redis' answer. Never throws. */
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
    if (why === 'ENOENT' || why === 'ECONNREFUSED') return { kind: 'none' };
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

/** Closes a connection. On a closed one, the driver's own method would delay the end of the process by 2 s. */
export function hangUp(connection: Redis): void {
  if (connection.status !== 'end') connection.disconnect();
}

/** True if the owner of this Redis is connected to it now: also finds owners that our process table does not show. */
export async function hasOwner(connection: Redis): Promise<boolean> {
  const clients: unknown = await connection.call('CLIENT', 'LIST');
  return typeof clients === 'string' && clients.includes(` name=${OWNER_CONNECTION} `);
}

/** True while it reads its AOF; it answers no other commands then. */
export async function isLoading(connection: Redis): Promise<boolean> {
  return /loading:1/.test(await connection.info('persistence'));
}

/** The promise's result, or an error after `ms`. */
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
