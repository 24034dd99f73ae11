import { refusedIn, refusedInLua } from './words.mjs';

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
  ])('finds refused words in %j', (line, refused) => {
    expect(refusedIn(line)).toEqual(refused);
  });

  it('finds refused identifiers in Lua, not in its comments and texts', () => {
    const script = [
      '-- who asked',
      '--[[ who',
      'asked ]]',
      'local text = "who asked \\" asked"',
      'local asked, is_asked = 1, asked',
    ].join('\n');
    expect(refusedInLua(script)).toEqual([
      { name: 'asked', line: 5 },
      { name: 'asked', line: 5 },
    ]);
  });
});
