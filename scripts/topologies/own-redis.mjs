/**
 * Specs that have Redis servers of their own, by their nature: what they are about is one server, or a topology, that they must be able
 * to stop, fill, slow down or look into. `npm run test:topologies` leaves them out; `npm test` runs them.
 */
export const OWN_REDIS = {
  'test/engine/bytes.spec.ts': 'counts the keys and the memory of a server that holds nothing else',
  'test/engine/clock.spec.ts': 'steps the clock of a server',
  'test/engine/data-format.spec.ts': 'fills a server with the store of an older build',
  'test/engine/events-outage.spec.ts': 'stops and fills a server',
  'test/engine/faults.spec.ts': 'cuts, slows down, silences and restarts a server',
  'test/engine/memory.spec.ts': 'fills a server up to its maxmemory',
  'test/engine/moving.spec.ts': 'moves a pool from one server to another',
  'test/engine/noscript.spec.ts': "looks at a server's command statistics",
  'test/properties/quotas.spec.ts': 'counts the keys of all namespaces of a server',
  'test/engine/script-headers.spec.ts': 'reads files, and no Redis',
  'test/engine/extended-time.spec.ts': "looks at a server's slow log",
  'test/engine/scripts-time.spec.ts': "looks at a server's slow log",
  'test/engine/header.spec.ts': 'asks a Redis of its own to run one assembled script',
  'test/engine/start-errors.spec.ts': 'starts servers that speak something else than was expected',
  'test/engine/wire.spec.ts': 'sends bytes to one server, past all that knows of topologies',
  'test/api/admin-audit.spec.ts': 'looks at all entries of one server, and stops it',
  'test/api/admin-sessions.spec.ts': 'looks at all sessions of one server, and stops it',
  'test/api/explain-store.spec.ts': 'stops, fills and hangs a server',
  'test/api/from-lmstfy-page.spec.ts': 'switches a server off',
  'test/api/import-lmstfy.spec.ts': 'runs a command between two servers',
  'test/api/migration.spec.ts': 'moves a pool from one server to another',
  'test/api/metrics.spec.ts': "compares gauges with one server's INFO",
  'test/properties/api.spec.ts': 'has a clock of its own, which is not that of other servers',
  'test/api/outage.spec.ts': 'stops and restarts a server',
  'test/api/poison.spec.ts': "looks at one server's count of the dead",
  'test/api/secrets.spec.ts': "looks for secrets in a server's keys and log",
  'test/api/tls.spec.ts': 'runs a built server with the url of a server',
};
