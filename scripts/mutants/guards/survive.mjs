const LISTING = 'test/redis/cluster-listing.spec.ts';
const BODIES = 'test/e2e/body-bytes.spec.ts';

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
    spec: 'test/redis/older-stores.spec.ts',
    test: 'is served as it is',
  },
  {
    name: 'bounds: bytes of bodies',
    file: 'src/http/body.ts',
    from: 'exchange.context.gate?.hold(exchange, length);',
    to: '',
    spec: BODIES,
    test: 'is refused before it is read',
  },
  {
    name: 'bounds: bytes of bodies that come in chunks',
    file: 'src/http/body.ts',
    from: 'if (isChunked) exchange.context.gate?.hold(exchange, chunk.length);',
    to: '',
    spec: BODIES,
    test: 'counts what comes in chunks',
  },
  {
    name: 'bounds: bytes of bodies are given back',
    file: 'src/http/gate.ts',
    from: 'this.metrics.bodyBytes.value -= exchange.bodyBytes;',
    to: '',
    spec: BODIES,
    test: 'is over when the bodies have come',
  },
  {
    name: 'bounds: acknowledgements have room for their bodies',
    file: 'src/http/gate.ts',
    from: "exchange.load === 'first' ? this.limits.maxBodyBytes : this.maxUsualBytes",
    to: 'this.maxUsualBytes',
    spec: BODIES,
    test: 'leaves room for acknowledgements',
  },
  {
    name: 'durability: what cannot be had is shown',
    file: 'src/redis/durable/paths.ts',
    from: 'this.parts.onShortfall(durability, error);',
    to: '',
    spec: 'test/e2e/replicas-missing.spec.ts',
    test: 'is degraded while it has too few replicas',
  },
  {
    name: 'durability: a namespace is listed as safely as its jobs',
    file: 'src/engine/script-runner.ts',
    from: 'if (settle && !this.listed.has(namespace)) await this.list(namespace, settle);',
    to: '',
    spec: LISTING,
    test: 'is on the list as safely',
  },
  {
    name: 'durability: the list of namespaces is waited for on its own node',
    file: 'src/redis/durable/line.ts',
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
    spec: 'test/redis/tls-topologies.spec.ts',
    test: 'holds queues on every master',
  },
];
