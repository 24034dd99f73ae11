import { PumphouseError } from '@pumphouse/client';
import { failureOf, failureText } from './failures.js';

/** What is printed for an answer of the server. */
function printed(code: string, message: string, errors: readonly object[]): string {
  const failure = failureOf(new PumphouseError(code, message, { status: 400, details: { errors } }));
  return failure === undefined ? '' : failureText(failure);
}

describe('the text of a refused call', () => {
  const one = { field: 'delay_ms', rule: 'must be a whole number from 0 to 9' };
  const two = { field: 'jobs[1].tries', rule: 'must be a whole number from 1 to 9' };

  it('names a field that is wrong once, in one line', () => {
    expect(printed('invalid_argument', `invalid request: ${one.field}: ${one.rule}`, [one])).toBe(
      'pumphouse: invalid_argument: delay_ms: must be a whole number from 0 to 9\n',
    );
    const body = { field: '', rule: 'must be an object' };
    expect(printed('invalid_argument', 'invalid request: body: must be an object', [body])).toBe(
      'pumphouse: invalid_argument: must be an object\n',
    );
  });

  it('names each of several fields once, one a line', () => {
    expect(
      printed('invalid_argument', `invalid request: ${one.field}: ${one.rule} (and 1 more)`, [one, two]),
    ).toBe(
      'pumphouse: invalid_argument: 2 fields are wrong:\n' +
        '  delay_ms: must be a whole number from 0 to 9\n  jobs[1].tries: must be a whole number from 1 to 9\n',
    );
  });

  it('keeps the message of another error, and adds the fields that are not in it', () => {
    expect(printed('job_exists', 'a job has this id', [{ field: 'id', rule: 'is taken' }])).toBe(
      'pumphouse: job_exists: a job has this id\n  id: is taken\n',
    );
    expect(printed('invalid_argument', 'no such call', [])).toBe(
      'pumphouse: invalid_argument: no such call\n',
    );
  });
});
