import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../../dist/cli/pumphouse.js', import.meta.url));

export interface CliResult {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The built command line, each call a process, with an environment and a folder for the login of its own. */
export class Cli {
  readonly configHome = mkdtempSync(join(tmpdir(), 'pumphouse-cli-'));
  private readonly running = new Set<ChildProcessWithoutNullStreams>();

  /** @param env beside `PATH` and `XDG_CONFIG_HOME`; may be changed */
  constructor(readonly env: Record<string, string> = {}) {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run \`npm run build\` first`);
  }

  get environment(): Record<string, string> {
    const { PATH = '' } = process.env;
    return { PATH, XDG_CONFIG_HOME: this.configHome, ...this.env };
  }

  /** Runs one command line to its end. */
  call(...args: string[]): Promise<CliResult> {
    return this.callWith('', ...args);
  }

  /** The same with a standard input. */
  async callWith(input: string | Buffer, ...args: string[]): Promise<CliResult> {
    const { child, ended } = this.start(...args);
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    return ended;
  }

  /** Starts one that goes on until it is ended by a signal. */
  start(...args: string[]): {
    readonly child: ChildProcessWithoutNullStreams;
    readonly ended: Promise<CliResult>;
    readonly output: () => { out: string; err: string };
  } {
    const child = spawn(process.execPath, [PROGRAM, ...args], { env: this.environment });
    this.running.add(child);
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const ended = new Promise<CliResult>((resolve) => {
      child.once('close', (code) => {
        this.running.delete(child);
        resolve({ code, out, err });
      });
    });
    return { child, ended, output: () => ({ out, err }) };
  }

  remove(): void {
    for (const child of this.running) child.kill('SIGKILL');
    rmSync(this.configHome, { recursive: true, force: true });
  }
}
