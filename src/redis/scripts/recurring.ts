import { flatReply, script } from './script.js';
import { answer, TIMES, whole } from './replies.js';

/** The scripts of recurring jobs. Their clock is `full_tick`. */
export const fullRecurSet = script({
  name: 'full_recur_set',
  keys: ['meta', 'due'],
  args: [
    ...TIMES,
    ...([
      'id',
      'revision',
      'schedule',
      'every_ms',
      'first_ms',
      'offset_ms',
      'fields',
      'body',
      'needs',
    ] as const),
  ],
  item: [],
  repeatable: false,
  reply: whole,
});

export const fullRecurEnd = script({
  name: 'full_recur_end',
  keys: ['meta'],
  args: [...TIMES, 'id'],
  item: [],
  repeatable: false,
  reply: whole,
});

export const fullRecurLook = script({
  name: 'full_recur_look',
  keys: ['meta'],
  args: [...TIMES, 'id', 'after', 'limit'],
  item: [],
  repeatable: true,
  /** Id and list of fields of each, in turn. */
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), hasMore: reply[2] === 1, items: reply.slice(3) };
  },
});

export const RECURRING_SCRIPTS = [fullRecurSet, fullRecurEnd, fullRecurLook] as const;
