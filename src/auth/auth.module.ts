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
import { PoolRegistry } from '../redis/redis.module.js';
import { Admission } from './admission.js';
import { DEFAULT_POOL } from './credentials.js';
import { LastUsed, USE_PAUSE_MS } from './last-used.js';
import { Throttle } from './throttle.js';
import { TokenCache } from './token-cache.js';
import { TokenGuard } from './token.guard.js';
import { TokenInventory } from './token-inventory.js';
import { TokenStore } from './token-store.js';

/** Injection token of the Redis that holds the tokens. */
const TOKEN_REDIS = Symbol('TokenRedis');

/** The Redis that the configuration has for tokens, else the default pool's. */
async function openTokenRedis(config: Config, pools: PoolRegistry, log: Log): Promise<RedisPool> {
  const options = tokenOptions(config);
  if (options) return RedisPool.connect('tokens', options, log);
  const shared = pools.get(DEFAULT_POOL);
  if (!shared) throw new Error('tokens have no Redis of their own, and there is no pool of the name default');
  return shared;
}

/** Closes the tokens' Redis when the last request has ended; a shared one is closed by its owner. */
@Injectable()
export class TokenRedisCloser implements OnApplicationShutdown {
  constructor(
    @Inject(TOKEN_REDIS) private readonly redis: RedisPool,
    @Inject(PoolRegistry) private readonly pools: PoolRegistry,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    if (this.pools.get(DEFAULT_POOL) !== this.redis) await this.redis.close();
  }
}

/** Has the last notes of use written while the tokens' Redis is still open. */
@Injectable()
export class LastUsedWriter implements BeforeApplicationShutdown {
  constructor(@Inject(LastUsed) private readonly lastUsed: LastUsed) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.lastUsed.flush();
  }
}

/** Who may do what: tokens, the guard of all queue routes, and the limits of tokens. Needs the global Config, pools and LOG. */
@Module({
  providers: [
    { provide: TOKEN_REDIS, inject: [Config, PoolRegistry, LOG], useFactory: openTokenRedis },
    TokenRedisCloser,
    { provide: TokenStore, inject: [TOKEN_REDIS], useFactory: (redis: RedisPool) => new TokenStore(redis) },
    {
      provide: TokenInventory,
      inject: [TOKEN_REDIS],
      useFactory: (redis: RedisPool) => new TokenInventory(redis),
    },
    {
      provide: LastUsed,
      inject: [TokenStore],
      useFactory: (store: TokenStore) => new LastUsed((digests) => store.noteUse(digests, USE_PAUSE_MS)),
    },
    LastUsedWriter,
    {
      provide: TokenCache,
      inject: [TokenStore, LastUsed],
      useFactory: (store: TokenStore, lastUsed: LastUsed) =>
        new TokenCache(
          (digest) => store.find(digest),
          undefined,
          (digest) => lastUsed.note(digest),
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
  exports: [TokenStore, TokenInventory, TokenCache, LastUsed, Throttle, Admission, TokenGuard],
})
export class AuthModule {}
