import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { FailoverGroup } from '../support/failover-group.js';
import { waitFor } from '../support/redis.js';
import { FailoverTrial } from './failover-trial.js';
import { ROUNDS, SLOWNESS } from '../support/scale.js';

/** An own number: a failover takes several seconds, and ten are what is asked for. */
const KILLS = Math.min(ROUNDS, 10);
/** What is lost was accepted so shortly before the master died, or while the group was finding together again, in milliseconds. */
const UNREPLICATED_MS = 2_000;
const TOGETHER_AGAIN_MS = 15_000;
jest.setTimeout((180_000 + KILLS * 60_000) * SLOWNESS);

describe('a Sentinel group of three whose master is killed repeatedly under load', () => {
  let group: FailoverGroup;
  let trial: FailoverTrial;
  beforeEach(async () => {
    group = await FailoverGroup.start(2);
    trial = new FailoverTrial(group);
  });
  afterEach(async () => {
    await trial.end();
    await group.stop();
  });

  /** Kills the master, follows the group to the next one, and looks whether all clients do. */
  async function failOver(
    round: number,
    clients: Awaited<ReturnType<FailoverTrial['start']>>,
  ): Promise<void> {
    await trial.acceptedAgain();
    await sleep(trial.random() * 500);
    // A worker that waits in silence, on a queue of its own; and a job that comes due while there is no master.
    const quiet = `quiet${String(round)}`;
    const waiting = clients.request('waiter', round, 'GET', `${quiet}?timeout=60`);
    const later = `later${String(round)}`;
    const plan = () =>
      clients.request('planner', round, 'PUT', `${later}?delay=3`, 'later', {
        'X-Durability': 'replicated:2',
      });
    await waitFor(async () => (await plan())?.status === 201, 30_000);
    const old = await group.master();
    trial.journal.add({ op: 'fault', what: `kill -9 of the master, round ${String(round)}` });
    await group.kill(old);
    await group.newMaster(old);
    await group.revive(old);
    await trial.acceptedAgain();
    const get = (path: string) => clients.request('onlooker', round, 'GET', path);
    await waitFor(async () => (await get(`${later}?timeout=5&ttr=2`))?.status === 200, 30_000);
    await waitFor(
      async () => (await clients.request('caller', round, 'PUT', quiet, 'wake'))?.status === 201,
      30_000,
    );
    expect(await waiting).toMatchObject({ status: 200 });
    for (const who of ['waiter', 'planner', 'onlooker', 'caller']) clients.answeredMs.delete(who);
    // All clients have been answered since: none hangs.
    await waitFor(() => clients.longestSilenceMs() < 5_000, 30_000);
  }

  it(`T14: loses no job in ${String(KILLS)} failovers that both replicas have before the answer`, async () => {
    const clients = await trial.start('replicated:2');
    for (let round = 0; round < KILLS; round++) await failOver(round, clients);
    const { lost, unexpected, refused } = await trial.reckon();
    expect({ lost, unexpected }).toEqual({ lost: [], unexpected: [] });
    expect(refused).toBeGreaterThan(0);
  });

  it(`T14: loses in ${String(KILLS)} failovers only jobs that the replicas did not have yet`, async () => {
    const clients = await trial.start('memory');
    for (let round = 0; round < KILLS; round++) await failOver(round, clients);
    const { lost, unexpected } = await trial.reckon();
    expect(unexpected).toEqual([]);
    const deaths = trial.journal.entries.flatMap(({ op, atMs }) => (op === 'fault' ? [atMs] : []));
    const isOfTheTail = (id: string): boolean =>
      trial.journal.entries.some(
        (entry) =>
          entry.op === 'accepted' &&
          entry.id === id &&
          deaths.some((atMs) => entry.atMs > atMs - UNREPLICATED_MS && entry.atMs < atMs + TOGETHER_AGAIN_MS),
      );
    expect(lost.filter((id) => !isOfTheTail(id))).toEqual([]);
  });
});
