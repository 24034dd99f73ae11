import { script } from './script.js';
import { TIMES, whole } from './replies.js';

/* Scripts of the full lane that list jobs and tend what stands in lists. */

const SPACE = ['meta', 'queues', 'due', 'waiting', 'expiries'] as const;

export const fullMark = script({
  name: 'full_mark',
  keys: SPACE,
  args: [...TIMES, 'most_tags'],
  item: ['verb', 'id', 'tags'],
  repeatable: true,
  reply: whole,
});

export const fullPage = script({
  name: 'full_page',
  keys: ['meta', 'queues'],
  args: [...TIMES, 'kind', 'name', 'filter', 'at', 'id', 'limit', 'look'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const fullDead = script({
  name: 'full_dead',
  keys: SPACE,
  args: [...TIMES, 'verb', 'queue', 'filter', 'options', 'at', 'id', 'limit', 'look'],
  item: ['id'],
  /** A step that ran twice would act on twice as many jobs as were asked for. */
  repeatable: false,
  reply: whole,
});

export const fullWorkers = script({
  name: 'full_workers',
  keys: ['meta', 'workers'],
  args: [...TIMES, 'verb'],
  item: ['worker'],
  repeatable: true,
  reply: whole,
});

export const fullTraces = script({
  name: 'full_traces',
  keys: ['meta', 'traces'],
  args: [...TIMES, 'limit'],
  item: [],
  repeatable: true,
  reply: whole,
});

export const LIST_SCRIPTS = [fullMark, fullTraces, fullPage, fullDead, fullWorkers] as const;
