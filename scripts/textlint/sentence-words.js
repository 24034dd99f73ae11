import { splitAST, SentenceSplitterSyntax } from 'sentence-splitter';
import { StringSource } from 'textlint-util-to-string';

/** Enough for a list of values; more is a second sentence. */
const DEFAULT_MAX = 25;

/**
 * Sentences in Markdown paragraphs have at most `max` words, those in cells of tables at most `maxInCell`. Code counts as one word, and so
 * does what has no letter. `;` and `:` do not end a sentence.
 */
export default function sentenceWords(context, { max = DEFAULT_MAX, maxInCell = max } = {}) {
  const { Syntax, RuleError, report } = context;
  const check = (limit) => (node) => {
    for (const sentence of splitAST(node).children) {
      if (sentence.type !== SentenceSplitterSyntax.Sentence) continue;
      const count = wordsOf(sentence);
      if (count <= limit) continue;
      report(sentence, new RuleError(`a sentence of ${count} words; at most ${limit}: split it`));
    }
  };
  return { [Syntax.Paragraph]: check(max), [Syntax.TableCell]: check(maxInCell) };
}

function wordsOf(sentence) {
  const source = new StringSource(sentence, {
    replacer: ({ node, maskValue, emptyValue }) =>
      node.type === 'Code' ? maskValue('x') : node.type === 'Html' ? emptyValue() : undefined,
  });
  return source.toString().split(/[\s…/]+/).filter((word) => /[a-z0-9]/i.test(word)).length;
}
