const NODES = 'test/engine/cluster.spec.ts';
const WAKEUPS = 'test/engine/cluster.spec.ts';

/**
 * A Cluster's nodes and slots.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const CLUSTER = [
  {
    name: 'cluster: a wake-up goes to the channel of its namespace',
    file: 'lua/modules/queues/notify_sharded.lua',
    from: 'redis.pcall("SPUBLISH", base .. ":wake", ',
    to: 'redis.pcall("ECHO", ',
    spec: WAKEUPS,
    test: 'come on the namespace',
  },
  {
    name: 'cluster: waiting requests fetch again once their channel is subscribed',
    file: 'src/redis/cluster/wakeups.ts',
    from: 'isElsewhere && this.listeners',
    to: 'owner === link.options.host && this.listeners',
    spec: WAKEUPS,
    test: 'end when no request has waited',
  },
  {
    name: 'cluster: a channel is subscribed at the new node of its slot',
    file: 'src/redis/cluster/wakeups.ts',
    from: '(one.at === owner && !this.doubtful.has(owner))',
    to: 'one.at !== null',
    spec: WAKEUPS,
    test: 'follow a slot to its new node',
  },
  {
    name: 'cluster: a subscription that went with its connection is made anew',
    file: 'src/redis/cluster/wakeups.ts',
    from: 'if (one.at === owner) one.at = null;\n  }',
    to: 'if (one.at === owner) one.waiting += 0;\n  }',
    spec: WAKEUPS,
    test: 'are heard again when the connection',
  },
  {
    name: 'cluster: a node that is silent loses its connection',
    file: 'src/redis/cluster/nodes.ts',
    from: 'node.disconnect();',
    to: 'node.listenerCount("end");',
    spec: NODES,
    test: 'are found out one by one',
  },
  {
    name: 'cluster: a silent node costs the others no connection',
    file: 'src/redis/cluster/nodes.ts',
    from: 'node.disconnect();',
    to: 'this.client.disconnect(true);',
    spec: NODES,
    test: 'are found out one by one',
  },
  {
    name: 'cluster: a command that no node has seen is tried again',
    file: 'src/redis/cluster/command.ts',
    from: 'throw new Error(`not sent: ${error.message}`, { cause: error });',
    to: 'throw error;',
    spec: NODES,
    test: 'fail no call',
  },
  {
    name: 'cluster: a node that is away keeps no sweep from the others',
    file: 'src/redis/cluster/heads.ts',
    from: '() => Number.NaN,',
    to: '(error: unknown) => Promise.reject(error as Error),',
    spec: NODES,
    test: 'that are away make the pool degraded',
  },
];
