import { encodeKeyedCalls } from '../../src/engine/publish/idempotency-records.js';
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { encodeId } from '../../src/engine/core/ids.js';
import type { Arg, Item, Script } from '../../src/redis/scripts/script.js';
import * as scripts from '../../src/redis/scripts/simple.js';
import * as targets from '../../src/redis/scripts/targets.js';

/** What stands in a namespace before its slot begins to move. */
export interface Seeded {
  readonly ns: string;
  /** The time for scripts, Unix ms. */
  readonly nowMs: number;
  readonly ready: readonly string[];
  readonly expired: readonly string[];
  readonly scheduled: readonly string[];
  /** In the lists of slots. */
  readonly far: readonly string[];
  readonly leased: readonly LeasedJob[];
  readonly dead: readonly string[];
  /** Of leases whose answers may not have left. */
  readonly record: string;
}

/** One call of a script, made anew for each try. */
export interface Call {
  readonly binding: Script<string, string, string, unknown>;
  readonly args: Readonly<Record<string, Arg>>;
  readonly items: readonly Item[];
}

/** A script, and the seeded jobs that it may take away. */
export interface Case {
  readonly name: string;
  readonly call: (seeded: Seeded) => Call;
  readonly mayTake: (seeded: Seeded) => readonly string[];
}

const nothing = (): readonly string[] => [];

function simple<K extends string, A extends string, I extends string, R>(
  binding: Script<K, A, I, R>,
  args: (seeded: Seeded) => Readonly<Record<string, Arg>>,
  items: (seeded: Seeded) => readonly Item[] = () => [],
  mayTake: Case['mayTake'] = nothing,
): Case {
  return {
    name: binding.label,
    call: (seeded) => ({
      binding,
      args: { clock_ms: String(seeded.nowMs), deadline_ms: 0, ...args(seeded) },
      items: items(seeded),
    }),
    mayTake,
  };
}

function bytes(id: string): Buffer {
  return encodeId(id) ?? Buffer.alloc(0);
}

function publishItem(queue: string, delayMs: number, minted = 0): Item {
  return [`${delayMs},36000000,2,${minted},${queue},{"a":"b"}`, bytes(ulid()), 'body'];
}

function extendedItem(queue: string): Item {
  return [`0,0,2,7,${queue},{"type":"t","tags":"[\\"a\\"]"}`, bytes(ulid()), 'body'];
}

/** A batch that is one call with an idempotency key. */
function keyedCall(size: number): Buffer {
  const record = { digest: randomBytes(16), fingerprint: randomBytes(16), isNative: true };
  return encodeKeyedCalls([{ items: new Array<Item>(size), detail: { record, ttlMs: 60_000 } }]);
}

