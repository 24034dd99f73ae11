import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { BuiltServer } from '../support/built-server.js';
import { startRedis, type RedisProcess } from '../support/redis.js';
import type { TcpProxy } from '../support/tcp-proxy.js';

/** So long a fault lasts at least, and at most, in ms. */
const LEAST_MS = 200;
const MOST_MS = 900;
/** What a Redis of these runs is started with: what it has answered is on its disk, and DEBUG may be asked. */
export const REDIS_ARGS = ['--appendfsync', 'always', '--enable-debug-command', 'local'] as const;

/** What can be broken. `proxies[i]` stands between `servers[i]` and Redis. */
export interface Stage {
  readonly servers: readonly BuiltServer[];
  readonly proxies: readonly TcpProxy[];
  readonly random: () => number;
  /** Another one after a restart, on the same port and data. */
  redis: RedisProcess;
}

/** Each does its harm, and makes it good again before it resolves. */
export const FAULTS: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  'a server is killed': async (stage) => {
    const server = any(stage, stage.servers);
    await server.end('SIGKILL');
    await server.start();
  },
  'a server is told to end': async (stage) => {
    const server = any(stage, stage.servers);
    const code = await server.end('SIGTERM');
    if (code !== 0) throw new Error(`a server that was told to end exited with ${String(code)}`);
    await server.start();
  },
  'a server stands still': async (stage) => {
    const { pid } = any(stage, stage.servers);
    process.kill(pid, 'SIGSTOP');
    // Longer than a lease, at times.
    await sleep(LEAST_MS + stage.random() * 2_500);
    process.kill(pid, 'SIGCONT');
  },
  'a worker of a server is killed': async (stage) => {
    const server = stage.servers[0]!;
    const worker = any(stage, childrenOf(server.pid));
    process.kill(worker, 'SIGKILL');
    await pause(stage);
  },
  'Redis is killed': async (stage) => {
    await stage.redis.kill9();
    await restart(stage);
  },
  'Redis is killed while it rewrites its AOF': async (stage) => {
    await send(stage, ['BGREWRITEAOF']);
    await sleep(stage.random() * 50);
    await stage.redis.kill9();
    await restart(stage);
  },
  'Redis is restarted': async (stage) => {
    await stage.redis.stop();
    await restart(stage);
  },
  'Redis stands still': async (stage) => {
    process.kill(stage.redis.pid, 'SIGSTOP');
    await pause(stage);
    process.kill(stage.redis.pid, 'SIGCONT');
  },
  'scripts are flushed': async (stage) => {
    for (let i = 0; i < 10; i++) {
      await send(stage, ['FUNCTION', 'FLUSH']);
      await send(stage, ['SCRIPT', 'FLUSH']);
      await sleep(stage.random() * 60);
    }
  },
  'Redis is paused': async (stage) => {
    await send(stage, ['CLIENT', 'PAUSE', Math.round(LEAST_MS + stage.random() * MOST_MS), 'ALL']);
    await pause(stage);
  },
  'Redis is slow': (stage) => send(stage, ['DEBUG', 'SLEEP', 0.3 + stage.random()]),
  'connections are killed': (stage) =>
    send(
      stage,
      ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'],
      ['CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes'],
    ),
  'Redis is full': async (stage) => {
    await send(stage, ['CONFIG', 'SET', 'maxmemory', 1]);
    await pause(stage);
    await send(stage, ['CONFIG', 'SET', 'maxmemory', 0]);
  },
  'Redis is read-only': async (stage) => {
    await send(stage, ['REPLICAOF', '127.0.0.1', 1]);
    await pause(stage);
    await send(stage, ['REPLICAOF', 'NO', 'ONE']);
  },
  'connections are half open': async (stage) => {
    any(stage, stage.proxies).halfOpen();
    await pause(stage);
  },
  'connections are cut': async (stage) => {
    const proxy = any(stage, stage.proxies);
    await proxy.down();
    await pause(stage);
    await proxy.up();
  },
  'replies are lost': async (stage) => {
    const proxy = any(stage, stage.proxies);
    proxy.dropsReplies = true;
    await pause(stage);
    proxy.dropsReplies = false;
    proxy.cut();
  },
  'replies are late': async (stage) => {
    const proxy = any(stage, stage.proxies);
    proxy.replyDelayMs = 50 + stage.random() * 500;
    await pause(stage);
    proxy.replyDelayMs = 0;
  },
  'replies are torn': async (stage) => {
    const proxy = any(stage, stage.proxies);
    for (let i = 0; i < 8; i++) {
      proxy.cutAfterReplyBytes(1 + Math.floor(stage.random() * 400));
      await sleep(stage.random() * 100);
    }
    proxy.cutAfterReplyBytes(Number.POSITIVE_INFINITY);
  },
};

/** Every kind once, in an order of chance, and again until there are so many. */
export function schedule(count: number, random: () => number): string[] {
  const plan: string[] = [];
  while (plan.length < count) {
    const kinds = Object.keys(FAULTS);
    while (kinds.length > 0) plan.push(...kinds.splice(Math.floor(random() * kinds.length), 1));
  }
  return plan.slice(0, count);
}

/** Sends commands to Redis on a connection of their own, past the proxies. */
async function send({ redis }: Stage, ...commands: readonly (readonly (string | number)[])[]): Promise<void> {
  const client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  for (const [name, ...args] of commands) await client.call(String(name), ...args);
  client.disconnect();
}

async function restart(stage: Stage): Promise<void> {
  const { dir, port } = stage.redis;
  stage.redis = await startRedis({ args: REDIS_ARGS, dir, port });
}

function pause({ random }: Stage): Promise<void> {
  return sleep(LEAST_MS + random() * (MOST_MS - LEAST_MS));
}

function any<T>({ random }: Stage, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.trim().split(' ').map(Number);
}
