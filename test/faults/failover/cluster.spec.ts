import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { BuiltServer } from '../../support/built-server.js';
import { SlotMove, TestCluster, type ClusterNode } from '../../support/cluster.js';
import { waitFor } from '../../support/redis.js';
import { Trial } from '../trial.js';
import { ROUNDS, SLOWNESS } from '../../support/scale.js';

/** The Cluster takes 2 s to give a node up, and about one more to elect its replica; a slow machine longer, in ms. */
const FAILOVER_MS = 20_000;
jest.setTimeout((180_000 + ROUNDS * 40_000) * SLOWNESS);

/** Fail-overs take their time: `npm run chaos` runs this, `npm test` does not. */
describe('two servers on a Cluster of three masters and three replicas', () => {
  let cluster: TestCluster;
  let servers: BuiltServer[];
  let trial: Trial;
  let tag: string;
  /** How long nothing was accepted after each fault, in ms. */
  let gaps: number[];
  beforeEach(async () => {
    cluster = await TestCluster.start(3, 1);
    servers = [];
  });
  afterEach(async () => {
    await trial.end();
    await Promise.all(servers.map((server) => server.remove()));
    await cluster.stop();
  });

  async function begin(durability: string): Promise<void> {
    const nodes = cluster.addresses.map(({ host, port }) => `${host}:${port}`);
    const env = {
      PUMPHOUSE_POOLS__DEFAULT__CLUSTER: nodes.join(','),
      PUMPHOUSE_POOLS__DEFAULT__DURABILITY: durability,
    };
    servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    await Promise.all(servers.map((server) => server.start()));
    trial = new Trial();
    tag = `{${trial.namespace}}`;
    gaps = [];
    const token = await servers[0]!.token(trial.namespace);
    trial.start({ urls: servers.map(({ url }) => url), token, jobs: ROUNDS * 5_000 });
  }

  /** Waits until jobs are accepted again, and records how long that took. */
  async function goesOn(sinceMs: number): Promise<void> {
    const before = trial.journal.count('accepted');
    await waitFor(() => trial.journal.count('accepted') > before + 20, FAILOVER_MS);
    gaps.push(Math.round(performance.now() - sinceMs));
  }

  async function moveSlot(key: string): Promise<void> {
    trial.journal.add({ op: 'fault', what: `move the slot of ${key}` });
    const sinceMs = performance.now();
    const move = await SlotMove.begin(cluster, key);
    await sleep(trial.random() * 300);
    await move.complete(1 + Math.floor(trial.random() * 50));
    await goesOn(sinceMs);
  }

  /** Has the master of a key killed when its replica has all that it has: what a replica has not got yet is lost with any Redis. */
  async function settle(key: string): Promise<void> {
    const { owner } = await cluster.ownerOf(key);
    await owner.redis.call('CLIENT', 'PAUSE', 1_000, 'WRITE');
    await waitFor(() => hasFollowers(owner));
  }

  /** @param needsReplica nothing is accepted until the master that was killed is back, as a replica */
  async function killMaster(key: string, needsReplica = false): Promise<void> {
    const { slot, owner } = await cluster.ownerOf(key);
    trial.journal.add({ op: 'fault', what: `kill -9 of the master of slot ${slot}` });
    const sinceMs = performance.now();
    await cluster.kill(owner);
    await waitFor(async () => (await cluster.ownerOf(key)).owner !== owner, FAILOVER_MS);
    if (!needsReplica) await goesOn(sinceMs);
    // It comes back as a replica of the one that took its place.
    await cluster.restart(owner);
    if (needsReplica) await goesOn(sinceMs);
  }

  async function judge(): Promise<void> {
    await cluster.whole();
    const { owner } = await cluster.ownerOf(tag);
    await trial.judge({ port: owner.server.port }, true);
    gaps.sort((a, b) => a - b);
    console.log(`nothing accepted for ms: median ${gaps[gaps.length >> 1]}, most ${gaps.at(-1)}`);
  }

  it(`T16: lose no job while slots of its namespace and of its tokens move ${ROUNDS * 2} times`, async () => {
    await begin('memory');
    for (let round = 0; round < ROUNDS * 2; round++) {
      await sleep(trial.random() * 1_000);
      await moveSlot(trial.random() < 0.7 ? tag : '{tokens}');
    }
    await judge();
  });

  it(`T16: lose no job over ${ROUNDS} kills of replicated masters, each with a slot move after it`, async () => {
    await begin('memory');
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(500 + trial.random() * 500);
      const key = trial.random() < 0.7 ? tag : '{tokens}';
      await settle(key);
      await killMaster(key);
      await moveSlot(tag);
    }
    await judge();
  });

  it(`T16: lose no job that a replica had before the answer, over ${ROUNDS} sudden kills of its master`, async () => {
    await begin('replicated:1');
    for (let round = 0; round < ROUNDS; round++) {
      await sleep(500 + trial.random() * 500);
      await killMaster(tag, true);
    }
    await cluster.whole();
    const { owner } = await cluster.ownerOf(tag);
    // A fail-over takes leases and acknowledgements with it, so jobs may come again; but what was accepted is there.
    await trial.judge({ port: owner.server.port }, true, ['lost', 'unexpected']);
  });
});

/** A replica has acknowledged all that the node has written. */
async function hasFollowers({ redis }: ClusterNode): Promise<boolean> {
  const facts = await redis.info('replication');
  const [, offset] = /master_repl_offset:(\d+)/.exec(facts) ?? [];
  return offset !== undefined && new RegExp(`^slave0:.*offset=${offset},`, 'm').test(facts);
}
