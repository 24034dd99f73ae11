import { performance } from 'node:perf_hooks';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { VALID_MS } from '../auth/token-cache.js';
import type { Caller } from '../domain/caller.js';
import type { LeasedJob, LeaseRequest } from '../domain/job/job.js';
import { LOG, type Log } from '../domain/log.js';
import { Engines } from '../engine/engines.js';
import type { RequestContext } from '../http/request/request-context.js';
import { confirmDelivery, Delivery } from './delivery.js';

/** How an API answers a lease request. */
export interface LeaseResponder {
  /** Writes the response. Without jobs: that there is none. */
  write(jobs: readonly LeasedJob[]): void;
  /** Checks the token and its permissions again. @throws {QueueError} as admission does */
  confirm(): Promise<void>;
}

/** Leases jobs for a request and answers it. Jobs whose response does not reach the client are undone. */
@Injectable()
export class LeaseDelivery implements BeforeApplicationShutdown {
  private readonly undoing = new Set<Promise<void>>();

  constructor(
    private readonly engines: Engines,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /** Handles an admitted request context and makes sure that it is answered, now or later. */
  lease(context: RequestContext, request: LeaseRequest, responder: LeaseResponder): void {
    const { caller, server } = context;
    const waits = request.waitMs > 0 || request.linger !== undefined;
    if (waits) server.loadShedder.park(context);
    const delivery = new Delivery(context.request.socket);
    context.after(
      this.engines
        .of(caller.pool)
        .lease(caller.namespace, waits ? { ...request, signal: delivery.signal } : request),
      (jobs) => {
        const isLong = performance.now() - context.startedMs > VALID_MS;
        // guard: native-lease-checks-the-token-again
        // guard: token-is-checked-after-the-wait
        if (isLong && jobs.length > 0) this.deliverAfterWait(context, delivery, jobs, responder);
        else this.deliver(context, delivery, jobs, responder);
      },
      () => delivery.done(),
    );
  }

  /** The token may have been revoked during a long wait: checks it again, and undoes the leases if it is no longer valid. */
  private deliverAfterWait(
    context: RequestContext,
    delivery: Delivery,
    jobs: readonly LeasedJob[],
    responder: LeaseResponder,
  ): void {
    context.after(
      responder.confirm(),
      () => this.deliver(context, delivery, jobs, responder),
      () => {
        delivery.done();
        this.undo(context.caller, jobs);
      },
    );
  }

  private deliver(
    { caller, response }: RequestContext,
    delivery: Delivery,
    jobs: readonly LeasedJob[],
    responder: LeaseResponder,
  ): void {
    if (jobs.length === 0 || delivery.isGone) {
      delivery.done();
      if (jobs.length > 0) this.undo(caller, jobs);
      responder.write([]);
      return;
    }
    try {
      responder.write(jobs);
    } finally {
      delivery.guard(response, (hasLeft) => {
        if (hasLeft) confirmDelivery(jobs);
        else /* guard: native-lease-is-undone */ this.undo(caller, jobs);
      });
    }
  }

  /** Keeps the pools open until all pending undos have finished. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.undoing);
  }

  /** Undoes leases whose response did not reach the client. */
  private undo({ pool, namespace }: Caller, jobs: readonly LeasedJob[]): void {
    const undo = this.engines
      .of(pool)
      .undo(namespace, jobs)
      .catch((error: unknown) => {
        this.log.warn(
          { err: error, pool, namespace, jobs: jobs.length },
          'undelivered leases are not undone yet: it is tried again until they end',
        );
      })
      .finally(() => this.undoing.delete(undo));
    this.undoing.add(undo);
  }
}
