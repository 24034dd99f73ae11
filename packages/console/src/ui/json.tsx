import { useState } from 'preact/hooks';
import { bytes } from '../lib/format.js';
import { linesOf, readable, tokensOf, visible } from '../lib/raw-json.js';
import { Copy, Download } from './parts.jsx';

/** Tokens and characters that are shown: the whole of a large payload would make the page slow. */
const MOST_TOKENS = 6_000;
const MOST_CHARACTERS = 65_536;

/** JSON as it was stored: laid out, with each token as it was written; or the raw text. */
export function Json({ text, what, name }: { text: string; what: string; name: string }) {
  const [isRaw, setRaw] = useState(false);
  const isLong = text.length > MOST_CHARACTERS;
  const { tokens, isCut } = tokensOf(isLong ? text.slice(0, MOST_CHARACTERS) : text, MOST_TOKENS);
  return (
    <div class="json">
      <div class="jsonbar">
        <span class="dim">{bytes(text.length)}</span>
        <button type="button" class="quiet" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          as stored
        </button>
        <Copy text={text} what={what} />
        <Download content={text} name={name} />
      </div>
      <pre tabIndex={0} aria-label={what} dir="ltr">
        {isRaw
          ? visible(isLong ? text.slice(0, MOST_CHARACTERS) : text)
          : linesOf(tokens).map((line, i) => (
              <span class="row" key={i}>
                {'  '.repeat(Math.min(line.indent, 40))}
                {line.tokens.map((token, j) => (
                  <span key={j} class={`t-${token.kind}`}>
                    <bdi>
                      {visible(
                        token.kind === 'string' || token.kind === 'name' ? readable(token.text) : token.text,
                      )}
                    </bdi>
                    {token.text === ':' ? ' ' : ''}
                  </span>
                ))}
                {'\n'}
              </span>
            ))}
      </pre>
      {(isLong || isCut) && <p class="dim">Only the beginning is shown: copy or download has all of it.</p>}
    </div>
  );
}
