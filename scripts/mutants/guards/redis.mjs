const RIGHTS = 'test/engine/rights.spec.ts';
const SET_UP = 'test/engine/set-up.spec.ts';
const RESTORED = 'test/faults/restored-store.spec.ts';

/**
 * What servers ask of a Redis before they use a connection to it.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const REDIS = [
  {
    id: 'missing-rights-are-found',
    name: 'rights: a server does not start if its Redis user lacks a right',
    off: 'true',
    spec: RIGHTS,
    test: 'the Redis rights that a server needs › stop the start if one is missing: %s',
  },
  {
    id: 'denied-is-unavailable',
    name: 'rights: a call that Redis refuses for lack of rights is 503, not 500',
    off: 'false',
    spec: RIGHTS,
    test: 'the Redis rights that a server needs › suffice for all operations, and are checked at runtime: 503, and `/readyz` names what is missing',
  },
  {
    id: 'no-call-without-rights',
    name: 'rights: no script begins that a missing right would end in its midst',
    off: 'remove',
    spec: RIGHTS,
    test: 'the Redis rights that a server needs › suffice for all operations, and are checked at runtime: 503, and `/readyz` names what is missing',
  },
  {
    id: 'refused-set-up-is-kept',
    name: 'set-up: a connection whose set-up Redis refused is not used',
    off: 'remove',
    spec: SET_UP,
    test: 'the set-up of a connection › stops the start with pool and reason: %s',
  },
  {
    id: 'lease-above-floor',
    name: 'restored store: the number of a new lease is above all that were granted before',
    off: 'true',
    spec: RESTORED,
    test: 'a Redis that is restored from an older file › grants no lease number twice, to jobs of any kind',
  },
  {
    id: 'chosen-id-of-this-run',
    name: 'restored store: a chosen id that was published in an earlier run gives its publish time up',
    off: 'true',
    spec: RESTORED,
    test: 'a Redis that is restored from an older file › grants no lease number twice, to jobs of any kind',
  },
  {
    id: 'floor-rises-with-run',
    name: 'restored store: the floor rises when the history of the data is unknown',
    off: 'false',
    spec: RESTORED,
    test: 'a Redis that is restored from an older file › grants no lease number twice, to jobs of any kind',
  },
  {
    id: 'floor-is-put-in-when-sent',
    name: 'restored store: calls carry the floor',
    off: 'remove',
    spec: RESTORED,
    test: 'a Redis that is restored from an older file › grants no lease number twice, to jobs of any kind',
  },
  {
    id: 'history-is-probed',
    name: 'restored store: a connection that stays while the data goes back is found',
    off: 'false',
    spec: RESTORED,
    test: 'a replica that lags › grants no lease number that its master granted, neither when it is promoted nor when the master copies it',
  },
  {
    id: 'connections-lead-to-one-history',
    name: 'a split group: no connection stays at a master with another history',
    off: 'remove',
    spec: RESTORED,
    test: 'a deposed master that still answers › grants no lease number that its successor grants, when a server is connected to both',
  },
  {
    id: 'clock-set-back-begins-a-run',
    name: 'leases: a clock that is set back behind the beginning of the run begins a new one',
    off: 'true',
    spec: 'test/engine/clock.spec.ts',
    test: 'a Redis whose clock is stepped › gives jobs that have one id after each other different lease numbers, also if it was started while it was ahead',
  },
  {
    id: 'clock-is-compared-with-the-run',
    name: 'leases: each probe compares the clock with the beginning of the run',
    off: { replace: 'if (nowMs < Infinity) return;' },
    spec: 'test/engine/clock.spec.ts',
    test: 'a Redis whose clock is stepped › gives jobs that have one id after each other different lease numbers, also if it was started while it was ahead',
  },
  {
    id: 'nodes-record-the-floor-that-is-used',
    name: 'restored node of a Cluster: its record has the floor of other nodes that is used there',
    off: { replace: 'const lacks = false;' },
    spec: RESTORED,
    test: 'a node of a Cluster that is restored from an older file › grants no lease number twice that a server had from the higher floor of another node',
  },
  {
    id: 'moved-record-of-a-node-has-another-key',
    name: 'Cluster: a server connects while the slot of the record of a node is moved',
    off: 'remove',
    spec: RESTORED,
    test: 'a node of a Cluster that is restored from an older file › can be connected to while the slot of its record is moved to another node',
  },
  {
    id: 'a-later-run-of-any-node-counts',
    name: 'restored node of a Cluster: its run counts also if the floor of another node is higher',
    off: { with: 'true' },
    spec: RESTORED,
    test: 'a node of a Cluster that is restored from an older file › has its jobs compared with the beginning of its own run, if the floor of another node is higher',
  },
  {
    id: 'two-masters-have-floors-of-their-own',
    name: 'a split group: a server that was at another master meanwhile begins a new run',
    off: 'true',
    spec: RESTORED,
    test: 'a deposed master that still answers › grants no lease number that its successor grants, when a server is connected to both',
  },
  {
    id: 'lower-count-is-a-loss',
    name: 'restored store: a count of probes that has gone back is logged',
    off: 'false',
    spec: RESTORED,
    test: 'a Redis that has lost data › is named in the log of one server, once, with the time',
  },
  {
    id: 'full-redis-has-a-floor',
    name: 'restored store: a full Redis can be used, and leases are above its floor',
    off: { with: '(function(reply) if type(reply) == "table" then error(reply) end end)($&)' },
    spec: RESTORED,
    test: 'a Redis that is restored from an older file › grants no lease number twice while it is full',
  },
];
