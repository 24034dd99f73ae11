import { startRedis } from './redis-process.mjs';

/** One Redis for all specs of a run; specs keep apart by random namespaces. */
export default async function globalSetup() {
  const redis = await startRedis();
  process.env.PUMPHOUSE_TEST_REDIS = redis.url;
  globalThis.pumphouseTestRedis = redis;
}
