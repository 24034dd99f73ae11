import fc from 'fast-check';
import { QueueError } from './errors.js';
import {
  checkAllQueues,
  checkQueue,
  checkQueueOrAll,
  checkVerb,
  matchesPattern,
  type Rights,
} from './rights.js';

describe('patterns of queue names', () => {
  it.each([
    ['mail', 'mail', true],
    ['mail', 'mails', false],
    ['mail', 'Mail', false],
    ['mail-*', 'mail-', true],
    ['mail-*', 'mail-eu-1', true],
    ['mail-*', 'mail', false],
    ['mail-*', 'x-mail-1', false],
    ['*-dead', 'mail-dead', true],
    ['*-dead', 'mail-dead-1', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['**', 'x', true],
    ['*', '', true],
    ['', 'x', false],
    ['mail_', 'mailX', false],
  ])('match or do not match: pattern %j, queue %j, %s', (pattern, name, fits) => {
    expect(matchesPattern(pattern, name)).toBe(fits);
  });

  it('match the names that the regular expression with .* for each * matches', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ab*-]{0,8}$/), fc.stringMatching(/^[ab-]{0,10}$/), (pattern, name) => {
        const same = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name);
        expect(matchesPattern(pattern, name)).toBe(same);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are compared in a short time although they have 120 stars', () => {
    // A backtracking expression would practically never finish here.
    expect(matchesPattern(`${'*a'.repeat(120)}*b`, 'a'.repeat(255))).toBe(false);
  });
});

/** The code and the message of an error; null if there is none. */
function refusal(check: () => void): [string, string] | null {
  try {
    check();
  } catch (error) {
    if (error instanceof QueueError) return [error.code, error.message];
    throw error;
  }
  return null;
}

describe('the rights of a token', () => {
  const rights: Rights = { verbs: ['consume'], queues: ['mail-*', 'news'] };
  const anywhere: Rights = { ...rights, queues: null };

  it('allow a call by its verb', () => {
    expect(refusal(() => checkVerb(rights, 'consume'))).toBeNull();
    expect(refusal(() => checkVerb(rights, 'publish'))).toEqual([
      'verb_missing',
      'the token lacks the permission publish',
    ]);
  });

  it('allow calls on matching queues only, and calls on the whole namespace only without queue patterns', () => {
    for (const queue of ['mail-1', 'news']) expect(refusal(() => checkQueue(rights, queue))).toBeNull();
    expect(refusal(() => checkQueue(rights, 'newsletter'))).toEqual([
      'queue_not_allowed',
      'the token is for the queues mail-*,news and not for newsletter',
    ]);
    expect(refusal(() => checkAllQueues(rights))).toEqual([
      'queue_not_allowed',
      'the token is for the queues mail-*,news and not for a whole namespace',
    ]);
    expect(refusal(() => checkQueue(anywhere, 'x'))).toBeNull();
    expect(refusal(() => checkAllQueues(anywhere))).toBeNull();
  });

  it('allow a call that may name no queue only for a matching queue or without queue patterns', () => {
    expect(refusal(() => checkQueueOrAll(rights, 'news'))).toBeNull();
    expect(refusal(() => checkQueueOrAll(rights, 'newsletter'))?.[1]).toMatch(/newsletter$/);
    expect(refusal(() => checkQueueOrAll(rights, undefined))?.[1]).toMatch(/whole namespace$/);
    expect(refusal(() => checkQueueOrAll(anywhere, undefined))).toBeNull();
  });

  it('allow every call if they are not limited', () => {
    for (const check of [
      () => checkVerb(null, 'admin'),
      () => checkQueue(null, 'x'),
      () => checkAllQueues(null),
      () => checkQueueOrAll(null, undefined),
    ]) {
      expect(refusal(check)).toBeNull();
    }
  });
});
