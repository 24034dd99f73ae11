const DURABILITY = 'test/engine/durability.spec.ts';
const MASTER = 'test/engine/sentinel-master.spec.ts';

/**
 * What must be safe before it is answered, and which Redis is the master.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const DURABLE = [
  {
    name: 'durability: what the replicas do not have is not answered',
    file: 'src/redis/durable/connection.ts',
    from: 'if (hasDone && missing !== undefined)',
    to: 'if (hasDone && missing === "")',
    spec: DURABILITY,
    test: 'says not_replicated with the ids',
  },
  {
    name: 'durability: a mark stands before each wait',
    file: 'lua/commands/maintenance/mark_connection.lua',
    from: 'redis.call("PEXPIRE", meta, 86400000)\nredis.call("PERSIST", meta)',
    to: 'redis.call("EXISTS", meta)',
    spec: DURABILITY,
    test: 'marks the end of what it waits for',
  },
  {
    name: 'durability: what cannot be had is refused before anything is stored',
    file: 'src/redis/durable/safety.ts',
    from: 'if (wanted > safety.replicas) {',
    to: 'if (wanted > safety.replicas + 9) {',
    spec: DURABILITY,
    test: 'is refused, with nothing stored',
  },
  {
    name: 'durability: what a Redis could do says nothing of the next one',
    file: 'src/redis/durable/paths.ts',
    from: "parts.client.on('close', () => this.forget());",
    to: '',
    spec: DURABILITY,
    test: 'refused when it ceases to',
  },
  {
    name: 'durability: calls that come during a wait share the next one',
    file: 'src/redis/durable/connection.ts',
    from: 'this.waiting.splice(0, CALLS_IN_A_ROUND)',
    to: 'this.waiting.splice(0, CALLS_IN_A_ROUND / CALLS_IN_A_ROUND)',
    spec: DURABILITY,
    test: 'has one wait for calls that come together',
  },
  {
    name: 'durability: an id that an attempt was refused with counts as stored',
    file: 'src/engine/publish/publisher.ts',
    from: 'const named = retryOf ? retried(job, retryOf) : job;\n      const id',
    to: 'const named = job;\n      const id',
    spec: DURABILITY,
    test: 'says not_replicated with the ids',
  },
  {
    name: 'sentinel: the newest election counts',
    file: 'src/redis/sentinel.ts',
    from: 'b.epoch - a.epoch',
    to: 'a.epoch - b.epoch',
    spec: MASTER,
    test: 'is the one of the newest election',
  },
  {
    name: 'sentinel: a master that was deposed is left',
    file: 'src/redis/sentinel.ts',
    from: 'if (this.stream === socket) this.disconnect();',
    to: '',
    spec: MASTER,
    test: 'is left when there is a newer election',
  },
  {
    name: 'sentinel: one that hangs delays no call',
    file: 'src/redis/sentinel.ts',
    from: 'connectTimeout: SENTINEL_MS, commandTimeout: SENTINEL_MS,',
    to: 'connectTimeout: SENTINEL_MS,',
    spec: MASTER,
    test: 'is found while a sentinel hangs',
  },
  {
    name: 'a Redis that never says hello is connected to anew',
    file: 'src/redis/connect.ts',
    from: 'timer = setTimeout(() => client.disconnect(true), withinMs).unref();',
    to: 'timer = undefined;',
    spec: MASTER,
    test: 'accepts a connection and then says nothing',
  },
  {
    name: 'a Redis that has become a replica is connected to anew',
    file: 'src/redis/connect.ts',
    from: '? 1 : false),',
    to: '? false : false),',
    spec: MASTER,
    test: 'has become a replica',
  },
];
