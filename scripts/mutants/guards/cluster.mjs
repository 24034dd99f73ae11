const NODES = 'test/engine/cluster.spec.ts';
const WAKEUPS = 'test/engine/cluster.spec.ts';

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
    test: "wake-ups in a Cluster › wake-ups in a Cluster › come on the namespace's own channel, at the node of its slot and nowhere else",
  },
  {
    id: 'subscribed-waiters-fetch-again',
    name: 'cluster: waiting requests fetch again once their channel is subscribed',
    off: 'false',
    spec: WAKEUPS,
    test: 'wake-ups in a Cluster › wake-ups in a Cluster › end when no request has waited for a while, and begin again with the next one',
  },
  {
    id: 'channel-follows-its-slot',
    name: 'cluster: a channel is subscribed at the new node of its slot',
    off: { with: 'one.at !== null' },
    spec: WAKEUPS,
    test: 'wake-ups in a Cluster › wake-ups in a Cluster › follow a slot to its new node, and back, under those who wait',
  },
  {
    id: 'lost-subscription-is-renewed',
    name: 'cluster: a subscription that ended with its connection is made again',
    off: 'remove',
    spec: WAKEUPS,
    test: 'wake-ups in a Cluster › wake-ups in a Cluster › are heard again when the connection that they came on was cut',
  },
  {
    id: 'silent-node-is-disconnected',
    name: 'cluster: a node that does not answer loses its connection',
    off: 'remove',
    spec: NODES,
    test: 'nodes that fail › the nodes of a Cluster › are found out one by one when they are silent: a half-open socket is replaced, and no other is touched',
  },
  {
    id: 'silent-node-is-disconnected-alone',
    name: 'cluster: a node that does not answer costs the others no connection',
    off: { with: 'this.client.disconnect(true)' },
    spec: NODES,
    test: 'nodes that fail › the nodes of a Cluster › are found out one by one when they are silent: a half-open socket is replaced, and no other is touched',
  },
  {
    id: 'unsent-command-is-repeated',
    name: 'cluster: a command that no node has seen is tried again',
    off: { with: 'error' },
    spec: NODES,
    test: 'nodes that fail › the nodes of a Cluster › that refuse connections for a moment fail no call: what no node has seen is tried again, a reserve too',
  },
  {
    id: 'missing-node-stops-no-sweep',
    name: 'cluster: a node that is away keeps no sweep from the others',
    off: { with: '(error) => Promise.reject(error)' },
    spec: NODES,
    test: 'nodes that fail › the nodes of a Cluster › that are away make the pool degraded, and their slots refused in time; the others serve on at their usual pace',
  },
];