const queue = (): { queue: string } => ({ queue: 'q' });
/** A push target that stands there, by the name `billing`. */
export const TARGET = JSON.stringify({ target: { url: 'http://a/', origins: [] }, sealed: '' });
export const CASES: readonly Case[] = [
  simple(
    scripts.publish,
    () => ({ replaces: '', quotas: '', keyed: '' }),
    () => [
      publishItem('q', 0),
      publishItem('q', 60_000),
      publishItem('q', 7_200_000, 1),
      publishItem('new', 0),
    ],
  ),
  {
    ...simple(
      scripts.publish,
      ({ ready }) => ({ replaces: bytes(ready[1] ?? ''), quotas: '', keyed: '' }),
      () => [publishItem('q', 0)],
      ({ ready }) => ready.slice(1, 2),
    ),
    name: 'republish',
  },
  {
    ...simple(
      scripts.publish,
      ({ ready }) => ({ replaces: bytes(ready[1] ?? ''), quotas: '9,99,9999,9,2', keyed: '' }),
      () => [publishItem('q', 0), publishItem('q', 0)],
      ({ ready }) => ready.slice(1, 2),
    ),
    name: 'republish under quotas',
  },
  {
    ...simple(
      scripts.publish,
      () => ({ replaces: '', quotas: '', keyed: keyedCall(2) }),
      () => [publishItem('q', 0, 1), publishItem('q', 60_000, 1)],
    ),
    name: 'publish with an idempotency key',
  },
  {
    ...simple(
      scripts.publish,
      () => ({ replaces: '', quotas: '', keyed: '' }),
      () => [extendedItem('q'), extendedItem('new')],
    ),
    name: 'publish of extended jobs',
  },
  simple(
    scripts.lease,
    () => ({ flag_ms: 600_000, max_bytes: 1_000_000, record: 'instance0' }),
    () => [['p,q', 2, 1, 60_000, '1']],
    ({ expired }) => expired,
  ),
  // A queue without some of its keys stops a script in any case; this one has all of them.
  {
    ...simple(
      scripts.lease,
      () => ({ flag_ms: 600_000, max_bytes: 1_000_000, record: 'instance0' }),
      () => [['q', 4, 4, 60_000, '1']],
      ({ expired }) => expired,
    ),
    name: 'lease from one queue',
  },
  simple(
    scripts.ack,
    () => ({}),
    ({ ready, scheduled, far, leased, dead }) =>
      [ready[2], scheduled[0], far[0], far[2], leased[0]?.id, dead[0]].map((id) => [
        '0,q',
        16,
        bytes(id ?? ''),
      ]),
    ({ ready, scheduled, far, leased, dead }) => [
      ...ready,
      ...scheduled,
      ...far,
      ...leased.map(({ id }) => id),
      ...dead,
    ],
  ),
  simple(
    scripts.undo,
    () => ({}),
    ({ leased }) => leased.map(({ id, lease }) => [bytes(id), lease]),
  ),
  simple(scripts.reclaimUndelivered, ({ record }) => ({ record, left_ms: 0 })),
  simple(scripts.pump, () => ({ limit: 100 })),
  simple(
    scripts.destroy,
    () => ({ ...queue(), limit: 100 }),
    undefined,
    ({ ready, expired }) => [...ready, ...expired],
  ),
  simple(scripts.respawn, () => ({ ...queue(), limit: 100, ttl_ms: 600_000 })),
  simple(
    scripts.deleteDead,
    () => ({ ...queue(), limit: 100 }),
    undefined,
    ({ dead }) => dead,
  ),
  simple(
    scripts.sweep,
    () => ({ number: 1, skip: 0, earliest_ms: 0, mark: '1' }),
    undefined,
    ({ expired }) => expired,
  ),
  simple(scripts.tidy, () => ({ cursor: '0', every_ms: 0, stalled_ms: 120_000 })),
  // The ready list, and far slots; zsets take the simplest of the three ways.
  ...['r', 'f'].map((kind) => ({
    ...simple(
      scripts.purge,
      () => ({ ...queue(), kind, limit: 100 }),
      undefined,
      ({ ready, expired, far }) => [...ready, ...expired, ...far],
    ),
    name: `purge of ${kind}`,
  })),
  simple(scripts.purgeQueue, () => ({ ...queue(), kinds: 'rpsSflLbhdz' })),
  simple(
    scripts.addStatistics,
    ({ nowMs }) => ({
      ...{ day: 20_000, source: 'someone', sequence: 1, default_days: 30_000, most: 9, since_ms: nowMs },
    }),
    () => [['q', ';;1;1']],
  ),
  simple(
    scripts.addActivity,
    ({ nowMs }) => ({ slot: 6_000_000, since_ms: nowMs, most: 9 }),
    () => [['q', '1,1,1,0,0', ',3:1', '']],
  ),
  simple(
    scripts.writeSamples,
    ({ nowMs }) => ({ since_ms: nowMs, most: 9 }),
    () => [['q', '', '1,1', 6_000_000, 'point', 80_000, 'point']],
  ),
  simple(scripts.changeSetting, () => ({ key: 'grace_ms', value: 1, expected: '*', history_days: 3 })),
  simple(scripts.changeVariable, () => ({ name: 'a', value: '1', most: 256, expected: '*' })),
  simple(targets.changeTarget, () => ({
    ...{ target: 'billing', expected: TARGET, value: '{}', most: 9, event: '', facts: '{}' },
  })),
  simple(targets.pushQueue, () => ({ ...queue(), target: 'billing', expected: '*', most: 9 })),
  simple(targets.changeBreaker, () => ({
    ...{ target: 'billing', origin: '', url: 'http://a/', action: 'open' },
    ...{ open_ms: 1, max_open_ms: 1, try_ms: 1, answered: '' },
  })),
  simple(targets.readTargets, () => ({ since: 0, most: 9 })),
  simple(scripts.register, () => ({ format: 1, now_ms: 0 })),
  simple(scripts.unregister, () => ({})),
  simple(scripts.peekQueue, () => ({ ...queue(), skip: 0 })),
  simple(scripts.peekJob, ({ ready }) => ({ ...queue(), id: bytes(ready[1] ?? '') })),
  simple(
    scripts.counts,
    () => ({}),
    () => [['q']],
  ),
  simple(scripts.deadHead, queue),
];

/** The scripts that write more than the namespace's own keys. */
export const WRITERS = CASES.filter(
  ({ name }) =>
    !/^(register|unregister|peek_queue|peek_job|counts|dead_head|purge_queue|tally|setting)$/.test(name),
);

function opposite(text: string): string {
  return text.replace(/./gs, (character) => String.fromCharCode(255 - character.charCodeAt(0)));
}

/** In which order the keys of the slot move: by what comes after the hash tag. */
export const ORDERS: Readonly<Record<string, (key: string) => string>> = {
  'the namespace first, its jobs last': (key) =>
    key.replace(/^.*}(:|)/, (_, colon: string) => (colon ? '0' : '1')),
  'the jobs first, the namespace last': (key) =>
    key.replace(/^.*}(:|)/, (_, colon: string) => (colon ? '1' : '0')),
  "its queues' keys first": (key) =>
    key.replace(/^.*}(:[rsldgif]\d)?/, (_, queue: string | undefined = '') => `${queue ? '0' : '1'}${queue}`),
  "its queues' keys first, backwards": (key) =>
    key.replace(/^.*}(:[rsldgif]\d)?/, (_, queue: string | undefined = '') =>
      queue ? `0${opposite(queue)}` : '1',
    ),
  'attributes first': (key) => key.replace(/^.*}(.)/, (_, kind: string) => (kind === 'x' ? '0' : '1')),
  'far slots last': (key) => (key.includes('}:f') ? '1' : '0'),
  'in a mixed order': (key) => key.split('').reverse().join(''),
  'in another mixed order': (key) =>
    String((Buffer.from(key).reduce((sum, byte) => sum * 31 + byte, 7) * 2_654_435_761) % 1_000),
};
