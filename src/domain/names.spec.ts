import { QueueError } from './errors.js';
import { checkListedNames, checkNames } from './ids.js';

const FORBIDDEN_NAMESPACE = 'namespace name contains forbidden characters';
const FORBIDDEN_QUEUE = 'queue name contains forbidden characters';
const TOO_LONG = 'namespace or queue name too long';

function refusal(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (error) {
    if (error instanceof QueueError && error.code === 'invalid_argument') return error.message;
    throw error;
  }
}

describe('names of a route', () => {
  it.each([
    ['ns', 'q', null],
    ['_ns', '-q_', null],
    ['n'.repeat(255), 'q'.repeat(255), null],
    ['n'.repeat(256), 'q', TOO_LONG],
    ['n', 'q'.repeat(256), TOO_LONG],
    ['n', 'é'.repeat(128), TOO_LONG],
    ['', 'q', FORBIDDEN_NAMESPACE],
    ['n.s', 'q.1', FORBIDDEN_NAMESPACE],
    ['ns', '', FORBIDDEN_QUEUE],
    ['ns', '_q', FORBIDDEN_QUEUE],
    ['ns', 'a,b', FORBIDDEN_QUEUE],
    ['ns', 'é', FORBIDDEN_QUEUE],
    ['ns', 'q\n', FORBIDDEN_QUEUE],
    ['ns', 'q\0', FORBIDDEN_QUEUE],
  ])('are accepted, or refused with the reason: namespace %j, queue %j', (namespace, queue, wanted) => {
    expect(refusal(() => checkNames(namespace, queue))).toBe(wanted);
  });

  it.each([
    ['ns', 'a,b', null],
    ['ns', '_q', null],
    ['n'.repeat(256), 'q'.repeat(256), null],
    ['ns', ',', null],
    ['n.s', 'q', FORBIDDEN_NAMESPACE],
    ['ns', 'a, b', FORBIDDEN_QUEUE],
    ['ns', '', FORBIDDEN_QUEUE],
  ])(
    'are accepted, or refused with the reason, for a list of queues: namespace %j, queues %j',
    (namespace, queues, wanted) => {
      expect(refusal(() => checkListedNames(namespace, queues))).toBe(wanted);
    },
  );

  it('are accepted without a queue', () => {
    expect(refusal(() => checkNames('ns'))).toBeNull();
  });
});
