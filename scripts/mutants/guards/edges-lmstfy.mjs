const REQUESTS = 'test/api/requests.spec.ts';
const HABITS = 'habits of lmstfy › habits of lmstfy clients';

/**
 * What clients and operators of lmstfy rely on.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const EDGES_LMSTFY = [
  {
    id: 'pipelined-unsafe-waits',
    name: 'pipelines: a request that changes something waits for the answers before it',
    off: 'true',
    spec: REQUESTS,
    test: `${HABITS} › may pipeline a publish behind a long poll, which ends then`,
  },
  {
    id: 'pipelined-behind-unsafe-waits',
    name: 'pipelines: a safe request waits for an earlier one that changes something',
    off: 'true',
    spec: REQUESTS,
    test: `${HABITS} › may send %i publishes and ask for the size without a pause`,
  },
  {
    id: 'fast-path-leaves-foreign-codings',
    name: 'bodies: the fast path stores no body in a coding that it cannot decode',
    off: 'false',
    spec: REQUESTS,
    test: 'bad input › requests that are not what they seem › %s',
  },
  {
    id: 'probes-by-head-under-any-name',
    name: 'probes: HEAD is answered on the admin port by any host name',
    off: 'remove',
    spec: 'test/api/health.spec.ts',
    test: 'probes › probes › answer HEAD of %s as GET, without a body, on both ports and under any name',
  },
];
