import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedJob } from '../../domain/job/job.js';
import type { TimedLeaseRequest } from './fetch-requests.js';
import { type Hand, LongPollManager } from './long-poll-manager.js';

const REQUEST: TimedLeaseRequest = { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 60_000 };

interface FetchCall {
  readonly request: TimedLeaseRequest;
  readonly requests: readonly TimedLeaseRequest[];
  readonly slots: number;
  readonly hand: Hand;
  readonly answer: (...ids: string[]) => void;
  readonly fail: () => void;
  readonly tooFew: () => void;
}

/** A manager whose fetches are answered by the test. */
class Fixture {
  readonly fetches: FetchCall[] = [];
  readonly givenBack: string[][] = [];
  readonly looked: string[] = [];
  mayHaveJobs = false;
  isAway = false;
  /** Replaces both. */
  answer: (() => Promise<number[]>) | undefined;
  readonly manager = new LongPollManager(
    (_namespace, requests, hand) =>
      new Promise((resolve, reject) => {
        const answer = (...ids: string[]): void => {
          for (const id of ids) hand([jobOf(id)]);
          resolve(undefined);
        };
        this.fetches.push({
          request: requests[0] ?? REQUEST,
          requests,
          slots: requests.length,
          hand,
          answer,
          fail: () => reject(new Error('away')),
          tooFew: () => resolve('too_few'),
        });
      }),
    (_namespace, queues) => {
      this.looked.push(...queues);
      if (this.answer) return this.answer();
      if (this.isAway) return Promise.reject(new Error('away'));
      return Promise.resolve(this.mayHaveJobs ? queues.map((_queue, i) => i) : []);
    },
    (_namespace, { worker, types, linger }) => (worker ?? types ?? linger) === undefined,
    (_namespace, jobs) => this.givenBack.push(jobs.map(({ id }) => id)),
    () => undefined,
  );

  /** @returns the ids that it gets */
  async wait(other: Partial<TimedLeaseRequest> = {}): Promise<string[]> {
    return (await this.manager.wait('ns', { ...REQUEST, ...other })).map(({ id }) => id);
  }

  /** Starts this many waits that found the queue empty. */
  async idlers(count: number, other: Partial<TimedLeaseRequest> = {}): Promise<Promise<string[]>[]> {
    const waits: Promise<string[]>[] = [];
    for (let i = 0; i < count; i++) {
      waits.push(this.wait(other));
      await this.respond();
    }
    return waits;
  }

  /** Answers the open fetch requests, the first of them with these jobs. */
  async respond(...ids: string[]): Promise<void> {
    const [first, ...others] = this.fetches.splice(0);
    first?.answer(...ids);
    for (const { answer } of others) answer();
    await sleep(1);
  }

  get slots(): number[] {
    return this.fetches.map(({ slots }) => slots);
  }
}

const idler = (fixture: Fixture, count = 1, other: Partial<TimedLeaseRequest> = {}): Promise<void> =>
  fixture.idlers(count, other).then(() => undefined);

const jobOf = (id: string): LeasedJob => ({ id }) as LeasedJob;

describe('a job that this process publishes', () => {
  let fixture: Fixture;
  beforeEach(() => (fixture = new Fixture()));
  afterEach(() => fixture.manager.close());

  it('is fetched at once, without a wake-up, if one request waits', async () => {
    const [only] = await fixture.idlers(1);
    fixture.manager.expectJob('ns', 'other');
    fixture.manager.expectJob('other', 'q');
    expect(fixture.slots).toEqual([]);
    fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([1]);
    // The wake-up of the same job comes while it fetches.
    fixture.manager.wake('ns', 'q');
    await fixture.respond('a');

    expect(await only).toEqual(['a']);
    expect(fixture.slots).toEqual([]);
  });

  it('is fetched after the wake-up, in one fetch, if two requests wait', async () => {
    const [first, second] = await fixture.idlers(2);
    fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([]);
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([2]);
    await fixture.respond('a', 'b');
    expect(await Promise.all([first, second])).toEqual([['a'], ['b']]);
  });

  it('causes one fetch together with nine other jobs published at once', async () => {
    const [only] = await fixture.idlers(1);
    for (let i = 0; i < 10; i++) fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([1]);
    await fixture.respond('a');
    expect(await only).toEqual(['a']);
  });

  it('causes no fetch for a request whose last fetch found nothing, because the queue may be paused', async () => {
    const [only] = await fixture.idlers(1);
    fixture.manager.expectJob('ns', 'q');
    await fixture.respond();
    fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([]);
    fixture.manager.wake('ns', 'q');
    await fixture.respond('a');
    expect(await only).toEqual(['a']);
  });

  it('causes no fetch after a failed fetch, until the next wake-up', async () => {
    const [only] = await fixture.idlers(1);
    fixture.manager.wake('ns', 'q');
    fixture.fetches.splice(0).forEach(({ fail }) => fail());
    await sleep(1);
    fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([]);
    fixture.manager.wake('ns', 'q');
    await fixture.respond('a');
    expect(await only).toEqual(['a']);
  });
});

