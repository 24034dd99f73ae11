import { performance } from 'node:perf_hooks';
import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { VALID_MS } from '../auth/token-cache.js';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import { checkQueue } from '../domain/rights.js';
import type { Exchange } from '../http/exchange.js';
import { readJson } from '../http/json-body.js';
import { reply } from '../http/reply.js';
import { Delivery, tellOfArrival } from './delivery.js';
import { LeasesFields } from './dto/leases.v1.js';
import { leasedAnswer } from './job-answers.v1.js';
import { JobsService } from './jobs.service.js';

/** The longest names of as many queues as there may be, and room to spare. */
const MAX_LEASES_BYTES = 32_768;
/** Leases last as long as each job says. */
const JOBS_OWN_TTR = 0;

export const LEASES_ACCESS = {
  queues: 'body',
  verb: 'consume',
  throttle: 'read',
} as const satisfies AccessRules;

/** Leases jobs on the native API. A lease whose answer reaches nobody is undone, as on lmstfy's. */
@Injectable()
export class V1Leasing {
  constructor(
    @Inject(JobsService) private readonly jobs: JobsService,
    @Inject(Admission) private readonly admission: Admission,
  ) {}

  /** Takes an exchange that was let in, and sees to it that it is answered, now or later. */
  lease(exchange: Exchange): void {
    readJson(exchange, MAX_LEASES_BYTES, LeasesFields, (asked) => {
      const { caller, context, request } = exchange;
      const { queues } = asked;
      if (caller.rights !== null) for (const queue of queues) checkQueue(caller.rights, queue);
      const waitMs = context.drain.closing ? 0 : (asked.wait_ms ?? 0);
      if (waitMs > 0) context.gate?.rest(exchange);
      const delivery = new Delivery(request.socket);
      const wanted = requestOf(asked, waitMs);
      exchange.after(
        this.jobs.reserve(caller, waitMs > 0 ? { ...wanted, signal: delivery.signal } : wanted),
        (jobs) => {
          const isLong = performance.now() - exchange.startedMs > VALID_MS;
          if (isLong && jobs.length > 0) this.deliverAfterWait(exchange, delivery, jobs, queues);
          else this.deliver(exchange, delivery, jobs);
        },
        () => delivery.done(),
      );
    });
  }

  /** Who has waited long may have lost the token meanwhile: then the jobs go back. */
  private deliverAfterWait(
    exchange: Exchange,
    delivery: Delivery,
    jobs: readonly LeasedJob[],
    queues: readonly string[],
  ): void {
    const { caller } = exchange;
    exchange.after(
      this.admission.confirm({ caller, queue: queues.join(',') }, { ...LEASES_ACCESS, queues: 'list' }),
      () => this.deliver(exchange, delivery, jobs),
      () => {
        delivery.done();
        this.jobs.undo(caller, jobs);
      },
    );
  }

  private deliver(exchange: Exchange, delivery: Delivery, jobs: readonly LeasedJob[]): void {
    const { caller, response } = exchange;
    if (jobs.length === 0 || delivery.isGone) {
      delivery.done();
      if (jobs.length > 0) this.jobs.undo(caller, jobs);
      reply(exchange, 200, { jobs: [] });
      return;
    }
    try {
      reply(exchange, 200, { jobs: jobs.map(leasedAnswer) });
    } finally {
      delivery.guard(response, (hasLeft) => {
        if (hasLeft) tellOfArrival(jobs);
        else this.jobs.undo(caller, jobs);
      });
    }
  }
}

/** A worker's name, be it empty, has the full lane asked: it knows all that the answer tells. */
function requestOf(asked: LeasesFields, waitMs: number): ReserveRequest {
  return {
    queues: asked.queues,
    count: asked.count ?? 1,
    ttrMs: asked.ttr_ms ?? JOBS_OWN_TTR,
    waitMs,
    confirms: true,
    worker: asked.worker ?? '',
    inTurns: asked.order === 'round_robin',
  };
}
