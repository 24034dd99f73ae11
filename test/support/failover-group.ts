import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { NodeAddress } from '../../src/domain/pool.js';
import { startSentinel, type SentinelProcess } from './sentinel-process.js';
import { startRedis, waitFor, type RedisProcess } from './redis.js';

/** One Redis of the group. */
export interface Member {
  readonly port: number;
  readonly dir: string;
  server: RedisProcess;
  isDown: boolean;
}

const NAME = 'mymaster';
const SENTINELS = 3;
const PASSWORD = 'of-the-test';
/**
 * Sentinels and replicas have their own users: taking away those users' rights cuts a master off from them, and from no
 * other client.
 */
const USERS = ['sentinel', 'replica'];
const RIGHTS = ['on', `>${PASSWORD}`, '~*', '&*', '+@all'];

/** A master, replicas, and three sentinels, of which the master dies or is cut off. */
export class FailoverGroup {
  readonly sentinels: NodeAddress[] = [];
  private readonly processes: SentinelProcess[] = [];

  private constructor(
    readonly members: Member[],
    private readonly args: readonly string[],
  ) {}

  /** @param args settings of every Redis, such as `--min-replicas-to-write 1` in parts */
  static async start(replicas = 2, args: readonly string[] = []): Promise<FailoverGroup> {
    const all = [
      ...['--repl-diskless-sync-delay', '0', '--masteruser', 'replica', '--masterauth', PASSWORD],
      ...USERS.flatMap((user) => ['--user', user, ...RIGHTS]),
      ...args,
    ];
    const group = new FailoverGroup([], all);
    for (let i = 0; i <= replicas; i++) await group.add();
    const [master] = group.members;
    await group.inStep();
    for (let i = 0; i < SENTINELS; i++) await group.startSentinel(master!.port);
    for (const { port } of group.sentinels) {
      await waitFor(async () => {
        const facts = await group.factsAt(port);
        return (
          facts('num-slaves') === String(replicas) && facts('num-other-sentinels') === String(SENTINELS - 1)
        );
      });
    }
    return group;
  }

  /** The member that the sentinels name as master, most of them agreeing. */
  async master(): Promise<Member> {
    const ports = await Promise.all(
      this.sentinels.map(async ({ port }) => Number((await this.factsAt(port))('port'))),
    );
    const port = ports.find((one) => ports.filter((other) => other === one).length > SENTINELS / 2);
    const member = this.members.find((one) => one.port === port);
    if (!member) throw new Error('the sentinels do not agree');
    return member;
  }

  /** Resolves when another one is master. */
  async newMaster(old: Member): Promise<Member> {
    return waitFor(async () => {
      const master = await this.master();
      return master === old ? undefined : master;
    }, 60_000);
  }

  async kill(member: Member): Promise<void> {
    member.isDown = true;
    await member.server.kill9();
  }

  /** Starts a member that was killed as a replica of the master, and waits until all are in step. */
  async revive(member: Member): Promise<void> {
    const { port } = await this.master();
    const { dir } = member;
    const args = [...this.args, '--replicaof', `127.0.0.1 ${String(port)}`];
    member.server = await startRedis({ port: member.port, dir, args });
    member.isDown = false;
    await this.inStep();
  }

  /** Cuts a member off from sentinels and replicas; all others still reach it. */
  async cutOff(member: Member): Promise<void> {
    for (const user of USERS) await send(member.port, 'ACL', 'SETUSER', user, '-@all');
    for (const user of USERS) await send(member.port, 'CLIENT', 'KILL', 'USER', user);
  }

  /** Whether servers are still connected to a member. */
  async hasServers(member: Member): Promise<boolean> {
    return String(await send(member.port, 'CLIENT', 'LIST')).includes('name=pumphouse');
  }

  /** Undoes `cutOff`, and waits until the sentinels have made a replica of it. */
  async heal(member: Member): Promise<void> {
    for (const user of USERS) await send(member.port, 'ACL', 'SETUSER', user, '+@all');
    await waitFor(async () => (await replication(member.port)).includes('role:slave'), 60_000);
    await this.inStep();
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((sentinel) => sentinel.stop()));
    for (const { server } of this.members) await server.kill9();
    for (const { dir } of this.members) rmSync(dir, { recursive: true, force: true });
  }

  /** Waits until every member that lives is a replica in step, but the master; which one that is may change meanwhile. */
  async inStep(): Promise<void> {
    const living = this.members.filter(({ isDown }) => !isDown);
    await waitFor(async () => {
      const states = await Promise.all(living.map(({ port }) => replication(port)));
      return states.some((state) => state.split('state=online').length === living.length);
    });
  }

  private async add(): Promise<void> {
    const [master] = this.members;
    const dir = mkdtempSync(join(tmpdir(), 'pumphouse-member-'));
    const of = master ? ['--replicaof', `127.0.0.1 ${String(master.port)}`] : [];
    const server = await startRedis({ dir, args: [...this.args, ...of] });
    this.members.push({ port: server.port, dir, server, isDown: false });
  }

  private async startSentinel(masterPort: number): Promise<void> {
    const lines = [
      `sentinel auth-user ${NAME} sentinel`,
      `sentinel auth-pass ${NAME} ${PASSWORD}`,
      // Short enough for a test, and long enough that a busy machine starts no election by itself.
      `sentinel down-after-milliseconds ${NAME} 3000`,
      `sentinel failover-timeout ${NAME} 5000`,
    ];
    const quorum = Math.floor(SENTINELS / 2) + 1;
    const sentinel = await startSentinel({ masterPort, quorum, lines });
    this.processes.push(sentinel);
    this.sentinels.push(sentinel.address);
  }

  private async factsAt(port: number): Promise<(name: string) => string | undefined> {
    const facts = (await send(port, 'SENTINEL', 'MASTER', NAME)) as string[];
    return (name) => facts[facts.indexOf(name) + 1];
  }
}

async function replication(port: number): Promise<string> {
  return String(await send(port, 'INFO', 'replication'));
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
