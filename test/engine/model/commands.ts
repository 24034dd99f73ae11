import fc, { type AsyncCommand } from 'fast-check';
import type { RetryPolicy, UniqueKey } from '../../../src/domain/job/extended-job.js';
import type { JobState } from '../../../src/domain/job/states.js';
import type { JobChange } from '../../../src/engine/jobs/job-updater.js';
import type { Action } from '../../../src/contract/operations.js';
import type { ModelOperation, OperationWish } from './operation.js';
import type { LeaseOperation } from './lease-operations.js';
import { type Pair, QUEUES } from './pair.js';
import type { NewJob } from './publishing.js';
import type { Space } from './space.js';

export type Command = AsyncCommand<Space, Pair>;

/** An operation that prints as what it is, so that a counterexample can be read. */
function command<T>(
  name: string,
  args: fc.Arbitrary<T>,
  act: (pair: Pair, args: T) => Promise<unknown>,
  isPossible: (space: Space) => boolean = () => true,
): fc.Arbitrary<Command> {
  return args.map((given) => ({
    check: isPossible,
    run: async (_space, pair) => {
      pair.steps++;
      await act(pair, given);
    },
    toString: () => `\n  ${name} ${fc.stringify(given)}`,
  }));
}

const hasJobs = ({ jobs }: Space): boolean => jobs.size > 0;
const pick = fc.nat({ max: 1_000 });
const queue = fc.constantFrom(...QUEUES);
const priority = fc.constantFrom(0, 0, 0, -1, 3);
const delayMs = fc.constantFrom(0, 0, 300, 1_500);
const body = fc.constantFrom('x', 'y', 'z');
const tags = fc.constantFrom([], ['t'], ['t', 'u']);
const group = fc.constantFrom('g', 'h');

const policy = fc.constantFrom<RetryPolicy>(
  { kind: 'fixed', delayMs: 0 },
  { kind: 'fixed', delayMs: 0 },
  { kind: 'none' },
  { kind: 'fixed', delayMs: 700, nonRetryable: ['h'] },
  { kind: 'linear', delayMs: 300, maxMs: 250 },
  { kind: 'exponential', delayMs: 100, factor: 3, maxMs: 250 },
  { kind: 'list', delaysMs: [0, 1_000] },
);
const unique = fc.record<UniqueKey>({
  key: fc.constantFrom('k', 'l'),
  mode: fc.constantFrom('reject', 'existing', 'replace', 'debounce', 'debounce'),
  windowMs: fc.constantFrom(0, 0, 2_000),
});

/** A dependency by its place among the ids that there have been; resolved when the command runs. */
const dependsOn = fc.array(pick, { minLength: 1, maxLength: 2 });
type Planned = Omit<NewJob, 'dependsOn'> & { readonly dependsOn?: readonly number[] };
const complete = fc.record({
  queue,
  body,
  tags,
  priority,
  delayMs,
  ttlMs: fc.constantFrom(0, 0, 0, 0, 1_200, 4_000),
  tries: fc.integer({ min: 1, max: 3 }),
  retentionMs: fc.constantFrom(0, 0, 2_500),
  retry: policy,
});
type Job = Omit<NewJob, 'dependsOn'>;
/** Shorter than most leases, or longer. */
const maxRun = fc.constantFrom<Pick<Job, 'maxRunMs'>>({}, {}, {}, { maxRunMs: 600 }, { maxRunMs: 1_600 });
/** Mostly with all options; else with those alone that no queue has a default for. */
const usual: fc.Arbitrary<Job> = fc
  .tuple(complete, maxRun, fc.nat({ max: 5 }))
  .map(([job, run, n]): Job =>
    n > 0 ? { ...job, ...run } : { queue: job.queue, body: job.body, tags: job.tags, delayMs: job.delayMs },
  );
