import { splitAST, SentenceSplitterSyntax } from 'sentence-splitter';
import { StringSource } from 'textlint-util-to-string';

/** The words of code, of a link's address and of markup count as one. */
const MASK = 'x';
/** Where the splitter sees none: after a number, a closing bracket or bold text. */
const END = /(?<=[.!?]["')*]*)\s+(?=[*"'(]*[A-Zx])/;

/** The goal is 25; lists of values and names need more. */
const MAX_WORDS = 30;

/** Sentences in paragraphs and items of lists are short. Tables are left out: their cells are lists. What has no letter and no digit is no word. */
export default function sentenceWords({ Syntax, RuleError, report }) {
  return {
    [Syntax.Paragraph](node) {
      for (const sentence of splitAST(node).children) {
        if (sentence.type !== SentenceSplitterSyntax.Sentence) continue;
        const count = Math.max(...sentencesOf(sentence).map(countWords));
        if (count <= MAX_WORDS) continue;
        report(sentence, new RuleError(`a sentence of ${count} words, at most ${MAX_WORDS}: split it`));
      }
    },
  };
}

function sentencesOf(node) {
  const source = new StringSource(node, {
    replacer: ({ node: part, maskValue, emptyValue }) => {
      if (part.type === 'Code') return maskValue(MASK);
      return part.type === 'Html' ? emptyValue() : undefined;
    },
  });
  return source.toString().split(END);
}

function countWords(sentence) {
  return sentence.split(/[\s…/]+/).filter((word) => /[a-z0-9]/i.test(word)).length;
}
