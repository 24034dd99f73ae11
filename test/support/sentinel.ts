import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { NodeAddress } from '../../src/domain/pool.js';
import { freePort, startRedis, waitFor, type RedisProcess } from './redis.js';

/** A master, one replica, and sentinels that watch them under the name `mymaster`. */
export class SentinelGroup {
  private constructor(
    readonly master: RedisProcess,
    readonly replica: RedisProcess,
    readonly addresses: readonly NodeAddress[],
    private readonly sentinels: readonly ChildProcess[],
    private readonly dir: string,
  ) {}

  /** Starts it, and waits until the sentinels know each other and the replica is in step. */
  static async start(count = 3): Promise<SentinelGroup> {
    const [master, replica] = await Promise.all([startRedis(), startRedis()]);
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-sentinel-'));
    const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
    await send(replica.port, 'REPLICAOF', '127.0.0.1', master.port);
    await waitFor(
      async () => String(await send(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
      10_000,
    );
    const sentinels = ports.map((port) => startSentinel(dir, port, master.port, Math.floor(count / 2) + 1));
    const group = new SentinelGroup(
      master,
      replica,
      ports.map((port) => ({ host: '127.0.0.1', port })),
      sentinels,
      dir,
    );
    for (const port of ports) {
      await waitFor(async () => {
        const facts = (await send(port, 'SENTINEL', 'MASTER', 'mymaster')) as string[];
        const fact = (name: string): string | undefined => facts[facts.indexOf(name) + 1];
        return fact('num-slaves') === '1' && fact('num-other-sentinels') === String(count - 1);
      });
    }
    return group;
  }

  async stop(): Promise<void> {
    for (const sentinel of this.sentinels) {
      const exited = new Promise((resolve) => sentinel.once('exit', resolve));
      sentinel.kill('SIGKILL');
      await exited;
    }
    await Promise.all([this.master.stop(), this.replica.stop()]);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function startSentinel(dir: string, port: number, masterPort: number, quorum: number): ChildProcess {
  const file = join(dir, `${port}.conf`);
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${dir}`,
    `sentinel monitor mymaster 127.0.0.1 ${masterPort} ${quorum}`,
    'sentinel down-after-milliseconds mymaster 1000',
    'sentinel failover-timeout mymaster 5000',
  ];
  writeFileSync(file, lines.join('\n'));
  return spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
}

async function send(port: number, command: string, ...args: (string | number)[]): Promise<unknown> {
  const redis = new Redis(port, '127.0.0.1', { protocol: 2, lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}
