import { answer, bytesAt, flatReply, integerAt, script } from './script.js';

export const changeTarget = script('targets/change', {
  repeatable: false,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), code: 0, queue: '' };
    return { ...answer(reply), code: integerAt(reply, 2), queue: bytesAt(reply, 3).toString() };
  },
});

export const pushQueue = script('targets/push_queue', {
  repeatable: true,
  reply: (raw) => {
    const reply = flatReply(raw);
    return { ...answer(reply), code: integerAt(reply, 0) === 0 ? integerAt(reply, 2) : 0 };
  },
});

export const changeBreaker = script('targets/change_breaker', {
  repeatable: false,
  reply: (raw) => {
    const reply = flatReply(raw);
    if (integerAt(reply, 0) !== 0) return { ...answer(reply), isDone: false, breaker: '' };
    return { ...answer(reply), isDone: integerAt(reply, 2) === 1, breaker: bytesAt(reply, 3).toString() };
  },
});

export const readTargets = script('targets/read', {
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
