import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TargetSecrets } from '../engine/queues/stored-targets.js';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** What begins an encrypted text; a plain one begins with a brace. */
const MARK = 'aes:';

/** Encrypts the secrets of targets with the key of `push.key_file`; without one they are stored as they are. */
export class Seal {
  private constructor(private readonly key: Buffer | null) {}

  /** @throws {Error} the file cannot be read, or holds no key; the message does not quote it */
  static fromFile(file: string | undefined): Seal {
    if (file === undefined) return new Seal(null);
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
    if (key.length !== KEY_BYTES) {
      throw new Error(`push.key_file must hold ${KEY_BYTES} bytes in base64: ${file} has ${key.length}`);
    }
    return new Seal(key);
  }

  /** @param place namespace and name of the target: what is sealed for one place does not open in another */
  close(secrets: TargetSecrets, place: string): string {
    const text = JSON.stringify(secrets);
    if (this.key === null) return text;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, iv).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return MARK + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
  }

  /** A signature that only servers with this key can make; what it is for begins the text. @throws {Error} without a key */
  sign(text: string): Buffer {
    if (this.key === null) throw new Error('there is no push.key_file');
    // The key itself encrypts: signatures get one of their own.
    const key = createHmac('sha256', this.key).update('pumphouse signatures').digest();
    return createHmac('sha256', key).update(text).digest();
  }

  /** @returns null if it was sealed with another key, or for another place */
  open(sealed: string, place: string): TargetSecrets | null {
    if (!sealed.startsWith(MARK)) return JSON.parse(sealed) as TargetSecrets;
    if (this.key === null) return null;
    const bytes = Buffer.from(sealed.slice(MARK.length), 'base64');
    const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
    try {
      const decipher = createDecipheriv(CIPHER, this.key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      return JSON.parse(text.toString()) as TargetSecrets;
    } catch {
      return null;
    }
  }
}
