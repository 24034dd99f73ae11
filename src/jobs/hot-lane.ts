import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { type Door, Exchange, type ServerContext } from '../http/exchange.js';
import type { Lane } from '../http/lane.js';
import { type LanePath, splitPath } from '../http/lane-path.js';
import { parseQuery } from '../http/query.js';
import { nextRequestId } from '../http/request-id.js';
import { HOT_ACCESS, LmstfyHotCalls } from './hot-calls.lmstfy.js';

const LMSTFY = '/api/';
const JOB = 'job/';

/** One call of the lane. */
interface HotCall {
  /** The route's template, as the router's: metrics do not tell the two ways apart. */
  readonly route: string;
  readonly access: AccessRules;
  readonly run: (exchange: Exchange) => void;
}

/**
 * The way of the calls that a queue's life consists of, past Fastify and Nest, which cost more than the calls themselves. Admission,
 * handlers, refusals, metrics and log are those of the router's way. What is spelt in any unusual manner is left to the router.
 */
@Injectable()
export class HotCalls {
  private readonly publish: HotCall;
  private readonly publishBulk: HotCall;
  private readonly consume: HotCall;
  private readonly ack: HotCall;

  constructor(@Inject(LmstfyHotCalls) lmstfy: LmstfyHotCalls) {
    const queue = '/api/:namespace/:queue';
    const { publish, consume, ack } = HOT_ACCESS;
    this.publish = { route: queue, access: publish, run: (exchange) => lmstfy.publish(exchange) };
    this.publishBulk = {
      route: `${queue}/bulk`,
      access: publish,
      run: (exchange) => lmstfy.publishBulk(exchange),
    };
    this.consume = { route: queue, access: consume, run: (exchange) => lmstfy.consume(exchange) };
    this.ack = { route: `${queue}/job/:id`, access: ack, run: (exchange) => lmstfy.ack(exchange) };
  }

  /** The call that is meant by a method and what follows the queue in the path. */
  ofQueue(method: string | undefined, rest: string): HotCall | undefined {
    if (method === 'PUT') return rest === '' ? this.publish : rest === 'bulk' ? this.publishBulk : undefined;
    if (method === 'GET') return rest === '' ? this.consume : undefined;
    return method === 'DELETE' && isJobPath(rest) ? this.ack : undefined;
  }
}

function isJobPath(rest: string): boolean {
  return rest.startsWith(JOB) && rest.length > JOB.length && !rest.includes('/', JOB.length);
}

/** The lane of one server. */
export class HotLane implements Lane {
  private readonly lmstfy: Door;

  constructor(
    private readonly context: ServerContext,
    private readonly calls: HotCalls,
    private readonly admission: Admission,
  ) {
    this.lmstfy = context.doorOf(LMSTFY);
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    // Without a Host it is the router's to refuse.
    if (request.headers.host === undefined) return false;
    const path = splitPath(request.url ?? '', LMSTFY);
    const call = path && this.calls.ofQueue(request.method, path.rest);
    if (!call) return false;
    this.serve(new Exchange(this.context, request, response, nextRequestId(), this.target(path, call)), call);
    return true;
  }

  private target({ namespace, second, rest, queryText }: LanePath, { route }: HotCall) {
    return {
      door: this.lmstfy,
      route,
      namespace,
      queue: second,
      jobId: rest.slice(JOB.length),
      query: parseQuery(queryText),
    };
  }

  private serve(exchange: Exchange, { access, run }: HotCall): void {
    try {
      const admitted = this.admission.admit(exchange, access);
      if (admitted === undefined) run(exchange);
      else exchange.after(admitted, () => run(exchange));
    } catch (error) {
      exchange.fail(error);
    }
  }
}
