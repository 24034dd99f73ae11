import { groupsOf, itemOf, type Question } from './questions.js';

/** A question as `a,b` (its queues); the rest as most have it. */
function ask(queues: string, other: { count?: number; ttrMs?: number; waits?: boolean } = {}): Question {
  const { count = 1, ttrMs = 60_000, waits = false } = other;
  return { request: { queues: queues.split(','), count, ttrMs, waitMs: waits ? 1_000 : 0 }, waits };
}

/** Which questions are asked together, by their places. */
function membersOf(...questions: readonly Question[]): readonly (readonly number[])[] {
  return groupsOf(questions).map(({ members }) => members);
}

describe('questions of one turn', () => {
  it('that are alike are asked as one, for as many jobs as there are askers', () => {
    const groups = groupsOf([ask('a'), ask('a'), ask('a')]);

    expect(groups).toEqual([{ queues: ['a'], ttrMs: 60_000, waits: false, count: 3, members: [0, 1, 2] }]);
    expect(groups.map(itemOf)).toEqual([['a', 3, 3, 60_000, '0']]);
  });

  it('to different queues stand each for itself, and do not part others', () => {
    expect(membersOf(ask('a'), ask('b'), ask('a'), ask('b'))).toEqual([
      [0, 2],
      [1, 3],
    ]);
  });

  it.each([
    ['another ttr', ask('a', { ttrMs: 1 })],
    ['a wait', ask('a', { waits: true })],
    ['several jobs', ask('a', { count: 2 })],
    ['more queues', ask('a,b')],
  ])('are not alike with %s', (_name, other) => {
    expect(membersOf(ask('a'), other)).toEqual([[0], [1]]);
    expect(membersOf(other, ask('a'))).toEqual([[0], [1]]);
  });

  it('for several jobs each are not shared: who asks for two and gets one is served', () => {
    const groups = groupsOf([ask('a', { count: 2 }), ask('a', { count: 2 })]);

    expect(groups.map(itemOf)).toEqual([
      ['a', 2, 1, 60_000, '0'],
      ['a', 2, 1, 60_000, '0'],
    ]);
  });

  it('that name the same queues in another order are not alike', () => {
    expect(membersOf(ask('a,b'), ask('b,a'))).toEqual([[0], [1]]);
  });

  it.each([
    ['its first queue', [ask('a'), ask('a', { ttrMs: 1 }), ask('a')], [[0], [1], [2]]],
    ['its second queue', [ask('a,b'), ask('b'), ask('a,b')], [[0], [1], [2]]],
    ['one of its queues among others', [ask('a'), ask('b,a'), ask('a')], [[0], [1], [2]]],
    ['none of its queues', [ask('a,b'), ask('c'), ask('a,b')], [[0, 2], [1]]],
  ])('do not overtake one that came in between and asked for %s', (_name, questions, members) => {
    expect(membersOf(...questions)).toEqual(members);
  });

  it('may form a group behind the one that was in the way', () => {
    expect(membersOf(ask('a'), ask('a', { ttrMs: 1 }), ask('a'), ask('a'))).toEqual([[0], [1], [2, 3]]);
  });

  it('ask to be registered when not all of them were served', () => {
    const waiting = ask('a,b', { waits: true });

    expect(groupsOf([waiting, waiting]).map(itemOf)).toEqual([['a,b', 2, 2, 60_000, '1']]);
  });

  it('keep their order within a group of a thousand', () => {
    const [members = []] = membersOf(...Array.from({ length: 1_000 }, () => ask('a')));

    expect(members).toEqual(Array.from({ length: 1_000 }, (_, i) => i));
  });
});
