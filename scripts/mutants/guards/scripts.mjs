const MEMORY = 'test/engine/memory.spec.ts';
const MOVE = 'test/topologies/cluster-move.spec.ts';
/** All of its cases: `npm test` plays a third of them. */
const LONG = { PUMPHOUSE_CHAOS_ROUNDS: '4' };
const BODIES = 'test/engine/leasing.spec.ts';

/**
 * What a script may do in a Cluster that moves a slot, in a full Redis, and to long bodies.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SCRIPTS = [
  {
    id: 'script-errors-name-their-line',
    name: 'scripts: an error of Redis names the line of the file in the repository',
    off: 'remove',
    spec: 'test/engine/noscript.spec.ts',
    test: 'an error in a script: $form › names the line of the file in the repository',
  },
  {
    id: 'pump-touches-first',
    name: 'touch first: the pump waits until a slot has moved',
    off: 'remove',
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'respawn-touches-first',
    name: 'touch first: respawn touches what it will write',
    off: 'remove',
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s › %i keys have moved already › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'removal-touches-first',
    name: 'touch first: a removal touches the indexes of the job',
    off: 'remove',
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s › %i keys have moved already › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'missing-job-touched',
    name: 'touch first: a missing job may be moving to another node',
    off: 'remove',
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s, the first ones have moved already › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'lease-frees-before-it-adds',
    name: 'free first: a lease trims all lists before it adds anything',
    off: { replace: 'redis.call("HSET", meta, "grows", 1)\n$&' },
    spec: MEMORY,
    test: 'a full Redis with %s › can be drained: all but publish goes on',
  },
  {
    id: 'undo-frees-before-it-adds',
    name: 'free first: an undo removes from all lists before it adds anything',
    off: { replace: 'redis.call("HSET", meta_key, "grows", 1)\n$&' },
    spec: MEMORY,
    test: 'a full Redis with %s › can be drained: all but publish goes on',
  },
  {
    id: 'pump-frees-before-it-adds',
    name: 'free first: the pump removes all index members before it adds anything',
    off: { replace: 'redis.call("HSET", meta, "grows", 1)\n$&' },
    spec: MEMORY,
    test: 'a full Redis with %s › can be drained: all but publish goes on',
  },
  {
    id: 'lease-reads-jobs-together',
    name: 'touch first: a lease reads its jobs in one command',
    off: {
      with: '(function() local found = {} for i, key in ipairs(keys) do found[i] = redis.call("MGET", key)[1] end return found end)()',
    },
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s, the first ones have moved already › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'ack-reads-jobs-together',
    name: 'touch first: acks and the pump read their jobs in one command',
    off: {
      with: '(function() local found = { false } for i = first, last do found[i - first + 2] = redis.call("MGET", keys[i])[1] end return found end)()',
    },
    spec: MOVE,
    test: 'scripts of simple jobs › a moving slot › key order %i: %s, the first ones have moved already › lets $name succeed, or fail without a change',
    env: LONG,
  },
  {
    id: 'long-body-not-overwritten',
    name: 'values: a long body is not overwritten by the part that was read',
    off: 'remove',
    spec: BODIES,
    test: 'long payloads › payloads of every length › are returned byte for byte by every operation: %i',
  },
  {
    id: 'reply-error-names-script',
    name: 'errors: a reply that no script gives is an error with the label of the script',
    off: { with: 'message' },
    spec: 'src/redis/scripts/wire.spec.ts',
    test: 'the reply of a script › is an error with the name of the script if it is %s',
  },
];
