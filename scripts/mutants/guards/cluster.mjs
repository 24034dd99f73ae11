const NODES = 'test/topologies/cluster.spec.ts';
const WAKEUPS = 'test/topologies/cluster.spec.ts';

/**
 * A Cluster's nodes and slots.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const CLUSTER = [
  {
    id: 'wake-up-uses-the-shard',
    name: 'cluster: a wake-up is sent to the channel of its namespace',
    off: 'remove',
    spec: WAKEUPS,
    test: "long polls in a Cluster › wake-ups in a Cluster › are sent on the namespace's channel, at the node of its slot only",
  },
  {
    id: 'subscribed-waiters-fetch-again',
    name: 'cluster: waiting requests fetch again once their channel is subscribed',
    off: 'false',
    spec: WAKEUPS,
    test: 'long polls in a Cluster › wake-ups in a Cluster › have no subscription when no request waits, and have one again at the next request',
  },
  {
    id: 'channel-follows-its-slot',
    name: 'cluster: a channel is subscribed at the new node of its slot',
    off: { with: 'one.at !== null' },
    spec: WAKEUPS,
    test: 'long polls in a Cluster › wake-ups in a Cluster › reach long polls after their slot moved to another node and back',
  },
  {
    id: 'lost-subscription-is-renewed',
    name: 'cluster: a subscription that ended with its connection is made again',
    off: 'remove',
    spec: WAKEUPS,
    test: 'long polls in a Cluster › wake-ups in a Cluster › are received again after their connection was cut',
  },
  {
    id: 'silent-node-is-disconnected',
    name: 'cluster: a node that does not answer loses its connection',
    off: 'remove',
    spec: NODES,
    test: 'failing nodes of a Cluster › the nodes of a Cluster › have only their half-open connection replaced if one is silent, while the others serve',
  },
  {
    id: 'silent-node-is-disconnected-alone',
    name: 'cluster: a node that does not answer costs the others no connection',
    off: { with: 'this.client.disconnect(true)' },
    spec: NODES,
    test: 'failing nodes of a Cluster › the nodes of a Cluster › have only their half-open connection replaced if one is silent, while the others serve',
  },
  {
    id: 'unsent-command-is-repeated',
    name: 'cluster: a command that no node has seen is tried again',
    off: { with: 'error' },
    spec: NODES,
    test: 'failing nodes of a Cluster › the nodes of a Cluster › fail no lease request if one refuses connections for a moment: a request that it has not seen is sent again',
  },
  {
    id: 'missing-node-stops-no-sweep',
    name: 'cluster: a node that is away keeps no sweep from the others',
    off: { with: '(error) => Promise.reject(error)' },
    spec: NODES,
    test: 'failing nodes of a Cluster › the nodes of a Cluster › make the pool degraded if one does not answer, while the others serve at their usual speed',
  },
  {
    id: 'durability-of-the-master',
    name: 'Cluster: what a master can do counts for its own namespaces only',
    off: { with: 'undefined' },
    spec: 'test/topologies/cluster.spec.ts',
    test: "the list of a Cluster's namespaces › a namespace of a Cluster with durability replicated:1 › is published to while another master has lost its replica",
  },
];
