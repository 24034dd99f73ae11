import { insideWordsOf, problemsOfName, refusedIn, refusedInLua } from './words.mjs';

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
  ])('finds the refused words of the line %j, and no others', (line, refused) => {
    expect(refusedIn(line)).toEqual(refused);
  });

  it('finds refused identifiers in the code of Lua, and not in comments and strings', () => {
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

describe('the check of pages for users', () => {
  it('finds words of the code, also in two lines and in the plural', () => {
    expect(insideWordsOf('# Jobs\n\nSimple jobs, and an extended\njob.')).toEqual([
      { line: 3, word: 'simple job' },
      { line: 3, word: 'extended job' },
    ]);
    expect(insideWordsOf('A simple program that has extended a job.')).toEqual([]);
  });
});

describe('the check of test names', () => {
  it.each([
    'acks › refuses a late ack after the data changed',
    'slots › many namespaces › share %d slots: one gets %d',
  ])('accepts the name %j', (name) => expect(problemsOfName(name)).toEqual([]));

  it.each([
    ['acks › are refused of who comes late', 'has the word "who"'],
    ['requests › are not alike with %s', 'has the word "alike"'],
    ['sessions › that end are not listed', 'begins a title with "that": write a subject or a verb'],
    ['slots › of many namespaces › are shared', 'begins a title with "of": write a subject or a verb'],
    ['limits › %s', 'begins with a value: write a verb before it'],
  ])('refuses the name %j', (name, problem) => {
    expect(problemsOfName(name)).toEqual([problem]);
  });
});
