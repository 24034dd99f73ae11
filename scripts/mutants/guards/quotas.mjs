const QUOTAS = 'test/engine/quotas.spec.ts';
const BESIDE = 'limits of a namespace › quotas › quotas on bytes beside the body';
const KEPT = 'limits of a namespace › quotas › quotas on recurring jobs, workers and keys';
const HOSTILE = 'test/api/hostile-tenant.spec.ts';
const BYTES = 'test/engine/bytes.spec.ts';

/** @type {readonly import('../guards.mjs').Guard[]} */
export const QUOTA = [
  {
    id: 'progress-within-quota',
    name: 'quotas: a heartbeat leaves progress out beyond the quota on bytes',
    off: 'true',
    spec: QUOTAS,
    test: `${BESIDE} › drop progress beyond the quota, and extend the lease of the heartbeat`,
  },
  {
    id: 'result-within-quota',
    name: 'quotas: an ack leaves a result out beyond the quota on bytes',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › count a result, and drop a result beyond the quota`,
  },
  {
    id: 'message-within-quota',
    name: 'quotas: the message of a failure is cut beyond the quota on bytes',
    off: { with: 'options.message' },
    spec: HOSTILE,
    test: 'a hostile tenant with a quota of 10 KB › stores at most the bytes of docs/how-to/tenants.md by 150 calls with %s',
  },
  {
    id: 'settle-data-within-quota',
    name: 'quotas: new data of a lease holder is refused beyond the quota on bytes',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › refuse longer new data of a lease holder, and keep the lease`,
  },
  {
    id: 'extras-count-at-publish',
    name: 'quotas: what a new job has beside its body counts on the simple path',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › count attributes of jobs of both APIs`,
  },
  {
    id: 'backfill-counts-beside',
    name: 'quotas: a pass counts what stored jobs have beside their bodies',
    off: 'false',
    spec: BYTES,
    test: 'bytes counted for quotas › stored jobs › are counted with all stored parts, also if an earlier server counted only bodies',
  },
  {
    id: 'dependencies-count',
    name: 'quotas: dependencies count as bytes',
    off: 'false',
    spec: QUOTAS,
    test: `${BESIDE} › count dependencies, and refuse dependencies beyond the quota`,
  },
  {
    id: 'recurring-within-quota',
    name: 'quotas: a recurring job is refused beyond the quota on bytes',
    off: 'false',
    spec: QUOTAS,
    test: `${KEPT} › count recurring jobs as bytes, and refuse one beyond the quota`,
  },
  {
    id: 'removed-recurring-frees-bytes',
    name: 'quotas: a removed recurring job takes from the sum what it had added',
    off: 'remove',
    spec: QUOTAS,
    test: `${KEPT} › count recurring jobs as bytes, and refuse one beyond the quota`,
  },
  {
    id: 'sessions-within-quota',
    name: 'quotas: a worker session beyond the quota is refused',
    off: 'false',
    spec: QUOTAS,
    test: `${KEPT} › refuse a session beyond the quota on workers, and remove workers that are not alive`,
  },
  {
    id: 'workers-within-quota',
    name: 'quotas: names of workers beyond the quota are left out',
    off: 'true',
    spec: QUOTAS,
    test: `${KEPT} › omit names of workers beyond the quota`,
  },
  {
    id: 'keys-within-quota',
    name: 'quotas: a publish with an idempotency key beyond the quota is refused on the simple path',
    off: 'false',
    spec: QUOTAS,
    test: `${KEPT} › refuse idempotency keys beyond the quota until others have ended`,
  },
  {
    id: 'held-keys-within-quota',
    name: 'quotas: unique keys that are held for a time are refused beyond the quota',
    off: 'false',
    spec: QUOTAS,
    test: `${KEPT} › count unique keys that are held for a time`,
  },
  {
    id: 'queue-made-within-quota',
    name: 'quotas: settings make no queue beyond the quota on queues',
    off: 'false',
    spec: QUOTAS,
    test: `${KEPT} › refuse settings of a queue beyond the quota on queues`,
  },
  {
    id: 'traces-are-bounded',
    name: 'quotas: only the last tracked jobs that ended are remembered',
    off: 'remove',
    spec: QUOTAS,
    test: `${KEPT} › remember the last 10,000 tracked jobs that ended`,
  },
  ...[
    [
      'retried-cancelled-is-not-dead',
      'a job that is retried is cancelled, if that was requested',
      'true',
      'is cancelled with its dependents, as requested, though its worker retries it after %s',
    ],
    [
      'unseen-dependents-count',
      'a dependent may be behind many former ones',
      'false',
      'is not cancelled or deleted alone if another one may depend on it, behind many that did',
    ],
    [
      'replaced-job-frees-quota',
      'the job that a publish replaces makes room for it',
      'remove',
      'takes the place of another one in a full queue and namespace',
    ],
    [
      'republish-frees-quota',
      'the job that a republish replaces makes room for it',
      'remove',
      'takes the place of another one in a full queue and namespace',
    ],
    [
      'dependencies-count-once',
      'dependencies that go, or are named again, do not count',
      { with: '#more' },
      'counts the dependencies that it has, and not those that it had',
    ],
    [
      'debounced-blocked-job-leaves',
      'a job that is debounced and replaced leaves its index',
      'false',
      'leaves no trace if it is debounced and replaced in one call while it waits for another',
    ],
    [
      'put-keeps-its-window',
      'a PUT that is repeated has its own unique key',
      { with: 'nil' },
      'replaces itself under the same id and unique key, though the key is held for a time',
    ],
    [
      'retried-stand-in-is-named',
      'a publish that is sent again names the job that stands for its own',
      'false',
      'is named as before when its publish is sent again and another job stands for it',
    ],
  ].map(([id, name, off, test]) => ({
    id: String(id),
    name: `jobs: ${String(name)}`,
    off: /** @type {import('../guards.mjs').Guard['off']} */ (off),
    spec: 'test/engine/several-features.spec.ts',
    test: `a job › ${String(test)}`,
  })),
  {
    id: 'next-step-counts-its-own-dependencies',
    name: 'quotas: the dependencies of a step do not count in the next one',
    off: 'remove',
    spec: 'test/engine/several-features.spec.ts',
    test: 'a job › counts the dependencies that it has, and not those that it had',
  },
];
