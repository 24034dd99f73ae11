import { answer, bytesAt, codes, expiredLeasesOf, flatReply, integerAt, script, whole } from './script.js';
import { isOfRepeat } from '../lost-replies.js';

/* The scripts of the extended path (ADR 18). */

/** Statuses of extended/publish for a request whose idempotency key has a record. */
const STORED_BEFORE = 3;
const STORED_OTHERWISE = 4;

export const extendedPublish = script('extended/publish', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const status = integerAt(reply, 0);
    const done = status === 0;
    return {
      ...(done ? codes(raw) : { ...answer(reply), codes: [] }),
      isOfRepeat: isOfRepeat(raw),
      /** What was stored under the key; null = it was used for another request; undefined = there is no record. */
      idempotencyRecord:
        status === STORED_BEFORE ? bytesAt(reply, 2) : status === STORED_OTHERWISE ? null : undefined,
      states: done ? String(reply[3]) : '',
      nextMs: done ? integerAt(reply, 4) : 0,
      /** For each item the numbers of its needs that no job has. */
      missing: done ? String(reply[5]).split(';') : [],
      /** Of the items with a code 5 or 6, in order: the encoded id of the holder of the key. */
      holders: reply.slice(6) as readonly Buffer[],
    };
  },
});

export const extendedLease = script('extended/lease', { repeatable: false, reply: whole });

export const extendedSettle = script('extended/settle', { repeatable: false, reply: whole });

export const runTimers = script('extended/run_timers', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const late = integerAt(reply, 0) !== 0;
    const at = (index: number): number => (late ? 0 : integerAt(reply, index));
    const moved = { due: at(3), returned: at(4), died: at(5), expired: at(6) };
    /** Queues, and how many jobs were made in each. */
    const made: (readonly [queue: string, jobs: number])[] = [];
    const wantedFrom = 14 + 2 * at(8);
    for (let i = 14; i < wantedFrom; i += 2) made.push([String(reply[i]), integerAt(reply, i + 1)]);
    const operationsFrom = wantedFrom + at(9);
    const fairFrom = operationsFrom + at(11);
    const expiredFrom = fairFrom + at(13);
    /** Recurring jobs by cron that need more slots. */
    const wantedSlots = reply.slice(wantedFrom, operationsFrom).map(String);
    /** Operations that this server takes over. */
    const operations = reply.slice(operationsFrom, fairFrom).map(String);
    /** Numbers of queues whose jobs this server moves by `orderFairly`. */
    const fairQueues = reply.slice(fairFrom, expiredFrom).map(Number);
    const expiredLeases = late ? [] : expiredLeasesOf(reply, expiredFrom);
    const timed = { nextDueMs: at(2), earliestMs: at(7), moved, made, lostSessions: at(10) };
    /** Operations that are left to a process that can check the rights of their starters. */
    const left = at(12);
    return { ...answer(reply), ...timed, wantedSlots, operations, fairQueues, left, expiredLeases };
  },
});

export const orderFairly = script('extended/order_fairly', { repeatable: true, reply: whole });

export const countFairKeys = script('queries/count_fair_keys', { repeatable: true, reply: whole });

export const readFairKeys = script('queries/read_fair_keys', { repeatable: true, reply: whole });

