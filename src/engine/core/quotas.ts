import { ExtendedPathError, QueueError, type ErrorCode } from '../../domain/errors.js';
import { NO_LIMITS, type QuotaName, QUOTA_FIELDS, type Quotas } from '../../domain/job/quotas.js';

/** Script argument without quotas: the script then checks none. */
export const NO_QUOTAS = '';

/** What a publish script says of a call that a quota refuses. */
export interface QuotaRefusal {
  readonly code: number;
  /** How much there was of what the quota limits. */
  readonly present: number;
}

type Refused = readonly [code: ErrorCode, quota: QuotaName, unit: string];

const QUEUES = 2;
const JOBS = 3;
const BYTES = 4;
/** The codes with which lua/modules/limits/call_quotas.lua rejects a call. */
const REFUSED = new Map<number, Refused>([
  [QUEUES, ['too_many_queues', 'max_queues_per_namespace', 'queues']],
  [JOBS, ['queue_full', 'max_jobs_per_queue', 'jobs']],
  [BYTES, ['namespace_full', 'max_bytes_per_namespace', 'bytes']],
  [10, ['namespace_full', 'max_keys_per_namespace', 'keys']],
]);
const WORKERS_REFUSED = ['namespace_full', 'max_workers_per_namespace', 'workers'] as const;
/** What makes room under a quota. */
const REMEDIES: Readonly<Record<QuotaName, string>> = {
  max_queues_per_namespace: 'use fewer queues',
  max_jobs_per_queue: 'let workers end jobs',
  max_bytes_per_namespace: 'the job needs more than is left: let workers end jobs',
  max_keys_per_namespace: 'use fewer idempotency keys and unique keys',
  max_workers_per_namespace: 'use fewer names of workers',
};
const DRAINS =
  'the queue is draining, and takes no new jobs until it is empty: publish later, or resume the queue';
/** Codes of a publish script: its queue is drained; it leaves a native call to the extended path. */
const DRAINING = 7;
const EXTENDED_PATH = 8;

/** The quotas of each namespace: its own, else those of all. */
export class NamespaceQuotas {
  /** By namespace, with the text for scripts. */
  private chosen: ReadonlyMap<string, { readonly quotas: Quotas; readonly text: string }> = new Map();
  /** Those of a namespace that has none of its own. */
  readonly defaults: Quotas;
  private readonly defaultText: string;

  /** @param defaults 0 or left out = no limit */
  constructor(defaults: Partial<Quotas> = NO_LIMITS) {
    this.defaults = { ...NO_LIMITS, ...defaults };
    this.defaultText = quotasText(this.defaults);
  }

  /** True if the bytes of any namespace have a quota. */
  get limitsBytes(): boolean {
    return this.defaults.bytes > 0 || [...this.chosen.values()].some(({ quotas }) => quotas.bytes > 0);
  }

  /** Takes effect with the next call. @param chosen by namespace, what differs from the defaults */
  replace(chosen: ReadonlyMap<string, Partial<Quotas>>): void {
    this.chosen = new Map(
      [...chosen].map(([namespace, own]) => {
        const quotas = { ...this.defaults, ...own };
        return [namespace, { quotas, text: quotasText(quotas) }] as const;
      }),
    );
  }

  of(namespace: string): Quotas {
    return this.chosen.get(namespace)?.quotas ?? this.defaults;
  }

  /** As lua/modules/limits/call_quotas.lua reads them. @param sizes the number of items of each call; left out, one of one job */
  textOf(namespace: string, sizes = () => '1'): string {
    const text = /* guard: quotas-of-own-namespace */ this.chosen.get(namespace)?.text ?? this.defaultText;
    return text === NO_QUOTAS ? NO_QUOTAS : text + sizes();
  }

  /** The error for a call that a quota refused. */
  errorOf(namespace: string, { code, present }: QuotaRefusal): QueueError {
    const refused = REFUSED.get(code);
    if (!refused)
      return new QueueError(
        'internal',
        `the script that checks quotas returned an unknown code, ${String(code)}`,
      );
    return this.refusal(namespace, refused, present);
  }

  /** The quota on bytes, as scripts have it that change a job; undefined = there is none. */
  bytesOf(namespace: string): number | undefined {
    return this.of(namespace).bytes || undefined;
  }

  /** What lease operations need to know, where bytes are limited; undefined = they are not. */
  mostOf(namespace: string): { readonly most_bytes: number; readonly most_workers: number } | undefined {
    const { bytes, workers } = this.of(namespace);
    return bytes === 0 ? undefined : { most_bytes: bytes, most_workers: workers };
  }

  /** The quotas for a job that moves to another queue, as scripts have them (lua/modules/limits/queue_room.lua); 0 = none. */
  movesOf(namespace: string): { readonly most_queues: number; readonly most_jobs: number } {
    const { queues, jobsPerQueue } = this.of(namespace);
    return { most_queues: queues, most_jobs: jobsPerQueue };
  }

  /** The error for a stored job that would grow beyond the quota on bytes. @param present bytes there were */
  bytesError(namespace: string, present: number): QueueError {
    return this.errorOf(namespace, { code: BYTES, present });
  }

  /** The error for a queue that is not made, without a new job. @param present queues there were */
  queuesError(namespace: string, present: number): QueueError {
    return this.errorOf(namespace, { code: QUEUES, present });
  }

  /** The error for a job that moves to a full queue. @param present jobs there were */
  jobsError(namespace: string, present: number): QueueError {
    return this.errorOf(namespace, { code: JOBS, present });
  }

  /** The error for a new worker session beyond the quota. @param present workers there were */
  workersError(namespace: string, present: number): QueueError {
    return this.refusal(namespace, WORKERS_REFUSED, present);
  }

  private refusal(namespace: string, [error, quota, unit]: Refused, present: number): QueueError {
    const most = this.of(namespace)[QUOTA_FIELDS[quota]];
    const reached = `${String(present)} of ${String(most)} ${unit}: quota ${quota} of namespace ${namespace}`;
    return new QueueError(error, reached, { detail: `${reached}; ${REMEDIES[quota]}, or raise the quota` });
  }
}

export function isQuotaCode(code: number): boolean {
  return REFUSED.has(code);
}

/** The error for another code of a publish script that means: the queue does not take the job, or not here. */
export function queueError(code: number | undefined): QueueError | ExtendedPathError | undefined {
  if (code === EXTENDED_PATH) return new ExtendedPathError();
  if (code === DRAINING)
    return new QueueError('queue_draining', 'the queue takes no new jobs until it is empty', {
      detail: DRAINS,
    });
  return undefined;
}

/** Keys are counted only where bytes are limited: all other publishes cost what they did. */
function quotasText({ queues, jobsPerQueue, bytes, keys }: Quotas): string {
  const numbers = [queues, jobsPerQueue, bytes];
  const mostKeys = bytes === 0 ? 0 : keys;
  return numbers.every((most) => most === 0) ? NO_QUOTAS : `${numbers.join()},${String(mostKeys)},`;
}
