const STATE = 'test/faults/store-state.spec.ts';

/**
 * Stores that change under a running server, connections that lie, clocks that differ, acknowledgements that come too late.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const STORES = [
  {
    id: 'half-open-replaced',
    name: 'connections: a half-open connection is replaced',
    off: 'remove',
    spec: 'test/engine/faults.spec.ts',
    test: 'connections › a pool behind a bad network › detects a half-open connection within ten seconds, and gives a long poll its job',
  },
  {
    id: 'driver-does-not-subscribe',
    name: 'connections: the driver does not subscribe by itself',
    off: 'true',
    spec: 'test/engine/faults.spec.ts',
    test: 'connections › a pool behind a bad network › can be closed while it subscribes to wake-ups again',
  },
  {
    id: 'refused-subscription-ends-nothing',
    name: 'wake-ups: a subscription that Redis refuses ends no process',
    off: { with: 'this.subscribe()' },
    spec: 'test/engine/faults.spec.ts',
    test: 'connections › a pool behind a bad network › subscribes to wake-ups again when Redis allows it',
  },
  {
    id: 'refused-subscription-retried',
    name: 'connections: a refused subscription is tried again',
    off: 'true',
    spec: 'test/engine/faults.spec.ts',
    test: 'connections › a pool behind a bad network › subscribes to wake-ups again when Redis allows it',
  },
  {
    id: 'newer-store-left-alone',
    name: 'data format: a store of a later version is left alone',
    off: 'remove',
    spec: STATE,
    test: 'a Redis that is changed while servers run › T42: is not used while it has the data format of a later version',
  },
  {
    id: 'store-checked-while-running',
    name: 'data format: the format is checked while the server runs',
    off: 'remove',
    spec: STATE,
    test: 'a Redis that is changed while servers run › T19: makes its pool degraded, and is refused at start, with an eviction policy and without AOF',
  },
  {
    id: 'clock-of-redis-counts',
    name: 'time: the clock of Redis counts, not that of this machine',
    off: 'remove',
    spec: 'test/engine/clock.spec.ts',
    test: 'a Redis whose clock is stepped › is the only clock: a server ten minutes off creates the same ids and deadlines',
  },
  {
    id: 'stale-ack-counted',
    name: 'acks: an ack that may have removed a newer lease is counted',
    off: 'remove',
    spec: 'test/faults/answers.spec.ts',
    test: 'an acknowledgement without a lease, as in lmstfy › T6: removes a job that another worker has leased since, and is counted as possibly stale',
  },
  {
    id: 'queue-series-bounded',
    name: 'metrics: the number of queue series is bounded',
    off: 'remove',
    spec: 'test/faults/churn.spec.ts',
    test: 'queues that are created and removed › T36: leave no key but bounded statistics of a day, less than 2 MB and at most ${MAX_SERIES} series behind: ${QUEUES} queues',
  },
];
