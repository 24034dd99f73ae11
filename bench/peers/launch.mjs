/** How the stores of all queues are started, ended and measured. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { redisArguments } from '../servers/redis.mjs';
import { familyOf, start, stop, until } from '../measure/processes.mjs';

/**
 * Where a store is to run, and how: `synced` = an fsync before each answer, `relaxed` = later, about once a second.
 *
 * @typedef {{ folder: string, mode: 'relaxed' | 'synced' }} Place
 * @typedef {ReturnType<typeof start>} Started
 * @typedef {{ address: object, processes: Started[] }} Store
 */

/** RabbitMQ may need half a minute. */
const PATIENCE_MS = 120_000;

/** Waits until a port is open. @param {Started} started @param {number} port */
export function connects(started, port) {
  const attempt = () =>
    new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(socket.destroy()));
      socket.once('error', reject);
    });
  return until(started, attempt, PATIENCE_MS);
}

/** A Redis with AOF. @param {Place} place */
export async function startRedis({ folder, mode }) {
  const port = await freePort();
  const redis = start(
    'redis-server',
    redisArguments(folder, port, mode === 'synced' ? 'always' : 'everysec'),
  );
  await connects(redis, port);
  return { port, redis };
}

const BIN = '/usr/lib/postgresql/15/bin';
export const POSTGRES = { [`${BIN}/postgres`]: 'postgresql-15' };
const USER = 'postgres';

/** A PostgreSQL with its own data, as the user `postgres` if this is root, whom it refuses. @param {Place} place @returns {Promise<Store>} */
export async function startPostgres({ folder, mode }) {
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const data = join(folder, 'data');
  /** @param {string} program @param {string[]} args @returns {[string, string[]]} */
  const own = (program, args) =>
    isRoot
      ? ['setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', join(BIN, program), ...args]]
      : [join(BIN, program), args];
  if (!existsSync(data)) {
    mkdirSync(data);
    if (isRoot) {
      chmodSync(folder, 0o755);
      const [uid, gid] = ['-u', '-g'].map((flag) =>
        Number(execFileSync('id', [flag, USER], { encoding: 'utf8' })),
      );
      chownSync(data, uid, gid);
    }
    execFileSync(...own('initdb', ['-D', data, '-U', USER, '--auth=trust']), { stdio: 'ignore' });
  }
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    `synchronous_commit=${mode === 'synced' ? 'on' : 'off'}`,
  ].flatMap((setting) => ['-c', setting]);
  const server = start(...own('postgres', ['-D', data, '-p', String(port), ...settings]));
  const isReady = join(BIN, 'pg_isready');
  await until(server, async () =>
    execFileSync(isReady, ['-h', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' }),
  );
  return { address: { url: `postgres://${USER}@127.0.0.1:${port}/postgres` }, processes: [server] };
}

/** Ends a store as a crash of all its processes would. @param {Store} store */
export async function kill({ processes }) {
  // Before the first one ends: then its children have another parent.
  const pids = processes.flatMap(({ pid }) => familyOf(pid));
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }
  await Promise.all(processes.map((one) => stop(one, 'SIGKILL')));
  while (pids.some((pid) => existsSync(`/proc/${pid}/fd/0`))) await sleep(10);
}

/** Bytes of memory of processes and their children; what several share is counted once. @param {Started[]} processes */
export function memoryOf(processes) {
  let kilobytes = 0;
  for (const one of processes.flatMap(({ pid }) => familyOf(pid))) {
    try {
      kilobytes += Number(
        /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'latin1'))?.[1] ?? 0,
      );
    } catch {
      // It has ended.
    }
  }
  return kilobytes * 1_024;
}
