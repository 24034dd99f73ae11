/** True if the escapes of a text, `%xx`, are whole, and their bytes are UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