describe('a wake-up', () => {
  let fixture: Fixture;
  beforeEach(() => (fixture = new Fixture()));
  afterEach(() => fixture.manager.close());

  it('fetches once for three equal requests, and gives two jobs to the first two requests', async () => {
    const [first, second, third] = await fixture.idlers(3);
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([3]);
    await fixture.respond('a', 'b');

    expect(await first).toEqual(['a']);
    expect(await second).toEqual(['b']);
    fixture.manager.wake('ns', 'q');
    await fixture.respond('c');
    expect(await third).toEqual(['c']);
  });

  it('delivers a job to the request that it was leased for, and releases a second job for that request', async () => {
    const [first, second] = await fixture.idlers(2);
    fixture.manager.wake('ns', 'q');
    const [{ requests, hand, answer }] = fixture.fetches.splice(0) as [FetchCall];
    hand([jobOf('for the second')], requests[1]);
    hand([jobOf('once more')], requests[1]);
    answer('for any');

    expect(await second).toEqual(['for the second']);
    expect(await first).toEqual(['for any']);
    expect(fixture.givenBack).toEqual([['once more']]);
  });

  it('fetches separately for different requests', async () => {
    const [one] = await fixture.idlers(1);
    const [many] = await fixture.idlers(1, { count: 5 });
    const [short] = await fixture.idlers(1, { ttrMs: 1 });
    const [named] = await fixture.idlers(1, { worker: 'w' });
    const [last] = await fixture.idlers(1);
    fixture.manager.wake('ns', 'q');

    expect(
      fixture.fetches.map(({ request, slots }) => [request.count, request.ttrMs, request.worker, slots]),
    ).toEqual([
      [1, 60_000, undefined, 1],
      [5, 60_000, undefined, 1],
      [1, 1, undefined, 1],
      [1, 60_000, 'w', 1],
      [1, 60_000, undefined, 1],
    ]);
    fixture.fetches.splice(0).forEach(({ answer }, i) => answer(`job ${String(i)}`));
    expect(await Promise.all([one, many, short, named, last])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [`job ${String(i)}`]),
    );
  });

  it('fetches again for requests without a job if it arrives during a fetch', async () => {
    const [first, second, third] = await fixture.idlers(3);
    fixture.manager.wake('ns', 'q');
    fixture.manager.wake('ns', 'q');
    await fixture.respond('a');
    expect(await first).toEqual(['a']);
    expect(fixture.slots).toEqual([2]);
    await fixture.respond('b');
    expect(await second).toEqual(['b']);
    expect(fixture.slots).toEqual([]);
    fixture.manager.wake('ns', 'q');
    await fixture.respond('c');
    expect(await third).toEqual(['c']);
  });

  it('gives the job of a disconnected request to the next request', async () => {
    const gone = new AbortController();
    const left = fixture.wait({ signal: gone.signal });
    await fixture.respond();
    const [second, third] = await fixture.idlers(2);
    fixture.manager.wake('ns', 'q');
    gone.abort();
    await fixture.respond('a', 'b');

    expect(await left).toEqual([]);
    expect(await second).toEqual(['a']);
    expect(await third).toEqual(['b']);
    expect(fixture.givenBack).toEqual([]);
  });

  it('releases each job that no request is left for', async () => {
    const gone = new AbortController();
    const waits = [fixture.wait({ signal: gone.signal })];
    await fixture.respond();
    waits.push(fixture.wait({ signal: gone.signal }), ...(await fixture.idlers(1)));
    fixture.manager.wake('ns', 'q');
    gone.abort();
    await fixture.respond('a', 'b', 'c');

    expect(await Promise.all(waits)).toEqual([[], [], ['a']]);
    expect(fixture.givenBack).toEqual([['b'], ['c']]);
  });

  it('ends a request without a job if its wait time ends during the fetch', async () => {
    const [first] = await fixture.idlers(1);
    const [second] = await fixture.idlers(1, { waitMs: 30 });
    fixture.manager.wake('ns', 'q');
    await sleep(60);
    await fixture.respond('a');

    expect(await first).toEqual(['a']);
    expect(await second).toEqual([]);
  });

  it('serves the request whose job arrived before its fetch failed, and keeps the other request waiting', async () => {
    const [first, second] = await fixture.idlers(2);
    fixture.manager.wake('ns', 'q');
    const [fetch] = fixture.fetches.splice(0);
    fetch?.hand([jobOf('a')]);
    expect(await first).toEqual(['a']);
    fetch?.fail();
    await sleep(1);
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([1]);
    await fixture.respond('b');

    expect(await second).toEqual(['b']);
  });

  it('keeps both requests waiting if its fetch fails', async () => {
    const waits = await fixture.idlers(2);
    fixture.manager.wake('ns', 'q');
    fixture.fetches.splice(0).forEach(({ fail }) => fail());
    await sleep(1);
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([2]);
    await fixture.respond('a', 'b');

    expect(await Promise.all(waits)).toEqual([['a'], ['b']]);
  });
});

