/** Content types of data that came without one: JSON, and other bytes. */
export const PLAIN_JSON = 'application/json';
export const BYTES = 'application/octet-stream';

export const CONTENT_TYPE = /^[!-~](?:[ -~]{0,253}[!-~])?$/;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json(?: *;.*)?$/i;

/** True for a content type of JSON. */
export function isJsonType(contentType: string): boolean {
  return JSON_TYPE.test(contentType);
}
