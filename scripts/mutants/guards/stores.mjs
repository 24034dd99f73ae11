const STATE = 'test/faults/store-state.spec.ts';

/**
 * Stores that change under a running server, connections that lie, clocks that differ, acknowledgements that come too late.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const STORES = [
  {
    name: 'a half-open connection is replaced',
    file: 'src/redis/pool.ts',
    from: "if (this.client.status === 'ready') this.client.disconnect(true);",
    to: '',
    spec: 'test/engine/faults.spec.ts',
    test: 'detects a half-open connection',
  },
  {
    name: 'the driver does not subscribe by itself: it leaves a refusal unhandled',
    file: 'src/redis/pool.ts',
    from: 'autoResubscribe: false',
    to: 'autoResubscribe: true',
    spec: 'test/engine/faults.spec.ts',
    test: 'can be closed while it subscribes',
  },
  {
    name: 'a subscription that Redis refuses ends no process',
    file: 'src/redis/wakeups.ts',
    from: 'void this.subscribe().catch(() => undefined)',
    to: 'void this.subscribe()',
    spec: 'test/engine/faults.spec.ts',
    test: 'can be closed while it subscribes|subscribes to wake-ups until',
  },
  {
    name: 'a subscription that was refused is tried again',
    file: 'src/redis/wakeups.ts',
    from: "const isSubscribed = this.subscriber.mode === 'subscriber';",
    to: 'const isSubscribed = true;',
    spec: 'test/engine/faults.spec.ts',
    test: 'subscribes to wake-ups until',
  },
  {
    name: 'a store that a later version has taken over is left alone',
    file: 'src/redis/pool.ts',
    from: 'if (this.newer) throw unavailable(this.name, this.newer);',
    to: '',
    spec: STATE,
    test: 'T42: with the data format of a later version',
  },
  {
    name: 'a store is looked at again while the server runs',
    file: 'src/redis/pool.ts',
    from: 'if (this.newer || isTurn) await this.inspect(true);',
    to: '',
    spec: STATE,
    test: 'T19: ',
  },
  {
    name: "the clock of Redis counts, not this machine's",
    file: 'src/redis/calls.ts',
    from: 'this.offsetMs = offsetMs;',
    to: 'void offsetMs;',
    spec: 'test/engine/clock.spec.ts',
    test: 'is the only clock|follows a step',
  },
  {
    name: 'an ack that may have removed a job that was leased again is counted',
    file: 'src/engine/settle/acks.ts',
    from: "if (code === ACK.possible) this.observer.staleAck(namespace, 'possible');",
    to: '',
    spec: 'test/faults/answers.spec.ts',
    test: 'T6: ',
  },
  {
    name: 'queues that come and go get no more series than are allowed',
    file: 'src/metrics/series.ts',
    from: 'if (this.held >= this.limit) return this.other(pool);',
    to: '',
    spec: 'test/faults/churn.spec.ts',
    test: 'T36: ',
  },
];
