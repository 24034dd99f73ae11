/** What a move to another Redis does with the records of a kind: src/engine/moving/record-mover.ts has a step for each. */
export type MoveRule =
  /** They belong to jobs and their queues, and leave the old Redis as its jobs end. */
  | 'drains'
  /** Servers make them again where they are needed; they expire, or are useless without the key that they are about. */
  | 'temporary'
  /** Copied with their Redis TTL. */
  | 'copied'
  /** Kept the same in both stores until the move has ended: both lease jobs by them. */
  | 'settings'
  | 'variables'
  | 'queue settings'
  | 'targets'
  /** Taken from the old store, each once. */
  | 'recurring jobs'
  | 'sessions'
  | 'statistics';

/** One kind of keys of a namespace. */
export interface RecordKind {
  /** The key without the namespace's `{ns}`, as docs/storage.md has it; `<…>` stands for a part that varies. */
  readonly form: string;
  readonly type: 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream';
  readonly move: MoveRule;
  /** True if it may be there though the namespace has no jobs and queues. A namespace that has only such keys is empty. */
  readonly outlivesJobs?: true;
}

/**
 * All kinds of keys that a namespace has. The purge of a namespace, the move of a pool and the tests' audits go by this
 * table: a key of a kind that is missing here fails the tests.
 */
