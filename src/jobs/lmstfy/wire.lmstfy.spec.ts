import type { StoredJob } from '../../domain/job/job.js';
import { peekedJson } from './wire.lmstfy.js';

const JOB: StoredJob = {
  id: '01M7Z17XME660YPHBY512QCVQF',
  queue: 'q',
  body: Buffer.from('hello'),
  attributes: null,
  triesLeft: 1,
  attempts: 0,
  ttlLeftMs: 0,
  elapsedMs: 7,
};

describe("lmstfy's answers", () => {
  it.each([
    [0, 0],
    [1, 1],
    [499, 1],
    [1_499, 1],
    [1_500, 2],
    [86_400_000, 86_400],
    // A job that is leased in the millisecond of its publish: deadlines are rounded up, "now" is rounded down.
    [4_294_967_295_001, 4_294_967_295],
  ])('show %i remaining milliseconds as a ttl of %i seconds', (ttlLeftMs, ttl) => {
    expect(JSON.parse(peekedJson('ns', { ...JOB, ttlLeftMs }))).toMatchObject({ ttl });
  });

  it('have keys and attributes in alphabetical order', () => {
    const json = peekedJson('ns', { ...JOB, attributes: { b: '"', a: 'é' } });

    expect(json).toBe(
      '{"attributes":{"a":"\\u00e9","b":"\\""},"data":"aGVsbG8=","elapsed_ms":7,"job_id":"01M7Z17XME660YPHBY512QCVQF",' +
        '"namespace":"ns","queue":"q","remain_tries":1,"ttl":0}',
    );
  });
});
