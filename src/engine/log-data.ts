/**
 * Under this name the data of a line in a timeline is stored, as the text of its JSON. Scripts would not give it back as it came: they cut
 * numbers to 14 digits, make objects of empty lists, and read nothing that is nested deeply.
 */
export const DATA_TEXT = 'json';

/** An entry of a timeline, or the facts of an event, with its data as a value. */
export function withLogData(stored: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { [DATA_TEXT]: text, ...rest } = stored;
  return typeof text === 'string' ? { ...rest, data: JSON.parse(text) as unknown } : stored;
}