const special = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('m', 'n') }) },
  { weight: 3, arbitrary: fc.record({ concurrencyKey: fc.constantFrom('c', 'c', 'd') }) },
  { weight: 2, arbitrary: fc.record({ unique }) },
  {
    weight: 4,
    arbitrary: fc.record({
      dependsOn,
      onDependencyFailure: fc.constantFrom(
        'block' as const,
        'ignore' as const,
        'fail' as const,
        'cancel' as const,
      ),
    }),
  },
);
/** A few chosen ids that come back again and again, in every state, with every option. */
const named = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ id: fc.constantFrom('c1', 'c2') }) },
);
const planned: fc.Arbitrary<Planned> = fc
  .tuple(usual, special, named)
  .map(([one, other, name]) => ({ ...one, ...other, ...name }));

/** Mostly the newest ones, be they gone. */
function idsOf(pair: Pair, picks: readonly number[]): string[] {
  return [
    ...new Set(
      picks.flatMap((one) => pair.ids.at(-1 - (one % Math.max(Math.min(pair.ids.length, 8), 1))) ?? []),
    ),
  ];
}

function jobOf(pair: Pair, one: number): string {
  return [...pair.space.jobs.keys()].at(-1 - (one % pair.space.jobs.size)) ?? '';
}

function resolve(pair: Pair, { dependsOn: picks = [], ...job }: Planned): NewJob {
  // A job that names itself is refused before the store is asked.
  return { ...job, dependsOn: idsOf(pair, picks).filter((id) => id !== job.id) };
}

const publish = command('publish', planned, (pair, job) => pair.publish([resolve(pair, job)]));
const put = command('put', fc.tuple(usual, special, fc.constantFrom('c1', 'c2')), (pair, [job, other, id]) =>
  pair.put({ ...resolve(pair, { ...job, ...other, id }), id }),
);
const revoke = command('revoke', pick, (pair, one) => pair.revoke(jobOf(pair, one)), hasJobs);
const publishMany = command(
  'publish many',
  fc.tuple(queue, fc.array(usual, { minLength: 2, maxLength: 3 })),
  (pair, [name, jobs]) => pair.publish(jobs.map((job) => ({ ...job, queue: name }))),
);
const publishSimple = command('publish plain', fc.tuple(usual, named), (pair, [job, name]) =>
  pair.publishSimple({ ...job, ...name }),
);

const publishNative = command('publish native', fc.tuple(usual, named), (pair, [job, name]) =>
  pair.publishNative({ ...job, ...name }),
);

/** Few keys and few requests, so that both come again. */
const publishKeyed = command(
  'publish keyed',
  fc.record({
    api: fc.constantFrom('native' as const, 'lmstfy' as const),
    key: fc.constantFrom('once', 'twice'),
    job: fc.record({ queue, body: fc.constantFrom('x', 'x', 'y'), delayMs: fc.constantFrom(0, 0, 300) }),
  }),
  (pair, { api, key, job }) => pair.publishKeyed(api, key, job),
);

const lease = command(
  'lease',
  fc.record({
    isUndelivered: fc.nat({ max: 3 }).map((n) => n === 0),
    queues: fc.shuffledSubarray([...QUEUES], { minLength: 1 }),
    count: fc.integer({ min: 1, max: 4 }),
    ttrMs: fc.integer({ min: 500, max: 3_000 }),
    worker: fc.constantFrom('', 'w'),
    types: fc.option(fc.shuffledSubarray(['m', 'n', null], { minLength: 1 }), { freq: 2 }),
  }),
  (pair, { types, ...request }) => pair.lease({ ...request, ...(types === null ? {} : { types }) }),
);

