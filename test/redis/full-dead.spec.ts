import { silentObserver } from '../../src/engine/observer.js';
import { EngineFixture } from './fixture.js';
import { FullFixture } from './full-fixture.js';

let f: EngineFixture;
let full: FullFixture;
beforeEach(async () => {
  f = await EngineFixture.withClock();
  full = new FullFixture(f);
});
afterEach(() => f.close());

const RESET = { ttlMs: 0, tries: 'reset' } as const;

/** A job that fails at once. */
async function dead(
  queue: string,
  group: string,
  job: Parameters<FullFixture['put']>[1] = {},
  message = 'boom',
) {
  const id = await full.put(queue, job);
  expect(await full.fail(queue, group, message)).toBe(1);
  f.nowMs += 1;
  return id;
}

async function idsOf(filter: Parameters<FullFixture['lane']['lists']['listDead']>[1], limit = 100) {
  const { items, cursor } = await full.lane.lists.listDead(f.ns, filter, { limit });
  return { ids: items.map(({ id }) => id), cursor };
}

it('lists dead jobs by time, group, type, tag, attribute and message text', async () => {
  const start = f.nowMs;
  const one = await dead('q', 'smtp', { tags: ['vip'], type: 'mail' }, 'Connection REFUSED by peer');
  const two = await dead('p', 'smtp', { attributes: { to: 'x' } }, 'timeout');
  const three = await dead('q', 'db', { type: 'mail' });
  const list = async (filter: Parameters<typeof idsOf>[0]) => (await idsOf(filter)).ids;

  expect(await list({})).toEqual([two, one, three]);
  expect(await list({ queue: 'q' })).toEqual([one, three]);
  expect(await list({ group: 'smtp' })).toEqual([one, two]);
  expect(await list({ group: 'smtp', queue: 'p' })).toEqual([two]);
  expect(await list({ type: 'mail' })).toEqual([one, three]);
  expect(await list({ tag: 'vip' })).toEqual([one]);
  expect(await list({ attributes: { to: 'x' } })).toEqual([two]);
  expect(await list({ attributes: { to: 'y' } })).toEqual([]);
  expect(await list({ text: 'refused' })).toEqual([one]);
  expect(await list({ text: '.*' })).toEqual([]);
  expect(await list({ fromMs: start + 1 })).toEqual([two, three]);
  expect(await list({ toMs: start + 1, group: 'smtp' })).toEqual([one, two]);
  expect(await list({ fromMs: start + 1, toMs: start + 1 })).toEqual([two]);
  const { items } = await full.lane.lists.listDead(f.ns, { tag: 'vip' }, { limit: 1 });
  expect(items[0]).toMatchObject({
    state: 'dead',
    endedAtMs: start,
    failure: { group: 'smtp', message: 'Connection REFUSED by peer', atMs: start },
  });
});

it('lists and searches long messages in steps that each look at some of them', async () => {
  let pages = 0;
  const script = (name: string): void => void (pages += name === 'full_page' ? 1 : 0);
  await f.close();
  f = await EngineFixture.withClock({ observer: { ...silentObserver, script } });
  full = new FullFixture(f);
  const long = 'é'.repeat(8_000);
  const ids: string[] = [];
  for (let i = 0; i < 40; i++) ids.push(await dead('q', 'g', {}, `${long} ÄRGER ${String(i)}`));

  expect((await idsOf({ text: 'Ärger' })).ids).toEqual(ids);
  expect(pages).toBe(3);
  expect((await idsOf({ queue: 'q' })).ids).toEqual(ids);
  expect(await full.lane.dead.count(f.ns, { text: 'ärger 3' })).toMatchObject({ done: 0 });
  expect(await full.lane.dead.count(f.ns, { text: 'Ärger 3' })).toEqual({ done: 11, cursor: null });
});

