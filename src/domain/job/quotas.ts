import { MAX_QUOTA_BYTES, MAX_UINT32 } from '../limits.js';

/** Upper limits of a namespace; 0 = no limit. */
export interface Quotas {
  readonly queues: number;
  /** Jobs of one queue in any state, including dead ones. */
  readonly jobsPerQueue: number;
  /** Total bytes of what its jobs and recurring jobs store. */
  readonly bytes: number;
  /** Names of workers that were seen within a day, with their sessions. */
  readonly workers: number;
  /** Where bytes are limited: idempotency keys, and unique keys held for a time. */
  readonly keys: number;
}

/** The settings, by their names in the configuration and in errors. */
export const QUOTA_FIELDS = {
  max_queues_per_namespace: 'queues',
  max_jobs_per_queue: 'jobsPerQueue',
  max_bytes_per_namespace: 'bytes',
  max_workers_per_namespace: 'workers',
  max_keys_per_namespace: 'keys',
} as const satisfies Record<string, keyof Quotas>;

export type QuotaName = keyof typeof QUOTA_FIELDS;

export const QUOTA_NAMES = Object.keys(QUOTA_FIELDS) as readonly QuotaName[];

/** The greatest value of each; the least is 0: no limit. */
export const MOST_OF_QUOTA: Readonly<Record<QuotaName, number>> = {
  max_queues_per_namespace: MAX_UINT32,
  max_jobs_per_queue: MAX_UINT32,
  max_bytes_per_namespace: MAX_QUOTA_BYTES,
  max_workers_per_namespace: MAX_UINT32,
  max_keys_per_namespace: MAX_UINT32,
};

export const NO_LIMITS: Quotas = { queues: 0, jobsPerQueue: 0, bytes: 0, workers: 0, keys: 0 };
