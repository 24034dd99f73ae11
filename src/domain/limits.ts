/** Largest value of lmstfy's 32-bit parameters (delay, ttl, ttr, timeout), in seconds. */
export const MAX_UINT32 = 4_294_967_295;
/** Largest number of tries: 16 bits in a job's header. */
export const MAX_TRIES = 65_535;
/** Longest namespace or queue name, in characters. */
export const MAX_NAME_LENGTH = 255;
/** Most jobs in one bulk publish, to keep the script call short. */
export const MAX_BULK_JOBS = 64;
/** Most jobs that one lease request may ask for. */
export const MAX_LEASE_COUNT = 100;
/** Most jobs that one call cancels. */
export const MAX_CANCELS = 64;
/** Most acknowledgements in one call. */
export const MAX_ACKS = 1_000;
/** lmstfy's limits on attributes: maximum number, and lengths at which keys and values are cut, in characters. */
export const MAX_ATTRIBUTES = 16;
export const MAX_ATTRIBUTE_KEY = 32;
export const MAX_ATTRIBUTE_VALUE = 128;
/** Most leases that one heartbeat of a worker session extends. */
export const MAX_SESSION_LEASES = 1_000;
/** Longest given job id, in characters. */
export const MAX_JOB_ID_LENGTH = 128;
/** Longest idempotency key, in characters. */
export const MAX_IDEMPOTENCY_KEY = 255;
/** Longest time that an idempotency key may be kept, in seconds: 30 days. */
export const MAX_IDEMPOTENCY_TTL_S = 2_592_000;
/** Largest quota on the bytes of a namespace: 64 TiB, with which scripts compute exactly. */
export const MAX_QUOTA_BYTES = 70_368_744_177_664;
/** Longest time that statistics are kept, in days. */
export const MAX_HISTORY_DAYS = 366;
/** Shortest token that an admin may choose, in characters. */
export const MIN_TOKEN_LENGTH = 20;
/** Upper bound of every configurable size limit, in bytes (64 MiB). */
export const MAX_CONFIGURABLE_BYTES = 67_108_864;
/** Longest id of a recurring job, in characters: ids of its jobs are this id, a dash and a number. */
export const MAX_RECURRING_ID = 44;
/** Shortest time between two slots of a recurring job, in milliseconds. */
export const MIN_RECURRING_MS = 1_000;
/** Most jobs that a recurring job makes at once for slots that have passed: a wrong clock makes no more. */
export const MAX_CATCH_UP = 1_000;
/** Largest value of `backlog`, the old name of `max_catch_up`. */
export const MAX_BACKLOG = 1_000_000;
/** Node's longest timer, in milliseconds: a longer one fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;
/** Longest delay, time to live, lease, wait or retention of the native API, in milliseconds: lmstfy's longest. */
export const MAX_PERIOD_MS = MAX_UINT32 * 1_000;
/** Longest wait of a publish for the end of its job, in milliseconds: a day. */
export const MAX_END_WAIT_MS = 86_400_000;
/** Priorities are 8 bits in a job's header. */
export const MIN_PRIORITY = -128;
export const MAX_PRIORITY = 127;
/** Default number of tries of a native job, if neither it nor its queue sets one. */
export const DEFAULT_TRIES = 5;
/** Longest name of a failure group, in characters. */
export const MAX_GROUP = 128;
/** Longest type, tag, unique key, concurrency key or worker name, in characters. */
export const MAX_LABEL = 255;
/** Most tags of a job; each costs an index entry. */
export const MAX_TAGS = 32;
/** Most tags of all jobs of one call together: what a script can add to its indexes within its time limit. */
export const MAX_TAGS_IN_CALL = 1_000;
/** Most dependencies that one call may set for a job. */
export const MAX_DEPENDENCIES = 1_000;
/**
 * Longest message of a timeline entry, in characters, and its largest data, in bytes: a job has up to a hundred
 * entries, read at once.
 */
export const MAX_LOG_LINE = 1_024;
export const MAX_LOG_DATA_BYTES = 4_096;
/** Longest message of a failure, in characters: enough for a stack trace. */
export const MAX_MESSAGE = 16_384;
/** Most delays in the list of a retry policy, and most of its non-retryable groups. */
export const MAX_RETRY_DELAYS = 100;
export const MAX_RETRY_GROUPS = 32;
/** Most queues that one lease request may name. */
export const MAX_LEASE_QUEUES = 64;
/** Most queues that a consume of lmstfy's API may name. */
export const MAX_CONSUME_QUEUES = 1_000;
/** Most types that one lease request may name. */
export const MAX_LEASE_TYPES = 64;
/** Longest cron expression, in characters. */
export const MAX_CRON = 256;
/** Longest jitter of a cron schedule, in milliseconds: a day. */
export const MAX_JITTER_MS = 86_400_000;
/** Largest value of `limits.max_json_depth`: deeper data counts as bytes, as Go's JSON reads no more. */
export const MAX_JSON_DEPTH = 10_000;
/** Most variables of a namespace; longest name, in characters, and largest value, in bytes of JSON. */
export const MAX_VARIABLES = 256;
export const MAX_VARIABLE_NAME = 128;
export const MAX_VARIABLE_BYTES = 4_096;
/**
 * A place in a list has at most 1,618 characters: `cursorOf`, and the time with which a pass over dead jobs began. The
 * longest has a fair key and an id. Base64 makes 2,158 of them.
 */
export const MAX_CURSOR = 2_160;
