import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { type Door, Exchange, type ServerContext } from '../http/exchange.js';
import type { Lane } from '../http/lane.js';
import { type LanePath, splitPath } from '../http/lane-path.js';
import { parseQuery } from '../http/query.js';
import { nextRequestId } from '../http/request-id.js';
import { V1_ACCESS, V1HotCalls } from './hot-calls.v1.js';
import { HOT_ACCESS, LmstfyHotCalls } from './hot-calls.lmstfy.js';
import { LEASES_ACCESS, V1Leasing } from './leasing.v1.js';
import { PUBLISH_ACCESS, V1Publishing } from './publishing.v1.js';

const LMSTFY = '/api/';
const V1 = '/v1/';
const JOB = 'job/';

/** One call of the lane. */
interface HotCall {
  /** The route's template, as the router's: metrics do not tell the two ways apart. */
  readonly route: string;
  readonly access: AccessRules;
  readonly run: (exchange: Exchange) => void;
}

/** The calls that a queue's life consists of, and how to know them by method and path. */
@Injectable()
export class HotCalls {
  private readonly publish: HotCall;
  private readonly publishBulk: HotCall;
  private readonly consume: HotCall;
  private readonly ack: HotCall;
  private readonly acks: HotCall;
  private readonly jobs: HotCall;
  private readonly leases: HotCall;

  constructor(
    @Inject(LmstfyHotCalls) lmstfy: LmstfyHotCalls,
    @Inject(V1HotCalls) v1: V1HotCalls,
    @Inject(V1Publishing) publishing: V1Publishing,
    @Inject(V1Leasing) leasing: V1Leasing,
  ) {
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
    this.acks = {
      route: '/v1/:namespace/acks',
      access: V1_ACCESS.acks,
      run: (exchange) => v1.acks(exchange),
    };
    this.jobs = {
      route: '/v1/:namespace/jobs',
      access: PUBLISH_ACCESS,
      run: (exchange) => publishing.publish(exchange),
    };
    this.leases = {
      route: '/v1/:namespace/leases',
      access: LEASES_ACCESS,
      run: (exchange) => leasing.lease(exchange),
    };
  }

  /** lmstfy's call for a method and what follows the queue in the path. */
  ofLmstfy(method: string | undefined, { rest }: LanePath): HotCall | undefined {
    if (method === 'PUT') return rest === '' ? this.publish : rest === 'bulk' ? this.publishBulk : undefined;
    if (method === 'GET') return rest === '' ? this.consume : undefined;
    return method === 'DELETE' && isJobPath(rest) ? this.ack : undefined;
  }

  /** The native API's call for a POST. */
  ofV1({ second, rest }: LanePath): HotCall | undefined {
    if (rest !== '') return undefined;
    if (second === 'acks') return this.acks;
    if (second === 'leases') return this.leases;
    return second === 'jobs' ? this.jobs : undefined;
  }
}

function isJobPath(rest: string): boolean {
  return rest.startsWith(JOB) && rest.length > JOB.length && !rest.includes('/', JOB.length);
}

/**
 * The way of the hot calls, past Fastify and Nest, which cost more than the calls themselves. Admission, handlers, refusals, metrics
 * and log are those of the router's way. What is spelt in any unusual manner is left to the router.
 */
export class HotLane implements Lane {
  private readonly lmstfy: Door;
  private readonly v1: Door;

  constructor(
    private readonly context: ServerContext,
    private readonly calls: HotCalls,
    private readonly admission: Admission,
  ) {
    this.lmstfy = context.doorOf(LMSTFY);
    this.v1 = context.doorOf(V1);
  }

  take(request: IncomingMessage, response: ServerResponse): boolean {
    // Without a Host it is the router's to refuse; one that asks for another protocol is the last of its connection.
    const { host, upgrade } = request.headers;
    if (host === undefined || upgrade !== undefined) return false;
    const { url = '', method } = request;
    if (url.length > this.context.maxUrlBytes) return false;
    const isV1 = method === 'POST';
    const path = splitPath(url, isV1 ? V1 : LMSTFY);
    if (path === null) return false;
    const call = isV1 ? this.calls.ofV1(path) : this.calls.ofLmstfy(method, path);
    if (call === undefined) return false;
    const target = {
      door: isV1 ? this.v1 : this.lmstfy,
      route: call.route,
      namespace: path.namespace,
      queue: isV1 ? '' : path.second,
      jobId: path.rest.slice(JOB.length),
      query: parseQuery(path.queryText),
    };
    this.serve(new Exchange(this.context, request, response, nextRequestId(), target), call);
    return true;
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
