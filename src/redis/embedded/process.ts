import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedRedisError } from './error.js';

/** Size above which the next start renames Redis's own log, in bytes. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;

/** Identifies a process, also if a later one gets the same number. */
export interface ProcessMark {
  readonly pid: number;
  /** Start time, in the system's own format; null if it is unknown. */
  readonly born: string | null;
}

/** The mark of a running process; null if there is none, or if it is a zombie. */
export function markOf(pid: number): ProcessMark | null {
  return existsSync('/proc/self/stat') ? markFromProc(pid) : markFromPs(pid);
}

/** True if that same process still runs. */
export function isRunning({ pid, born }: ProcessMark): boolean {
  const now = markOf(pid);
  return now !== null && (born === null || now.born === born);
}

function markFromProc(pid: number): ProcessMark | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The program's name, in brackets, may contain spaces and brackets: count fields from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return { pid, born: `${bootId()}/${fields[19] ?? ''}` };
  } catch {
    return null;
  }
}

/** Id of the boot: start times are relative to it. Empty in sandboxes that hide it. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  } catch {
    return '';
  }
}

function markFromPs(pid: number): ProcessMark | null {
  try {
    const [state = '', ...born] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    }).split(/\s+/);
    return state === '' || state.startsWith('Z') ? null : { pid, born: born.join(' ').trim() };
  } catch {
    return null;
  }
}

/**
 * The first of the programs that can be run and is at least Redis 6.2 (the oldest with all commands that we send).
 *
 * @throws {EmbeddedRedisError} there is none; the message says what to install, or which setting to change
 */
export function usableProgram(candidates: readonly string[]): string {
  const found: string[] = [];
  for (const program of candidates) {
    const version = versionOf(program);
    if (version === null) continue;
    const [major, minor] = version;
    if (major > 6 || (major === 6 && minor >= 2)) return program;
    found.push(`${program} is ${major}.${minor}`);
  }
  const why =
    found.length > 0 ? `${found.join(', ')}, too old` : `none of ${candidates.join(', ')} can be run`;
  throw new EmbeddedRedisError(
    `the embedded Redis needs redis-server 6.2 or valkey-server, or later: ${why}; install one, or name a Redis ` +
      'that runs in pools.default.url (PUMPHOUSE_POOLS__DEFAULT__URL=redis://host:port)',
  );
}

function versionOf(program: string): readonly [number, number] | null {
  try {
    const text = execFileSync(program, ['--version'], { encoding: 'utf8', timeout: 5_000, stdio: 'pipe' });
    const match = /v=(\d+)\.(\d+)/.exec(text);
    return match === null ? null : [Number(match[1]), Number(match[2])];
  } catch {
    return null;
  }
}

/**
 * Starts Redis as a process that survives us: in its own process group, so that Ctrl-C on the terminal does not reach
 * it before the server has drained, and without a pipe to us that could break. Its output goes to `redis.log`.
 *
 * The caller waits until it answers. If the program cannot be started, the child emits an 'error' event.
 */
export function spawnRedis(program: string, dir: string, socketPath: string): ChildProcess {
  const log = openLog(dir);
  try {
    const child = spawn(program, redisArguments(dir, socketPath), {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/** The last lines of Redis's own log, which show why it does not start. */
export function logTail(dir: string): string {
  try {
    return readFileSync(join(dir, 'redis.log'), 'utf8').slice(-2_000).split('\n').slice(-8).join('\n').trim();
  } catch {
    return '';
  }
}

function openLog(dir: string): number {
  const path = join(dir, 'redis.log');
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > MAX_LOG_BYTES) renameSync(path, `${path}.old`);
  return openSync(path, 'a', 0o600);
}

/** Same durability as required of external pools; reachable only by this user, and only through the socket. */
function redisArguments(dir: string, socketPath: string): string[] {
  const settings: Readonly<Record<string, string>> = {
    port: '0',
    unixsocket: socketPath,
    unixsocketperm: '700',
    dir,
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    save: '',
    daemonize: 'no',
    supervised: 'no',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}
