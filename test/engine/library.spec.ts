import { execFile } from 'node:child_process';
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
import { randomNamespace, testRedisUrl } from '../support/redis.js';

const ROOT = join(import.meta.dirname, '..', '..');
const MODULES = join(ROOT, 'node_modules');
const exec = promisify(execFile);

/** What someone writes who uses the engine in a project of his own. */
const CONSUMER = `
import { QueueEngine, QueueError, RedisPool, silentObserver, type EngineObserver, type LeasedJob, type Log } from 'pumphouse/engine';

const [, , url = '', namespace = ''] = process.argv;
const quiet = (): void => undefined;
const log: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
let acked = 0;
const observer: EngineObserver = { ...silentObserver, acked: () => void acked++ };
const pool = await RedisPool.connect('mine', { url, allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000 }, log);
const engine = new QueueEngine(pool, { observer });
engine.start();
const waiting: Promise<LeasedJob[]> = engine.reserve(namespace, { queues: ['mail'], count: 1, ttrMs: 5_000, waitMs: 5_000 });
const id: string = await engine.publish(namespace, 'mail', { body: Buffer.from('hello'), delayMs: 20, ttlMs: 0, tries: 1 });
const [job] = await waiting;
if (job?.id !== id || job.body.toString() !== 'hello') throw new Error('another job came');
const refused = await engine.ack(namespace, 'mail', id, job.lease + 1).catch((error: unknown) => error);
if (!(refused instanceof QueueError) || refused.code !== 'lease_lost') throw new Error('a wrong lease was taken');
console.log(JSON.stringify({ removed: await engine.ack(namespace, 'mail', id, job.lease), acked }));
await engine.stop();
await pool.close();
`;

/** Packs the build as the registry would get it. `npm test` has made the build of the sources as they are. */
async function pack(dir: string): Promise<string> {
  await exec('npm', ['pack', ROOT, '--pack-destination', dir, '--offline', '--ignore-scripts', '--silent'], {
    cwd: dir,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const tarball = readdirSync(dir).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack has packed nothing');
  return join(dir, tarball);
}

/** A project with the packed pumphouse and its declared dependencies, and with nothing else. */
async function install(tarball: string, project: string): Promise<void> {
  const home = join(project, 'node_modules', 'pumphouse');
  mkdirSync(home, { recursive: true });
  await exec('tar', ['-xzf', tarball, '-C', home, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(MODULES, name), link);
  }
}

it('the packed library can be imported, has its types, and runs', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-pack-'));
  try {
    const project = join(dir, 'project');
    await install(await pack(dir), project);
    writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    writeFileSync(join(project, 'consumer.ts'), CONSUMER);
    const compilerOptions = {
      target: 'ES2023',
      module: 'NodeNext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      types: ['node'],
    };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['consumer.ts'] }),
    );
    const env = { ...process.env, NODE_OPTIONS: '' };
    const tsc = join(MODULES, 'typescript', 'bin', 'tsc');
    await exec(process.execPath, [tsc, '-p', project], { cwd: project, env }).catch((error: unknown) => {
      throw new Error((error as { stdout: string }).stdout);
    });

    const argv = [join(project, 'consumer.js'), testRedisUrl(), randomNamespace('lib')];
    const { stdout } = await exec(process.execPath, argv, { cwd: project, env, timeout: 20_000 });

    expect(JSON.parse(stdout)).toEqual({ removed: true, acked: 1 });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 120_000);
