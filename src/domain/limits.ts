/** Largest value of lmstfy's 32-bit parameters (delay, ttl, ttr, timeout), in seconds. */
export const MAX_UINT32 = 4_294_967_295;
/** Largest number of tries: it is 16 bits in a job's header. */
export const MAX_TRIES = 65_535;
/** Longest namespace or queue name, in characters. */
export const MAX_NAME_LENGTH = 255;
/** Most jobs in one bulk publish: one script call stays short. */
export const MAX_BULK_JOBS = 64;
/** Most jobs that one reserve call may ask for. */
export const MAX_RESERVE_COUNT = 100;
/** Most acknowledgements in one call. */
export const MAX_ACKS = 1_000;
/** lmstfy's limits on attributes: how many, and where keys and values are cut, in characters. */
export const MAX_ATTRIBUTES = 16;
export const MAX_ATTRIBUTE_KEY = 32;
export const MAX_ATTRIBUTE_VALUE = 128;
/** Longest caller-chosen job id, in characters. */
export const MAX_JOB_ID_LENGTH = 64;
/** Longest idempotency key, in characters. */
export const MAX_IDEMPOTENCY_KEY = 255;
/** Longest time that an idempotency key may be remembered, in seconds: 30 days. */
export const MAX_IDEMPOTENCY_TTL_S = 2_592_000;
/** Largest quota on the bytes of a namespace: 64 TiB, which scripts reckon with exactly. */
export const MAX_QUOTA_BYTES = 70_368_744_177_664;
/** Longest time that statistics are kept, in days. */
export const MAX_HISTORY_DAYS = 366;
/** Shortest token that an admin may choose, in characters. */
export const MIN_TOKEN_LENGTH = 20;
/** Ceiling of every size limit that is configurable, in bytes (64 MiB). */
export const MAX_CONFIGURABLE_BYTES = 67_108_864;
