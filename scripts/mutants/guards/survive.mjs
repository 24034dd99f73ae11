const LISTING = 'test/topologies/cluster.spec.ts';
const BODIES = 'test/api/limits.spec.ts';

/**
 * Stores of other builds, and bounds that are kept for the sake of those who come after.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SURVIVE = [
  {
    id: 'older-format-is-raised',
    name: 'data format: the number of an older store is raised',
    off: 'false',
    spec: 'test/engine/data-format.spec.ts',
    test: 'stores of older builds › a store of a server with data format %d › keeps every job in its state and order, with its tries, attributes and times',
  },
  {
    id: 'body-bytes-bounded',
    name: 'bounds: bytes of bodies',
    off: 'remove',
    spec: BODIES,
    test: 'bodies of requests › the limit on buffered body bytes, over %s › refuses a body beyond it before reading it, with Retry-After, and counts the refusal',
  },
  {
    id: 'chunked-body-bytes-bounded',
    name: 'bounds: bytes of chunked bodies',
    off: 'remove',
    spec: BODIES,
    test: 'bodies of requests › the limit on buffered body bytes, over %s › counts chunked bodies as they arrive',
  },
  {
    id: 'body-bytes-released',
    name: 'bounds: bytes of bodies are released',
    off: 'remove',
    spec: BODIES,
    test: 'bodies of requests › the limit on buffered body bytes, over %s › has room again when the bodies have arrived, and each is stored',
  },
  {
    id: 'acks-have-room-for-bodies',
    name: 'bounds: acks have room for their bodies',
    off: 'false',
    spec: BODIES,
    test: 'bodies of requests › the limit on buffered body bytes, over %s › leaves room for acknowledgements',
  },
  {
    id: 'durability-missing-shown',
    name: 'durability: an unavailable durability is shown',
    off: 'remove',
    spec: 'test/api/durability.spec.ts',
    test: 'readiness › a pool of durability replicated:1 › is degraded, not down, while it has too few replicas',
  },
  {
    id: 'namespace-list-durable',
    name: 'durability: a namespace is listed as durably as its jobs',
    off: 'remove',
    spec: LISTING,
    test: "the list of a Cluster's namespaces › a namespace of a Cluster with durability replicated:1 › is on the list, as durably as its first job, before the publish of the job succeeds",
  },
  {
    id: 'namespace-list-own-node',
    name: 'durability: the list of namespaces is confirmed by its own node',
    off: 'remove',
    spec: LISTING,
    test: "the list of a Cluster's namespaces › a namespace of a Cluster with durability replicated:1 › is on the list, as durably as its first job, before the publish of the job succeeds",
  },
  {
    id: 'sentinel-over-tls',
    name: 'TLS: sentinels are asked over TLS',
    off: 'remove',
    spec: 'test/topologies/tls.spec.ts',
    test: '$name that accepts only TLS › holds queues on every master: publish, long poll, wake-up, acknowledge',
  },
];
