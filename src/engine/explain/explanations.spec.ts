import { jobNotFound } from '../../domain/errors.js';
import { toQueueError } from '../../redis/errors.js';
import { explainedOutage } from './explanations.js';

describe('the explanation of an outage', () => {
  const reasonOf = (text: string): unknown => {
    const found = explainedOutage(toQueueError('default', new Error(text)));
    return found && (found.facts as { reason: string }).reason;
  };

  it.each([
    ['read_only', 'READONLY You can not run script with write flag on readonly replica.'],
    ['loading', 'LOADING Redis is loading the dataset in memory'],
    ['no_replicas', 'NOREPLICAS Not enough good replicas to write.'],
    ['disk', 'MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk.'],
    ['denied', 'NOPERM this user has no permissions to run the fcall command'],
    ['unreachable', "Stream isn't writeable and enableOfflineQueue options is false"],
    ['no_answer', 'BUSY Redis is busy running a script.'],
  ])('names the reason %s', (reason, text) => {
    expect(reasonOf(text)).toBe(reason);
  });

  it('is none for an error that is no outage', () => {
    expect(explainedOutage(jobNotFound('a'))).toBeNull();
    expect(reasonOf('OOM command not allowed')).toBeNull();
    expect(explainedOutage(new TypeError('a mistake'))).toBeNull();
  });
});
