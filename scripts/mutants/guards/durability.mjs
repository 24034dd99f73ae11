const DURABILITY = 'test/engine/durability.spec.ts';
const MASTER = 'test/topologies/sentinel-master.spec.ts';

/**
 * What must be safe before it is answered, and which Redis is the master.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const DURABLE = [
  {
    id: 'unreplicated-is-refused',
    name: 'durability: what the replicas do not have is not answered',
    off: 'false',
    spec: DURABILITY,
    test: 'durability › durability replicated › answers not_replicated with the ids when the replicas lag, and a repetition stores once',
  },
  {
    id: 'mark-before-each-wait',
    name: 'durability: a mark stands before each wait',
    off: 'remove',
    spec: DURABILITY,
    test: 'durability › durability replicated › writes to Redis, so that the wait counts, also for a repeated publish that stores no job',
  },
  {
    id: 'impossible-durability-is-refused',
    name: 'durability: what cannot be had is refused before anything is stored',
    off: 'false',
    spec: DURABILITY,
    test: 'durability › durability replicated › is refused without replicas, stores no job, and is accepted when there is one',
  },
  {
    id: 'durability-per-redis',
    name: 'durability: what one Redis supports says nothing of the next one',
    off: 'remove',
    spec: DURABILITY,
    test: 'durability › durability aof › is accepted with appendfsync always, and refused when Redis has another setting',
  },
  {
    id: 'calls-share-the-next-wait',
    name: 'durability: calls that come during a wait share the next one',
    off: { with: '1' },
    spec: DURABILITY,
    test: 'durability › durability replicated › needs at most 5 WAIT commands for 30 concurrent calls',
  },
  {
    id: 'refused-id-counts-as-stored',
    name: 'durability: an id that an attempt was refused with counts as stored',
    off: 'false',
    spec: DURABILITY,
    test: 'durability › durability replicated › answers not_replicated with the ids when the replicas lag, and a repetition stores once',
  },
  {
    id: 'newest-election-counts',
    name: 'Sentinel: the newest election counts',
    off: { with: '-($&)' },
    spec: MASTER,
    test: "the master of a Sentinel group › is that of the newest election, in any order of the sentinels' answers",
  },
  {
    id: 'sentinel-leaves-deposed',
    name: 'Sentinel: a deposed master is left',
    off: 'remove',
    spec: MASTER,
    test: 'the master of a Sentinel group › is left after a newer election although it answers',
  },
  {
    id: 'sentinel-hang-no-delay',
    name: 'Sentinel: one that hangs delays no call',
    off: 'remove',
    spec: MASTER,
    test: 'the master of a Sentinel group › is found while a sentinel hangs, and another one is down',
  },
  {
    id: 'silent-redis-reconnected',
    name: 'connections: a Redis that never answers the handshake is connected again',
    off: { with: 'undefined' },
    spec: MASTER,
    test: 'the connection to a Redis › is opened again if the Redis accepts connections and never answers',
  },
  {
    id: 'replica-reconnected',
    name: 'connections: a Redis that became a replica is connected again',
    off: 'false',
    spec: MASTER,
    test: 'the connection to a Redis › is opened again if the Redis became a replica',
  },
  {
    id: 'rewrite-pauses-fsync',
    name: 'durability: a Redis that syncs nothing while it rewrites its AOF does not sync always',
    off: 'true',
    spec: 'test/engine/durability.spec.ts',
    test: 'durability › durability aof › is refused by a Redis that syncs nothing while it rewrites its AOF',
  },
];
