import { codeIn, Project } from '../support/packed.js';
import { randomNamespace, testRedisUrl } from '../support/redis.js';

const JOBS = 50;
const LIMIT_MS = 600_000;

/** Publishes and works over Redis, once by the worker and once by the engine itself. */
const PROGRAM = `
import { PoolEngine, RedisPool, silentObserver, type EngineObserver, type LeasedJob, type Log } from '@pumphouse/engine';
import { connect, defineJob, PumphouseError, type EnginePumphouse, type Job } from '@pumphouse/engine/worker';
import { PumphouseError as SameError } from '@pumphouse/client';

const [, , url = '', namespace = ''] = process.argv;
const pumphouse: EnginePumphouse = await connect({ redis: url, namespace });
const mail = defineJob<{ n: number }, string>({ queue: 'mail', type: 'welcome', tries: 2 });
const ran: number[] = [];
const worker = pumphouse.worker({ queues: ['mail'], concurrency: 4 });
worker.handle(mail, ({ data, attempts }: Job<{ n: number }>) => {
  if (data.n === 0 && attempts === 1) throw new Error('once');
  ran.push(data.n);
  return 'sent';
});
const done = worker.run();
await pumphouse.publishAll(mail, Array.from({ length: ${String(JOBS)} }, (_, n) => ({ n })));
const waited = await pumphouse.publishAndWait(mail, { n: ${String(JOBS)} }, { waitMs: 10_000 });
while (ran.length <= ${String(JOBS)}) await new Promise((resolve) => setTimeout(resolve, 20));
const refused: unknown = await pumphouse.jobs.get('none').catch((error: unknown) => error);
await pumphouse.close();
await done;

const quiet = (): void => undefined;
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const observer: EngineObserver = silentObserver;
const pool = await RedisPool.connect('mine', { url, allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 }, log);
const engine = new PoolEngine(pool, { observer });
engine.start();
const id: string = await engine.publish(namespace, 'other', { body: Buffer.from('hello'), delayMs: 20, ttlMs: 0, tries: 1 });
const leased: LeasedJob[] = await engine.lease(namespace, { queues: ['other'], count: 1, ttrMs: 5_000, waitMs: 5_000 });
await engine.ack(namespace, 'other', id, leased[0]?.lease ?? 0);
await engine.stop();
await pool.close();

console.log(JSON.stringify({
  ran: ran.sort((a, b) => a - b),
  result: waited.state === 'done' ? waited.result : waited.state,
  isSame: PumphouseError === SameError && refused instanceof SameError,
  leased: leased.map(({ body }) => body.toString()),
}));
`;

describe('the package @pumphouse/engine', () => {
  const project = new Project();
  const namespace = randomNamespace('readme');
  beforeAll(async () => {
    await project.install(['@pumphouse/engine', '@pumphouse/client'], ['@types/node@20']);
    const [worker = '', engine = '', ...others] = codeIn('packages/engine/README.md', 'ts').map((code) =>
      code.replaceAll('redis://127.0.0.1:6379', testRedisUrl()).replaceAll("'demo'", `'${namespace}'`),
    );
    expect(others).toEqual([]);
    project.write('program.ts', PROGRAM);
    project.write('worker.ts', worker);
    project.write('engine.ts', `${engine}\nconsole.log(job?.body.toString());\n`);
    await project.compile('program.ts', 'worker.ts', 'engine.ts');
  }, LIMIT_MS);
  afterAll(() => project.remove());

  it('installs no Nest, no Fastify, and at most 14 packages', () => {
    const names = project.installed();
    expect(names).toEqual(
      expect.arrayContaining(['@pumphouse/client', '@pumphouse/engine', 'ioredis', 'ulid']),
    );
    const server = /nest|fastify|reflect-metadata|rxjs|class-validator|pino|prom-client|swagger|^pumphouse$/;
    expect(names.filter((name) => server.test(name))).toEqual([]);
    // A package more is one more for everybody who runs workers.
    expect(names.length).toBeLessThanOrEqual(14);
  });

  it('has the five folders of its exports, and neither sources nor source maps', () => {
    const files = project.files('node_modules/@pumphouse/engine');
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'lua/commands/simple/publish.lua']),
    );
    const folders = files.flatMap((file) => /^dist\/([\w-]+)$/.exec(file)?.[1] ?? []);
    expect(folders.sort()).toEqual(['contract', 'domain', 'engine', 'redis', 'worker']);
    const unwanted = /\.spec\.|\.map$|\.module\.|[^d]\.ts$|luacheckrc/;
    expect(files.filter((file) => unwanted.test(file))).toEqual([]);
    const code = files.filter((file) => file.endsWith('.js'));
    const mapped = code.filter((file) =>
      project.read(`node_modules/@pumphouse/engine/${file}`).includes('sourceMappingURL'),
    );
    expect([code.length > 50, mapped]).toEqual([true, []]);
  });

  it(
    'publishes, leases and runs jobs over Redis, and has types',
    async () => {
      const output = await project.node('program.js', testRedisUrl(), randomNamespace('package'));

      expect(JSON.parse(output)).toEqual({
        ran: Array.from({ length: JOBS + 1 }, (_, n) => n),
        result: 'sent',
        isSame: true,
        leased: ['hello'],
      });
    },
    LIMIT_MS,
  );

  it(
    'runs the two programs of its README',
    async () => {
      const worker = project.start('worker.js');
      await worker.until((output) => output.includes('mail to'));
      expect(await worker.stop()).toEqual({ output: 'mail to ada@example.com\n', code: 0 });
      expect(await project.node('engine.js')).toBe('hello\n');
    },
    LIMIT_MS,
  );
});
