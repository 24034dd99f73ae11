import { Redis } from 'ioredis';
import type { NodeAddress, PoolTls } from '../../src/domain/pool.js';
import { TestCa, type CertificateFiles } from './certificates.js';
import { freePort, startRedis, waitFor, type RedisProcess } from './redis.js';
import { startSentinel, type SentinelProcess } from './sentinel-process.js';
import { readFileSync } from 'node:fs';

const SLOTS = 16_384;
const TIMEOUT_MS = 15_000;

/** A Redis that others and its clients reach over TLS, with certificates on both sides. Its plain port is for the test alone. */
export interface TlsNode {
  readonly server: RedisProcess;
  readonly tlsPort: number;
  /** Over the plain port. */
  readonly redis: Redis;
}

/** Whose certificates all of a group have: the nodes' own, and its clients'. */
export class TlsGroup {
  readonly ca = TestCa.create();
  readonly nodes: TlsNode[] = [];
  readonly sentinels: SentinelProcess[] = [];
  private readonly files: CertificateFiles = this.ca.sign('node');
  private readonly client: CertificateFiles = this.ca.sign('client');

  /** What a pool needs to get in. */
  get tls(): PoolTls {
    const { cert, key } = this.client;
    return { ca: this.ca.pem, cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  }

  get addresses(): NodeAddress[] {
    return this.nodes.map(({ tlsPort }) => ({ host: '127.0.0.1', port: tlsPort }));
  }

  /** Starts a node. @param args further settings of it */
  async start(args: readonly string[] = []): Promise<TlsNode> {
    const tlsPort = await freePort();
    const server = await startRedis({
      args: [
        ...['--tls-port', String(tlsPort), '--tls-replication', 'yes', '--repl-diskless-sync-delay', '0'],
        ...this.settings().flatMap(([name, value]) => [`--${name}`, value]),
        ...args,
      ],
    });
    const redis = new Redis(server.port, '127.0.0.1', { protocol: 2 });
    redis.on('error', () => undefined);
    const node = { server, tlsPort, redis };
    this.nodes.push(node);
    return node;
  }

  /** Starts a sentinel that listens with TLS only. */
  async watch(master: TlsNode, quorum: number): Promise<void> {
    const tlsPort = await freePort();
    const lines = this.settings().map((pair) => pair.join(' '));
    const sentinel = await startSentinel({
      masterPort: master.tlsPort,
      quorum,
      tlsPort,
      lines: [
        ...lines,
        'tls-replication yes',
        // Long enough that a busy machine starts no election by itself.
        'sentinel down-after-milliseconds mymaster 2000',
        'sentinel failover-timeout mymaster 5000',
      ],
    });
    this.sentinels.push(sentinel);
  }

  async stop(): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => sentinel.stop()));
    for (const { redis, server } of this.nodes) {
      redis.disconnect();
      await server.kill9();
      await server.stop();
    }
    this.ca.remove();
  }

  private settings(): [string, string][] {
    return [
      ['tls-cert-file', this.files.cert],
      ['tls-key-file', this.files.key],
      ['tls-ca-cert-file', this.ca.file],
      ['tls-auth-clients', 'yes'],
    ];
  }
}

/** A master and a replica, watched by three sentinels under the name `mymaster`: TLS between all of them. */
export async function tlsSentinelGroup(): Promise<TlsGroup> {
  const group = new TlsGroup();
  const master = await group.start();
  const replica = await group.start(['--replicaof', `127.0.0.1 ${String(master.tlsPort)}`]);
  await inStep(replica);
  for (let i = 0; i < 3; i++) await group.watch(master, 2);
  return group;
}

/** Three masters, the last one with a replica: TLS between all of them. */
export async function tlsCluster(): Promise<TlsGroup> {
  const group = new TlsGroup();
  const args = ['--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--cluster-node-timeout', '5000'];
  const buses: number[] = [];
  for (let i = 0; i < 4; i++) {
    const bus = await freePort();
    buses.push(bus);
    await group.start([...args, '--cluster-port', String(bus)]);
  }
  const [first, ...others] = group.nodes;
  for (const [i, { redis }] of group.nodes.entries()) {
    await redis.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    const [from, to] = [Math.floor((i * SLOTS) / 3), Math.floor(((i + 1) * SLOTS) / 3) - 1];
    if (i < 3) await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  for (const { redis } of others) await redis.call('CLUSTER', 'MEET', '127.0.0.1', first!.tlsPort, buses[0]!);
  const [, , third, replica] = group.nodes;
  const id = await third!.redis.cluster('MYID');
  await waitFor(() => replica!.redis.call('CLUSTER', 'REPLICATE', id), TIMEOUT_MS);
  await inStep(replica!);
  for (const { redis } of group.nodes) {
    await waitFor(
      async () =>
        /cluster_state:ok[^]*cluster_known_nodes:4[^]*cluster_size:3/.test(await redis.cluster('INFO')),
      TIMEOUT_MS,
    );
  }
  return group;
}

async function inStep({ redis }: TlsNode): Promise<void> {
  await waitFor(async () => (await redis.info('replication')).includes('master_link_status:up'), TIMEOUT_MS);
}