it('counts groups exactly: a respawned job counts no more, and its failure is gone (Q4)', async () => {
  const ids = [await dead('q', 'a'), await dead('q', 'a'), await dead('q', 'b')];
  expect(await full.groups()).toEqual({ a: 2, b: 1 });

  expect(await full.lane.dead.respawn(f.ns, { group: 'a' }, RESET)).toEqual({ done: 2, cursor: null });

  expect(await full.groups()).toEqual({ b: 1 });
  const job = await full.lane.looking.find(f.ns, ids[0] ?? '');
  expect(job).toMatchObject({
    state: 'ready',
    failure: null,
    triesLeft: 3,
    attempts: 0,
    failures: 0,
    endedAtMs: null,
  });
  expect(job?.timeline.map(({ what }) => what)).toEqual([
    'published',
    'leased',
    'failed',
    'died',
    'respawned',
  ]);
  expect((await idsOf({})).ids).toEqual([ids[2]]);
  await full.fail('q', 'c');
  expect(await full.groups()).toEqual({ b: 1, c: 1 });
});

it('names a group for those whose leases ran out, too', async () => {
  const id = await full.put('q', { tries: 1 });
  await full.lease('q', 1, 'w');
  f.nowMs += 10_001;
  await f.engine.pumpNow(f.ns);

  expect(await full.groups()).toEqual({ lease_expired: 1 });
  expect(await full.lane.looking.find(f.ns, id)).toMatchObject({
    failure: { group: 'lease_expired', worker: 'w' },
  });
});

it('counts first, and changes nothing by it', async () => {
  for (let i = 0; i < 5; i++) await dead('q', i < 3 ? 'a' : 'b');
  const before = await f.keys();

  expect(await full.lane.dead.count(f.ns, { group: 'a' })).toEqual({ done: 3, cursor: null });
  expect(await full.lane.dead.count(f.ns, {})).toEqual({ done: 5, cursor: null });
  expect(await f.keys()).toEqual(before);
  expect(await full.groups()).toEqual({ a: 3, b: 2 });
});

it('brings back with the tries that were left, with a number, or with all', async () => {
  const keep = await dead('q', 'keep', { tries: 5 });
  const number = await dead('q', 'number', { tries: 5 });
  const used = await dead('q', 'used', { tries: 1 });
  const { dead: letter, looking } = full.lane;
  await letter.respawn(f.ns, { group: 'keep' }, { ttlMs: 0, tries: 'keep' });
  await letter.respawn(f.ns, { group: 'number' }, { ttlMs: 1_000, tries: 2 });
  await letter.respawn(f.ns, { group: 'used' }, { ttlMs: 0, tries: 'keep' });

  expect(await looking.find(f.ns, keep)).toMatchObject({ triesLeft: 4, failures: 1 });
  expect(await looking.find(f.ns, number)).toMatchObject({ triesLeft: 2, expiresAtMs: f.nowMs + 1_000 });
  expect(await looking.find(f.ns, used)).toMatchObject({ triesLeft: 1 });
  f.nowMs += 1_001;
  await f.engine.pumpNow(f.ns);
  expect(await looking.find(f.ns, number)).toBeNull();
});

it('moves to another queue, new ones too, rich and plain', async () => {
  const rich = await dead('q', 'g', { priority: 3 });
  const plain = await f.publish('q', { tries: 1 });
  await f.reserve('q', { ttrMs: 1_000 });
  f.nowMs += 1_001;
  await f.engine.pumpNow(f.ns);
  f.nowMs += 1;

  expect(await full.lane.dead.respawn(f.ns, { queue: 'q' }, { ...RESET, queue: 'fresh' })).toEqual({
    done: 2,
    cursor: null,
  });
  expect((await f.reserve('fresh', { count: 2 })).map(({ id, queue }) => [id, queue])).toEqual([
    [plain, 'fresh'],
    [rich, 'fresh'],
  ]);
  expect((await f.engine.counts(f.ns, ['q']))[0]).toMatchObject({ dead: 0, ready: 0 });
});

it('acts on those that are named, and on none that is not dead', async () => {
  const ids = [await dead('q', 'g'), await dead('q', 'g'), await full.put('q')];
  const all = [...ids, 'nobody', ids[0] ?? ''];

  expect(await full.lane.dead.respawnIds(f.ns, all.slice(1), RESET)).toBe(2);
  expect(await full.lane.dead.deleteIds(f.ns, all)).toBe(0);
  expect(await full.fail('q', 'g', 'm', 3)).toBe(3);
  expect(await full.lane.dead.deleteIds(f.ns, [ids[1] ?? ''])).toBe(1);
  expect(await full.groups()).toEqual({ g: 2 });
  expect(await full.lane.looking.find(f.ns, ids[1] ?? '')).toBeNull();
});

