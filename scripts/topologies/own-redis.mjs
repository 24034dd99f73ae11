/**
 * Specs that have Redis servers of their own, by their nature: what they are about is one server, or a topology, that they must be able
 * to stop, fill, slow down or look into. `npm run test:topologies` leaves them out; `npm test` runs them.
 */
export const OWN_REDIS = {
  'test/redis/byte-count.spec.ts': 'counts the keys of all namespaces of a server',
  'test/redis/bytes.spec.ts': 'compares used_memory of a server that holds nothing else',
  'test/redis/clock.spec.ts': 'steps the clock of a server',
  'test/redis/cluster-move.spec.ts': 'moves slots of a Cluster, key by key',
  'test/redis/cluster-nodes.spec.ts': 'silences and cuts off nodes of a Cluster',
  'test/redis/cluster-tokens.spec.ts': 'moves the slot of the tokens, key by key',
  'test/redis/cluster-wakeups.spec.ts': 'moves slots of a Cluster under its waiters',
  'test/redis/cluster.spec.ts': 'kills nodes and moves slots of a Cluster',
  'test/redis/data-format.spec.ts': "changes a store's data format",
  'test/redis/faults-restart.spec.ts': 'restarts a server, and flushes its scripts',
  'test/redis/faults.spec.ts': 'cuts, slows down and silences the connections to a server',
  'test/redis/library.spec.ts': 'runs the packed library with the url of a server',
  'test/redis/memory.spec.ts': 'fills a server up to its maxmemory',
  'test/redis/noscript.spec.ts': "looks at a server's command statistics",
  'test/redis/quotas-model.spec.ts': 'counts the keys of all namespaces of a server',
  'test/redis/reads.spec.ts': 'stops a server from answering',
  'test/redis/script-headers.spec.ts': 'reads files, and no Redis',
  'test/redis/scripts-time.spec.ts': "looks at a server's slow log",
  'test/redis/sentinel.spec.ts': 'kills the master of a Sentinel group',
  'test/redis/wire.spec.ts': 'sends bytes to one server, past all that knows of topologies',
  'test/e2e/cluster-moves.spec.ts': 'moves slots of a Cluster under HTTP load',
  'test/e2e/cluster.spec.ts': 'kills workers of a built server with its embedded Redis',
  'test/e2e/embedded.spec.ts': 'is about the embedded Redis',
  'test/e2e/main.spec.ts': 'starts the built server as an operator would',
  'test/e2e/metrics.spec.ts': "compares gauges with one server's INFO",
  'test/e2e/outage.spec.ts': 'stops and restarts a server',
  'test/e2e/secrets.spec.ts': "looks for secrets in a server's keys and log",
  'test/e2e/shutdown.spec.ts': 'stops a built server with its embedded Redis',
};
