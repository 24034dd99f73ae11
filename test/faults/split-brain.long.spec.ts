import { jest } from '@jest/globals';
import { FailoverGroup, type Member } from '../support/failover-group.js';
import { waitFor } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { CONSUMERS, type Damage, FailoverTrial } from './failover-trial.js';
import { SLOWNESS } from '../support/scale.js';

const MAX_LAG_S = 2;
/** Redis counts its replicas once a second; the rest is a busy machine. */
const REFUSED_AFTER_MS = (MAX_LAG_S + 5) * 1_000;
jest.setTimeout(240_000 * SLOWNESS);

const OBEDIENT = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', String(MAX_LAG_S)];

/** The master is cut off from the sentinels and its replicas, but not from the servers, nor from their clients. */
describe('a Sentinel group with two masters', () => {
  let group: FailoverGroup;
  let trial: FailoverTrial;
  const proxies: TcpProxy[] = [];
  afterEach(async () => {
    await trial.end();
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
    await group.stop();
  });

  /** @param settings of each Redis */
  async function start(settings: readonly string[]): Promise<void> {
    group = await FailoverGroup.start(2, settings);
    trial = new FailoverTrial(group);
  }

  /** Where servers find the sentinels, through proxies that can be cut. */
  async function throughProxies(): Promise<{ host: string; port: number }[]> {
    for (const { port } of group.sentinels) proxies.push(await TcpProxy.start(port));
    return proxies.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
  }

  async function split(): Promise<Member> {
    const old = await group.master();
    trial.journal.add({ op: 'fault', what: 'the master is cut off' });
    await Promise.all(proxies.map((proxy) => proxy.down()));
    await group.cutOff(old);
    return old;
  }

  async function heal(old: Member): Promise<void> {
    await Promise.all(proxies.map((proxy) => proxy.up()));
    await group.heal(old);
    await trial.acceptedAgain();
  }

  /**
   * The worst place for the servers: they see neither the sentinels nor the state of the replicas. No job is consumed
   * before the cluster is healthy again, because acknowledged jobs could not be missed.
   */
  async function alone(durability: string, settings: readonly string[]): Promise<Damage> {
    await start(settings);
    const clients = await trial.start(durability, 0, await throughProxies());
    await trial.acceptedAgain();
    const old = await split();
    await group.newMaster(old);
    if (settings.length > 0 || durability !== 'memory') await refused(durability);
    else await trial.acceptedAgain();
    await heal(old);
    clients.work(CONSUMERS);
    return trial.reckon();
  }

  /** Until it refuses, the old master accepts. */
  async function refused(durability: string): Promise<void> {
    const { entries } = trial.journal;
    const splitMs = entries.findLast(({ op }) => op === 'fault')?.atMs ?? 0;
    const lastAcceptedMs = (): number => entries.findLast(({ op }) => op === 'accepted')?.atMs ?? 0;
    // Silent for longer than any pause between two jobs.
    await waitFor(() => performance.now() - lastAcceptedMs() > 3_000, 30_000);
    const acceptingMs = lastAcceptedMs() - splitMs;
    console.log(`${durability}: the master that was cut off accepted jobs for ${acceptingMs.toFixed(0)} ms`);
    expect(acceptingMs).toBeLessThan(REFUSED_AFTER_MS);
  }

  it('T15: loses no job that both replicas have before the answer', async () => {
    const { lost, unexpected } = await alone('replicated:2', []);
    expect({ lost, unexpected }).toEqual({ lost: [], unexpected: [] });
  });

  it('T15: loses no memory job accepted earlier than a second before the split, with min-replicas-to-write', async () => {
    const { lost, unexpected } = await alone('memory', OBEDIENT);
    expect(unexpected).toEqual([]);
    const cutMs = trial.journal.entries.find(({ op }) => op === 'fault')?.atMs ?? 0;
    const before = trial.journal.entries.filter(
      (entry) => entry.op === 'accepted' && lost.includes(entry.id) && entry.atMs < cutMs - 1_000,
    );
    expect(before).toEqual([]);
  });

  it('T15: loses memory jobs of the deposed master without min-replicas-to-write', async () => {
    const { lost, unexpected } = await alone('memory', []);
    expect(unexpected).toEqual([]);
    expect(lost.length).toBeGreaterThan(0);
  });

  it('T15: has its servers leave the deposed master, although it answers and accepts', async () => {
    await start([]);
    await trial.start('memory');
    await trial.acceptedAgain();
    const old = await split();
    await group.newMaster(old);
    // The old master still accepts everything, and no connection to it was closed.
    await waitFor(async () => !(await group.hasServers(old)), 30_000);
    const { entries } = trial.journal;
    const [cutMs, movedMs] = [entries.findLast(({ op }) => op === 'fault')?.atMs ?? 0, performance.now()];
    await trial.acceptedAgain();
    await heal(old);
    const { lost } = await trial.reckon();
    const late = entries.filter(
      (entry) => entry.op === 'accepted' && lost.includes(entry.id) && entry.atMs > movedMs,
    );
    console.log(`moved on ${(movedMs - cutMs).toFixed(0)} ms after the cut`);
    expect(late).toEqual([]);
  });
});
