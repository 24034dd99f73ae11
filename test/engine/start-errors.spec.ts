import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import type { PoolTarget } from '../../src/domain/pool.js';
import { RedisPool } from '../../src/redis/pool.js';
import { TestCa } from '../support/certificates.js';
import { freePort, startRedis, type RedisProcess } from '../support/redis.js';
import { startSentinel, type SentinelProcess } from '../support/sentinel-process.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { silentLog, testPoolOptions } from './fixture.js';

/** What listens where a person has written its address into the wrong setting. */
describe('a Redis that is not what the settings say', () => {
  let ca: TestCa;
  let plain: RedisProcess;
  let protectedOne: RedisProcess;
  let secure: RedisProcess;
  let ofCluster: RedisProcess;
  let sentinel: SentinelProcess;
  let far: TcpProxy;
  let web: Server;
  let tlsPort: number;
  beforeAll(async () => {
    ca = TestCa.create();
    const { cert, key } = ca.sign('redis');
    tlsPort = await freePort();
    const bus = String(await freePort());
    [plain, protectedOne, secure, ofCluster] = await Promise.all([
      startRedis(),
      startRedis(),
      startRedis({
        args: [
          ...['--tls-port', String(tlsPort), '--tls-cert-file', cert, '--tls-key-file', key],
          ...['--tls-ca-cert-file', ca.file, '--tls-auth-clients', 'no'],
        ],
      }),
      startRedis({ args: ['--cluster-enabled', 'yes', '--cluster-port', bus] }),
    ]);
    const admin = new Redis(protectedOne.port, '127.0.0.1', { protocol: 2 });
    await admin.config('SET', 'requirepass', 'right');
    admin.disconnect();
    sentinel = await startSentinel({ masterPort: plain.port });
    far = await TcpProxy.start(sentinel.address.port);
    far.replyDelayMs = 50;
    web = createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    web.close();
    await far.stop();
    await Promise.all([plain, protectedOne, secure, ofCluster, sentinel].map((one) => one.stop()));
    ca.remove();
  });

  const at = (port: number) => ({ host: '127.0.0.1', port });
  const text = (port: number): string => `127.0.0.1:${String(port)}`;
  const url = (port: number, rest = ''): PoolTarget => ({ url: `redis://${rest}${text(port)}` });
  const webPort = (): number => (web.address() as AddressInfo).port;

  it.each<[string, () => PoolTarget, () => string]>([
    [
      'rediss:// to a port without TLS',
      () => ({ url: `rediss://${text(plain.port)}` }),
      () =>
        `${text(plain.port)} does not speak TLS: use redis:// in the place of rediss://, or name its TLS port`,
    ],
    [
      'redis:// to a port with TLS',
      () => url(tlsPort),
      () => `${text(tlsPort)} speaks TLS: use rediss:// in the place of redis://`,
    ],
    [
      'redis:// to a web server',
      () => url(webPort()),
      () => `what listens on ${text(webPort())} is no Redis: check host and port`,
    ],
    [
      'a password that is wrong',
      () => url(protectedOne.port, ':wrong@'),
      () =>
        'AUTH was refused: WRONGPASS invalid username-password pair or user is disabled.; ' +
        'set username and password (or those in the url) to a user of this Redis',
    ],
    [
      'a user that Redis does not have',
      () => url(protectedOne.port, 'other:right@'),
      () =>
        'AUTH was refused: WRONGPASS invalid username-password pair or user is disabled.; ' +
        'set username and password (or those in the url) to a user of this Redis',
    ],
    [
      'no password where one is needed',
      () => url(protectedOne.port),
      () => 'NOAUTH Authentication required.; set password, or redis://:password@host:port as the url',
    ],
    [
      'a password where none is set',
      () => url(plain.port, ':any@'),
      () =>
        'AUTH was refused: this Redis has no password, but one is configured; remove username and password',
    ],
    [
      'a database that Redis does not have',
      () => ({ url: `redis://${text(plain.port)}/99` }),
      () =>
        'SELECT 99 was refused: ERR DB index is out of range; ' +
        'set db (or the number at the end of the url) below `databases` of this Redis',
    ],
    [
      'a Sentinel as a Redis',
      () => url(sentinel.address.port),
      () => 'this is a Sentinel, which holds no data: set sentinels = ["host:port"] and master_name',
    ],
    [
      'a Sentinel as a Redis, with a database',
      () => ({ url: `redis://${text(sentinel.address.port)}/3` }),
      () => 'this is a Sentinel, which holds no data: set sentinels = ["host:port"] and master_name',
    ],
    [
      'a far Sentinel as a Redis, with a database',
      () => ({ url: `${far.url}/3` }),
      () => 'this is a Sentinel, which holds no data: set sentinels = ["host:port"] and master_name',
    ],
    [
      'a node of a Cluster as a single Redis',
      () => url(ofCluster.port),
      () => 'this is a node of a Cluster: set cluster = ["host:port"] in the place of url',
    ],
    [
      'a single Redis as a node of a Cluster',
      () => ({ clusterNodes: [at(plain.port)] }),
      () =>
        'This instance has cluster support disabled; ' +
        'it is no node of a Cluster: set url = "redis://host:port" in the place of cluster',
    ],
    [
      'a Sentinel as a node of a Cluster',
      () => ({ clusterNodes: [sentinel.address] }),
      () => 'it is no node of a Cluster',
    ],
    [
      'a Redis as a Sentinel',
      () => ({ sentinels: [at(plain.port)], masterName: 'mymaster' }),
      () =>
        `${text(plain.port)} is no Sentinel but a Redis: name the ports of the sentinels (by default 26379)`,
    ],
    [
      'a name that the sentinels do not know',
      () => ({ sentinels: [sentinel.address], masterName: 'other' }),
      () =>
        `the Sentinel at ${text(sentinel.address.port)} knows no master of the name other: set master_name`,
    ],
    [
      'TLS for sentinels without it',
      () => ({ sentinels: [sentinel.address], masterName: 'mymaster', tls: { ca: ca.pem } }),
      () => `${text(sentinel.address.port)} does not speak TLS: remove tls_ca, tls_cert and tls_key`,
    ],
    [
      'a Cluster with TLS as one without it',
      () => ({ clusterNodes: [at(tlsPort)] }),
      () => `${text(tlsPort)} speaks TLS: set tls_ca (or tls_cert and tls_key)`,
    ],
    [
      'a certificate of a CA that is not known',
      () => ({ url: `rediss://${text(tlsPort)}` }),
      () => 'set tls_ca to the CA of its certificate',
    ],
  ])('stops the start in one line with reason and remedy: %s', async (_title, target, expected) => {
    const { url: _, ...usual } = testPoolOptions({ url: plain.url });
    const opening = RedisPool.connect('fresh', { ...usual, ...target() }, silentLog);
    const message = await opening.then(
      () => 'it has started',
      (error: unknown) => (error as Error).message,
    );
    expect(message).toContain(expected());
    expect(message).toMatch(/^the Redis of pool fresh at 127\.0\.0\.1:\d+ cannot be used: .*$/);
  });
});
