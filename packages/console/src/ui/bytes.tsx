import { bytes as size } from '../lib/format.js';
import { visible } from '../lib/raw-json.js';
import { Download } from './parts.jsx';

const MOST_BYTES = 65_536;
const MOST_DUMPED = 4_096;
const ROW = 16;

/** Bytes that are no JSON: as text if they are UTF-8, else in hexadecimal. */
export function Bytes({
  base64,
  type,
  name,
  what,
}: {
  base64: string;
  type: string;
  name: string;
  what: string;
}) {
  const all = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const text = textOf(all.subarray(0, MOST_BYTES));
  return (
    <div class="json">
      <div class="jsonbar">
        <span class="dim">
          {size(all.length)} · {visible(type)}
          {text === undefined ? ' · hexadecimal' : ''}
        </span>
        <Download content={all} name={name} />
      </div>
      <pre tabIndex={0} aria-label={what} dir="ltr">
        {text === undefined ? dump(all.subarray(0, MOST_DUMPED)) : visible(text)}
      </pre>
      {all.length > (text === undefined ? MOST_DUMPED : MOST_BYTES) && (
        <p class="dim">Only the beginning is shown.</p>
      )}
    </div>
  );
}

/** Undefined if it is not UTF-8; a character that is cut at the end does not count. */
function textOf(all: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(all, { stream: all.length === MOST_BYTES });
  } catch {
    return undefined;
  }
}

function dump(all: Uint8Array): string {
  const rows: string[] = [];
  for (let at = 0; at < all.length; at += ROW) {
    const part = [...all.subarray(at, at + ROW)];
    const hex = part.map((one) => one.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((one) => (one >= 32 && one < 127 ? String.fromCharCode(one) : '.')).join('');
    rows.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(ROW * 3)} ${text}`);
  }
  return rows.join('\n');
}
