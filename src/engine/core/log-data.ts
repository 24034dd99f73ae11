/**
 * Field name under which the data of a timeline entry is stored, as JSON text. Scripts would change decoded data: they
 * cut numbers to 14 digits, turn empty lists into objects, and cannot read deep nesting.
 */
export const DATA_TEXT = 'json';

/** A timeline entry, or the details of an event, with its data as a value. */
export function withLogData(stored: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { [DATA_TEXT]: text, ...rest } = stored;
  return typeof text === 'string' ? { ...rest, data: JSON.parse(text) as unknown } : stored;
}
