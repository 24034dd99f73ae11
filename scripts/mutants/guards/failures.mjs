const ENGINE = 'test/engine/engine.spec.ts';
const FAULTS = 'test/engine/faults.spec.ts';

/**
 * Connections that break, servers that die, tokens that are revoked.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FAILURES = [
  {
    name: 'deadline: a script that runs after its callers got 503 does nothing',
    file: 'lua/modules/core/call.lua',
    from: 'return deadline_ms > 0 and now_floor > deadline_ms',
    to: 'return false',
    spec: FAULTS,
    test: 'does nothing behind the backs',
  },
  {
    name: 'our own deadline settles a call that gets no answer',
    file: 'src/redis/calls.ts',
    from: 'setTimeout(() => fail(unavailable(this.pool)), Math.max(withinMs, 1))',
    to: 'setTimeout(() => fail(unavailable(this.pool)), 30_000 + withinMs * 0)',
    spec: FAULTS,
    test: 'refuses every call in time while Redis is silent',
  },
  {
    name: 'the driver does not send again',
    file: 'src/redis/connect.ts',
    from: 'autoResendUnfulfilledCommands: false,',
    to: 'autoResendUnfulfilledCommands: true,',
    spec: FAULTS,
    test: 'reserve is never sent twice',
  },
  {
    name: 'a reserve that may have run is not repeated',
    file: 'src/redis/scripts/simple.ts',
    from: "item: ['names', 'count', 'enough', 'ttr_ms', 'waits'],\n  repeatable: false,",
    to: "item: ['names', 'count', 'enough', 'ttr_ms', 'waits'],\n  repeatable: true,",
    spec: FAULTS,
    test: 'reserve is never sent twice',
  },
  {
    name: 'a publish that is sent again finds its own id',
    file: 'src/engine/publish/publisher.ts',
    from: 'return id === undefined ? undefined : taken();',
    to: 'return taken();',
    spec: FAULTS,
    test: 'is sent again when its reply is lost',
  },
  {
    name: 'the namespace is on the list before it has its marker',
    file: 'src/engine/core/scripts.ts',
    from: "await this.pool.read('SADD', this.pool.keys.namespaces, namespace);\n    await this.pool.run(register",
    to: 'await this.pool.run(register',
    spec: 'test/engine/reused-ids.spec.ts',
    test: 'is on the list before',
  },
  {
    name: 'a namespace is registered when a script refuses it',
    file: 'src/engine/core/scripts.ts',
    from: 'if (reply.status === NOT_REGISTERED) {',
    to: 'if (reply.status === NOT_REGISTERED && namespace === "") {',
    spec: ENGINE,
    test: 'D17: ',
  },
  {
    name: 'a script that Redis has forgotten is sent as text',
    file: 'src/redis/pool.ts',
    from: "if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;",
    to: "if (error instanceof Error && text !== '') throw error;",
    spec: 'test/engine/noscript.spec.ts',
    test: 'is sent once as text',
  },
  {
    name: 'bytes of a script call are counted as they are sent',
    file: 'src/redis/scripts/script.ts',
    from: 'if (seen <= LAST_ASCII)',
    to: 'if (seen >= 0)',
    spec: 'src/redis/scripts/wire.spec.ts',
    test: 'holds text beyond ASCII',
  },
  {
    name: 'what a connection has proved counts for that record of the token only',
    file: 'src/auth/admission.ts',
    from: 'if (known !== proof.known)',
    to: 'if (known === null)',
    spec: 'src/auth/admission.spec.ts',
    test: 'compares again when the cache has another record',
  },
  {
    name: 'token cache: its answers are good for a second',
    file: 'src/auth/token-cache.ts',
    from: 'if (ageMs < VALID_MS) {',
    to: 'if (ageMs < VALID_MS * 60) {',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'D6: ',
  },
  {
    name: 'token cache: it holds so many and no more',
    file: 'src/auth/token-cache.ts',
    from: 'if (this.known.size > MAX_ENTRIES) this.dropOldest();',
    to: '',
    spec: 'src/auth/token-cache.spec.ts',
    test: 'remembers a bounded number of tokens',
  },
  {
    name: 'an observer that throws fails its own call alone',
    file: 'src/engine/core/scripts.ts',
    from: '            call.failed(error);\n          }',
    to: '            throw error;\n          }',
    spec: 'test/engine/batches.spec.ts',
    test: 'fails the call of which it was told, and no other',
  },
  {
    name: 'a request is given back whose client went while it was counted',
    file: 'src/http/request/connection.ts',
    from: 'queueMicrotask(() => watcher.connectionClosed());',
    to: '',
    spec: 'test/api/tokens.spec.ts',
    test: 'went while its request was counted',
  },
];
