/** Text that no other process makes. `crypto.randomUUID` is missing in pages that were loaded over plain HTTP. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
