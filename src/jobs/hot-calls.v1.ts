import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Config } from '../config/config.js';
import { checkQueue, checkVerb, type Rights } from '../domain/rights.js';
import { answer } from '../http/answer.js';
import { readBody } from '../http/body.js';
import type { Exchange } from '../http/exchange.js';
import { acksOf, resultsJson } from './acks.v1.js';
import { JobsService } from './jobs.service.js';
import { type AckStatus, type RichAck, RichJobsService } from './rich-jobs.service.js';

/** How the native API's hot calls are let in, on both ways. */
export const V1_ACCESS = {
  acks: { queues: 'body', verb: 'consume', goesFirst: true },
} as const satisfies Record<string, AccessRules>;

/** The native API's calls that the hot lane has too; for their exchanges see `LmstfyHotCalls`. */
@Injectable()
export class V1HotCalls {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(RichJobsService) private readonly rich: RichJobsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Acknowledges many jobs, each for itself. Nothing is acknowledged if one of them is not well said. */
  acks(exchange: Exchange): void {
    readBody(exchange, this.config.limits.max_bulk_bytes, (body) => {
      const acks = acksOf(body, this.config.limits.max_body_bytes);
      const { caller } = exchange;
      if (caller.rights !== null) checkAcks(caller.rights, acks);
      const done = acks.some(({ outcome }) => outcome !== undefined)
        ? this.rich.ackMany(caller, acks)
        : this.jobs.ackMany(caller, acks);
      exchange.after<AckStatus[]>(done, (results) => answer(exchange, 200, resultsJson(acks, results)));
    });
  }
}

/** Who moves a job to another queue publishes there. */
function checkAcks(rights: Rights, acks: readonly RichAck[]): void {
  for (const { queue, outcome } of acks) {
    checkQueue(rights, queue);
    if (outcome?.next === undefined) continue;
    checkVerb(rights, 'publish');
    checkQueue(rights, outcome.next.queue);
  }
}
