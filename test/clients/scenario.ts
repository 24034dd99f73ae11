import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault, FaultyProxy } from '../../packages/client/test/faulty-proxy.js';
import type { TestApp } from '../support/app.js';
import { filledIn, match, type Names } from '../support/guide.js';

/** A list of steps, each of which is one of these. `<name>` stands for what an earlier step got in that place. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

type Step = {
  /** A call of the client, and what it returns, or the error that it fails with. */
  readonly do?: string;
  readonly with?: object;
  readonly fails?: object;
  /** The call takes so long, in milliseconds. */
  readonly takes_ms?: { readonly min?: number; readonly max?: number };
  /** A call to the server itself, `GET jobs/<job>`. A GET is repeated until its answer is that. */
  readonly api?: string;
  readonly body?: object;
  readonly status?: number;
  readonly gives?: object;
  /** What becomes of the next requests whose path ends so; of all of them, if it is no list. */
  readonly faults?: Readonly<Record<string, Fault | readonly Fault[]>>;
  /** Number of requests since the start whose path ends so. */
  readonly requests?: Readonly<Record<string, number | { readonly max: number }>>;
  /** Waits until a worker has reported this. */
  readonly event?: object;
  readonly pause_ms?: number;
  /** Waits until the worker leases nothing: from one of its heartbeats to the next no lease request was open. */
  readonly idle?: string;
  readonly signal?: NodeJS.Signals;
  /** Waits until the program has ended, with this exit code. */
  readonly exits?: number;
};

export interface Language {
  readonly name: string;
  /** The language of its worker sessions, if it has another name. */
  readonly session?: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What is between a client and its servers: a `FaultyProxy`, or what can be seen of another one. */
export interface Traffic {
  readonly url: string;
  rule: FaultyProxy['rule'];
  readonly seen: unknown[];
  of(pathEnd: string): readonly unknown[];
  readonly open: ReadonlyMap<string, { readonly now: number }>;
}

type Line = Record<string, unknown>;

const WITHIN_MS = 60_000;
/** A worker that has been told to be quiet ends its lease request within this time, on a slow machine too. */
const IDLE_WITHIN_MS = 30_000;

/** Programs of one language, one after the other, that play scenarios. */
export class Player {
  private child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  private lines: Line[] = [];
  private commands = 0;

  constructor(
    readonly language: Language,
    private readonly app: TestApp,
    private readonly proxy: Traffic,
  ) {}

  /** @throws {Error} a step does not go as it is written */
  async play({ name, steps }: Scenario): Promise<void> {
    const { language, proxy } = this;
    const queue = `${language.name}-${name.replaceAll(/[^A-Za-z0-9]+/g, '-')}`;
    const names: Names = new Map([
      ['queue', queue],
      ['other', `${queue}-2`],
      ['language', language.session ?? language.name],
    ]);
    proxy.rule = () => 'pass';
    proxy.seen.length = 0;
    this.lines = [];
    try {
      for (const [at, step] of steps.entries()) {
        await this.step(step, names).catch((cause: unknown) => {
          const text = cause instanceof Error ? cause.message : String(cause);
          const seen = this.lines.map((line) => JSON.stringify(line)).join('\n');
          throw new Error(`step ${String(at + 1)}: ${JSON.stringify(step)}\n${text}\n${seen}`, { cause });
        });
      }
    } finally {
      proxy.rule = () => 'pass';
      if (steps.some((step) => step.do === 'work') && this.isRunning) await this.command('stop', {});
    }
  }

  stop(): void {
    this.child?.kill('SIGKILL');
  }

