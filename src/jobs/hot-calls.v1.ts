import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Config } from '../config/config.js';
import { checkQueue } from '../domain/rights.js';
import { answer } from '../http/answer.js';
import { readBody } from '../http/body.js';
import type { Exchange } from '../http/exchange.js';
import { acksOf, resultsJson } from './acks.v1.js';
import { JobsService } from './jobs.service.js';

/** A thousand acknowledgements with the longest names there are, in bytes. */
const MAX_ACKS_BYTES = 524_288;

/** How the native API's hot calls are let in, on both ways. */
export const V1_ACCESS = {
  acks: { queues: 'body', verb: 'consume', goesFirst: true },
} as const satisfies Record<string, AccessRules>;

/** The native API's calls that the hot lane has too; for their exchanges see `LmstfyHotCalls`. */
@Injectable()
export class V1HotCalls {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(Config) private readonly config: Config,
  ) {}

  /** Acknowledges many jobs, each for itself. Nothing is acknowledged if one of them is not well said. */
  acks(exchange: Exchange): void {
    readBody(exchange, Math.min(this.config.limits.max_bulk_bytes, MAX_ACKS_BYTES), (body) => {
      const acks = acksOf(body);
      const { caller } = exchange;
      const { rights } = caller;
      if (rights !== null) for (const { queue } of acks) checkQueue(rights, queue);
      exchange.after(this.jobs.ackMany(caller, acks), (results) =>
        answer(exchange, 200, resultsJson(acks, results)),
      );
    });
  }
}
