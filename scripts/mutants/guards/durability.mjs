const DURABILITY = 'test/engine/durability.spec.ts';
const MASTER = 'test/engine/sentinel-master.spec.ts';

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
    test: 'durability › replicated › says not_replicated with the ids when the replicas lag; sent again under them, each job is there once',
  },
  {
    id: 'mark-before-each-wait',
    name: 'durability: a mark stands before each wait',
    off: 'remove',
    spec: DURABILITY,
    test: 'durability › replicated › marks the end of what it waits for: a call that found its work done has written nothing',
  },
  {
    id: 'impossible-durability-is-refused',
    name: 'durability: what cannot be had is refused before anything is stored',
    off: 'false',
    spec: DURABILITY,
    test: 'durability › replicated › is refused, with nothing stored, while there are too few replicas; and served when they come',
  },
  {
    id: 'durability-per-redis',
    name: 'durability: what one Redis supports says nothing of the next one',
    off: 'remove',
    spec: DURABILITY,
    test: 'durability › aof › is served by a Redis that syncs each command, and refused when it ceases to',
  },
  {
    id: 'calls-share-the-next-wait',
    name: 'durability: calls that come during a wait share the next one',
    off: { with: '1' },
    spec: DURABILITY,
    test: 'durability › replicated › has one wait for calls that come together',
  },
  {
    id: 'refused-id-counts-as-stored',
    name: 'durability: an id that an attempt was refused with counts as stored',
    off: 'false',
    spec: DURABILITY,
    test: 'durability › replicated › says not_replicated with the ids when the replicas lag; sent again under them, each job is there once',
  },
  {
    id: 'newest-election-counts',
    name: 'Sentinel: the newest election counts',
    off: { with: '-($&)' },
    spec: MASTER,
    test: 'who is believed to be the master of a Sentinel group › is the one of the newest election, whichever sentinel answers first',
  },
  {
    id: 'sentinel-leaves-deposed',
    name: 'Sentinel: a deposed master is left',
    off: 'remove',
    spec: MASTER,
    test: 'who is believed to be the master of a Sentinel group › is left when there is a newer election, although it answers',
  },
  {
    id: 'sentinel-hang-no-delay',
    name: 'Sentinel: one that hangs delays no call',
    off: 'remove',
    spec: MASTER,
    test: 'who is believed to be the master of a Sentinel group › is found while a sentinel hangs, and another one is down',
  },
  {
    id: 'silent-redis-reconnected',
    name: 'connections: a Redis that never answers the handshake is connected again',
    off: { with: 'undefined' },
    spec: MASTER,
    test: 'a Redis that › accepts a connection and then says nothing is connected to anew',
  },
  {
    id: 'replica-reconnected',
    name: 'connections: a Redis that became a replica is connected again',
    off: 'false',
    spec: MASTER,
    test: 'a Redis that › has become a replica is connected to anew, for it may be another one by then',
  },
];
