import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RedisPool } from '../../src/redis/pool.js';
import { loadConfig } from '../../src/config/load.js';
import { poolOptions, tokenOptions } from '../../src/config/pool-options.js';
import type { PoolOptions } from '../../src/domain/pool.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { TestApp } from '../support/app.js';
import { type CertificateFiles, TestCa } from '../support/certificates.js';
import { freePort, randomNamespace, startRedis, type RedisProcess } from '../support/redis.js';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('a Redis with TLS that requires certificates', () => {
  let ca: TestCa;
  let client: CertificateFiles;
  let stranger: TestCa;
  let redis: RedisProcess;
  let url: string;

  beforeAll(async () => {
    ca = TestCa.create();
    stranger = TestCa.create();
    client = ca.sign('client');
    const server = ca.sign('redis');
    const port = await freePort();
    mkdirSync(join(ca.dir, 'store'));
    redis = await startRedis({
      args: [
        ...['--tls-port', String(port), '--tls-cert-file', server.cert, '--tls-key-file', server.key],
        ...['--tls-ca-cert-file', ca.file, '--tls-auth-clients', 'yes'],
      ],
    });
    url = `rediss://127.0.0.1:${String(port)}`;
  });
  afterAll(async () => {
    await redis.stop();
    ca.remove();
    stranger.remove();
  });

  const settings = (change: Record<string, string> = {}): Record<string, string> => ({
    url,
    tls_ca: ca.file,
    tls_cert: client.cert,
    tls_key: client.key,
    ...change,
  });
  const optionsOf = (pool: Record<string, string>): PoolOptions =>
    poolOptions('default', loadConfig({ env: {}, overrides: { pools: { default: pool } } }));

  it('holds queues: publish, long poll, acknowledge', async () => {
    const pool = await RedisPool.connect('default', optionsOf(settings()), log);
    const engine = new PoolEngine(pool);
    const ns = randomNamespace();
    try {
      const waiting = engine.lease(ns, { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 20_000 });
      const id = await engine.publish(ns, 'q', {
        body: Buffer.alloc(200_000, 7),
        delayMs: 0,
        ttlMs: 0,
        tries: 1,
      });
      const [job] = await waiting;
      expect(job).toMatchObject({ id });
      expect(job!.body.equals(Buffer.alloc(200_000, 7))).toBe(true);
      expect(await engine.ack(ns, 'q', id, job!.lease)).toBe(true);
    } finally {
      await engine.stop();
      await pool.close();
    }
  });

  it.each<[string, () => Record<string, string>]>([
    ['its certificate is of no CA that the system trusts', () => ({ url })],
    ['its certificate is of another CA', () => settings({ tls_ca: stranger.file })],
    ['we have no certificate', () => ({ url, tls_ca: ca.file })],
  ])('is refused at start when %s', async (_why, pool) => {
    await expect(RedisPool.connect('default', optionsOf(pool()), log)).rejects.toThrow(
      /the Redis of pool default at 127\.0\.0\.1:\d+ cannot be used: .*(certificate|ECONNRESET)/,
    );
  });

  it('accepts the scheme in capitals', async () => {
    const pool = await RedisPool.connect(
      'default',
      optionsOf(settings({ url: url.replace('rediss', 'REDISS') })),
      log,
    );
    expect(pool.status.up).toBe(true);
    await pool.close();
  });

  it('holds a pool and the tokens of a server', async () => {
    const env = Object.fromEntries(
      ['POOLS__DEFAULT', 'TOKENS'].flatMap((section) =>
        Object.entries(settings()).map(([key, value]) => [
          `PUMPHOUSE_${section}__${key.toUpperCase()}`,
          value,
        ]),
      ),
    );
    const app = await TestApp.start(env);
    try {
      const id = await app.publish('q');
      expect(await app.get('q')).toMatchObject({ status: 200, json: { job_id: id } });
      expect(await app.get('q', { token: 'wrong' })).toMatchObject({ status: 401 });
    } finally {
      await app.stop();
    }
  });

  it('uses the same keys for tokens', () => {
    const config = loadConfig({ env: {}, overrides: { tokens: settings() } });
    expect(tokenOptions(config)).toMatchObject({ url, tls: { ca: ca.pem } });
  });
});