const operation: fc.Arbitrary<LeaseOperation> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<LeaseOperation>({ verb: 'ack' }, { verb: 'ack', keepMs: 3_000 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(0, 0, 800).map<LeaseOperation>((ms) => ({ verb: 'release', delayMs: ms })),
  },
  { weight: 3, arbitrary: group.map<LeaseOperation>((name) => ({ verb: 'retry', group: name })) },
  { weight: 1, arbitrary: fc.constant<LeaseOperation>({ verb: 'retry', group: 'g', delayMs: 400 }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<LeaseOperation>(
      { verb: 'ack', keepMs: 3_000, text: 'acked' },
      { verb: 'ack', text: 'acked' },
      { verb: 'retry', group: 'g', text: 'retried' },
      { verb: 'fail', group: 'g', text: 'failed' },
      { verb: 'heartbeat', ttrMs: 900, text: 'going on' },
    ),
  },
  { weight: 3, arbitrary: group.map<LeaseOperation>((name) => ({ verb: 'fail', group: name })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<LeaseOperation>(
      { verb: 'heartbeat', ttrMs: 600 },
      { verb: 'heartbeat', ttrMs: 2_000 },
      { verb: 'heartbeat', ttrMs: 2_000, begin: true },
      { verb: 'heartbeat', ttrMs: 2_000, begin: true, maxRunMs: 300 },
      { verb: 'heartbeat', ttrMs: 2_000, begin: true, maxRunMs: 1_200 },
    ),
  },
);
/** Some of those that have nothing to say any more stay, to be stale. */
function forget(pair: Pair, one: number, { verb }: { readonly verb: string }): void {
  if (verb !== 'heartbeat' && one % 4 > 0) pair.leases.splice(pair.leases.indexOf(leaseOf(pair, one)!), 1);
}
function leaseOf(pair: Pair, one: number): { id: string; lease: number } | undefined {
  return pair.leases.at(-1 - (one % Math.max(Math.min(pair.leases.length, 6), 1)));
}
const settle = command(
  'say',
  fc.record({ pick, operation: operation, isWrong: fc.nat({ max: 9 }).map((n) => n === 0) }),
  async (pair, given) => {
    const known = leaseOf(pair, given.pick);
    if (!known) return;
    forget(pair, given.pick, given.operation);
    await pair.settle({ id: known.id, lease: known.lease + (given.isWrong ? 1 : 0) }, given.operation);
  },
);
const move = command(
  'move',
  fc.record({ pick, queue, delayMs, dependsOn, text: fc.constantFrom({}, {}, { text: 'moved' }) }),
  async (pair, { pick: one, text, ...next }) => {
    const known = leaseOf(pair, one);
    if (known)
      await pair.settle(known, {
        verb: 'move',
        next: { ...next, dependsOn: idsOf(pair, next.dependsOn) },
        ...text,
      });
  },
);
const acknowledge = command(
  'acknowledge',
  fc.record({ pick, queue }),
  (pair, { pick: one, queue: name }) => pair.acknowledge(name, jobOf(pair, one)),
  hasJobs,
);

const cancel = command(
  'cancel',
  fc.record({ pick, cascade: fc.boolean(), graceMs: fc.constantFrom(0, 500, 1_000) }),
  (pair, { pick: one, cascade, graceMs }) => pair.cancel(jobOf(pair, one), cascade, graceMs),
  hasJobs,
);

const cancelMany = command(
  'cancel many',
  fc.record({
    picks: fc.array(pick, { minLength: 1, maxLength: 6 }),
    cascade: fc.constantFrom(false, false, false, true),
    graceMs: fc.constantFrom(0, 0, 500, 1_000),
  }),
  // Some of them are gone; in the order of the picks.
  (pair, { picks, cascade, graceMs }) => pair.cancelMany(idsOf(pair, picks), cascade, graceMs),
  hasJobs,
);

const remove = command(
  'delete',
  fc.record({ pick, force: fc.boolean(), withDependents: fc.boolean() }),
  (pair, { pick: one, ...request }) => pair.remove(jobOf(pair, one), request),
  hasJobs,
);

type Wish = Omit<JobChange, 'data' | 'dependsOn' | 'moreDependencies' | 'lessDependencies'> & {
  readonly text?: string;
  readonly only?: readonly number[];
  readonly more?: readonly number[];
  readonly less?: readonly number[];
};
const wish: fc.Arbitrary<Wish> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ priority }) },
  { weight: 2, arbitrary: fc.record({ delayMs }) },
  { weight: 2, arbitrary: fc.record({ queue }) },
  { weight: 1, arbitrary: fc.record({ ttlMs: fc.constantFrom(0, 900) }) },
  { weight: 1, arbitrary: fc.record({ tags, text: body }) },
  {
    weight: 3,
    arbitrary: fc.record(
      { tries: fc.integer({ min: 1, max: 4 }), type: fc.constantFrom('m', 'n'), retry: policy },
      { requiredKeys: [] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ more: dependsOn }) },
  { weight: 1, arbitrary: fc.record({ less: dependsOn }) },
  { weight: 1, arbitrary: fc.record({ only: dependsOn }) },
  {
    weight: 2,
    arbitrary: fc.record({ priority, delayMs, queue, text: body, more: dependsOn }, { requiredKeys: [] }),
  },
);
const change = command(
  'change',
  fc.record({ pick, wish }),
  async (pair, { pick: one, wish: { text, only, more, less, ...rest } }) => {
    const id = jobOf(pair, one);
    // Who names the job itself is told so before anything is asked of the store.
    const others = (picks: readonly number[]): string[] => idsOf(pair, picks).filter((other) => other !== id);
    await pair.change(id, {
      ...rest,
      ...(text !== undefined && { data: { body: Buffer.from(text) } }),
      ...(only && { dependsOn: others(only) }),
      ...(more && { moreDependencies: others(more) }),
      ...(less && { lessDependencies: others(less) }),
    });
  },
  hasJobs,
);