describe('a wake-up for jobs of a type', () => {
  const f = new Fixture();
  afterAll(() => f.manager.close());

  it('fetches for requests that take it, and for no other', async () => {
    const waits = [['mail'], ['sms'], ['sms', null], undefined].map((types) =>
      f.wait(types === undefined ? {} : { types }),
    );
    for (const { answer } of f.fetches.splice(0)) answer();
    await sleep(0);
    f.manager.wake('ns', 'q', 'sms');
    await sleep(0);
    expect(f.fetches.map(({ request }) => request.types)).toEqual([['sms'], ['sms', null], undefined]);
    for (const { answer } of f.fetches.splice(0)) answer();
    await sleep(0);
    f.manager.wake('ns', 'q', '');
    await sleep(0);
    expect(f.fetches.map(({ request }) => request.types)).toEqual([['sms', null], undefined]);
    f.manager.close();
    await Promise.all(waits);
  });
});

describe('a long poll that lingers', () => {
  let fixture: Fixture;
  beforeEach(() => (fixture = new Fixture()));
  afterEach(() => fixture.manager.close());

  const lingering = (ms = 60_000, more: Partial<TimedLeaseRequest> = {}): Promise<string[]> =>
    fixture.wait({ count: 3, linger: { ms, min: 2 }, ...more });
  const tooFew = async (): Promise<void> => {
    for (const fetch of fixture.fetches.splice(0)) fetch.tooFew();
    await sleep(1);
  };
  /** Waits for a fetch. @returns the minimum of each that is open, 0 = it takes what is there */
  const minima = async (): Promise<number[]> => {
    while (fixture.fetches.length === 0) await sleep(1);
    return fixture.fetches.map(({ request }) => request.linger?.min ?? 0);
  };

  it('takes no place of a plain request in a burst', async () => {
    for (let i = 0; i < 64; i++) void lingering();
    await tooFew();
    const plain = fixture.wait();
    await fixture.respond();
    fixture.manager.wake('ns', 'q');
    expect(fixture.fetches.map(({ request, slots }) => [request.count, slots])).toEqual([
      [3, 64],
      [1, 1],
    ]);
    for (const { request, answer } of fixture.fetches.splice(0)) if (request.count === 1) answer('a');
    expect(await plain).toEqual(['a']);
  });

  it('does not end a burst of plain requests that all get jobs', async () => {
    void lingering();
    await tooFew();
    const waits = await fixture.idlers(65);
    fixture.manager.wake('ns', 'q');
    const [, burst] = fixture.fetches.splice(0);
    expect(burst?.slots).toBe(64);
    burst?.answer(...Array.from({ length: 64 }, () => 'a'));
    await sleep(1);
    fixture.fetches.find(({ request }) => request.count === 1)?.answer('b');
    expect(await waits[64]).toEqual(['b']);
  });

  it('does not make a queue with too few jobs count as empty', async () => {
    void lingering();
    await tooFew();
    void fixture.wait();
    expect(fixture.slots).toEqual([1]);
  });

  it('shares no fetch with a request for another minimum, count, type or ttr', async () => {
    const linger = { ms: 60_000, min: 3 };
    for (const more of [{}, {}, { linger }, { count: 4 }, { types: ['t'] }, { ttrMs: 1 }])
      void lingering(60_000, more);
    await tooFew();
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([2, 1, 1, 1, 1]);
  });

  it('takes what is there when its time is over', async () => {
    const wait = lingering(30);
    await tooFew();
    expect(await minima()).toEqual([0]);
    await fixture.respond('a');
    expect(await wait).toEqual(['a']);
  });

  it('takes what is there when its time is over during a fetch', async () => {
    const wait = lingering(30);
    await tooFew();
    fixture.manager.wake('ns', 'q');
    await sleep(60);
    await tooFew();
    expect(await minima()).toEqual([0]);
    await fixture.respond('a');
    expect(await wait).toEqual(['a']);
  });

  it('lingers again when there is no job any more', async () => {
    const wait = lingering(30);
    await tooFew();
    expect(await minima()).toEqual([0]);
    await fixture.respond();
    fixture.manager.wake('ns', 'q');
    expect(await minima()).toEqual([2]);
    await tooFew();
    expect(await minima()).toEqual([0]);
    await fixture.respond('a');
    expect(await wait).toEqual(['a']);
  });

  it('ends with its wait if there is no job, and not while it lingers', async () => {
    const [left, kept] = [lingering(60_000, { waitMs: 30 }), lingering(60_000, { waitMs: 30 })];
    const [one, other] = fixture.fetches.splice(0);
    one?.answer();
    other?.tooFew();
    expect(await left).toEqual([]);
    await sleep(60);
    fixture.manager.wake('ns', 'q');
    await fixture.respond('a');
    expect(await kept).toEqual(['a']);
  });

  it('survives a fetch that fails, and looks again within a second', async () => {
    // Behind a plain request, for which the check of the queue is enough.
    void fixture.wait();
    await fixture.respond();
    const wait = lingering(30);
    await tooFew();
    expect(await minima()).toEqual([0]);
    fixture.fetches.splice(0).forEach(({ fail }) => fail());
    expect(await minima()).toEqual([2]);
    await fixture.respond('a');
    expect(await wait).toEqual(['a']);
  });

  it('is no reason to fetch ahead of a job that this process publishes', async () => {
    void lingering();
    await fixture.respond();
    fixture.manager.expectJob('ns', 'q');
    expect(fixture.slots).toEqual([]);
  });
});

