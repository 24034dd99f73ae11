import { codeIn, Project } from '../support/packed.js';
import { randomNamespace, testRedisUrl, waitFor } from '../support/redis.js';

const JOBS = 200;
const LIMIT_MS = 600_000;

/** What a user of the engine writes in a project of their own. */
const ENGINE = `
import { PoolEngine, QueueError, RedisPool, silentObserver, type EngineObserver, type LeasedJob, type Log } from 'pumphouse/engine';

const [, , url = '', namespace = ''] = process.argv;
const quiet = (): void => undefined;
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let acked = 0;
const observer: EngineObserver = { ...silentObserver, acked: () => void acked++ };
const pool = await RedisPool.connect('mine', { url, allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 }, log);
const engine = new PoolEngine(pool, { observer });
engine.start();
const waiting: Promise<LeasedJob[]> = engine.lease(namespace, { queues: ['mail'], count: 1, ttrMs: 5_000, waitMs: 5_000 });
const id: string = await engine.publish(namespace, 'mail', { body: Buffer.from('hello'), delayMs: 20, ttlMs: 0, tries: 1 });
const [job] = await waiting;
if (job?.id !== id || job.body.toString() !== 'hello') throw new Error('another job came');
const refused = await engine.ack(namespace, 'mail', id, job.lease + 1).catch((error: unknown) => error);
if (!(refused instanceof QueueError) || refused.code !== 'lease_lost') throw new Error('a wrong lease was taken');
console.log(JSON.stringify({ removed: await engine.ack(namespace, 'mail', id, job.lease), acked }));
await engine.stop();
await pool.close();
`;

/** Two of these share a queue; the first one fills it. */
const WORKER = `
import { connect, defineJob, type EnginePumphouse, type JobDetails } from 'pumphouse/worker';

const [, , url = '', namespace = '', role = ''] = process.argv;
const pumphouse: EnginePumphouse = await connect({ redis: url, namespace });
const job = defineJob({ queue: 'mail', type: 'welcome' });
if (role === 'first') await pumphouse.publishAll(job, Array.from({ length: ${String(JOBS)} }, (_, n) => n));
const ran: unknown[] = [];
const worker = pumphouse.worker({ queues: ['mail'], concurrency: 4 });
worker.handle(job, async ({ data }) => {
  ran.push(data);
  await new Promise((resolve) => setTimeout(resolve, 20));
});
void worker.run();
const isLeft = async (): Promise<boolean> => (await pumphouse.jobs.list({ queue: 'mail', limit: 1 })).items.length > 0;
if (role === 'second') while (ran.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
while (await isLeft()) await new Promise((resolve) => setTimeout(resolve, 50));
const gone: JobDetails | null = await pumphouse.jobs.get('none').catch(() => null);
await pumphouse.close();
console.log(JSON.stringify({ ran, gone }));
`;

/** Each import path that a release has had. The types of one package are those of the other. */
const PATHS = `
import * as engine from 'pumphouse/engine';
import * as worker from 'pumphouse/worker';
import * as sameEngine from '@pumphouse/engine';
import * as sameWorker from '@pumphouse/engine/worker';

export const jobs = ({ jobs }: worker.EnginePumphouse): Pick<sameWorker.EngineJobs, keyof sameWorker.EngineJobs> => jobs;
export const answer: Awaited<ReturnType<worker.EngineJobs['get']>> | undefined = undefined as
  Awaited<ReturnType<sameWorker.EngineJobs['get']>> | undefined;
export const newJob: engine.NewJob | undefined = undefined as sameEngine.NewJob | undefined;
const [first, ...others] = [[engine, worker], [sameEngine, sameWorker]].map((both) => both.map((one) => Object.keys(one).sort()));
console.log(JSON.stringify({ first, others }));
`;

describe('the packed packages pumphouse and @pumphouse/engine', () => {
  const project = new Project();
  afterAll(() => project.remove());

  it(
    'have the same exports at each import path, with types',
    async () => {
      const links = ['croner', 'ioredis', 'ulid', '@types/node'];
      await project.unpack(['pumphouse', '@pumphouse/engine', '@pumphouse/client'], links);
      project.write('paths.ts', PATHS);
      await project.compile('paths.ts');
      const { first, others } = JSON.parse(await project.node('paths.js')) as {
        first: string[][];
        others: string[][][];
      };
      expect(others).toEqual([first]);
      expect(first).toEqual([
        expect.arrayContaining(['PoolEngine', 'QueueError', 'RedisPool']),
        expect.arrayContaining(['connect', 'defineJob', 'EngineDriver', 'EnginePumphouse', 'Worker']),
      ]);
    },
    LIMIT_MS,
  );
});

describe('the packed library in a project without the server', () => {
  const project = new Project();
  beforeAll(async () => {
    // What is not linked cannot be loaded.
    await project.unpack(['pumphouse', '@pumphouse/client'], ['croner', 'ioredis', 'ulid', '@types/node']);
    project.write('engine.ts', ENGINE);
    project.write('worker.ts', WORKER);
    await project.compile('engine.ts', 'worker.ts');
  }, LIMIT_MS);
  afterAll(() => project.remove());

  it('publishes, leases and acknowledges by its engine, and has types', async () => {
    const output = await project.node('engine.js', testRedisUrl(), randomNamespace('lib'));
    expect(JSON.parse(output)).toEqual({ removed: true, acked: 1 });
  });

  it('runs each of 200 jobs once in two workers that share a queue', async () => {
    const namespace = randomNamespace('lib');
    const play = async (role: string): Promise<{ ran: number[]; gone: null }> =>
      JSON.parse(await project.node('worker.js', testRedisUrl(), namespace, role)) as {
        ran: number[];
        gone: null;
      };
    const [first, second] = await Promise.all([play('first'), play('second')]);
    const ran = [...first.ran, ...second.ran].sort((a, b) => a - b);
    expect(ran).toEqual(Array.from({ length: JOBS }, (_, n) => n));
    expect(first.ran.length).toBeGreaterThan(0);
    expect(second.ran.length).toBeGreaterThan(0);
  });

  it('runs docs/how-to/from-worqr.md: all ten jobs are done although one of two processes is killed', async () => {
    const [code = ''] = codeIn('docs/how-to/from-worqr.md', 'mjs');
    project.write('process.mjs', code.replace("'demo'", `'${randomNamespace('two')}'`));
    const env = { REDIS: testRedisUrl() };
    const [killed, other] = [project.start('process.mjs', env), project.start('process.mjs', env)];
    await Promise.all([killed, other].map((one) => one.until((output) => output.includes('done'))));
    await killed.kill();
    // The job that the killed process had, too.
    const done = (): Set<string> => new Set((killed.printed + other.printed).match(/\d+: page \d/g));
    await waitFor(() => done().size === 10, 20_000);
    expect((await other.stop()).code).toBe(0);
  });
});