const most = fc.constantFrom(null, 1, 2);
const control = command(
  'control',
  fc.record({
    queue,
    settings: fc.record(
      {
        maxRunning: most,
        maxRunningPerKey: most,
        maxKept: most,
        leaseGraceMs: fc.constantFrom(null, 0, 250, 900),
        expired: fc.constantFrom('back' as const, 'front' as const, null),
        indexTags: fc.constantFrom(false, true, null),
        defaults: fc.oneof(
          fc.constant(null),
          fc.record(
            {
              ttlMs: fc.constantFrom(0, 2_000),
              tries: fc.integer({ min: 1, max: 3 }),
              priority: fc.constantFrom(0, 3),
              retentionMs: fc.constantFrom(0, 2_500),
              retry: policy,
              maxRunMs: fc.constantFrom(700, 5_000),
            },
            { requiredKeys: [] },
          ),
        ),
      },
      { requiredKeys: [] },
    ),
  }),
  (pair, { queue: name, settings }) => pair.control(name, settings),
);
const order = command(
  'order',
  fc.tuple(queue, fc.constantFrom('pause' as const, 'drain' as const, 'resume' as const, 'resume' as const)),
  (pair, [name, verb]) => pair.order(name, verb),
);
const states = fc.uniqueArray(
  fc.constantFrom<JobState>('ready', 'scheduled', 'leased', 'dead', 'blocked', 'held', 'done', 'cancelled'),
  { minLength: 1, maxLength: 2 },
);
const purge = command('purge', fc.tuple(queue, states), (pair, [name, some]) => pair.purge(name, some));

const filter = fc.record({ queue, group }, { requiredKeys: [] });
const respawn = command(
  'respawn',
  fc.tuple(
    filter,
    fc.record(
      {
        ttlMs: fc.constantFrom(0, 0, 1_500),
        tries: fc.constantFrom('reset' as const, 'keep' as const, 2),
        queue,
      },
      { requiredKeys: ['ttlMs', 'tries'] },
    ),
  ),
  (pair, [which, options]) => pair.respawn(which, options),
);
const bury = command('delete dead', filter, (pair, which) => pair.bury(which));

const pass = command('pass', fc.integer({ min: 1, max: 1_200 }), (pair, ms) => pair.pass(ms));

