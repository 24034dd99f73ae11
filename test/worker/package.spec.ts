import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { randomNamespace, testRedisUrl, waitFor } from '../support/redis.js';

const ROOT = join(import.meta.dirname, '..', '..');
const MODULES = join(ROOT, 'node_modules');
const exec = promisify(execFile);
const JOBS = 200;

/** Two of these share a queue; the first one fills it. */
const CONSUMER = `
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

/** Unpacks a package as the registry would get it. `npm test` has made the builds. */
async function install(source: string, name: string, project: string): Promise<void> {
  const dir = mkdtempSync(join(project, 'tarball-'));
  const argv = ['pack', source, '--pack-destination', dir, '--offline', '--ignore-scripts', '--silent'];
  await exec('npm', argv, { cwd: dir, env: { ...process.env, NODE_OPTIONS: '' } });
  const home = join(project, 'node_modules', name);
  mkdirSync(home, { recursive: true });
  const [tarball = ''] = readdirSync(dir);
  await exec('tar', ['-xzf', join(dir, tarball), '-C', home, '--strip-components=1']);
}

function link(name: string, project: string): void {
  const path = join(project, 'node_modules', name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(MODULES, name), path);
}

/** The example of docs/how-to/from-worqr.md: two processes, one of which is killed while it works. */
async function playTwoProcesses(project: string, env: NodeJS.ProcessEnv): Promise<void> {
  const page = readFileSync(join(ROOT, 'docs/how-to/from-worqr.md'), 'utf8');
  const [, code = ''] = /^```mjs\n(.*?)^```$/ms.exec(page) ?? [];
  writeFileSync(join(project, 'process.mjs'), code.replace("'demo'", `'${randomNamespace('two')}'`));
  const children = [0, 1].map(() =>
    spawn(process.execPath, ['process.mjs'], {
      ...{ cwd: project, env: { ...env, REDIS: testRedisUrl() }, stdio: ['ignore', 'pipe', 'inherit'] },
    }),
  );
  try {
    const output = ['', ''];
    children.forEach(({ stdout }, i) => {
      stdout.on('data', (text: Buffer) => (output[i] = `${output[i] ?? ''}${String(text)}`));
    });
    await waitFor(() => output.every((text) => text.includes('done')), 10_000);
    children[0]!.kill('SIGKILL');
    // The job that the killed process had, too.
    const done = (): Set<string> => new Set(output.join('').match(/\d+: page \d/g));
    await waitFor(() => done().size === 10, 20_000);
    const exit = once(children[1]!, 'exit');
    children[1]!.kill('SIGTERM');
    expect((await exit)[0]).toBe(0);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

it('both packages, packed, run two workers without a server, and without Nest', async () => {
  const project = mkdtempSync(join(tmpdir(), 'pumphouse-worker-'));
  try {
    await install(ROOT, 'pumphouse', project);
    await install(join(ROOT, 'packages', 'client'), '@pumphouse/client', project);
    // What is not linked cannot be loaded: Nest, Fastify and the rest of the server.
    for (const name of ['croner', 'ioredis', 'ulid', '@types/node']) link(name, project);
    writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    writeFileSync(join(project, 'consumer.ts'), CONSUMER);
    const compilerOptions = { target: 'ES2023', module: 'NodeNext', strict: true, types: ['node'] };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
    );
    const env = { ...process.env, NODE_OPTIONS: '' };
    const tsc = join(MODULES, 'typescript', 'bin', 'tsc');
    await exec(process.execPath, [tsc, '-p', project], { cwd: project, env }).catch((error: unknown) => {
      throw new Error((error as { stdout: string }).stdout);
    });

    const namespace = randomNamespace('lib');
    const run = async (role: string): Promise<{ ran: number[]; gone: null }> => {
      const argv = [join(project, 'consumer.js'), testRedisUrl(), namespace, role];
      const { stdout } = await exec(process.execPath, argv, { cwd: project, env, timeout: 30_000 });
      return JSON.parse(stdout) as { ran: number[]; gone: null };
    };
    const [first, second] = await Promise.all([run('first'), run('second')]);

    expect([...first.ran, ...second.ran].sort((a, b) => a - b)).toEqual(
      Array.from({ length: JOBS }, (_, n) => n),
    );
    await playTwoProcesses(project, env);
    expect(first.ran.length).toBeGreaterThan(0);
    expect(second.ran.length).toBeGreaterThan(0);
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}, 120_000);
