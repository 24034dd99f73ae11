/**
 * The requests that the load generator can send. A plan returns the request that an operation sends next; load/workloads.mjs has the workloads.
 *
 * @typedef {{ path: string, token: string, query?: string }} Target where requests of a workload go; one workload may have thousands
 * @typedef {{ request: string, expect: number, wantsBody: boolean, check?: ((body: string) => boolean) | undefined }} Sent
 * @typedef {object} RequestPlan
 * @property {number} total operations, at most
 * @property {(n: number, step: number, answer: string) => Sent | null} next the request of the n-th operation's step; null when it is done
 */
import { randomUUID } from 'node:crypto';
import { requestBytes } from './connection.mjs';

/** A prime: neighbours in time go to targets that are far apart, and all targets are met equally often. */
const STRIDE = 7_919;
const ID = /"job_id":"([^"]+)"/g;

/** Answers with leased jobs that were kept for the workloads that acknowledge them. @type {{ target: Target, body: string }[]} */
let kept = [];

/** The kept answers, which are forgotten. */
function takeKept() {
  const taken = kept;
  kept = [];
  return taken;
}

/** The jobs of the kept answers. @returns {{ target: Target, id: string }[]} */
function takeLeased() {
  return takeKept().flatMap(({ target, body }) =>
    Array.from(body.matchAll(ID), ([, id = '']) => ({ target, id })),
  );
}

/** @type {Record<string, (workload: any, targets: Target[]) => RequestPlan>} */
export const REQUEST_PLANS = {
  /** One request for each target again and again; `collect` keeps the answers, which have the text `contains` in them. */
  repeat({ method, after = '', body, type, expect, collect = false, contains, total }, targets) {
    const wantsBody = collect;
    const check = contains ? (/** @type {string} */ answer) => answer.includes(contains) : undefined;
    /** @type {Sent[]} */
    const sent = [];
    const sentTo = (/** @type {number} */ at) => {
      const { path, query = '', token } = /** @type {Target} */ (targets[at]);
      const request = requestBytes(method, `${path}${after}${query}`, token, body, type);
      return (sent[at] = { request, expect, wantsBody, check });
    };
    if (collect) kept = [];
    return {
      total,
      next(n, step, answer) {
        const at = (n * STRIDE) % targets.length;
        if (step === 0) return sent[at] ?? sentTo(at);
        if (collect) kept.push({ target: /** @type {Target} */ (targets[at]), body: answer });
        return null;
      },
    };
  },

  /** Publishes on the native API, each with an idempotency key of its own. */
  keyed({ method, after, body, type, expect, total }, [target]) {
    const { path, token } = /** @type {Target} */ (target);
    const run = randomUUID();
    return {
      total,
      next(n, step) {
        if (step > 0) return null;
        const key = `Idempotency-Key: ${run}-${n}`;
        return {
          request: requestBytes(method, `${path}${after}`, token, body, type, key),
          expect,
          wantsBody: false,
        };
      },
    };
  },

  /** Publish, lease, acknowledge on the native API, on one connection. */
  nativeCycle({ job, lease, type, total }, [target]) {
    const { path, token } = /** @type {Target} */ (target);
    const sent = (/** @type {string} */ call, /** @type {string} */ body, /** @type {number} */ expect) => ({
      request: requestBytes('POST', `${path}/${call}`, token, body, type),
      expect,
      wantsBody: call === 'leases',
    });
    const [publish, take] = [sent('jobs', job, 201), sent('leases', lease, 200)];
    return {
      total,
      next(_n, step, answer) {
        if (step === 0) return publish;
        if (step === 1) return take;
        if (step === 3) return null;
        const [leased] = JSON.parse(answer).jobs;
        return sent(`jobs/${leased.id}/ack`, JSON.stringify({ lease: leased.lease }), 200);
      },
    };
  },

  /** Acknowledges what was collected, one by one. */
  ack({ expect, total }) {
    const requests = takeLeased().map(({ target, id }) =>
      requestBytes('DELETE', `${target.path}/job/${id}`, target.token),
    );
    return {
      total: Math.min(total, requests.length),
      next: (n, step) => (step === 0 ? { request: requests[n] ?? '', expect, wantsBody: false } : null),
    };
  },

  /** Acknowledges on the native API what was collected from it, one by one, each under its lease, with the same `outcome`. */
  settle({ type, expect, outcome = {}, total }) {
    const requests = takeKept().flatMap(({ target, body }) =>
      JSON.parse(body).jobs.map((/** @type {{ id: string, lease: number }} */ { id, lease }) =>
        requestBytes(
          'POST',
          `${target.path}/jobs/${id}/ack`,
          target.token,
          JSON.stringify({ lease, ...outcome }),
          type,
        ),
      ),
    );
    return {
      total: Math.min(total, requests.length),
      next: (n, step) => (step === 0 ? { request: requests[n] ?? '', expect, wantsBody: false } : null),
    };
  },

  /** The same, `per` jobs with each request. */
  settleMany({ type, per, expect, total }) {
    const acks = takeKept().flatMap(({ target, body }) =>
      JSON.parse(body).jobs.map(
        (/** @type {{ queue: string, id: string, lease: number }} */ { queue, id, lease }) => ({
          target,
          ack: { queue, id, lease },
        }),
      ),
    );
    /** @type {string[]} */
    const requests = [];
    for (let from = 0; from + per <= acks.length; from += per) {
      const some = acks.slice(from, from + per);
      const { path, token } = /** @type {Target} */ (some[0]?.target);
      const body = JSON.stringify({ acks: some.map(({ ack }) => ack) });
      requests.push(requestBytes('POST', `${path}/acks`, token, body, type));
    }
    const check = (/** @type {string} */ body) => body.split('"status":"acked"').length === per + 1;
    return {
      total: Math.min(total, requests.length),
      next: (n, step) => (step === 0 ? { request: requests[n] ?? '', expect, wantsBody: true, check } : null),
    };
  },

  /** Acknowledges what was collected, `per` jobs with each request, and looks whether all were. */
  batchAck({ path, queue, per, expect, total }, [target]) {
    const ids = takeLeased().map(({ id }) => id);
    /** @type {string[]} */
    const requests = [];
    for (let from = 0; from + per <= ids.length; from += per) {
      // Each was leased once, and has an id of the server: its leases are numbered from 1.
      const acks = ids.slice(from, from + per).map((id) => ({ queue, id, lease: 1 }));
      requests.push(
        requestBytes('POST', path, target?.token ?? '', JSON.stringify({ acks }), 'application/json'),
      );
    }
    const check = (/** @type {string} */ body) => body.split('"status":"acked"').length === per + 1;
    return {
      total: Math.min(total, requests.length),
      next: (n, step) => (step === 0 ? { request: requests[n] ?? '', expect, wantsBody: true, check } : null),
    };
  },

  /** Publish, consume, acknowledge, on one connection. */
  cycle({ body, ttr, total }, targets) {
    const { path, token } = /** @type {Target} */ (targets[0]);
    const publish = { request: requestBytes('PUT', path, token, body), expect: 201, wantsBody: false };
    const consume = {
      request: requestBytes('GET', `${path}?ttr=${ttr}`, token),
      expect: 200,
      wantsBody: true,
    };
    return {
      total,
      next(_n, step, answer) {
        if (step === 0) return publish;
        if (step === 1) return consume;
        if (step === 3) return null;
        const id = /"job_id":"([^"]+)"/.exec(answer)?.[1];
        return { request: requestBytes('DELETE', `${path}/job/${id}`, token), expect: 204, wantsBody: false };
      },
    };
  },
};
