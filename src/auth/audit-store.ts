import { asciiJson } from '../contract/json/ascii-json.js';
import type { RedisPool } from '../redis/pool.js';
import { TokenKeys } from './token-keys.js';
import { auditRecord } from './token-scripts.js';

/** What an account has done, or tried to do. Nothing in it is a secret or data of a job. */
export interface AuditEntry {
  /** Null: the server has no accounts. */
  readonly account: string | null;
  /** The call, such as `POST /v1/:namespace/queues/:queue/pause`. */
  readonly action: string;
  readonly pool: string | null;
  readonly namespace: string | null;
  /** The other names in the path; of a token its first characters. */
  readonly target: Readonly<Record<string, string>>;
  /** What the call was told: a filter, the states of a purge, the description of a token. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Numbers of the answer, such as `respawned`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Of the answer; null: it was not sent, because the server or the client was gone. */
  readonly status: number | null;
  /** Address of the client. */
  readonly remote: string;
}

/** An entry as it is stored. */
export interface StoredEntry extends AuditEntry {
  /** Greater for a later entry. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Which entries are wanted. */
export interface AuditQuery {
  readonly matches: (entry: AuditEntry) => boolean;
  /** Only entries before this id; null = from the newest one. */
  readonly before: string | null;
  /** Unix ms. */
  readonly fromMs: number;
  readonly limit: number;
}

/** A page of entries, the newest first. */
export interface AuditPage {
  readonly entries: readonly StoredEntry[];
  /** `before` of the next page; null: there is none. */
  readonly next: string | null;
}

/** Entries that one command reads, and that one page looks at. */
const [STEP, MAX_READ] = [500, 10_000];
/** A longer entry loses what it was told. */
const MAX_ENTRY = 4_096;
const NOTHING_OLDER = '-inf';

/** How many entries are kept, and how long. */
export interface AuditBounds {
  readonly keepMs: number;
  readonly max: number;
}

/**
 * The audit log of the admin port, beside the tokens.
 *
 * @throws {QueueError} as `TokenStore`
 */
export class AuditStore {
  private readonly key: string;

  constructor(
    private readonly redis: RedisPool,
    private readonly bounds: AuditBounds,
  ) {
    this.key = new TokenKeys(redis.options.keyPrefix).audit;
  }

  /** Stores an entry. @returns what `complete` needs */
  async begin(entry: AuditEntry): Promise<string> {
    return this.write(entry, '');
  }

  /** Replaces an entry by one that has its outcome. @param member as `begin` has returned it */
  async complete(member: string, entry: AuditEntry): Promise<void> {
    await this.write(entry, member);
  }

  /** The newest entries that match. A page may have fewer than `limit`, although there is a next one. */
  async list({ matches, before, fromMs, limit }: AuditQuery): Promise<AuditPage> {
    const entries: StoredEntry[] = [];
    let cursor = before;
    const oldest = fromMs > 0 ? String(fromMs * 1_000) : NOTHING_OLDER;
    for (let read = 0; read < MAX_READ; read += STEP) {
      const members = await this.read(cursor, oldest);
      for (const member of members) {
        const entry = entryOf(member);
        cursor = entry.id;
        if (matches(entry)) entries.push(entry);
        if (entries.length === limit) return { entries, next: cursor };
      }
      if (members.length < STEP) return { entries, next: null };
    }
    return { entries, next: cursor };
  }

  private async read(before: string | null, oldest: string): Promise<string[]> {
    const newest = before === null ? '+inf' : `(${before}`;
    const found = await this.redis.read('ZREVRANGEBYSCORE', this.key, newest, oldest, 'LIMIT', 0, STEP);
    return Array.isArray(found) ? found.map(String) : [];
  }

  private async write(entry: AuditEntry, replaces: string): Promise<string> {
    const whole = asciiJson(entry);
    const text = whole.length <= MAX_ENTRY ? whole : asciiJson({ ...entry, params: {}, counts: {} });
    const args = { entry: text, replaces, keep_ms: this.bounds.keepMs, max: this.bounds.max };
    return this.redis.run(auditRecord, { audit: this.key }, args);
  }
}

function entryOf(member: string): StoredEntry {
  const blank = member.indexOf(' ');
  const id = member.slice(0, blank);
  const entry = JSON.parse(member.slice(blank + 1)) as AuditEntry;
  return { id, at: new Date(Math.floor(Number(id) / 1_000)).toISOString(), ...entry };
}
