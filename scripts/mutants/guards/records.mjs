const RECORDS = 'test/engine/records.spec.ts';
const E2E = 'test/api/durability.spec.ts';

/**
 * Records of leases whose answers may not have left: a job that no worker saw is not charged, and one that a worker saw
 * is.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const RECORD_GUARDS = [
  {
    id: 'dead-keeps-free-retries',
    name: 'delivery log: a dead job keeps the count of its free retries',
    off: { with: '0' },
    spec: 'test/engine/records.spec.ts',
    test: 'leases whose answers may not have been sent › are counted as attempts and never as tries of the job, also when it is dead',
  },
  {
    id: 'deliveries-recorded-with-lease',
    name: 'delivery log: leases are recorded in the script that grants them',
    off: 'false',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › expire without using a try when their server died',
  },
  {
    id: 'pump-reads-delivery-log',
    name: 'delivery log: an expired lease is looked up before a try is charged',
    off: 'false',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › expire without using a try when their server died',
  },
  {
    id: 'delivery-records-name-the-lease',
    name: 'delivery log: a record is of one lease, not of the job',
    off: 'true',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › do not save the try of the next lease, whose answer was sent',
  },
  {
    id: 'extended-free-retries-end',
    name: 'delivery log: an extended job has three free retries, and no more',
    off: { with: '255' },
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use no try three times on the extended path, and return the job without its backoff',
  },
  {
    id: 'free-retry-ignores-backoff',
    name: 'delivery log: a free retry is immediate',
    off: 'remove',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use no try three times on the extended path, and return the job without its backoff',
  },
  {
    id: 'simple-free-retries-end',
    name: 'delivery log: a simple job has three free retries, and no more',
    off: { with: '255' },
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use no try three times, and one try at the fourth lease, so that the job dies',
  },
  {
    id: 'undo-keeps-free-retries',
    name: 'delivery log: an undo keeps the number of free retries',
    off: { with: '0' },
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use no try three times, and one try at the fourth lease, so that the job dies',
  },
  {
    id: 'pump-flushes-delivered',
    name: 'delivery log: delivered leases are removed before this server pumps',
    off: 'remove',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use a try if they expire after the answer was sent, on the server that sent it',
  },
  {
    id: 'tick-flushes-delivered',
    name: 'delivery log: delivered leases are removed on the next tick',
    off: { with: '[]' },
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › use a try if they expire after the answer was sent, on another server',
  },
  {
    id: 'batch-is-delivered-with-its-last-answer',
    name: 'delivery log: a batch is delivered when its last answer is sent',
    off: 'true',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › stay in the delivery log for many consumers of one batch until the last answer was sent',
  },
  {
    id: 'lost-lease-reply-is-given-back',
    name: 'delivery log: leases whose reply was lost are given back',
    off: { with: 'undefined' },
    spec: RECORDS,
    test: 'a lease call whose reply was lost › is undone to the front as soon as Redis is reachable: %i jobs',
  },
  {
    id: 'tidy-drops-dead-records',
    name: 'delivery log: records of dead servers are removed',
    off: 'false',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › leave nothing behind: an entry is removed when its leases have ended',
  },
  {
    id: 'tidy-waits-for-the-pump',
    name: 'delivery log: no record is removed before the pump has seen it',
    off: 'false',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › leave nothing behind: an entry is removed when its leases have ended',
  },
  {
    id: 'forgotten-namespace-keeps-no-records',
    name: 'delivery log: a namespace that is forgotten keeps no records',
    off: 'remove',
    spec: RECORDS,
    test: 'leases whose answers may not have been sent › leave nothing behind in a removed namespace',
  },
  {
    id: 'lmstfy-confirms-flushed',
    name: 'delivery log: an lmstfy response is delivered when the system has all of its bytes',
    off: 'remove',
    spec: E2E,
    test: 'delivery records › the delivery log entry of an answer with leases › stays until the client has read the answer',
  },
  {
    id: 'delivery-confirms',
    name: 'delivery log: a delivered response is confirmed',
    off: 'remove',
    spec: E2E,
    test: 'delivery records › the delivery log entry of an answer with leases › is removed when the answer was sent, %s',
  },
  {
    id: 'undo-drops-record',
    name: 'delivery log: an undone lease needs no record',
    off: 'remove',
    spec: E2E,
    test: 'delivery records › the delivery log entry of an answer with leases › is removed when its client disconnects, and the leases are undone',
  },
  {
    id: 'reclaim-skips-delivered',
    name: 'delivery log: a lease that was delivered is not reclaimed for a lease call that never ran',
    off: 'remove',
    spec: 'test/engine/records.spec.ts',
    test: 'a lease call whose reply was lost › does not undo the lease of the call before it, if it is one %s',
  },
  {
    id: 'failed-undo-is-tried-again',
    name: 'leases: an undo for which Redis was away is tried again',
    off: 'remove',
    spec: 'test/engine/faults.spec.ts',
    test: 'connections › a pool behind a bad network › undoes leases later if Redis was %s, without using a try',
  },
];
