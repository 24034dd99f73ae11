/**
 * What Pumphouse wants to reach, and what lmstfy needs, both measured on a quiet machine of 2 cores with Redis beside the server, 64
 * connections and 100 B bodies. Multiples of E carry over to other machines; rates are scaled by what the bare server does there.
 */

/** Requests per second of the bare server on the machine that the rates below are for. */
export const BARE_RATE = 52_000;

/** @typedef {{ e?: number, rate?: number }} Figures sum / E, and operations (or jobs) per second */

/** @type {Record<string, Figures>} */
const TARGETS = {
  publish: { e: 1.8, rate: 28_000 },
  consume: { e: 2.0, rate: 27_000 },
  ack: { e: 1.7, rate: 30_000 },
  empty: { e: 1.6, rate: 30_000 },
  cycle: { e: 5.4, rate: 9_500 },
  bulk: { e: 0.4, rate: 150_000 },
  many: { e: 0.5, rate: 120_000 },
  acks: { e: 0.3 },
};
/** With an append-only file, brought to the disk every second. @type {Record<string, Figures>} */
const TARGETS_AOF = { publish: { rate: 26_000 }, cycle: { rate: 9_000 } };

/** @type {Record<string, Figures>} */
const LMSTFY = {
  publish: { e: 4.2, rate: 16_700 },
  consume: { e: 5.7, rate: 12_500 },
  ack: { e: 2.9, rate: 22_000 },
  empty: { e: 3.3, rate: 21_000 },
  cycle: { e: 13.8, rate: 4_900 },
  bulk: { e: 2.7, rate: 32_000 },
  many: { e: 4.4, rate: 20_000 },
};
/** @type {Record<string, Figures>} */
const LMSTFY_AOF = { publish: { rate: 15_100 }, cycle: { rate: 4_500 } };

/** @param {'off' | 'everysec'} aof @param {string} key of a row @returns {Figures} */
export const targetOf = (aof, key) => (aof === 'off' ? TARGETS : TARGETS_AOF)[key] ?? {};

/** @param {'off' | 'everysec'} aof @param {string} key of a row @returns {Figures} */
export const lmstfyOf = (aof, key) => (aof === 'off' ? LMSTFY : LMSTFY_AOF)[key] ?? {};

/** Bytes of Redis's memory for a job with a body of 100 B. */
export const BYTES = { ready: 280, scheduled: 300 };
export const LMSTFY_BYTES = { ready: 289, scheduled: 399 };

/** From the start of the process until /readyz says yes. */
export const START_MS = 1_000;

/** By how much a full store may cost more than an empty one: CPU of the server, CPU of Redis. */
export const GROWTH = { server: 0.05, redis: 0.35 };
/**
 * "No more commands per operation": a batch is as large as chance makes it, and a command that it needs once is shared by its
 * operations. What grows with the store grows by more than this.
 */
export const COMMANDS_SLACK = 0.05;

/** Share of a core by which server and Redis together may need more for a full store than for an empty one when nothing happens. */
export const IDLE_SHARE = 0.01;
