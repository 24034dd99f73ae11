import { QueueError } from '../../domain/errors.js';
import { Keys } from '../../redis/keys.js';
import { silentObserver } from '../core/observer.js';
import { JobWalk } from './job-walk.js';

const MARK = 'pumphouse:counted';
const TIMER = 'quota_backfill:default';

/** A Redis with some pages of jobs, and the mark of the passes. */
class Store {
  readonly name = 'default';
  readonly keys = new Keys('');
  mark: string | null = null;
  pages = 1;
  isFull = false;

  read(command: string, ...[, value, ...options]: (string | number | Buffer)[]): Promise<unknown> {
    if (command === 'DEL') this.mark = null;
    if (command === 'SMEMBERS') return Promise.resolve(['ns']);
    if (command !== 'SET') return Promise.resolve(this.mark);
    if (this.isFull) return Promise.reject(new QueueError('store_full', 'full'));
    const isRefused = this.mark === null ? options.includes('XX') : options.includes('NX');
    if (!isRefused) this.mark = String(value);
    return Promise.resolve(isRefused ? null : 'OK');
  }

  async *scan(): AsyncGenerator<Buffer[]> {
    for (let i = 0; i < this.pages; i++) yield [await Promise.resolve(Buffer.from(`{ns}j${String(i)}`))];
  }
}

/** A server that may run the loop, with timeouts that fire when the test says so. */
class Server {
  isOn = true;
  /** By pass: the jobs that it has visited. */
  readonly visited: string[] = [];
  /** Happens during the next visit. */
  during = (): unknown => undefined;
  private pending: { readonly delayMs: number; readonly fire: () => void } | undefined;
  readonly walk: JobWalk;

  constructor(store: Store) {
    const timers = {
      set: (name: string, delayMs: number, fire: () => void): void => {
        expect(name).toBe(TIMER);
        this.pending = { delayMs, fire };
      },
      clear: (): void => (this.pending = undefined),
    };
    this.walk = new JobWalk(store, silentObserver, timers, {
      ...{ name: 'quota_backfill', mark: MARK, goodForMs: 3_600_000, firstCheckMs: 0 },
      isOn: () => this.isOn,
      visit: async (_namespace, ids) => {
        this.visited.push(...ids.map(String));
        await this.during();
        this.during = () => undefined;
        return ids.length;
      },
      visitNamespace: () => Promise.resolve(0),
    });
  }

  get delayMs(): number | undefined {
    return this.pending?.delayMs;
  }

  /** Fires the timeout, and waits until its effects are done. */
  async fire(): Promise<void> {
    const { fire } = this.pending ?? {};
    this.pending = undefined;
    fire?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a walk over all jobs', () => {
  let store: Store;
  let server: Server;
  beforeEach(async () => {
    store = new Store();
    server = new Server(store);
    server.walk.start();
    await server.fire();
  });

  it('begins a pass at the start, and plans the next check', () => {
    expect(server.visited).toEqual(['0']);
    expect(store.mark).toBe('done');
    expect(server.delayMs).toBeGreaterThanOrEqual(15_000);
  });

  it('begins the next pass at once when the last one is forgotten', async () => {
    await server.walk.forgetPass();
    expect(server.delayMs).toBe(0);
    await server.fire();
    expect(server.visited).toEqual(['0', '0']);
    expect(store.mark).toBe('done');
  });

  it('visits nothing when it checks early and the last pass counts', async () => {
    server.walk.checkSoon();
    expect(server.delayMs).toBe(0);
    await server.fire();
    expect(server.visited).toEqual(['0']);
    expect(server.delayMs).toBeGreaterThanOrEqual(15_000);
  });

  it('begins at once on a server that runs the loop when another one has forgotten the pass', async () => {
    const caller = new Server(store);
    await caller.walk.forgetPass();
    expect(caller.delayMs).toBeUndefined();
    server.walk.checkSoon();
    expect(server.delayMs).toBe(0);
    await server.fire();
    expect([caller.visited, server.visited]).toEqual([[], ['0', '0']]);
  });

  it('ends a pass that is forgotten while it is under way, and begins another', async () => {
    store.pages = 3;
    server.during = () => server.walk.forgetPass();
    await server.walk.forgetPass();
    await server.fire();
    expect(server.visited).toEqual(['0', '0']);
    expect([store.mark, server.delayMs]).toEqual([null, 0]);
    await server.fire();
    expect(server.visited).toEqual(['0', '0', '0', '1', '2']);
    expect(store.mark).toBe('done');
  });

  it('does not count a pass that is forgotten during its last visit', async () => {
    server.during = () => server.walk.forgetPass();
    await server.walk.forgetPass();
    await server.fire();
    expect([store.mark, server.delayMs]).toEqual([null, 0]);
  });

  it('begins a pass at the next check after one for which the store had no room', async () => {
    store.isFull = true;
    await server.walk.forgetPass();
    await server.fire();
    expect(server.visited).toEqual(['0']);
    expect(server.walk.loop.status().lastError).toBeNull();
    expect(server.delayMs).toBeGreaterThanOrEqual(15_000);
    store.isFull = false;
    await server.fire();
    expect([server.visited, store.mark]).toEqual([['0', '0'], 'done']);
  });

  it('goes on with a pass that a full store ended, when its mark is over', async () => {
    store.pages = 2;
    server.during = () => (store.isFull = true);
    await server.walk.forgetPass();
    await server.fire();
    expect([server.visited, store.mark]).toEqual([['0', '0'], 'under way']);
    Object.assign(store, { isFull: false, mark: null });
    await server.fire();
    expect([server.visited, store.mark]).toEqual([['0', '0', '0', '1'], 'done']);
  });

  it('begins nothing after its stop', async () => {
    await server.walk.stop();
    await server.walk.forgetPass();
    expect(server.delayMs).toBeUndefined();
  });
});
