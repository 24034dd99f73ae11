import { ChangeFields } from '../../../src/contract/job/changes.js';
import { fieldsOf } from '../../../src/contract/fields/field.js';
import type { JobChange } from '../src/node.js';

/** All fields of the type: `tsc` refuses a missing and another one. */
const NAMES: Record<keyof JobChange, true> = {
  ...{ data: true, json: true, contentType: true, type: true, tags: true, queue: true, priority: true },
  ...{ tries: true, retry: true, delayMs: true, dueAt: true, ttlMs: true, dependsOn: true },
  onMissingDependency: true,
};

describe('the type JobChange of the client', () => {
  it('has what the server can change', () => {
    const ofServer = new Set(fieldsOf(ChangeFields).keys());
    // The client makes both of `data` and `json`.
    ofServer.delete('data_base64');
    const wireNames = Object.keys(NAMES).map((name) =>
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
    expect(new Set(wireNames.filter((name) => name !== 'json'))).toEqual(ofServer);
  });
});
