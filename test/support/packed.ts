import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { onPath } from '../../scripts/setup/run.mjs';
import { waitFor } from './redis.js';

export const ROOT = join(import.meta.dirname, '..', '..');
const exec = promisify(execFile);

/** Folders of the packages of this repository, by name. `npm test` has built all of them. */
export const PACKAGES = {
  pumphouse: ROOT,
  '@pumphouse/client': join(ROOT, 'packages', 'client'),
  '@pumphouse/engine': join(ROOT, 'packages', 'engine'),
} as const;
export type PackageName = keyof typeof PACKAGES;

/** Go takes no module and no newer Go from the network. */
export const GO_ENV = { GOPROXY: 'off', GOTOOLCHAIN: 'local' };

/** True if a program of another language can be run here; `npm test` installs them on Debian. */
export function hasProgram(name: string): boolean {
  return onPath(name) !== null;
}

/** The environment without the settings of the test run, and with those given. */
function envWith(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, NODE_OPTIONS: '', ...more };
}

/** Runs a program to its end. @returns what it printed @throws {Error} with all that it printed */
export async function run(
  program: string,
  argv: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  try {
    const options = { cwd, env: envWith(env), timeout: 300_000, maxBuffer: 16_777_216 };
    return (await exec(program, argv, options)).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${argv.join(' ')}\n${stdout}${stderr}`, { cause: error });
  }
}

/** A program that runs until it is told to stop. */
export class RunningProgram {
  private output = '';
  private readonly ended: Promise<[code: number | null]>;

  constructor(private readonly child: ChildProcessByStdio<null, Readable, Readable>) {
    this.ended = once(child, 'exit') as Promise<[number | null]>;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => (this.output += text.toString()));
    }
  }

  /** @throws {Error} it has ended, or does not print this in time; with what it printed */
  async until(isDone: (output: string) => boolean): Promise<void> {
    const isOver = (): boolean => isDone(this.output) || this.child.exitCode !== null;
    await waitFor(isOver, 20_000).catch(() => undefined);
    if (!isDone(this.output)) throw new Error(`it printed only: ${this.output}`);
  }

  /** All that it has printed so far. */
  get printed(): string {
    return this.output;
  }

  /** Sends SIGKILL, and waits for its end. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }

  /** Sends SIGTERM. @returns all that it printed, and its exit code */
  async stop(): Promise<{ output: string; code: number | null }> {
    this.child.kill('SIGTERM');
    const [code] = await this.ended;
    return { output: this.output, code };
  }
}

/** Packs a package as the registry would get it, once for all spec files. @returns the path of the tarball */
export async function pack(name: PackageName): Promise<string> {
  const folder = process.env['PUMPHOUSE_TEST_TARBALLS'] ?? '';
  const kept = join(folder, `${name.replace('@', '').replace('/', '-')}.tgz`);
  if (existsSync(kept)) return kept;
  const dir = mkdtempSync(join(folder, 'packing-'));
  const argv = ['pack', PACKAGES[name], '--pack-destination', dir, '--offline', '--ignore-scripts', '--json'];
  const [packed] = JSON.parse(await run('npm', argv, dir)) as { filename: string }[];
  // Another Jest worker may have packed it meanwhile: both tarballs are complete and equal.
  renameSync(join(dir, packed?.filename ?? ''), kept);
  return kept;
}

/** A project in a folder of its own, in which packages are installed as a stranger would. */
export class Project {
  readonly dir = mkdtempSync(join(tmpdir(), 'pumphouse-project-'));
  private readonly children: ChildProcess[] = [];

  /** Packs and installs packages of this repository; others come from npm's cache or from the registry. */
  async install(names: readonly PackageName[], others: readonly string[] = []): Promise<void> {
    this.write('package.json', JSON.stringify({ type: 'module', private: true }));
    const tarballs = await Promise.all(names.map(pack));
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error'];
    await run('npm', ['install', ...quiet, ...tarballs, ...others], this.dir);
  }

  /** Unpacks packages of this repository, and links `others` of its own `node_modules`: nothing else can be loaded. */
  async unpack(names: readonly PackageName[], others: readonly string[]): Promise<void> {
    this.write('package.json', JSON.stringify({ type: 'module', private: true }));
    for (const name of names) {
      const home = join(this.dir, 'node_modules', name);
      mkdirSync(home, { recursive: true });
      await run('tar', ['-xzf', await pack(name), '-C', home, '--strip-components=1'], this.dir);
    }
    for (const name of others) {
      const link = join(this.dir, 'node_modules', name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), link);
    }
  }

  /** Names of all installed packages, sorted. */
  installed(): string[] {
    const { packages } = JSON.parse(this.read('node_modules/.package-lock.json')) as {
      packages: Record<string, unknown>;
    };
    return [...new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')))].sort();
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.dir, file), text);
  }

  read(file: string): string {
    return readFileSync(join(this.dir, file), 'utf8');
  }

  files(folder: string): string[] {
    return readdirSync(join(this.dir, folder), { recursive: true, encoding: 'utf8' });
  }

  /** Compiles TypeScript with strict settings. @throws {Error} with the compiler's messages */
  async compile(...files: readonly string[]): Promise<void> {
    const compilerOptions = {
      ...{ target: 'ES2023', module: 'NodeNext', strict: true, types: ['node'] },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    };
    this.write('tsconfig.json', JSON.stringify({ compilerOptions, files }));
    await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.'], this.dir);
  }

  /** Runs a program of the project, and gives back what it printed. */
  node(...argv: readonly string[]): Promise<string> {
    return run(process.execPath, argv, this.dir);
  }

  /** Starts a program of the project; `remove` kills it if it still runs. */
  start(file: string, env: Readonly<Record<string, string>> = {}): RunningProgram {
    return this.startProgram([process.execPath, file], env);
  }

  /** The same for programs of other languages. */
  startProgram(
    [program = '', ...argv]: readonly string[],
    env: Readonly<Record<string, string>>,
  ): RunningProgram {
    const child = spawn(program, argv, {
      cwd: this.dir,
      env: envWith(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.children.push(child);
    return new RunningProgram(child);
  }

  remove(): void {
    for (const child of this.children) child.kill('SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** The code of a page in one language, block by block. */
export function codeIn(page: string, language: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code = '']) => code,
  );
}