it('goes on where it stopped, and leaves alone what dies meanwhile', async () => {
  for (let i = 0; i < 7; i++) await dead(i < 4 ? 'p' : 'q', 'g');
  const first = await full.lane.dead.respawn(f.ns, {}, RESET, 3);
  expect(first.done).toBe(3);
  // Those that came back die again: this operation is not to meet them.
  f.nowMs += 1;
  expect(await full.fail('p', 'again', 'm', 3)).toBe(3);

  const rest = await full.lane.dead.respawn(f.ns, {}, RESET, Infinity, first.cursor ?? '');

  expect(rest).toEqual({ done: 4, cursor: null });
  expect(await full.groups()).toEqual({ again: 3 });
});

it('shows its dead to calls of lmstfy, which respawn and delete them', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await dead('q', 'g', { tries: 4, tags: ['t'] }));
  expect(await f.engine.deadLetterHead(f.ns, 'q')).toEqual({ id: ids[0], size: 5 });

  expect(await f.engine.respawn(f.ns, 'q', 2, 60_000)).toBe(2);
  expect(await full.lane.looking.find(f.ns, ids[0] ?? '')).toMatchObject({
    state: 'ready',
    triesLeft: 1,
    failure: null,
    expiresAtMs: f.nowMs + 60_000,
  });
  expect(await f.engine.deleteDead(f.ns, 'q', 100)).toBe(3);
  expect(await full.groups()).toEqual({});
  expect(await full.tags()).toEqual({ t: 2 });
  expect((await f.reserve('q', { count: 5 })).map(({ id }) => id)).toEqual(ids.slice(0, 2));
});

it('lets go of those that wait for it: when it is back and done, and when it is deleted', async () => {
  const parents = [await dead('q', 'back'), await dead('q', 'drop')];
  const waits = (parent: string | undefined, onDependencyFailure: 'block' | 'cancel') =>
    full.put('child', { dependsOn: [parent ?? ''], onDependencyFailure });
  const [first, second] = [await waits(parents[0], 'block'), await waits(parents[1], 'cancel')];
  const stateOf = async (id: string) => (await full.lane.looking.find(f.ns, id))?.state ?? null;
  await full.lane.dead.respawn(f.ns, { group: 'back' }, RESET);
  const [job] = await full.lease('q');
  await full.lane.owners.complete(f.ns, [{ id: job?.id ?? '', lease: job?.lease ?? 0 }]);
  await f.engine.pumpNow(f.ns);
  expect(await stateOf(first)).toBe('ready');

  expect(await full.lane.dead.delete(f.ns, { group: 'drop' })).toMatchObject({ done: 1 });
  await f.engine.pumpNow(f.ns);

  expect(await stateOf(second)).toBeNull();
  expect(await full.groups()).toEqual({});
});

it('loses the lease of an owner from before the death', async () => {
  const id = await full.put('q', { tries: 1 });
  const [job] = await full.lease('q', 1, 'w');
  f.nowMs += 10_001;
  await f.engine.pumpNow(f.ns);
  await full.lane.dead.respawnIds(f.ns, [id], { ttlMs: 0, tries: 'keep' });

  await expect(full.lane.owners.heartbeat(f.ns, { id, lease: job?.lease ?? 0 })).rejects.toMatchObject({
    code: 'lease_lost',
  });
});

it('refuses what is no way to come back', async () => {
  const { dead: letter } = full.lane;
  for (const options of [
    { ttlMs: -1, tries: 'reset' },
    { ttlMs: 0, tries: 0 },
    { ttlMs: 0, tries: 1, queue: 'a b' },
  ] as const) {
    await expect(letter.respawn(f.ns, {}, options)).rejects.toMatchObject({ code: 'invalid_argument' });
  }
});
