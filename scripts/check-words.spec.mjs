import { refusedIn } from './check-words.mjs';

/** In two pieces, so that this file does not have the words. */
const WORD = ['la', 'ne'].join('');
const ROOM = ['wai', 'ting room'].join('');

describe('the check of words', () => {
  it.each([
    [`a ${WORD} of its own`, [WORD]],
    [`const hot${WORD[0].toUpperCase()}${WORD.slice(1)}s = 1;`, [WORD]],
    [`local full_${WORD} = 1`, [WORD]],
    [`a ${ROOM}`, [ROOM]],
    [`a p${WORD}, an airp${WORD}`, []],
    ['a simple path', []],
  ])('finds refused words in %j', (line, words) => {
    expect(refusedIn(line)).toEqual(words);
  });
});
