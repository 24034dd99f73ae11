import { ACCOUNTS } from './guards/accounts.mjs';
import { BATCHES } from './guards/batches.mjs';
import { CLIENT } from './guards/client.mjs';
import { CLUSTER } from './guards/cluster.mjs';
import { COMMAND_LINE } from './guards/command-line.mjs';
import { CRON_GUARDS } from './guards/cron.mjs';
import { DEPENDENCIES } from './guards/dependencies.mjs';
import { DEPENDENCY_RESULTS } from './guards/dependency-results.mjs';
import { DURABLE } from './guards/durability.mjs';
import { EVENTS } from './guards/events.mjs';
import { EXPIRED_LEASES } from './guards/expired-leases.mjs';
import { EXPLAIN } from './guards/explain.mjs';
import { OIDC_GUARDS } from './guards/oidc.mjs';
import { OPERATIONS } from './guards/operations.mjs';
import { UNDO } from './guards/undo.mjs';
import { HISTORY } from './guards/history.mjs';
import { EXTENDED_MODEL } from './guards/extended-model.mjs';
import { EXTENDED_REGRESSIONS } from './guards/extended-regressions.mjs';
import { FAILURES } from './guards/failures.mjs';
import { FAR_SLOTS } from './guards/far-slots.mjs';
import { FLOODS } from './guards/floods.mjs';
import { HOLDER_DATA } from './guards/holder-data.mjs';
import { IMPORT } from './guards/import.mjs';
import { FAIR_QUEUES } from './guards/fair-queues.mjs';
import { LEASE_BY_TYPE } from './guards/lease-by-type.mjs';
import { LEASES } from './guards/leases.mjs';
import { LINGER } from './guards/linger.mjs';
import { LIST_GUARDS } from './guards/lists.mjs';
import { LMSTFY } from './guards/lmstfy.mjs';
import { LOOPS } from './guards/loops.mjs';
import { METRICS } from './guards/metrics.mjs';
import { NATIVE_MIGRATION } from './guards/migration-native.mjs';
import { MIGRATION } from './guards/migration.mjs';
import { NAMESPACES } from './guards/namespaces.mjs';
import { NATIVE_HTTP } from './guards/native-http.mjs';
import { NATIVE_KEYS } from './guards/native-keys.mjs';
import { PAYLOADS } from './guards/payloads.mjs';
import { PAUSES } from './guards/pauses.mjs';
import { PUBLISHES } from './guards/publishes.mjs';
import { PURGES_AND_MOVES } from './guards/purges-and-moves.mjs';
import { PUSH_SENDING } from './guards/push-sending.mjs';
import { PUSH_TARGETS } from './guards/push-targets.mjs';
import { PUSH_GUARDS } from './guards/push.mjs';
import { QLESS_DEFECTS } from './guards/qless.mjs';
import { QUEUE_LIMITS } from './guards/queue-limits.mjs';
import { QUOTA } from './guards/quotas.mjs';
import { READY_LISTS } from './guards/ready-lists.mjs';
import { RECORD_GUARDS } from './guards/records.mjs';
import { REDIS } from './guards/redis.mjs';
import { SCHEDULES } from './guards/schedules.mjs';
import { SCRIPTS } from './guards/scripts.mjs';
import { START } from './guards/start.mjs';
import { STORES } from './guards/stores.mjs';
import { STRICT_ORDER } from './guards/strict-order.mjs';
import { SURVIVE } from './guards/survive.mjs';
import { SWEEPS } from './guards/sweep.mjs';
import { TIME } from './guards/time.mjs';
import { TOKEN_SCOPES } from './guards/token-scopes.mjs';
import { TOKENS } from './guards/tokens.mjs';
import { WORKER_RUNTIME } from './guards/worker-runtime.mjs';
import { WORKER_SESSIONS } from './guards/worker-sessions.mjs';

/**
 * The guards that keep jobs from being lost, doubled, early or late: how to switch each of them off, and the test that must fail then.
 *
 * Each has a marker in the code (`markers.mjs` says which forms there are).
 *
 * @typedef {object} Guard
 * @property {string} id of its marker: a comment `guard: ID` in the code
 * @property {string} name what it ensures
 * @property {import('./markers.mjs').Off} off what switches it off
 * @property {string} spec the file of the test
 * @property {string} test its full name, as it is written: `describe › it`; placeholders of `each` stay
 * @property {string} [titles] the file in which that name is written, if it is not the spec: one with tests that several specs have
 * @property {Readonly<Record<string, string>>} [env] environment of the run: a random test that meets the guard seldom has its seed here
 */

/** @type {readonly Guard[]} */
export const GUARDS = [
  ...LEASES,
  ...FAIR_QUEUES,
  ...LINGER,
  ...PAUSES,
  ...STRICT_ORDER,
  ...LEASE_BY_TYPE,
  ...ACCOUNTS,
  ...OIDC_GUARDS,
  ...TOKEN_SCOPES,
  ...PAYLOADS,
  ...RECORD_GUARDS,
  ...READY_LISTS,
  ...BATCHES,
  ...LIST_GUARDS,
  ...WORKER_RUNTIME,
  ...WORKER_SESSIONS,
  ...CLIENT,
  ...FAR_SLOTS,
  ...TIME,
  ...CRON_GUARDS,
  ...SCHEDULES,
  ...SCRIPTS,
  ...LOOPS,
  ...METRICS,
  ...EXPIRED_LEASES,
  ...FAILURES,
  ...HOLDER_DATA,
  ...CLUSTER,
  ...COMMAND_LINE,
  ...TOKENS,
  ...NATIVE_HTTP,
  ...NATIVE_KEYS,
  ...PUBLISHES,
  ...PUSH_GUARDS,
  ...PUSH_SENDING,
  ...PUSH_TARGETS,
  ...MIGRATION,
  ...NATIVE_MIGRATION,
  ...LMSTFY,
  ...IMPORT,
  ...DURABLE,
  ...START,
  ...STORES,
  ...SWEEPS,
  ...FLOODS,
  ...EXTENDED_REGRESSIONS,
  ...DEPENDENCIES,
  ...DEPENDENCY_RESULTS,
  ...EXPLAIN,
  ...OPERATIONS,
  ...UNDO,
  ...HISTORY,
  ...EXTENDED_MODEL,
  ...EVENTS,
  ...QUEUE_LIMITS,
  ...QLESS_DEFECTS,
  ...NAMESPACES,
  ...SURVIVE,
  ...PURGES_AND_MOVES,
  ...REDIS,
  ...QUOTA,
];
