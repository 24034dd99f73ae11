import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Janitor } from '../../src/engine/janitor.js';
import { silentObserver } from '../../src/engine/observer.js';
import { ScriptRunner } from '../../src/engine/script-runner.js';
import { WaitingRoom } from '../../src/engine/waiting-room.js';
import { unavailable } from '../../src/redis/errors.js';
import { EngineFixture } from './fixture.js';

const ignore = (): void => undefined;
/** Any queue may have jobs. */
const all = (_namespace: string, queues: readonly string[]): Promise<number[]> =>
  Promise.resolve(queues.map((_queue, i) => i));
const question = { queues: ['q'], count: 1, ttrMs: 60_000 };

describe('a wait', () => {
  it('ends when its timer runs out, a moment early, while it is asking', async () => {
    const answers: (() => void)[] = [];
    const ask = (): Promise<void> => new Promise((resolve) => answers.push(resolve));
    const room = new WaitingRoom(ask, all, () => true, ignore, ignore);
    const clock = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    // The first of the line is the one that looks again for all of them.
    void room.wait('ns', { ...question, waitMs: 60_000 });
    const ended = room.wait('ns', { ...question, waitMs: 50 });
    clock.mockReturnValue(1_049.5);
    await sleep(100);
    for (const answer of answers.splice(0)) answer();

    expect(await Promise.race([ended, sleep(200, 'goes on')])).toEqual([]);
    clock.mockRestore();
    room.close();
  });

  it('ends in time though a wake-up comes with each of its questions', async () => {
    const ask = async (): Promise<void> => {
      await sleep(5);
      room.wake('ns', 'q');
    };
    const room: WaitingRoom = new WaitingRoom(ask, all, () => true, ignore, ignore);

    const ended = room.wait('ns', { ...question, waitMs: 100 });
    expect(await Promise.race([ended, sleep(600, 'goes on')])).toEqual([]);
    room.close();
  });
});

describe('waits on many queues', () => {
  it('leave no flags behind while others wait on', async () => {
    const f = await EngineFixture.withClock();
    const { waiting } = f.pool.keys.namespace(f.ns);
    const queues = Array.from({ length: 200 }, (_, i) => `reply-${i}`);
    await f.reserve('', { queues, waitMs: 1 });
    expect(await f.pool.read('HLEN', waiting)).toBe(200);

    f.nowMs += 6_000;
    for (let i = 0; i < 400; i++) await f.reserve('busy', { waitMs: 1 });
    expect(await f.pool.read('HLEN', waiting)).toBeLessThan(40);
    await f.close();
  });

  it('ask in scripts that stay short', async () => {
    const batches: number[] = [];
    const script = (_name: string, items: number): void => void batches.push(items);
    const f = await EngineFixture.open({ observer: { ...silentObserver, script } });
    const queues = Array.from({ length: 400 }, (_, i) => `q${i}`);
    // Equal ones would be asked as one.
    const turned = (n: number): string[] => [...queues.slice(n), ...queues.slice(0, n)];
    await Promise.all(Array.from({ length: 8 }, (_, n) => f.reserve('', { queues: turned(n) })));

    expect(batches).toEqual([2, 2, 2, 2]);
    await f.close();
  });
});

describe('a namespace that was registered a moment ago', () => {
  it('keeps its marker until its first job is there, whatever janitors come by', async () => {
    const f = await EngineFixture.open();
    const runner = new ScriptRunner(f.pool, silentObserver, undefined);
    const janitor = new Janitor(f.pool, runner, silentObserver);
    await runner.register(f.ns);
    await janitor.tidyNow(f.ns, 15_000);
    expect(await f.pool.read('EXISTS', f.pool.keys.namespace(f.ns).meta)).toBe(1);

    await janitor.tidyNow(f.ns);
    expect(await f.keys()).toEqual([]);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
    await f.close();
  });
});

describe('a namespace that comes back in the moment in which it is forgotten', () => {
  it('is on the list again, though the connection goes meanwhile', async () => {
    const f = await EngineFixture.open();
    const runner = new ScriptRunner(f.pool, silentObserver, undefined);
    const janitor = new Janitor(f.pool, runner, silentObserver);
    await runner.register(f.ns);
    const read = f.pool.read.bind(f.pool);
    const reading = jest.spyOn(f.pool, 'read').mockImplementation(async (command, ...rest) => {
      if (command === 'SREM') {
        await f.publish('q');
        await read(command, ...rest);
      } else if (command !== 'EXISTS') return read(command, ...rest);
      else reading.mockRestore();
      throw unavailable('default');
    });

    await janitor.tidyNow(f.ns).catch(ignore);
    expect(await f.engine.namespaces()).toContain(f.ns);
    await f.close();
  });
});

describe('attributes that their owner changes and uses again', () => {
  it('are kept as they were when each job was published', async () => {
    const f = await EngineFixture.open();
    const attributes: Record<string, string> = { n: '1' };
    await f.publish('q', { attributes });
    attributes['n'] = '2';
    await f.publish('q', { attributes });

    const jobs = await f.reserve('q', { count: 2 });
    expect(jobs.map((job) => job.attributes)).toEqual([{ n: '1' }, { n: '2' }]);
    await f.close();
  });
});
