import { script, TIMES, whole } from './script.js';

/* Scripts of the extended path that list jobs and change what is in lists. */

const SPACE = ['meta', 'queues', 'due', 'waiting', 'expiries'] as const;

export const tagJobs = script({
  name: 'extended/tag_jobs',
  keys: SPACE,
  args: [...TIMES, 'most_tags', 'most_bytes'],
  item: ['verb', 'id', 'tags'],
  repeatable: true,
  reply: whole,
});

export const listJobs = script({
  name: 'queries/list_jobs',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'kind', 'name', 'filter', 'at', 'id', 'limit', 'scan_limit', 'order'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const deadLetterStep = script({
  name: 'queries/dead_letter',
  keys: SPACE,
  args: [...TIMES, 'verb', 'queue', 'filter', 'options', 'at', 'id', 'limit', 'scan_limit'],
  item: ['id'],
  /** A step that ran twice would act on twice as many jobs as the call allows. */
  repeatable: false,
  reply: whole,
});

export const workersScript = script({
  name: 'extended/workers',
  keys: ['meta', 'workers'],
  args: [...TIMES, 'verb', 'scope'],
  item: ['worker'],
  repeatable: true,
  reply: whole,
});

export const recordWorkers = script({
  name: 'extended/record_workers',
  keys: ['meta', 'due', 'workers'],
  args: [...TIMES, 'most'],
  item: ['worker'],
  repeatable: true,
  reply: whole,
});

export const recordSession = script({
  name: 'extended/record_session',
  keys: ['meta', 'due', 'workers'],
  args: [...TIMES, 'worker', 'ttr_ms', 'jobs', 'info', 'name', 'scope', 'most'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const listByIds = script({
  name: 'queries/list_by_ids',
  keys: ['meta', 'queues'],
  args: TIMES,
  item: ['id'],
  repeatable: true,
  reply: whole,
});

export const readData = script({
  name: 'queries/read_data',
  keys: ['meta'],
  args: [...TIMES, 'most_bytes'],
  item: ['id'],
  repeatable: true,
  reply: whole,
});

export const countStalled = script({
  name: 'queries/count_stalled',
  keys: ['meta'],
  args: [...TIMES, 'limit'],
  item: ['worker'],
  repeatable: true,
  reply: whole,
});

export const stalledWorkers = script({
  name: 'queries/stalled_workers',
  keys: ['meta', 'workers'],
  args: [...TIMES, 'skip', 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const listEndedTracked = script({
  name: 'queries/list_ended_tracked',
  keys: ['meta', 'traces'],
  args: [...TIMES, 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

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
