import { EngineFixture } from './fixture.js';
import { LIMIT_MS, ScriptWatch } from './script-watch.js';

const KEYS = 400;
const types = Array.from({ length: 64 }, (_, i) => `t${String(i)}`);

describe('a fair queue that is leased by many types', () => {
  let watch: ScriptWatch;
  let f: EngineFixture;
  beforeAll(async () => {
    watch = await ScriptWatch.start();
  });
  afterAll(() => watch.stop());
  afterEach(() => f.close());

  const lease = () => f.lease('q', { count: 100, types });

  /** One job of each of many fair keys. */
  async function open(): Promise<void> {
    const nowMs = Date.now();
    f = await EngineFixture.open({ clock: () => nowMs }, { url: watch.url });
    await f.engine.queues.change(f.ns, 'q', { fair: true });
    await lease();
    for (let first = 0; first < KEYS; first += 50) {
      const jobs = Array.from({ length: 50 }, (_, i) => ({
        queue: 'q',
        body: Buffer.from('x'),
        fairKey: `k${String(first + i)}`,
        type: types[(first + i) % types.length]!,
      }));
      await f.engine.jobs.publish(f.ns, jobs);
    }
    await f.engine.pumpNow(f.ns);
  }

  it('takes so many lists of types for one job into account, and gives all jobs in the end', async () => {
    await open();
    const counts: number[] = [];
    for (let all = 0; all < KEYS; all += counts.at(-1)!) counts.push((await lease()).length);
    expect(Math.max(...counts)).toBeLessThan(100);
    expect(Math.min(...counts)).toBeGreaterThan(0);
  });

  it('holds Redis only briefly', async () => {
    await open();
    const prepare = async (): Promise<() => Promise<unknown>> => {
      await f.close();
      await open();
      // They share a script.
      return () => Promise.all([lease(), lease(), lease(), lease()]);
    };
    expect(await watch.slowest('to lease from many fair keys by many types', prepare)).toBeLessThan(
      2 * LIMIT_MS,
    );
  });
});
