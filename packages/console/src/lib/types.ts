/* Answers of the server, as far as the console uses them. Later servers may add fields. */

export const STATES = [
  'ready',
  'scheduled',
  'leased',
  'held',
  'blocked',
  'dead',
  'done',
  'cancelled',
] as const;
export type State = (typeof STATES)[number];

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

export interface Rate {
  readonly rate: number;
  readonly period_ms: number;
  readonly burst?: number;
}

/** A pause of some jobs of a queue: one of the first three fields says of which. */
export interface JobsPause {
  readonly type?: string | null;
  readonly fair_key?: string;
  readonly concurrency_key?: string;
  readonly paused_at: string;
  readonly paused_by: string | null;
  readonly note: string | null;
  readonly ends_at: string | null;
}

export interface Queue {
  readonly queue: string;
  readonly exists: boolean;
  readonly length: number;
  readonly work: number;
  readonly workers: number;
  readonly counts: Readonly<Record<State | 'stuck' | 'stalled' | 'recurring', number>>;
  readonly paused_at: string | null;
  readonly draining_at: string | null;
  readonly max_running: number | null;
  readonly max_running_per_key: number | null;
  readonly rate: Rate | null;
  readonly rate_per_key: Rate | null;
  readonly defaults: Readonly<Record<string, unknown>> | null;
  readonly max_kept: number | null;
  readonly index_tags: boolean | null;
  readonly lease_grace_ms: number | null;
  readonly expired: 'back' | 'front' | null;
  /** Servers of earlier versions have no such settings. */
  readonly fair?: boolean | Readonly<Record<string, unknown>>;
  readonly pauses?: readonly JobsPause[];
  readonly order?: 'strict' | null;
  readonly on_dead?: 'continue' | 'block';
  readonly redact?: readonly string[] | null;
  readonly push: { readonly target: string } | null;
  /** Only of a single queue, from its first lease by type on. */
  readonly types?: readonly QueueType[];
}

/** The fair keys of a queue with the most ready jobs. */
export interface FairKeys {
  readonly keys: readonly {
    readonly key: string;
    readonly ready: number;
    readonly oldest_published_at: string | null;
  }[];
  /** False: there are more keys than the server counts. */
  readonly complete: boolean;
}

/** Ready jobs of a type. */
export interface QueueType {
  readonly type: string | null;
  readonly ready: number;
  readonly first_ready_at: string | null;
  readonly last_request_at: string | null;
}

export interface Failure {
  readonly group: string;
  /** Null: withheld from the role. */
  readonly message: string | null;
  readonly at: string;
  readonly worker: string | null;
}

export interface ListedJob {
  readonly id: string;
  readonly queue: string;
  readonly state: State;
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly attributes: Readonly<Record<string, string>> | null;
  readonly priority: number;
  readonly tries: number;
  readonly tries_left: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly failures: number;
  readonly published_at: string | null;
  readonly due_at: string | null;
  readonly ended_at: string | null;
  readonly expires_at: string | null;
  readonly lease_ends_at: string | null;
  readonly leased_by: string | null;
  readonly failure: Failure | null;
  readonly tracked: boolean;
}

export interface Step {
  readonly what: string;
  readonly at: string;
  readonly [field: string]: unknown;
}

export interface Job extends ListedJob {
  readonly content_type: string;
  readonly data_base64?: string;
  readonly cancel_requested: boolean;
  readonly depends_on: readonly string[];
  readonly failed_dependencies: Readonly<Record<string, string>>;
  readonly dependents: readonly string[];
  readonly on_dependency_failure: string;
  readonly unique_key: string | null;
  readonly concurrency_key: string | null;
  /** Servers of earlier versions have none. */
  readonly fair_key?: string | null;
  readonly spawned_from: string | null;
  readonly ttr_ms: number | null;
  readonly max_run_ms: number | null;
  readonly retention_ms: number | null;
  readonly lease_grace_ms: number | null;
  readonly result: {
    readonly content_type: string;
    readonly data_base64?: string;
    readonly redacted?: readonly string[];
  } | null;
  readonly timeline: readonly Step[];
  /** Fields that the role does not see, and those of which it does not see some values. */
  readonly withheld?: readonly string[];
  readonly redacted?: readonly string[];
}

