import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import { WaitingRoom } from './waiting-room.js';

const REQUEST: ReserveRequest = { queues: ['q'], count: 1, ttrMs: 60_000, waitMs: 60_000 };

interface Question {
  readonly request: ReserveRequest;
  readonly seats: number;
  readonly hand: (jobs: LeasedJob[]) => void;
  readonly answer: (...ids: string[]) => void;
  readonly fail: () => void;
}

/** A room whose questions are answered by hand. */
class Room {
  readonly asked: Question[] = [];
  readonly givenBack: string[][] = [];
  readonly looked: string[] = [];
  mayHaveJobs = false;
  isAway = false;
  /** In place of the two. */
  answer: (() => Promise<number[]>) | undefined;
  readonly room = new WaitingRoom(
    (_namespace, request, seats, hand) =>
      new Promise((resolve, reject) => {
        const answer = (...ids: string[]): void => {
          for (const id of ids) hand([jobOf(id)]);
          resolve();
        };
        this.asked.push({ request, seats, hand, answer, fail: () => reject(new Error('away')) });
      }),
    (_namespace, queues) => {
      this.looked.push(...queues);
      if (this.answer) return this.answer();
      if (this.isAway) return Promise.reject(new Error('away'));
      return Promise.resolve(this.mayHaveJobs ? queues.map((_queue, i) => i) : []);
    },
    (_namespace, { worker }) => worker === undefined,
    (_namespace, jobs) => this.givenBack.push(jobs.map(({ id }) => id)),
    () => undefined,
  );

  /** @returns the ids that it gets */
  async wait(other: Partial<ReserveRequest> = {}): Promise<string[]> {
    return (await this.room.wait('ns', { ...REQUEST, ...other })).map(({ id }) => id);
  }

  /** So many wait who were told that there is nothing. */
  async idlers(count: number, other: Partial<ReserveRequest> = {}): Promise<Promise<string[]>[]> {
    const waits: Promise<string[]>[] = [];
    for (let i = 0; i < count; i++) {
      waits.push(this.wait(other));
      await this.say();
    }
    return waits;
  }

  /** Answers the questions that are open, the first of them with these jobs. */
  async say(...ids: string[]): Promise<void> {
    const [first, ...others] = this.asked.splice(0);
    first?.answer(...ids);
    for (const { answer } of others) answer();
    await sleep(1);
  }

  get seats(): number[] {
    return this.asked.map(({ seats }) => seats);
  }
}

const idler = (room: Room, count = 1, other: Partial<ReserveRequest> = {}): Promise<void> =>
  room.idlers(count, other).then(() => undefined);

const jobOf = (id: string): LeasedJob => ({ id }) as LeasedJob;

describe('a wake-up', () => {
  let room: Room;
  beforeEach(() => (room = new Room()));
  afterEach(() => room.room.close());

  it('has all who wait for the same ask as one, and the first of them are served', async () => {
    const [first, second, third] = await room.idlers(3);
    room.room.wake('ns', 'q');
    expect(room.seats).toEqual([3]);
    await room.say('a', 'b');

    expect(await first).toEqual(['a']);
    expect(await second).toEqual(['b']);
    room.room.wake('ns', 'q');
    await room.say('c');
    expect(await third).toEqual(['c']);
  });

  it('has those who want something else ask for themselves', async () => {
    const [one] = await room.idlers(1);
    const [many] = await room.idlers(1, { count: 5 });
    const [short] = await room.idlers(1, { ttrMs: 1 });
    const [named] = await room.idlers(1, { worker: 'w' });
    const [last] = await room.idlers(1);
    room.room.wake('ns', 'q');

    expect(
      room.asked.map(({ request, seats }) => [request.count, request.ttrMs, request.worker, seats]),
    ).toEqual([
      [1, 60_000, undefined, 1],
      [5, 60_000, undefined, 1],
      [1, 1, undefined, 1],
      [1, 60_000, 'w', 1],
      [1, 60_000, undefined, 1],
    ]);
    room.asked.splice(0).forEach(({ answer }, i) => answer(`job ${String(i)}`));
    expect(await Promise.all([one, many, short, named, last])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [`job ${String(i)}`]),
    );
  });

  it('that comes while they ask has those who got nothing ask again', async () => {
    const [first, second, third] = await room.idlers(3);
    room.room.wake('ns', 'q');
    room.room.wake('ns', 'q');
    await room.say('a');
    expect(await first).toEqual(['a']);
    expect(room.seats).toEqual([2]);
    await room.say('b');
    expect(await second).toEqual(['b']);
    expect(room.seats).toEqual([]);
    room.room.wake('ns', 'q');
    await room.say('c');
    expect(await third).toEqual(['c']);
  });

  it('leaves what one who has gone would have got to the next', async () => {
    const gone = new AbortController();
    const left = room.wait({ signal: gone.signal });
    await room.say();
    const [second, third] = await room.idlers(2);
    room.room.wake('ns', 'q');
    gone.abort();
    await room.say('a', 'b');

    expect(await left).toEqual([]);
    expect(await second).toEqual(['a']);
    expect(await third).toEqual(['b']);
    expect(room.givenBack).toEqual([]);
  });

  it('gives back what is too much, each for itself', async () => {
    const gone = new AbortController();
    const waits = [room.wait({ signal: gone.signal })];
    await room.say();
    waits.push(room.wait({ signal: gone.signal }), ...(await room.idlers(1)));
    room.room.wake('ns', 'q');
    gone.abort();
    await room.say('a', 'b', 'c');

    expect(await Promise.all(waits)).toEqual([[], [], ['a']]);
    expect(room.givenBack).toEqual([['b'], ['c']]);
  });

  it('ends a wait whose time was over while it was asked for', async () => {
    const [, second] = await room.idlers(2, { waitMs: 30 });
    room.room.wake('ns', 'q');
    await sleep(60);
    await room.say('a');

    expect(await second).toEqual([]);
  });

  it('serves those whose jobs are there, though the others cannot be asked for', async () => {
    const [first, second] = await room.idlers(2);
    room.room.wake('ns', 'q');
    const [question] = room.asked.splice(0);
    question?.hand([jobOf('a')]);
    expect(await first).toEqual(['a']);
    question?.fail();
    await sleep(1);
    room.room.wake('ns', 'q');
    expect(room.seats).toEqual([1]);
    await room.say('b');

    expect(await second).toEqual(['b']);
  });

  it('that cannot be followed leaves them waiting', async () => {
    const waits = await room.idlers(2);
    room.room.wake('ns', 'q');
    room.asked.splice(0).forEach(({ fail }) => fail());
    await sleep(1);
    room.room.wake('ns', 'q');
    expect(room.seats).toEqual([2]);
    await room.say('a', 'b');

    expect(await Promise.all(waits)).toEqual([['a'], ['b']]);
  });
});