const acting = fc.constantFrom<Action>('cancel', 'delete', 'respawn', 'retry', 'move', 'patch');
/** The states that each action acts on, if they are named. */
const ACTED_ON: Readonly<Record<Action, readonly JobState[]>> = {
  cancel: ['ready', 'scheduled', 'blocked', 'held', 'leased', 'dead'],
  delete: ['ready', 'scheduled', 'blocked', 'held', 'dead', 'done', 'cancelled'],
  respawn: ['dead'],
  retry: ['scheduled', 'dead'],
  move: ['ready', 'scheduled', 'blocked', 'held', 'dead'],
  patch: ['ready', 'scheduled', 'blocked', 'held'],
};
const patch = fc.oneof(
  fc.record({ priority }),
  fc.record({ delayMs }),
  fc.record({ ttlMs: fc.constantFrom(0, 900) }),
  fc.record({ tags, data: body.map((text) => ({ body: Buffer.from(text) })) }),
  fc.record(
    { tries: fc.integer({ min: 1, max: 4 }), type: fc.constantFrom('m', 'n'), retry: policy },
    { requiredKeys: [] },
  ),
);
const operate = command(
  'operate',
  fc
    .record({
      action: acting,
      filter: fc.record(
        { queue, tag: fc.constantFrom('t', 'u'), type: fc.constantFrom('m', 'n'), group },
        { requiredKeys: [] },
      ),
      // Half of them name no filter but states.
      isNarrow: fc.boolean(),
      states: fc.constantFrom(0, 0, 127, 1, 2, 5, 24, 33, 48, 96),
      dryRun: fc.nat({ max: 7 }).map((n) => n === 0),
      ratePerS: fc.constantFrom(undefined, undefined, 10, 40),
      cascade: fc.boolean(),
      graceMs: fc.constantFrom(0, 500),
      to: queue,
      change: patch,
      respawn: fc.record({
        ttlMs: fc.constantFrom(0, 0, 1_500),
        tries: fc.constantFrom('reset' as const, 'keep' as const, 2),
      }),
    })
    .map(({ isNarrow, states: picked, filter: narrow, ratePerS, ...rest }): OperationWish => {
      const state = ACTED_ON[rest.action].filter((_, i) => ((picked >> i) & 1) === 1);
      return {
        ...rest,
        filter: { ...(isNarrow ? narrow : {}), ...(state.length > 0 ? { state } : {}) },
        ...(ratePerS === undefined ? {} : { ratePerS }),
      };
    }),
  (pair, given) => pair.operate(given),
);
const running = ({ operations }: Space): ModelOperation[] =>
  operations.filter(({ state }) => state === 'running');
const isOperating = (space: Space): boolean => running(space).length > 0;
const doSteps = command(
  'do steps',
  fc.record({ pick, ms: fc.constantFrom(0, 0, 100, 300) }),
  async (pair, { pick: one, ms }) => {
    if (ms > 0) await pair.pass(ms);
    const all = running(pair.space);
    await pair.doSteps(all[one % all.length]!);
  },
  isOperating,
);
const stopOperation = command(
  'stop',
  pick,
  (pair, one) => pair.stopOperation(pair.space.operations.at(-1 - (one % pair.space.operations.length))!),
  ({ operations }) => operations.length > 0,
);

/** What may happen in a namespace. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  fc.oneof(
    { weight: 10, arbitrary: publish },
    { weight: 1, arbitrary: publishMany },
    { weight: 3, arbitrary: put },
    { weight: 2, arbitrary: revoke },
    { weight: 2, arbitrary: publishSimple },
    { weight: 2, arbitrary: publishNative },
    { weight: 3, arbitrary: publishKeyed },
    { weight: 10, arbitrary: lease },
    { weight: 11, arbitrary: settle },
    { weight: 2, arbitrary: move },
    { weight: 1, arbitrary: acknowledge },
    { weight: 3, arbitrary: cancel },
    { weight: 3, arbitrary: cancelMany },
    { weight: 3, arbitrary: remove },
    { weight: 8, arbitrary: change },
    { weight: 2, arbitrary: control },
    { weight: 1, arbitrary: order },
    { weight: 2, arbitrary: purge },
    { weight: 2, arbitrary: respawn },
    { weight: 1, arbitrary: bury },
    { weight: 5, arbitrary: operate },
    { weight: 9, arbitrary: doSteps },
    { weight: 1, arbitrary: stopOperation },
    { weight: 5, arbitrary: pass },
  ),
];
