import type { Config } from '../config/config.js';
import { poolOptions } from '../config/pool-options.js';
import type { Log } from '../domain/log.js';
import type { PoolOptions } from '../domain/pool.js';
import type { EmbeddedRedis } from '../redis/embedded/embedded.js';

/** Value of a pool's `url` that stands for an embedded Redis. */
const EMBEDDED = 'embedded';

/** Socket paths of the embedded Redis servers, by pool. */
export type Sockets = Readonly<Record<string, string>>;

/** Runs an embedded Redis for every pool that asks for one. Started before everything else, stopped after it. */
export class EmbeddedPools {
  private constructor(
    private readonly servers: readonly EmbeddedRedis[],
    readonly sockets: Sockets,
  ) {}

  /**
   * @returns null if the signal came first; then none is left running
   * @throws {EmbeddedRedisError} one of them does not start; then none is left running
   */
  static async start({ pools, data }: Config, log: Log, signal: AbortSignal): Promise<EmbeddedPools | null> {
    const servers: EmbeddedRedis[] = [];
    const sockets: Record<string, string> = {};
    try {
      for (const [pool, { url }] of Object.entries(pools)) {
        if (url !== EMBEDDED) continue;
        const embedded = await import('../redis/embedded/embedded.js');
        const server = await embedded.EmbeddedRedis.start({
          pool,
          dataDir: data.dir,
          appendfsync: data.appendfsync,
          maxMemoryBytes: data.max_memory_bytes,
          log,
          signal,
        });
        servers.push(server);
        sockets[pool] = server.socketPath;
      }
    } catch (error) {
      await Promise.all(servers.map((server) => server.stop()));
      if (signal.aborted) return null;
      throw error;
    }
    return new EmbeddedPools(servers, sockets);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}

/** Connection options of every pool, given the sockets of the embedded ones. */
export function poolsOf(config: Config, sockets: Sockets): Record<string, PoolOptions> {
  const entries = Object.keys(config.pools).map((name): [string, PoolOptions] => [
    name,
    poolOptions(name, config, sockets[name]),
  ]);
  return Object.fromEntries(entries);
}
