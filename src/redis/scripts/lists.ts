import { script, whole } from './script.js';

/* Scripts of the extended path that list jobs and change what is in lists. */

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

export const countStalled = script('queries/count_stalled', { repeatable: true, reply: whole });

export const stalledWorkers = script('queries/stalled_workers', { repeatable: true, reply: whole });

export const listEndedTracked = script('queries/list_ended_tracked', { repeatable: true, reply: whole });

export const LIST_SCRIPTS = [
  tagJobs,
  listEndedTracked,
  listJobs,
  deadLetterStep,
  workersScript,
  recordWorkers,
  recordSession,
  countStalled,
  stalledWorkers,
  listByIds,
  readData,
] as const;
