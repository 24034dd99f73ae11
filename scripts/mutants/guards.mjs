import { CLUSTER } from './guards/cluster.mjs';
import { DEPENDENCIES } from './guards/dependencies.mjs';
import { DURABLE } from './guards/durability.mjs';
import { EVENTS } from './guards/events.mjs';
import { FAILURES } from './guards/failures.mjs';
import { FAR_SLOTS } from './guards/far-slots.mjs';
import { FLOODS } from './guards/floods.mjs';
import { FULL_MODEL } from './guards/full-model.mjs';
import { IMPORT } from './guards/import.mjs';
import { LEASES } from './guards/leases.mjs';
import { LINES } from './guards/lines.mjs';
import { LIST_GUARDS } from './guards/lists.mjs';
import { MIGRATION } from './guards/migration.mjs';
import { NAMESPACES } from './guards/namespaces.mjs';
import { NATIVE_HTTP } from './guards/native-http.mjs';
import { PUBLISHES } from './guards/publishes.mjs';
import { QUEUE_LIMITS } from './guards/queue-limits.mjs';
import { RECORD_GUARDS } from './guards/records.mjs';
import { SCHEDULES } from './guards/schedules.mjs';
import { SCRIPTS } from './guards/scripts.mjs';
import { STORES } from './guards/stores.mjs';
import { TIME } from './guards/time.mjs';
import { TOKENS } from './guards/tokens.mjs';

/**
 * The guards that keep jobs from being lost, doubled, early or late: how to switch each of them off by a change of text, and the test that
 * must fail then.
 *
 * @typedef {object} Guard
 * @property {string} name what is switched off
 * @property {string} file where it is
 * @property {string} from its text; occurs once in the file
 * @property {string} to what stands there when it is off
 * @property {string} spec the file of the test
 * @property {string} test its name, or a part of it, as a regular expression
 * @property {Readonly<Record<string, string>>} [env] environment of the run: a random test that meets the guard seldom has its seed here
 */

/** @type {readonly Guard[]} */
export const GUARDS = [
  ...LEASES,
  ...RECORD_GUARDS,
  ...LINES,
  ...LIST_GUARDS,
  ...FAR_SLOTS,
  ...TIME,
  ...SCHEDULES,
  ...SCRIPTS,
  ...FAILURES,
  ...CLUSTER,
  ...TOKENS,
  ...NATIVE_HTTP,
  ...PUBLISHES,
  ...MIGRATION,
  ...IMPORT,
  ...DURABLE,
  ...STORES,
  ...FLOODS,
  ...DEPENDENCIES,
  ...FULL_MODEL,
  ...EVENTS,
  ...QUEUE_LIMITS,
  ...NAMESPACES,
];
