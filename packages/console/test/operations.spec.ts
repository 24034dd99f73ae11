import { argsOf, rateOf, toOf } from '../src/lib/operations.js';

describe('the line of an operation', () => {
  const line = (...of: Parameters<typeof argsOf>) => argsOf(...of)?.join(' ') ?? null;

  it('has the filters as flags, the rate, and the confirmation', () => {
    expect(line('respawn', { group: 'smtp', state: ['dead'] }, { rate: 10 })).toBe(
      'dead respawn --group smtp --rate 10 --yes',
    );
    expect(line('cancel', { queue: 'mail', state: ['ready', 'scheduled'], type: 'welcome' })).toBe(
      'job cancel --queue mail --state ready,scheduled --type welcome --yes',
    );
    expect(line('delete', { queue: 'mail' }, { undoMs: 600_000 })).toBe(
      'job rm --queue mail --undo 600s --yes',
    );
    expect(line('move', { tag: 'eu' }, { to: 'mail-2' })).toBe('job move mail-2 --tag eu --yes');
  });

  it('names all jobs only if there is no filter', () => {
    expect(line('delete', {})).toBe('job rm --all --yes');
    expect(line('respawn', { state: ['dead'] })).toBe('dead respawn --all --yes');
  });

  it('is left out for filters that the command does not have', () => {
    for (const filter of [{ worker: 'w' }, { state: ['ready'] }, { state: ['dead', 'done'] }])
      expect(line('respawn', filter)).toBeNull();
  });
});

describe('the form of an operation', () => {
  const given = (fields: Record<string, string>) => new Map(Object.entries(fields));

  it('reads a rate, which may be empty', () => {
    expect([rateOf(given({ rate: ' 10 ' })), rateOf(given({ rate: '' }))]).toEqual([10, undefined]);
    for (const rate of ['0', '10001', 'fast', '1.5']) expect(() => rateOf(given({ rate }))).toThrow(/1 to/);
  });

  it('needs the queue of a move', () => {
    expect(toOf(given({}))).toBeUndefined();
    expect(() => toOf(given({ to: ' ' }))).toThrow(/Name the queue/);
  });
});