  private get isRunning(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  private async step(step: Step, names: Names): Promise<void> {
    if (step.do !== undefined) await this.call(step, names);
    if (step.api !== undefined) await this.api(step, step.api, names);
    if (step.faults) this.setFaults(filled(step.faults, names));
    for (const [path, count] of Object.entries(filled(step.requests ?? {}, names))) {
      const seen = this.proxy.of(path).length;
      const isRight = typeof count === 'number' ? seen === count : seen <= count.max;
      if (!isRight) throw new Error(`there were ${String(seen)} requests ${path}`);
    }
    if (step.event) await this.event(filled(step.event, names));
    if (step.pause_ms !== undefined) await sleep(step.pause_ms);
    if (step.idle !== undefined) await this.idle(`${filledIn(step.idle, names)}/heartbeat`);
    if (step.signal) this.child?.kill(step.signal);
    if (step.exits !== undefined && this.child) {
      const isOver = !this.isRunning;
      const [code] = isOver ? [this.child.exitCode] : ((await once(this.child, 'exit')) as [number | null]);
      if (code !== step.exits) throw new Error(`the exit code is ${String(code)}`);
    }
  }

  private async call(step: Step, names: Names): Promise<void> {
    const begunMs = performance.now();
    const line = await this.command(step.do ?? '', filled(step.with ?? {}, names));
    const tookMs = performance.now() - begunMs;
    const expected = step.fails ? { error: step.fails } : { result: step.gives ?? {} };
    const differences = match(expected, line, names);
    const { min = 0, max = Infinity } = step.takes_ms ?? {};
    if (tookMs < min || tookMs > max) differences.push(`it took ${String(Math.round(tookMs))} ms`);
    if (differences.length > 0) throw new Error(differences.join('\n'));
  }

  private async api(step: Step, call: string, names: Names): Promise<void> {
    const [method = '', path = ''] = filledIn(call, names).split(' ');
    const body = step.body && { body: JSON.stringify(filled(step.body, names)) };
    const endMs = performance.now() + WITHIN_MS;
    for (;;) {
      const { status, json } = await this.app.call(method, `/v1/${this.app.namespace}/${path}`, body);
      const expected = { status: step.status ?? 200, json: step.gives };
      const differences = match({ status: expected.status }, { status }, names);
      if (differences.length === 0 && step.gives) differences.push(...match(step.gives, json, names));
      if (differences.length === 0) return;
      if (method !== 'GET' || performance.now() > endMs) throw new Error(differences.join('\n'));
      await sleep(20);
    }
  }

  private setFaults(faults: Readonly<Record<string, Fault | readonly Fault[]>>): void {
    const left = new Map(
      Object.entries(faults).map(([end, fault]) => [
        end,
        Array.isArray(fault) ? [...(fault as Fault[])] : fault,
      ]),
    );
    this.proxy.rule = ({ path }) => {
      const [end = ''] = path.split('?');
      const [, fault = 'pass'] = [...left].find(([of]) => end.endsWith(of)) ?? [];
      return Array.isArray(fault) ? ((fault as Fault[]).shift() ?? 'pass') : (fault as Fault);
    };
  }

  private event(shown: object): Promise<Line> {
    return this.line((line) => match(shown, line, new Map()).length === 0);
  }

  /** A worker that may lease has a request open, but for moments. */
  private async idle(heartbeat: string): Promise<void> {
    const { proxy } = this;
    const endMs = performance.now() + IDLE_WITHIN_MS;
    const now = (): number[] => [proxy.of('/leases').length, proxy.open.get('leases')?.now ?? 0];
    for (let isIdle = false; !isIdle;) {
      const [before, beats] = [now(), proxy.of(heartbeat).length];
      isIdle = before[1] === 0;
      while (isIdle && proxy.of(heartbeat).length < beats + 2) {
        await sleep(5);
        isIdle = now().join() === before.join() && performance.now() < endMs;
      }
      if (performance.now() > endMs) throw new Error('lease requests go on');
      await sleep(5);
    }
  }

  private async command(name: string, fields: object): Promise<Line> {
    if (!this.isRunning) this.start();
    const id = ++this.commands;
    this.child?.stdin.write(`${JSON.stringify({ id, do: name, with: fields })}\n`);
    return this.line((line) => line['id'] === id);
  }

  /** Waits for a line that the program prints, and takes it. */
  private async line(isIt: (line: Line) => boolean): Promise<Line> {
    const endMs = performance.now() + WITHIN_MS;
    for (;;) {
      const at = this.lines.findIndex(isIt);
      if (at >= 0) return this.lines.splice(at, 1)[0] ?? {};
      if (performance.now() > endMs) throw new Error('there is no such line');
      await sleep(5);
    }
  }

  private start(): void {
    const { argv, env } = this.language;
    const [program = '', ...args] = argv;
    const child = spawn(program, [...args, this.proxy.url, this.app.namespace, this.app.token], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    child.stdin.on('error', () => undefined); // It has ended: no line comes.
    createInterface({ input: child.stdout }).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    this.child = child;
  }
}

/** With names replaced, and `{"repeat": 2, "of": …}` by a list. */
function filled<T extends object>(value: T, names: Names): T {
  return JSON.parse(filledIn(JSON.stringify(value), names), (_, one: unknown) =>
    isRepeated(one) ? Array.from({ length: one.repeat }, () => one.of) : one,
  ) as T;
}

function isRepeated(value: unknown): value is { readonly repeat: number; readonly of: unknown } {
  return typeof value === 'object' && value !== null && 'repeat' in value;
}