describe('a new long-poll request', () => {
  let fixture: Fixture;
  beforeEach(() => (fixture = new Fixture()));
  afterEach(() => fixture.manager.close());

  it('sends no fetch while an equal request waits, and gets a job of the next fetch', async () => {
    const [first] = await fixture.idlers(1);
    const second = fixture.wait();
    expect(fixture.slots).toEqual([]);
    fixture.manager.wake('ns', 'q');
    expect(fixture.slots).toEqual([2]);
    await fixture.respond('a', 'b');

    expect(await Promise.all([first, second])).toEqual([['a'], ['b']]);
  });

  it.each([
    [
      'the fetch of an equal request has no answer',
      {},
      (fixture: Fixture) => {
        void fixture.wait();
      },
    ],
    [
      'the fetch of a wake-up has no answer',
      {},
      async (fixture: Fixture) => {
        await idler(fixture);
        fixture.manager.wake('ns', 'q');
      },
    ],
    [
      'the request that waits takes jobs of some types only',
      {},
      async (fixture: Fixture) => {
        await idler(fixture, 1, { types: ['mail'] });
      },
    ],
    [
      'the last fetch failed',
      {},
      async (fixture: Fixture) => {
        await idler(fixture);
        fixture.manager.wake('ns', 'q');
        fixture.fetches.splice(0).forEach(({ fail }) => fail());
        await sleep(1);
      },
    ],
    [
      'the last fetch of its queue failed, although a fetch of another queue succeeded since then',
      {},
      async (fixture: Fixture) => {
        await idler(fixture);
        await idler(fixture, 1, { queues: ['r'] });
        fixture.manager.wake('ns', 'q');
        fixture.fetches.splice(0).forEach(({ fail }) => fail());
        fixture.manager.wake('ns', 'r');
        await fixture.respond();
      },
    ],
    [
      'the last check of all queues failed',
      {},
      async (fixture: Fixture) => {
        await idler(fixture);
        fixture.isAway = true;
        await sleep(1_000);
      },
    ],
    ['it waits for more queues than the waiting request', { queues: ['q', 'r'] }, idler],
    ['it has a worker name', { worker: 'w' }, idler],
    ['no request waits for its queue', { queues: ['r'] }, idler],
  ])('fetches when %s', async (_when, other, before) => {
    await before(fixture);
    const open = fixture.slots.length;
    void fixture.wait(other);

    expect(fixture.slots).toHaveLength(open + 1);
  });
});

