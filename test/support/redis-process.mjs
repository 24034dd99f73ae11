import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/setup/free-port.mjs';

/**
 * Starts a real redis-server on a free port of 127.0.0.1, with the durability that production has (AOF everysec,
 * noeviction). Plain JavaScript, because jest's global set-up runs before TypeScript can be read.
 *
 * @param {{ args?: readonly string[], dir?: string, port?: number }} options `args` stand last, so they win; a given
 *   `dir` is left in place on stop
 */
export async function startRedis({
  args = [],
  dir,
  port: wanted,
  program = usualProgram(),
  isLoading = false,
} = {}) {
  const port = wanted ?? (await freePort());
  const folder = dir ?? mkdtempSync(join(tmpdir(), 'pumphouse-redis-'));
  const child = spawn(program, [...settings(port, folder), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => (output = (output + text).slice(-4_000)));
    stream.unref();
  }
  child.unref();
  const watch = child.pid === undefined ? null : endWithUs(child.pid);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.once('error', (error) => (output += String(error)));
  await answering(port, child, isLoading ? /^-LOADING/ : /^\+PONG/, () => `${program}:\n${output}`);

  const end = async (signal) => {
    watch?.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) {
      child.ref();
      child.kill(signal);
      // A replica that writes its first AOF ignores it.
      const again = setInterval(() => child.kill(signal), 1_000);
      await exited;
      clearInterval(again);
    }
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid,
    dir: folder,
    stop: async () => {
      await end('SIGTERM');
      if (dir === undefined) rmSync(folder, { recursive: true, force: true });
    },
    kill9: () => end('SIGKILL'),
  };
}

/**
 * Sees to it that a process ends with the test run, even if that is killed: a shell waits for the end of a pipe that
 * only this process holds open. Kill the shell before the process, so that it never meets another one by that number.
 */
export function endWithUs(pid) {
  const shell = spawn('sh', ['-c', 'cat > /dev/null; kill "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  shell.stdin.unref();
  shell.stdin.on('error', () => undefined);
  return shell;
}

/** Settings that make a Redis of the run one that cannot be asked to wait for its disk, as all before 7.2 are. */
export function withoutWaitAof() {
  const { stdout } = spawnSync(usualProgram(), ['--version'], { encoding: 'utf8' });
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout) ?? [];
  const has = Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
  return has ? ['--rename-command', 'WAITAOF', ''] : [];
}

function usualProgram() {
  return process.env.PUMPHOUSE_REDIS_SERVER || 'redis-server';
}

function settings(port, dir) {
  return Object.entries({
    port,
    dir,
    bind: '127.0.0.1',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    save: '',
    daemonize: 'no',
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Waits until the port answers PING so, at most 15 s. */
async function answering(port, child, pattern, output) {
  const until = Date.now() + 15_000;
  while (Date.now() < until) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) break;
    if (pattern.test(await ping(port))) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill('SIGKILL');
  throw new Error(`no Redis has started on port ${port}: ${output()}`);
}

function ping(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1_000, () => socket.destroy());
    socket.once('data', (reply) => (resolve(String(reply)), socket.destroy()));
    socket.once('error', () => resolve(''));
    socket.once('close', () => resolve(''));
  });
}
