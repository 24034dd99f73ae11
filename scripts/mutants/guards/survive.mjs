const LISTING = 'test/engine/cluster.spec.ts';
const BODIES = 'test/api/limits.spec.ts';

/**
 * Stores of other builds, and bounds that are kept for the sake of those who come after.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SURVIVE = [
  {
    name: 'older stores: their number is raised',
    file: 'src/redis/inspect.ts',
    from: 'else if (Number(found) < DATA_FORMAT) await raiseFormat(client, keys);',
    to: '',
    spec: 'test/engine/data-format.spec.ts',
    test: 'is served as it is',
  },
  {
    name: 'bounds: bytes of bodies',
    file: 'src/http/request/body.ts',
    from: 'context.server.loadShedder.reserveBytes(context, length);',
    to: '',
    spec: BODIES,
    test: 'is refused before it is read',
  },
  {
    name: 'bounds: bytes of bodies that come in chunks',
    file: 'src/http/request/body.ts',
    from: 'if (isChunked) context.server.loadShedder.reserveBytes(context, chunk.length);',
    to: '',
    spec: BODIES,
    test: 'counts what comes in chunks',
  },
  {
    name: 'bounds: bytes of bodies are given back',
    file: 'src/http/request/load-shedder.ts',
    from: 'this.metrics.bodyBytes.value -= context.bodyBytes;',
    to: '',
    spec: BODIES,
    test: 'is over when the bodies have come',
  },
  {
    name: 'bounds: acknowledgements have room for their bodies',
    file: 'src/http/request/load-shedder.ts',
    from: "context.load === 'first' ? this.limits.maxBodyBytes : this.maxUsualBytes",
    to: 'this.maxUsualBytes',
    spec: BODIES,
    test: 'leaves room for acknowledgements',
  },
  {
    name: 'durability: what cannot be had is shown',
    file: 'src/redis/durable/paths.ts',
    from: 'this.parts.onShortfall(durability, error);',
    to: '',
    spec: 'test/api/durability.spec.ts',
    test: 'is degraded while it has too few replicas',
  },
  {
    name: 'durability: a namespace is listed as safely as its jobs',
    file: 'src/engine/core/scripts.ts',
    from: 'if (settle && !this.listed.has(namespace)) await this.list(namespace, settle);',
    to: '',
    spec: LISTING,
    test: 'is on the list as safely',
  },
  {
    name: 'durability: the list of namespaces is waited for on its own node',
    file: 'src/redis/durable/connection.ts',
    from: 'call.name === MARK || ',
    to: '',
    spec: LISTING,
    test: 'is on the list as safely',
  },
  {
    name: 'TLS: sentinels are asked over it',
    file: 'src/redis/sentinel.ts',
    from: '...(tls === undefined ? {} : { tls: { ...tls } }),',
    to: '',
    spec: 'test/engine/tls-topologies.spec.ts',
    test: 'holds queues on every master',
  },
];