export const readJobs = script('queries/read_jobs', {
  repeatable: true,
  /** Per item: value, queue, score, extras, needs, users; the last three are lists. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), items: reply.slice(2) };
  },
});

/** Reads a list of names and values; a value is bytes or a list of bytes. */
const namedParts = (raw: unknown) => {
  const reply = flatReply(raw) as readonly unknown[];
  const parts = new Map<string, unknown>();
  for (let i = 2; i + 1 < reply.length; i += 2) parts.set(String(reply[i]), reply[i + 1]);
  return { ...answer(reply as readonly (number | Buffer)[]), parts };
};

export const explainJob = script('queries/explain_job', { repeatable: true, reply: namedParts });

export const explainQueue = script('queries/explain_queue', { repeatable: true, reply: namedParts });

export const explainRecurring = script('queries/explain_recurring', { repeatable: true, reply: namedParts });

export const changeQueue = script('extended/change_queue', { repeatable: true, reply: whole });

export const readQueueSettings = script('queries/read_queue_settings', {
  repeatable: true,
  /** Per item: found, fields and values; the last one is a list. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), items: reply.slice(2) };
  },
});

export const purgeState = script('extended/purge_state', { repeatable: true, reply: whole });

export const recoverJobs = script('extended/recover', { repeatable: true, reply: whole });

export const deleteQueue = script('extended/delete_queue', { repeatable: true, reply: whole });

export const deleteJob = script('extended/delete_job', {
  /** Sent twice, the second finds no job: the caller would be told that there was none. */
  repeatable: false,
  reply: whole,
});

export const cancelJobs = script('extended/cancel', { repeatable: false, reply: whole });

export const changeJob = script('extended/change', { repeatable: false, reply: whole });

export const readStates = script('queries/read_states', { repeatable: true, reply: codes });

export const jobQueues = script('maintenance/read_job_queues', {
  repeatable: true,
  /** Per item the name of the job's queue, empty if there is no such job, and the job's state. */
  reply: whole,
});

/* What lists jobs, and what the lists show. */

export const tagJobs = script('extended/tag_jobs', { repeatable: true, reply: whole });

export const listJobs = script('queries/list_jobs', { repeatable: true, reply: whole });

export const deadLetterStep = script('queries/dead_letter', {
  /** A step that ran twice would act on twice as many jobs as the call allows. */
  repeatable: false,
  reply: whole,
});

export const workersScript = script('extended/workers', { repeatable: true, reply: whole });

export const recordWorkers = script('extended/record_workers', { repeatable: true, reply: whole });

export const recordSession = script('extended/record_session', { repeatable: true, reply: whole });

export const listByIds = script('queries/list_by_ids', { repeatable: true, reply: whole });

export const readData = script('queries/read_data', { repeatable: true, reply: whole });

export const failureGroups = script('queries/failure_groups', { repeatable: true, reply: whole });

export const countStalled = script('queries/count_stalled', { repeatable: true, reply: whole });

export const countQueueSessions = script('queries/count_queue_sessions', { repeatable: true, reply: whole });

export const stalledWorkers = script('queries/stalled_workers', { repeatable: true, reply: whole });

export const listEndedTracked = script('queries/list_ended_tracked', { repeatable: true, reply: whole });

/* Operations. `runTimers` runs their timer. */

export const startOperation = script('extended/start_operation', { repeatable: false, reply: whole });

export const stepOperation = script('extended/step_operation', {
  /** What a step has done, the next one does not do again. */
  repeatable: true,
  count: () => 1,
  reply: whole,
});

export const startUndo = script('extended/start_undo', { repeatable: true, reply: whole });

export const stepUndo = script('extended/step_undo', {
  /** As `stepOperation`. */
  repeatable: true,
  count: () => 1,
  reply: whole,
});

/* Recurring jobs. `runTimers` runs their timer. */

export const setRecurring = script('extended/set_recurring', { repeatable: false, reply: whole });

/** Returns whether they were stored, and when the timer is due. */
export const setSlots = script('extended/set_slots', { repeatable: true, reply: whole });

export const runRecurring = script('extended/run_recurring', { repeatable: false, reply: whole });

export const backfillRecurring = script('maintenance/backfill_recurring', { repeatable: true, reply: whole });

export const deleteRecurring = script('extended/delete_recurring', { repeatable: false, reply: whole });

export const repairTimes = script('extended/repair_times', { repeatable: true, reply: whole });

export const readRecurring = script('queries/read_recurring', {
  repeatable: true,
  /** Id and list of fields of each, in turn. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), hasMore: reply[2] === 1, items: reply.slice(3) };
  },
});

export const countRecurring = script('queries/count_recurring', { repeatable: true, reply: whole });

/* The moves of recurring jobs from one Redis to another. */

export const leaveRecurring = script('extended/leave_recurring', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), found: reply[2], fields: reply[3] };
  },
});

export const arriveRecurring = script('extended/arrive_recurring', { repeatable: true, reply: whole });

export const endLeaving = script('extended/end_leaving', { repeatable: true, reply: whole });

export const EXTENDED_SCRIPTS = [
  extendedPublish,
  extendedLease,
  extendedSettle,
  runTimers,
  orderFairly,
  countFairKeys,
  readFairKeys,
  startOperation,
  stepOperation,
  startUndo,
  stepUndo,
  readJobs,
  explainJob,
  explainQueue,
  explainRecurring,
  changeQueue,
  readQueueSettings,
  purgeState,
  recoverJobs,
  deleteQueue,
  cancelJobs,
  deleteJob,
  changeJob,
  readStates,
  jobQueues,
  tagJobs,
  listEndedTracked,
  listJobs,
  deadLetterStep,
  workersScript,
  recordWorkers,
  recordSession,
  countStalled,
  countQueueSessions,
  stalledWorkers,
  listByIds,
  readData,
  failureGroups,
  setRecurring,
  setSlots,
  runRecurring,
  deleteRecurring,
  readRecurring,
  countRecurring,
  repairTimes,
  backfillRecurring,
  leaveRecurring,
  arriveRecurring,
  endLeaving,
] as const;
