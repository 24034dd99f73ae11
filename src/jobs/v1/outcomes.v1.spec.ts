import { InputError } from '../../contract/fields/problems.js';
import { JsonText } from '../../contract/json/json-text.js';
import { heartbeatOf } from './outcomes.v1.js';

describe('the progress of a heartbeat', () => {
  it('is written as JSON once, for its length and for the store', () => {
    const { progress } = heartbeatOf('a', { lease: 1, progress: { done: ['é', 1] } }, 20);
    expect(progress).toBeInstanceOf(JsonText);
    expect((progress as JsonText).text).toBe('{"done":["é",1]}');
  });

  it('is left out if the heartbeat has none', () => {
    expect(heartbeatOf('a', { lease: 1 }, 20)).toEqual({ id: 'a', lease: 1 });
  });

  it('is null if the heartbeat says so', () => {
    expect((heartbeatOf('a', { lease: 1, progress: null }, 20).progress as JsonText).text).toBe('null');
  });

  it('is refused if it has more bytes than data may have', () => {
    expect(() => heartbeatOf('a', { lease: 1, progress: 'é'.repeat(10) }, 21)).toThrow(InputError);
    expect(() => heartbeatOf('a', { lease: 1, progress: 'é'.repeat(10) }, 22)).not.toThrow();
  });
});
