import type { Redis } from 'ioredis';

/**
 * What a script costs Redis in the mean while some work runs, in microseconds of CPU. On a busy machine a script takes longer, but no
 * more CPU.
 */
export async function scriptCost(name: string, admin: Redis, work: () => Promise<unknown>): Promise<number> {
  await admin.config('RESETSTAT');
  const before = await cpuUs(admin);
  await work();
  const usedUs = (await cpuUs(admin)) - before;
  const stats = await admin.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_(?:fcall|evalsha):calls=(\d+)/gm)];
  const scripts = calls.reduce((sum, [, count]) => sum + Number(count), 0);
  console.log(`${name}: ${String(scripts)} scripts, ${(usedUs / scripts).toFixed(0)} µs of CPU each`);
  return usedUs / scripts;
}

async function cpuUs(admin: Redis): Promise<number> {
  const used = (await admin.info('cpu')).matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm);
  return [...used].reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
}
