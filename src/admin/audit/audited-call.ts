import type { AuditEntry, AuditStore } from '../../auth/audit-store.js';
import type { Log } from '../../domain/log.js';

/** What is known of a call before it runs. */
export type CallFacts = Pick<AuditEntry, 'account' | 'action' | 'pool' | 'namespace' | 'target' | 'remote'>;

/** Fields of requests that are recorded. No other field is: it may be a secret, or data of a job. */
const RECORDED: ReadonlySet<string> = new Set([
  ...['filter', 'states', 'to_queue', 'dry_run', 'rate', 'ids', 'reason', 'queue', 'queues', 'type', 'tags'],
  ...['description', 'verbs', 'expires', 'grace', 'status', 'pool', 'force', 'max_running', 'value'],
  ...['read', 'write', 'interval', 'action', 'priority', 'delay_ms'],
]);
/** Of a list no more than these are recorded, and of a text as many characters. */
const [MAX_ITEMS, MAX_TEXT] = [20, 200];

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
    if (typeof fields !== 'object' || fields === null) return;
    for (const [name, value] of Object.entries(fields)) {
      // guard: audit-has-no-secrets
      if (RECORDED.has(name) && value !== undefined) this.params[name] = short(value);
    }
  }

  /** Records the numbers of the answer. */
  recordAnswer(result: unknown): void {
    this.counts = numbersIn(result);
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

function short(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(short);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([name, inner]) => [name, short(inner)]),
  );
}

/** Numbers at the top of an object, and one level below. */
function numbersIn(value: unknown, prefix = ''): Record<string, number> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  const found = Object.entries(value).flatMap(([name, inner]) => {
    if (typeof inner === 'number') return [[prefix + name, inner] as const];
    return prefix === '' ? Object.entries(numbersIn(inner, `${name}.`)) : [];
  });
  return Object.fromEntries(found.slice(0, MAX_ITEMS));
}