export interface Remedy {
  readonly about: string;
  readonly call: string;
  readonly command: string | null;
}

export interface Explanation {
  readonly cause: string;
  readonly message: string;
  readonly facts: unknown;
  readonly since: string | null;
  readonly next_at: string | null;
  readonly remedies: readonly Remedy[];
  readonly also: readonly { readonly cause: string; readonly message: string }[];
}

export interface Bin {
  readonly from_ms: number;
  readonly to_ms: number | null;
  readonly count: number;
}

export interface Durations {
  readonly count: number;
  readonly mean_ms: number;
  readonly histogram: readonly Bin[];
}

export interface Stats {
  readonly day: string;
  readonly waits: Durations;
  readonly runs: Durations;
  readonly failures: number;
  readonly retries: number;
  readonly still_dead: number | null;
}

export interface Worker {
  readonly name: string;
  readonly seen_at: string;
  readonly leased: number;
  readonly stalled: number;
  readonly display_name: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly version: string | null;
  readonly language: string | null;
  readonly queues: readonly string[] | null;
  readonly concurrency: number | null;
  readonly jobs_at_hand: number | null;
  readonly started_at: string | null;
  readonly heartbeat_at: string | null;
  readonly quiet: boolean;
  readonly stop: boolean;
  readonly lost: boolean;
}

export interface Recurring {
  readonly id: string;
  readonly schedule: Readonly<{
    every_ms?: number;
    first_at?: string;
    cron?: string;
    tz?: string;
    jitter_ms?: number;
    start_at?: string;
    end_at?: string;
  }>;
  readonly job: Readonly<{ queue: string; type?: string }>;
  readonly paused: boolean;
  readonly note: string | null;
  readonly overlap: string;
  readonly made: number;
  readonly skipped: number;
  readonly last_skip: { readonly at: string; readonly reason: string } | null;
  readonly next_at: string | null;
  readonly last_at: string | null;
}

export interface Slot {
  readonly at: string;
  readonly local: string | null;
  readonly moved: boolean;
}

export interface Breaker {
  readonly state: 'closed' | 'open' | 'half_open' | 'off';
  readonly open_until: string | null;
  readonly openings: number;
}

export interface Target {
  readonly name: string;
  readonly url: string;
  readonly method: string;
  readonly timeout_ms: number;
  readonly queues: readonly string[];
  readonly breaker: Breaker;
  readonly origin_breakers: readonly (Breaker & { readonly origin: string })[];
  readonly paused_at: string | null;
  readonly pause_reason: 'operator' | 'gone' | null;
}

export interface TargetTest {
  readonly status: number | null;
  readonly problem: string | null;
  readonly message: string | null;
  readonly took_ms: number;
  readonly body: string;
  readonly action: string;
}

/** Dead jobs with the same group of their failure. Servers of earlier versions answer its name and `jobs` only. */
export interface FailureGroup {
  readonly name: string;
  readonly jobs: number;
  readonly first_at?: string;
  readonly last_at?: string;
  readonly sample?: { readonly id: string; readonly queue: string; readonly message: string | null } | null;
  /** Deaths in each hour of the last day, the current one last. */
  readonly trend?: readonly number[];
}

export interface RedisFacts {
  readonly version: string | null;
  readonly mode: string | null;
  readonly role: string | null;
  readonly used_memory: number | null;
  readonly maxmemory: number | null;
  readonly maxmemory_policy: string | null;
  readonly aof_enabled: boolean;
  readonly aof_last_write_status: string | null;
  readonly aof_last_bgrewrite_status: string | null;
  readonly appendfsync: string | null;
  readonly connected_clients: number | null;
  readonly maxclients: number | null;
  readonly connected_slaves: number | null;
  readonly latency_ms: number;
  readonly max_latency_ms: number;
  readonly clock_offset_ms: number;
}

export interface PoolFacts {
  readonly pool: string;
  readonly up: boolean;
  readonly degraded: readonly string[];
  readonly error: string | null;
  readonly facts: RedisFacts | null;
}
