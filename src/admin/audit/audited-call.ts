import type { AuditEntry, AuditStore } from '../../auth/audit-store.js';
import { JsonText } from '../../contract/json/json-text.js';
import { QUOTA_NAMES } from '../../domain/job/quotas.js';
import type { Log } from '../../domain/log.js';

/** What is known of a call before it runs. */
export type CallFacts = Pick<AuditEntry, 'account' | 'action' | 'pool' | 'namespace' | 'target' | 'remote'>;

/** Fields of requests that are recorded. No other field is: it may be a secret, or data of a job. */
const RECORDED: ReadonlySet<string> = new Set([
  ...['filter', 'states', 'to_queue', 'dry_run', 'rate', 'ids', 'reason', 'queue', 'queues', 'type', 'tags'],
  ...['description', 'verbs', 'expires', 'grace', 'status', 'pool', 'force', 'max_running', 'value'],
  ...['read', 'write', 'interval', 'action', 'priority', 'delay_ms', 'note', ...QUOTA_NAMES],
  // Of queues.
  ...['max_running_per_key', 'rate_per_key', 'max_kept', 'index_tags', 'lease_grace_ms', 'expired', 'redact'],
  // Of jobs and operations.
  ...[
    'cascade',
    'grace_ms',
    'tries',
    'keep_tries',
    'ttl_ms',
    'due_at',
    'retry',
    'to',
    'rate_per_s',
    'undo_ms',
  ],
  ...['depends_on', 'on_missing_dependency', 'ttr_ms', 'max_run_ms', 'retention_ms'],
  // Of recurring jobs and push targets.
  ...['schedule', 'max_catch_up', 'catch_up_ms', 'overlap', 'paused', 'backlog'],
  ...['method', 'ack', 'timeout_ms', 'max_retry_after_ms', 'breaker', 'keep_old_ms'],
]);
/** Fields that have fields of their own, which are recorded if they are among `RECORDED`: the changes of an operation. */
const PARTS: ReadonlySet<string> = new Set(['set', 'defaults']);
/** Numbers of answers that are recorded: on how many objects the call has acted. Others describe an object. */
const COUNTED: ReadonlySet<string> = new Set([
  ...['jobs', 'queues', 'removed', 'ended', 'matched', 'done', 'failed'],
]);
/** Of a list no more than these are recorded, and of a text as many characters. */
const [MAX_ITEMS, MAX_TEXT] = [20, 200];
/** What is nested deeper is not recorded. No field of a call is, so it is refused anyway. */
const MAX_DEPTH = 5;

/**
 * A call in the audit log. Its entry is stored before the call runs, so that a server that dies in between leaves it,
 * and completed when it is answered. A store that fails stops no call: the log line has the entry then.
 */
export class AuditedCall {
  private readonly params: Record<string, unknown> = {};
  private counts: Record<string, number> = {};
  private member = '';

  constructor(
    private readonly store: Pick<AuditStore, 'begin' | 'complete'>,
    private readonly log: Log,
    private readonly facts: CallFacts,
  ) {}

  /** Records fields of the request. */
  recordRequest(fields: unknown): void {
    Object.assign(this.params, recordedIn(fields));
  }

  /** Records on how many objects it has acted. */
  recordAnswer(result: unknown): void {
    this.counts = countsIn(result);
  }

  /** Stores the entry. Does not fail. */
  async begin(): Promise<void> {
    await this.write(async () => (this.member = await this.store.begin(this.entry(null))), null);
  }

  /** Completes the entry. Does not fail. @param status of the answer; null: it was not sent */
  async end(status: number | null): Promise<void> {
    const { member } = this;
    const entry = this.entry(status);
    if (member !== '') await this.write(() => this.store.complete(member, entry), status);
  }

  private async write(store: () => Promise<unknown>, status: number | null): Promise<void> {
    try {
      await store();
    } catch (error) {
      this.log.warn({ audit: 'not_stored', err: error, entry: this.entry(status) }, 'audit');
    }
  }

  private entry(status: number | null): AuditEntry {
    const { params, counts } = this;
    return { ...this.facts, params, counts, status };
  }
}

function short(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (value instanceof JsonText) return value.text.slice(0, MAX_TEXT);
  if (typeof value !== 'object' || value === null) return value;
  // guard: audit-depth-is-bounded
  if (depth === MAX_DEPTH) return '...';
  const part = (inner: unknown): unknown => short(inner, depth + 1);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(part);
  const entries = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(entries.map(([name, inner]) => [name, part(inner)]));
}

/** Those fields of a request that are recorded. */
function recordedIn(fields: unknown): Record<string, unknown> {
  if (typeof fields !== 'object' || fields === null) return {};
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
      if (value === undefined) return [];
      if (PARTS.has(name)) return [[name, recordedIn(value)]];
      // guard: audit-has-no-secrets
      if (RECORDED.has(name)) return [[name, short(value)]];
      return [];
    }),
  );
}

/** The counts at the top of an answer, and one level below: by queue, or by state. */
function countsIn(result: unknown): Record<string, number> {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return {};
  const counted = Object.entries(result).filter(([name]) => COUNTED.has(name));
  const found = counted.flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'number' ? [[name, value] as const] : numbersIn(value, `${name}.`),
  );
  return Object.fromEntries(found.slice(0, MAX_ITEMS));
}

function numbersIn(value: unknown, prefix: string): (readonly [string, number])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'number' ? [[prefix + name, inner] as const] : [],
  );
}