describe('who comes', () => {
  let room: Room;
  beforeEach(() => (room = new Room()));
  afterEach(() => room.room.close());

  it('asks nothing where somebody waits already, and hears of the next job', async () => {
    const [first] = await room.idlers(1);
    const second = room.wait();
    expect(room.seats).toEqual([]);
    room.room.wake('ns', 'q');
    expect(room.seats).toEqual([2]);
    await room.say('a', 'b');

    expect(await Promise.all([first, second])).toEqual([['a'], ['b']]);
  });

  it.each([
    [
      'the first question is open',
      {},
      (room: Room) => {
        void room.wait();
      },
    ],
    [
      'a wake-up is followed',
      {},
      async (room: Room) => {
        await idler(room);
        room.room.wake('ns', 'q');
      },
    ],
    [
      'the store was away',
      {},
      async (room: Room) => {
        await idler(room);
        room.room.wake('ns', 'q');
        room.asked.splice(0).forEach(({ fail }) => fail());
        await sleep(1);
      },
    ],
    [
      'the store was away, though it has answered for another queue since',
      {},
      async (room: Room) => {
        await idler(room);
        await idler(room, 1, { queues: ['r'] });
        room.room.wake('ns', 'q');
        room.asked.splice(0).forEach(({ fail }) => fail());
        room.room.wake('ns', 'r');
        await room.say();
      },
    ],
    [
      'a look has failed',
      {},
      async (room: Room) => {
        await idler(room);
        room.isAway = true;
        await sleep(1_000);
      },
    ],
    ['it waits for more queues', { queues: ['q', 'r'] }, idler],
    ['it has a name', { worker: 'w' }, idler],
    ['nobody waits for that queue', { queues: ['r'] }, idler],
  ])('asks when %s', async (_when, other, before) => {
    await before(room);
    const open = room.seats.length;
    void room.wait(other);

    expect(room.seats).toHaveLength(open + 1);
  });
});

describe('a look at all queues within a second', () => {
  let room: Room;
  beforeEach(() => (room = new Room()));
  afterEach(() => room.room.close());

  it('asks nothing while they are empty', async () => {
    await idler(room, 2);
    await idler(room, 1, { queues: ['r', 'q'] });
    await sleep(1_000);

    expect(room.looked).toEqual(['q', 'r']);
    expect(room.seats).toEqual([]);
  });

  it('has one ask where there may be jobs, and the others when it was served', async () => {
    const [first, second, third] = await room.idlers(3);
    room.mayHaveJobs = true;
    await sleep(1_000);
    expect(room.seats).toEqual([1]);
    await room.say('a');
    expect(room.seats).toEqual([2]);
    await room.say('b', 'c');

    expect(await Promise.all([first, second, third])).toEqual([['a'], ['b'], ['c']]);
  });

  it('has those ask who have a name: the store hears who they are', async () => {
    await idler(room, 1, { worker: 'w' });
    await sleep(1_000);

    expect(room.looked).toEqual([]);
    expect(room.asked.map(({ request }) => request.worker)).toEqual(['w']);
  });

  it('that is under way is waited for by who ends, and by who comes: it may tell that the store is away', async () => {
    const [wait] = await room.idlers(1, { waitMs: 1_100 });
    let fail = (): void => undefined;
    room.answer = () => new Promise((_resolve, reject) => (fail = () => reject(new Error('away'))));
    await sleep(1_000);
    expect(room.looked).toEqual(['q']);
    const other = room.wait();
    expect(room.seats).toEqual([1]);
    await sleep(200);
    fail();

    await expect(wait).rejects.toThrow('away');
    room.asked.splice(0).forEach((question) => question.fail());
    await expect(other).rejects.toThrow('away');
  });

  it('that fails makes a wait that ends then fail', async () => {
    const [wait] = await room.idlers(1, { waitMs: 1_200 });
    room.isAway = true;

    await expect(wait).rejects.toThrow('away');
  });
});