describe('the check of all queues each second', () => {
  let fixture: Fixture;
  beforeEach(() => (fixture = new Fixture()));
  afterEach(() => fixture.manager.close());

  it('fetches nothing while the queues are empty', async () => {
    await idler(fixture, 2);
    await idler(fixture, 1, { queues: ['r', 'q'] });
    await sleep(1_000);

    expect(fixture.looked).toEqual(['q', 'r']);
    expect(fixture.slots).toEqual([]);
  });

  it('fetches for one of three requests, and for the two others after the first was served', async () => {
    const [first, second, third] = await fixture.idlers(3);
    fixture.mayHaveJobs = true;
    await sleep(1_000);
    expect(fixture.slots).toEqual([1]);
    await fixture.respond('a');
    expect(fixture.slots).toEqual([2]);
    await fixture.respond('b', 'c');

    expect(await Promise.all([first, second, third])).toEqual([['a'], ['b'], ['c']]);
  });

  it('fetches for a request with a worker name although its queue may be empty', async () => {
    await idler(fixture, 1, { worker: 'w' });
    await sleep(1_000);

    expect(fixture.looked).toEqual([]);
    expect(fixture.fetches.map(({ request }) => request.worker)).toEqual(['w']);
  });

  it('fetches for one request of each set of types', async () => {
    const waits = [['mail'], ['sms'], ['mail'], ['sms', 'mail']].map((types) => fixture.wait({ types }));
    for (const { answer } of fixture.fetches.splice(0)) answer();
    await sleep(1_000);
    const fetched = fixture.fetches.splice(0);
    expect(fetched.map(({ request }) => request.types?.join()).sort()).toEqual(['mail', 'sms', 'sms,mail']);
    for (const { answer } of fetched) answer('a');
    await sleep(0);
    for (const { answer } of fixture.fetches.splice(0)) answer('b');
    expect(await Promise.all(waits)).toEqual([['a'], ['a'], ['b'], ['a']]);
  });

  it('fails the requests that end or arrive while it has no answer, when it and their fetches fail', async () => {
    const [wait] = await fixture.idlers(1, { waitMs: 1_100 });
    let fail = (): void => undefined;
    fixture.answer = () => new Promise((_resolve, reject) => (fail = () => reject(new Error('away'))));
    await sleep(1_000);
    expect(fixture.looked).toEqual(['q']);
    const other = fixture.wait();
    expect(fixture.slots).toEqual([1]);
    await sleep(200);
    fail();

    await expect(wait).rejects.toThrow('away');
    fixture.fetches.splice(0).forEach((fetch) => fetch.fail());
    await expect(other).rejects.toThrow('away');
  });

  it('fails a request whose wait time ends after the check failed', async () => {
    const [wait] = await fixture.idlers(1, { waitMs: 1_200 });
    fixture.isAway = true;

    await expect(wait).rejects.toThrow('away');
  });
});
