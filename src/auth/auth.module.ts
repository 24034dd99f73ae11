import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Config } from '../config/config.js';
import { tokenOptions } from '../config/pool-options.js';
import { LOG, type Log } from '../domain/log.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { RedisPool } from '../redis/pool.js';
import { InjectPool, poolToken } from '../redis/redis.module.js';
import { Admission } from './admission.js';
import { AuditStore } from './audit-store.js';
import { DEFAULT_POOL } from './credentials.js';
import { LastUsed, USE_PAUSE_MS } from './last-used.js';
import { NamespaceQuotas } from './namespace-quotas.js';
import { OidcStore } from './oidc-store.js';
import { QuotaStore } from './quota-store.js';
import { SessionStore } from './session-store.js';
import { Throttle } from './throttle.js';
import { TokenCache } from './token-cache.js';
import { TokenGuard } from './token.guard.js';
import { TokenKeys } from './token-keys.js';
import { TokenInventory } from './token-inventory.js';
import { TokenStore } from './token-store.js';

const DAY_MS = 86_400_000;

/** Injection token of the Redis that stores the tokens. */
const TOKEN_REDIS = Symbol('TokenRedis');

/** The Redis configured for tokens, else the default pool's. */
async function openTokenRedis(config: Config, defaultPool: RedisPool, log: Log): Promise<RedisPool> {
  const options = tokenOptions(config);
  const pool = options ? await RedisPool.connect('tokens', options, log) : defaultPool;
  await pool.need([new TokenKeys(pool.options.keyPrefix).limited]);
  return pool;
}

/** Closes the tokens' Redis after the last request has ended; a shared one is closed by its owner. */
@Injectable()
export class TokenRedisCloser implements OnApplicationShutdown {
  constructor(
    @Inject(TOKEN_REDIS) private readonly redis: RedisPool,
    @InjectPool(DEFAULT_POOL) private readonly defaultPool: RedisPool,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    if (this.redis !== this.defaultPool) await this.redis.close();
  }
}

/** Writes the last token uses while the tokens' Redis is still open. */
@Injectable()
export class LastUsedWriter implements BeforeApplicationShutdown {
  constructor(private readonly lastUsed: LastUsed) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.lastUsed.flush();
  }
}

/**
 * Authentication and permissions: tokens, the guard of all queue routes, and the limits of tokens. Needs the global
 * Config, pools and LOG.
 */
@Module({
  providers: [
    { provide: TOKEN_REDIS, inject: [Config, poolToken(DEFAULT_POOL), LOG], useFactory: openTokenRedis },
    TokenRedisCloser,
    { provide: TokenStore, inject: [TOKEN_REDIS], useFactory: (redis: RedisPool) => new TokenStore(redis) },
    {
      provide: TokenInventory,
      inject: [TOKEN_REDIS],
      useFactory: (redis: RedisPool) => new TokenInventory(redis),
    },
    { provide: QuotaStore, inject: [TOKEN_REDIS], useFactory: (redis: RedisPool) => new QuotaStore(redis) },
    {
      provide: AuditStore,
      inject: [TOKEN_REDIS, Config],
      useFactory: (redis: RedisPool, { admin }: Config) =>
        new AuditStore(redis, { keepMs: admin.audit_days * DAY_MS, max: admin.audit_max }),
    },
    {
      provide: SessionStore,
      inject: [TOKEN_REDIS],
      useFactory: (redis: RedisPool) => new SessionStore(redis),
    },
    { provide: OidcStore, inject: [TOKEN_REDIS], useFactory: (redis: RedisPool) => new OidcStore(redis) },
    NamespaceQuotas,
    {
      provide: LastUsed,
      inject: [TokenStore],
      useFactory: (store: TokenStore) => new LastUsed((digests) => store.recordUse(digests, USE_PAUSE_MS)),
    },
    LastUsedWriter,
    {
      provide: TokenCache,
      inject: [TokenStore, LastUsed],
      useFactory: (store: TokenStore, lastUsed: LastUsed) =>
        new TokenCache(
          (digest) => store.find(digest),
          undefined,
          (digest) => lastUsed.record(digest),
        ),
    },
    {
      provide: Throttle,
      inject: [TokenStore, { token: MetricsService, optional: true }],
      useFactory: (store: TokenStore, metrics?: MetricsService) => new Throttle(store, metrics?.http),
    },
    Admission,
    TokenGuard,
  ],
  exports: [
    NamespaceQuotas,
    SessionStore,
    OidcStore,
    AuditStore,
    TokenStore,
    TokenInventory,
    TokenCache,
    LastUsed,
    Throttle,
    Admission,
    TokenGuard,
  ],
})
export class AuthModule {}
