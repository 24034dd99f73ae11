import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/redis.js';
import { Journal, type JournalEntry, type ProgramSettings } from './worker-journal.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Of another version: `npm run test:full` names the folder of an earlier commit's build. */
const OTHER = process.env['PUMPHOUSE_OLD_BUILD'] ?? ROOT;
const LIBRARIES = { http: 'packages/client/dist/node.js', redis: 'dist/worker/index.js' };
const START_MS = 30_000;
/** Faults that have a length last for so many leases. */
const LEASES = 1.5;

export const FAULTS = ['killed', 'stopped', 'cut off', 'answers lost', 'drained', 'upgraded'] as const;
export type Fault = (typeof FAULTS)[number];

/** A fault of one process, with the time from its begin to its end, Unix ms. */
export interface FaultWindow {
  readonly fault: Fault;
  readonly fromMs: number;
  readonly toMs: number;
}

/** One process, from its start to its end. */
export class Member {
  readonly faults: FaultWindow[] = [];
  readonly ended: Promise<[number | null, NodeJS.Signals | null]>;

  constructor(
    readonly child: ChildProcess,
    readonly name: string,
    private readonly journal: Journal,
    /** Runs the other version. */
    readonly isOther: boolean,
  ) {
    this.ended = once(child, 'exit') as typeof this.ended;
  }

  get entries(): readonly JournalEntry[] {
    return this.journal.entries;
  }

  /** Handlers that run. */
  get busy(): number {
    const { entries } = this;
    const count = (...whats: string[]): number => entries.filter(({ what }) => whats.includes(what)).length;
    return count('begun') - count('ended', 'failed');
  }
}

interface Slot {
  readonly proxy: TcpProxy;
  member: Member;
  /** Runs the other version. */
  isOther: boolean;
}

export type FleetSettings = Omit<ProgramSettings, 'library' | 'url' | 'name' | 'journal'> & {
  /** Where the server is, or Redis. */
  readonly port: number;
  readonly dir: string;
};

/** Worker processes, each behind a proxy of its own, and what is done to them. */
export class WorkerFleet {
  /** All processes that there ever were. */
  readonly members: Member[] = [];
  private readonly slots: Slot[] = [];

  private constructor(private readonly settings: FleetSettings) {}

  static async start(settings: FleetSettings, size: number): Promise<WorkerFleet> {
    const fleet = new WorkerFleet(settings);
    await Promise.all(
      Array.from({ length: size }, async () => {
        const proxy = await TcpProxy.start(settings.port);
        fleet.slots.push({ proxy, member: await fleet.spawn(proxy, false), isOther: false });
      }),
    );
    return fleet;
  }

  /** Does it to the worker of a slot while it runs a handler. @returns when it is over, and a worker runs in its place */
  async inflict(fault: Fault, place: number): Promise<void> {
    const slot = this.slots[place % this.slots.length]!;
    const { member, proxy } = slot;
    await waitFor(() => member.busy > 0, START_MS);
    const fromMs = Date.now();
    const lengthMs = this.settings.ttrMs * LEASES;
    if (fault === 'killed') {
      member.child.kill('SIGKILL');
      await member.ended;
      slot.member = await this.spawn(proxy, slot.isOther);
    } else if (fault === 'stopped') {
      member.child.kill('SIGSTOP');
      await sleep(lengthMs);
      member.child.kill('SIGCONT');
    } else if (fault === 'cut off') {
      await proxy.down();
      await sleep(lengthMs);
      await proxy.up();
    } else if (fault === 'answers lost') {
      proxy.dropsReplies = true;
      await sleep(lengthMs);
      proxy.dropsReplies = false;
      proxy.cut();
    } else {
      if (fault === 'upgraded') slot.isOther = !slot.isOther;
      slot.member = await this.spawn(proxy, slot.isOther);
      await this.end(member);
    }
    member.faults.push({ fault, fromMs, toMs: Date.now() });
  }

  /** Drains all of them. */
  async stop(): Promise<void> {
    await Promise.all(this.slots.map(({ member }) => this.end(member)));
    await this.remove();
  }

  /** Ends what there is, whatever it does. */
  async remove(): Promise<void> {
    for (const { child } of this.members) child.kill('SIGKILL');
    await Promise.all(this.slots.splice(0).map(({ proxy }) => proxy.stop()));
  }

  private async end({ child, ended, name }: Member): Promise<void> {
    child.kill('SIGTERM');
    const [code, signal] = await ended;
    if (code !== 0) throw new Error(`${name} ended with ${String(code ?? signal)}`);
  }

  private async spawn({ url }: TcpProxy, isOther: boolean): Promise<Member> {
    const { mode, namespace, token, queue, ttrMs, dir } = this.settings;
    const name = `worker-${this.members.length}`;
    const journal = join(dir, `${name}.jsonl`);
    const own: ProgramSettings = {
      ...{ mode, namespace, token, queue, ttrMs },
      ...{ name, journal },
      library: join(isOther ? OTHER : ROOT, LIBRARIES[mode]),
      url: mode === 'http' ? url.replace('redis:', 'http:') : url,
    };
    const program = [
      join(ROOT, 'test/support/typescript-loader.mjs'),
      join(ROOT, 'test/faults/worker-program.ts'),
    ] as const;
    const child = spawn(process.execPath, ['--import', ...program, JSON.stringify(own)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const member = new Member(child, name, new Journal(journal), isOther);
    this.members.push(member);
    await waitFor(() => member.entries.some(({ what }) => what === 'running'), START_MS);
    return member;
  }
}
