import { groupsOf, itemOf, type FetchRequest } from './fetch-requests.js';

/** A fetch request from text such as `a,b` (its queues); other values are defaults. */
function fetchOf(
  queues: string,
  other: { count?: number; ttrMs?: number; waits?: boolean } = {},
): FetchRequest {
  const { count = 1, ttrMs = 60_000, waits = false } = other;
  return { request: { queues: queues.split(','), count, ttrMs, waitMs: waits ? 1_000 : 0 }, waits };
}

/** Groups of fetch requests, by their indexes in the batch. */
function membersOf(...requests: readonly FetchRequest[]): readonly (readonly number[])[] {
  return groupsOf(requests).map(({ members }) => members);
}

describe('fetch requests of one turn', () => {
  it('are joined if they are equal and want one job each', () => {
    const groups = groupsOf([fetchOf('a'), fetchOf('a'), fetchOf('a')]);

    expect(groups).toEqual([{ queues: ['a'], ttrMs: 60_000, waits: false, count: 3, members: [0, 1, 2] }]);
    expect(groups.map(itemOf)).toEqual([['a', 3, 3, 60_000, '0']]);
  });

  it('are joined by queue although requests for another queue are between them', () => {
    expect(membersOf(fetchOf('a'), fetchOf('b'), fetchOf('a'), fetchOf('b'))).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  it.each([
    ['another ttr', fetchOf('a', { ttrMs: 1 })],
    ['a wait', fetchOf('a', { waits: true })],
    ['several jobs', fetchOf('a', { count: 2 })],
    ['more queues', fetchOf('a,b')],
  ])('are not joined with a request that has %s', (_name, other) => {
    expect(membersOf(fetchOf('a'), other)).toEqual([[0], [1]]);
    expect(membersOf(other, fetchOf('a'))).toEqual([[0], [1]]);
  });

  it('are not joined if they want several jobs each', () => {
    const groups = groupsOf([fetchOf('a', { count: 2 }), fetchOf('a', { count: 2 })]);

    expect(groups.map(itemOf)).toEqual([
      ['a', 2, 1, 60_000, '0'],
      ['a', 2, 1, 60_000, '0'],
    ]);
  });

  it('are not joined if they name the same queues in another order', () => {
    expect(membersOf(fetchOf('a,b'), fetchOf('b,a'))).toEqual([[0], [1]]);
  });

  it.each([
    ['their first queue', [fetchOf('a'), fetchOf('a', { ttrMs: 1 }), fetchOf('a')], [[0], [1], [2]]],
    ['their second queue', [fetchOf('a,b'), fetchOf('b'), fetchOf('a,b')], [[0], [1], [2]]],
    ['one of their queues and another queue', [fetchOf('a'), fetchOf('b,a'), fetchOf('a')], [[0], [1], [2]]],
    ['none of their queues', [fetchOf('a,b'), fetchOf('c'), fetchOf('a,b')], [[0, 2], [1]]],
  ])(
    'are joined across another request between them only if it names none of their queues: it names %s',
    (_name, requests, members) => {
      expect(membersOf(...requests)).toEqual(members);
    },
  );

  it('are joined if they come after a different request for the same queue', () => {
    expect(membersOf(fetchOf('a'), fetchOf('a', { ttrMs: 1 }), fetchOf('a'), fetchOf('a'))).toEqual([
      [0],
      [1],
      [2, 3],
    ]);
  });

  it('wait together in one group if they wait for jobs', () => {
    const waiting = fetchOf('a,b', { waits: true });

    expect(groupsOf([waiting, waiting]).map(itemOf)).toEqual([['a,b', 2, 2, 60_000, '1']]);
  });

  it('keep their order when 1,000 equal ones are joined', () => {
    const [members = []] = membersOf(...Array.from({ length: 1_000 }, () => fetchOf('a')));

    expect(members).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });
});
