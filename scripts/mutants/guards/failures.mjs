const ENGINE = 'test/engine/engine.spec.ts';
const FAULTS = 'test/engine/faults.spec.ts';

/**
 * Connections that break, servers that die, tokens that are revoked.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FAILURES = [
  {
    id: 'deadline-stops-script',
    name: 'deadlines: a script that runs after its callers got 503 does nothing',
    off: 'false',
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › stores no job of a publish that failed by its timeout',
  },
  {
    id: 'own-deadline-ends-a-call',
    name: 'Redis: the deadline of the server settles a call that gets no answer',
    off: { with: '30_000' },
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › refuses every call in time while Redis is silent',
  },
  {
    id: 'driver-never-resends',
    name: 'driver: commands are never sent again',
    off: 'true',
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › never sends a lease call twice',
  },
  {
    id: 'uncertain-lease-not-repeated',
    name: 'driver: a lease script that may have run is not repeated',
    off: 'true',
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › never sends a lease call twice',
  },
  {
    id: 'repeated-publish-finds-its-id',
    name: 'publishes: a publish that is sent again finds its own id',
    off: 'false',
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › sends %s again when its reply is lost, and stores the jobs once',
  },
  {
    id: 'listed-before-marker',
    name: 'namespaces: a namespace is listed before it has its marker',
    off: 'remove',
    spec: 'test/engine/reused-ids.spec.ts',
    test: 'registration of a namespace › a new namespace › is on the list before it has its marker, so that a dying server leaves none off the list',
  },
  {
    id: 'refused-namespace-is-registered',
    name: 'namespaces: one is registered when a script refuses it',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › D17: removes every trace of empty queues and namespaces',
  },
  {
    id: 'forgotten-script-is-sent-as-text',
    name: 'scripts: one that Redis has forgotten is sent as text',
    off: 'true',
    spec: 'test/engine/noscript.spec.ts',
    test: '$form that Redis has forgotten › are sent once as text',
  },
  {
    id: 'functions-keep-nothing',
    name: 'scripts: a function keeps nothing of an earlier call',
    off: { with: '\'""\'' },
    spec: 'test/engine/noscript.spec.ts',
    test: 'Redis functions › keep no state of a call that failed halfway',
  },
  {
    id: 'forgotten-function-is-sent-as-script',
    name: 'scripts: a function that Redis has forgotten is sent as a script',
    off: { with: "$& || this.loaded.has('simple/publish')" },
    spec: 'test/engine/noscript.spec.ts',
    test: '$form that Redis has forgotten › are missed by many calls at once: each job is stored once, and leased once',
  },
  {
    id: 'old-functions-are-removed-once',
    name: 'scripts: functions of other versions are removed once',
    off: 'true',
    spec: 'test/engine/noscript.spec.ts',
    test: 'Redis functions › are removed in other versions by a server that loads its own, once, but not foreign ones',
  },
  {
    id: 'full-redis-refuses-publishes',
    name: 'scripts: a full Redis refuses a function that stores jobs',
    off: 'true',
    spec: 'test/engine/memory.spec.ts',
    test: 'a full Redis with %s › can be drained: all but publish goes on',
  },
  {
    id: 'script-bytes-are-counted',
    name: 'scripts: the bytes of a call are counted as they are sent',
    off: 'true',
    spec: 'src/redis/scripts/wire.spec.ts',
    test: 'an encoded command of Redis › contains %s',
  },
  {
    id: 'proof-is-of-one-record',
    name: 'tokens: what a connection has proved counts for that record of the token only',
    off: 'false',
    spec: 'src/auth/admission.spec.ts',
    test: 'admission › compares the token again when its record in the cache was replaced',
  },
  {
    id: 'cached-token-is-good-for-a-second',
    name: 'tokens: an entry of the cache is good for a second',
    off: 'true',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'the token cache › drops a deleted token within a second',
  },
  {
    id: 'token-cache-bounded',
    name: 'token cache: its size is bounded',
    off: 'remove',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'the token cache › keeps the last 20,000 tokens',
  },
  {
    id: 'throwing-observer-fails-one-call',
    name: 'scripts: an observer that throws fails its own call only',
    off: { replace: 'throw error;' },
    spec: 'test/engine/batches.spec.ts',
    test: 'batches › an observer that throws › fails only the call that it observed: %s',
  },
  {
    id: 'closed-request-released',
    name: 'bounds: a request whose client disconnected while it was counted is released',
    off: 'remove',
    spec: 'test/api/tokens.spec.ts',
    test: 'tokens › two servers over the same Redis › limits of tokens on the queue API › D19: do not count a request whose client disconnected while the count was in Redis',
  },
];
