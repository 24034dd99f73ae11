import { answer, bytesAt, flatReply, integerAt, script, TIMES } from './script.js';

const KEYS = ['meta', 'targets', 'target_changes'] as const;

export const changeTarget = script({
  name: 'targets/change',
  keys: KEYS,
  args: [...TIMES, 'target', 'expected', 'value', 'most', 'event', 'facts'],
  item: ['breaker', 'facts'],
  repeatable: false,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), code: 0, queue: '' };
    return { ...answer(reply), code: integerAt(reply, 2), queue: bytesAt(reply, 3).toString() };
  },
});

export const pushQueue = script({
  name: 'targets/push_queue',
  keys: KEYS,
  args: [...TIMES, 'queue', 'target', 'most'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), code: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : 0 };
  },
});

export const changeBreaker = script({
  name: 'targets/change_breaker',
  keys: KEYS,
  args: [...TIMES, 'target', 'origin', 'url', 'action', 'open_ms', 'max_open_ms', 'try_ms'],
  item: [],
  repeatable: false,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), isDone: false, breaker: '' };
    return { ...answer(reply), isDone: integerAt(reply, 2) === 1, breaker: bytesAt(reply, 3).toString() };
  },
});

export const readTargets = script({
  name: 'targets/read',
  keys: KEYS,
  args: [...TIMES, 'since', 'most'],
  item: [],
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    const fields = new Map<string, string>();
    for (let i = 3; i + 1 < reply.length; i += 2)
      fields.set(bytesAt(reply, i).toString(), bytesAt(reply, i + 1).toString());
    return { ...answer(reply), version: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : -1, fields };
  },
});

export const TARGET_SCRIPTS = [changeTarget, pushQueue, changeBreaker, readTargets] as const;
