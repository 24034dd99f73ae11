import type { IncomingMessage } from 'node:http';
import { DURABILITY_RULE, isDurability, type Durability } from '../domain/durability.js';
import { QueueError } from '../domain/errors.js';
import type { PublishOptions } from '../domain/job.js';
import { packUlid } from '../domain/ulid.js';

const IDS_RULE = 'must be ids that this call was refused with before, one for each job, separated by commas';

/**
 * What a publish request asks for in headers that lmstfy does not know; undefined if it has none of them.
 *
 * @throws {QueueError} `invalid_argument`, naming the header and its rule
 */
export function publishOptionsOf({ headers }: IncomingMessage): PublishOptions | undefined {
  const durability = headers['x-durability'];
  const jobIds = headers['x-job-id'];
  if (durability === undefined && jobIds === undefined) return undefined;
  return {
    ...(durability === undefined ? {} : { durability: durabilityOf(String(durability)) }),
    ...(jobIds === undefined ? {} : { retryOf: idsOf(String(jobIds)) }),
  };
}

/** @throws {QueueError} `invalid_argument`: there are not as many ids as jobs */
export function checkIdCount(options: PublishOptions | undefined, jobs: number): void {
  if (options?.retryOf !== undefined && options.retryOf.length !== jobs) throw wrongIds();
}

function durabilityOf(text: string): Durability {
  if (isDurability(text)) return text;
  throw new QueueError('invalid_argument', `X-Durability ${DURABILITY_RULE}`);
}

function idsOf(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.every((id) => packUlid(id) !== null) && new Set(ids).size === ids.length) return ids;
  throw wrongIds();
}

function wrongIds(): QueueError {
  return new QueueError('invalid_argument', `X-Job-ID ${IDS_RULE}`);
}