export const RECORD_KINDS: readonly RecordKind[] = [
  { form: 'j<id>', type: 'string', move: 'drains' },
  { form: 'x<id>', type: 'hash', move: 'drains' },
  { form: 'n<id>', type: 'set', move: 'drains' },
  { form: 'f<id>', type: 'hash', move: 'drains' },
  { form: 'm<id>', type: 'set', move: 'drains' },
  { form: 'u<id>', type: 'set', move: 'drains' },
  { form: 'v<id>', type: 'set', move: 'drains' },
  { form: 'r<id>', type: 'set', move: 'drains' },
  { form: 'o<key>', type: 'string', move: 'copied', outlivesJobs: true },
  { form: 'R<id>', type: 'hash', move: 'recurring jobs' },
  { form: ':meta', type: 'hash', move: 'drains' },
  { form: ':queues', type: 'hash', move: 'drains' },
  { form: ':due', type: 'zset', move: 'drains' },
  { form: ':expiries', type: 'zset', move: 'drains' },
  { form: ':timers', type: 'zset', move: 'drains' },
  { form: ':expiring', type: 'zset', move: 'drains' },
  { form: ':keeping', type: 'zset', move: 'drains' },
  { form: ':ended', type: 'hash', move: 'drains' },
  { form: ':tags', type: 'zset', move: 'drains' },
  { form: ':groups', type: 'zset', move: 'drains' },
  { form: ':tracked', type: 'zset', move: 'drains' },
  { form: ':traces', type: 'zset', move: 'drains' },
  { form: ':endings', type: 'hash', move: 'drains' },
  { form: ':sending', type: 'hash', move: 'drains' },
  { form: ':operations', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':operating', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':O:<operation>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':undoable', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':V:<operation>', type: 'list', move: 'temporary', outlivesJobs: true },
  { form: ':U:<operation>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':recurring', type: 'zset', move: 'recurring jobs' },
  { form: ':cron', type: 'zset', move: 'recurring jobs' },
  { form: ':schedules', type: 'zset', move: 'recurring jobs' },
  { form: ':workers', type: 'zset', move: 'sessions' },
  { form: ':sessions', type: 'zset', move: 'sessions' },
  { form: ':settings', type: 'hash', move: 'settings', outlivesJobs: true },
  { form: ':variables', type: 'hash', move: 'variables', outlivesJobs: true },
  { form: ':targets', type: 'hash', move: 'targets', outlivesJobs: true },
  { form: ':target_changes', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':imported', type: 'set', move: 'copied', outlivesJobs: true },
  { form: ':waiting', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':requested', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':requesters', type: 'hash', move: 'temporary', outlivesJobs: true },
  // In the new Redis the history starts again.
  { form: ':changed', type: 'zset', move: 'temporary', outlivesJobs: true },
  { form: ':samples', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':a<slot>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':P<slot>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':H<slot>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':pace<n>', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':listening', type: 'string', move: 'temporary', outlivesJobs: true },
  { form: ':events', type: 'stream', move: 'temporary', outlivesJobs: true },
  { form: ':r<n>', type: 'list', move: 'drains' },
  { form: ':g<n>', type: 'set', move: 'drains' },
  { form: ':s<n>', type: 'zset', move: 'drains' },
  { form: ':l<n>', type: 'zset', move: 'drains' },
  { form: ':d<n>', type: 'zset', move: 'drains' },
  { form: ':f<n>:<slot>', type: 'list', move: 'drains' },
  { form: ':f<n>', type: 'zset', move: 'drains' },
  { form: ':i<n>', type: 'hash', move: 'drains' },
  { form: ':p<n>', type: 'zset', move: 'drains' },
  { form: ':D<n>', type: 'zset', move: 'drains' },
  { form: ':e<n>:<type>', type: 'zset', move: 'drains' },
  { form: ':Q<n>', type: 'zset', move: 'drains' },
  { form: ':q<n>', type: 'set', move: 'drains' },
  { form: ':q<n>-', type: 'zset', move: 'drains' },
  { form: ':q<n>:<type>', type: 'zset', move: 'drains' },
  { form: ':A<n>', type: 'zset', move: 'drains' },
  { form: ':Q<n>:<key>', type: 'zset', move: 'drains' },
  { form: ':S<n>', type: 'zset', move: 'drains' },
  { form: ':L<n>', type: 'zset', move: 'drains' },
  { form: ':b<n>', type: 'zset', move: 'drains' },
  { form: ':h<n>', type: 'zset', move: 'drains' },
  { form: ':z<n>', type: 'zset', move: 'drains' },
  { form: ':o<n>', type: 'hash', move: 'queue settings' },
  { form: ':c<n>:<digest>', type: 'zset', move: 'drains' },
  { form: ':w<n>:<digest>', type: 'zset', move: 'drains' },
  { form: ':T<n>:<digest>', type: 'string', move: 'temporary', outlivesJobs: true },
  { form: ':t<day>', type: 'hash', move: 'statistics', outlivesJobs: true },
  { form: ':t<day>:leaving', type: 'hash', move: 'statistics', outlivesJobs: true },
  { form: ':t:<tag>', type: 'zset', move: 'drains' },
  { form: ':y:<type>', type: 'zset', move: 'drains' },
  { form: ':F:<group>', type: 'zset', move: 'drains' },
  { form: ':w:<worker>', type: 'zset', move: 'drains' },
  { form: ':W:<worker>', type: 'hash', move: 'sessions' },
  // In the new Redis the count starts again.
  { form: ':keys', type: 'hash', move: 'temporary', outlivesJobs: true },
  { form: ':k<digest>', type: 'string', move: 'copied', outlivesJobs: true },
];

const NUMBERS: ReadonlySet<string> = new Set(['n', 'slot', 'day']);
const MATCHERS = RECORD_KINDS.map((kind) => ({ kind, matcher: matcherOf(kind.form) }));

/** The kind of a key, by what follows its `{ns}` (latin1 for binary keys); undefined if no kind has this form. */
export function kindOf(rest: string): RecordKind | undefined {
  return MATCHERS.find(({ matcher }) => matcher.test(rest))?.kind;
}

/** The kinds of which a namespace has one key each, by the name of that key without the colon. */
export function singleKeys(): string[] {
  return RECORD_KINDS.flatMap(({ form }) => (/^:\w+$/.test(form) ? [form.slice(1)] : []));
}

function matcherOf(form: string): RegExp {
  const parts = form
    .split(/<(\w+)>/)
    .map((part, i) => (i % 2 === 0 ? part : NUMBERS.has(part) ? '\\d+' : '.+'));
  return new RegExp(`^${parts.join('')}$`, 's');
}
