import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const SOURCE = join(import.meta.dirname, 'stepped-clock.c');

/** A wall clock for processes that are started with `env`: off from this machine's by what `step` was told last. */
export class SteppedClock {
  private constructor(private readonly dir: string) {}

  /**
   * Compiles what stands between a program and its clock.
   *
   * @returns null where that cannot be done: there is no C compiler `cc`, or the system is not Linux
   */
  static async create(): Promise<SteppedClock | null> {
    const clock = new SteppedClock(mkdtempSync(join(tmpdir(), 'pumphouse-clock-')));
    const compile = promisify(execFile)('cc', ['-shared', '-fPIC', '-o', clock.library, SOURCE]);
    const isThere = await compile.then(
      () => process.platform === 'linux',
      () => false,
    );
    if (isThere) clock.step(0);
    else clock.remove();
    return isThere ? clock : null;
  }

  get env(): Record<string, string> {
    return { LD_PRELOAD: this.library, CLOCK_OFFSET_FILE: join(this.dir, 'offset') };
  }

  step(seconds: number): void {
    writeFileSync(join(this.dir, 'offset'), `${seconds}\n`);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }

  private get library(): string {
    return join(this.dir, 'stepped-clock.so');
  }
}
