import { didYouMean, distance, similarName } from './similar-name.js';

describe('the distance of two texts', () => {
  it.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['abc', '', 3],
    ['priority', 'priority', 0],
    ['priorty', 'priority', 1],
    ['kitten', 'sitting', 3],
    ['ab', 'ba', 2],
    ['flaw', 'lawn', 2],
  ])('is counted in letters between %j and %j: %i', (one, other, letters) => {
    expect(distance(one, other)).toBe(letters);
    expect(distance(other, one)).toBe(letters);
  });
});

describe('a similar name', () => {
  const known = ['delay_ms', 'priority', 'Europe/Berlin'];
  it.each([
    ['priorty', 'priority'],
    ['PRIORITY', 'priority'],
    ['delay', 'delay_ms'],
    ['europe/berln', 'Europe/Berlin'],
    ['prio_xyz', undefined],
    ['de', undefined],
    ['', undefined],
  ])('is found for %j: %j', (name, similar) => {
    expect(similarName(name, known)).toBe(similar);
    expect(didYouMean(name, known)).toBe(similar === undefined ? '' : `; did you mean ${similar}?`);
  });
});
