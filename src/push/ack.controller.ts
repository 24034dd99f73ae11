import { Controller, Inject, Post } from '@nestjs/common';
import { CurrentRequest } from '../http/request/current-request.js';
import { Config } from '../config/config.js';
import { LeaseLostError, QueueError } from '../domain/errors.js';
import type { JobState } from '../domain/job/states.js';
import { Engines } from '../engine/engines.js';
import type { JobCalls } from '../engine/engine.js';
import { bodyLimit, wholeBody } from '../http/request/body.js';
import type { RequestContext } from '../http/request/request-context.js';
import { ACK_PATH, AckLinks } from './ack-links.js';
import { resultOf } from './send/result.js';

/** The call behind the signed URLs of targets that acknowledge later. It needs no token: the URL is one, for one lease. */
@Controller()
export class PushAckController {
  constructor(
    @Inject(AckLinks) private readonly links: AckLinks | null,
    private readonly engines: Engines,
    private readonly config: Config,
  ) {}

  @Post(ACK_PATH)
  async ack(@CurrentRequest() context: RequestContext): Promise<void> {
    const ref = this.links?.read(context.query['token'] ?? '') ?? null;
    if (ref === null) throw new QueueError('token_invalid', 'the signature of this URL is invalid');
    context.acquire(true);
    const body = await wholeBody(context, bodyLimit(this.config.limits));
    const { pool, namespace, ...job } = ref;
    const result = resultOf(body, context.request.headers['content-type']);
    const { jobs, settle } = this.engines.of(pool);
    const [status] = await settle.complete(namespace, [result === null ? job : { ...job, result }]);
    // guard: ack-link-is-of-one-lease
    if (status !== 'done') throw new LeaseLostError(await stateOf(jobs, namespace, job));
  }
}

/** The present state of a job; null if it is gone or in another queue, undefined if the store does not answer. */
async function stateOf(
  jobs: JobCalls,
  namespace: string,
  { id, queue }: { readonly id: string; readonly queue: string },
): Promise<JobState | null | undefined> {
  const places = await jobs.placesOf(namespace, [id]).catch(() => undefined);
  const [place = null] = places ?? [];
  return places && (place?.queue === queue ? place.state : null);
}
