/**
 * @param timeZone a name of the IANA database
 * @returns a function from Unix ms to `2026-03-29T03:00:00+02:00`
 */
export function localTimes(timeZone: string): (atMs: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', {
    ...{ timeZone, timeZoneName: 'longOffset', hourCycle: 'h23' },
    ...{
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    },
  });
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
    const part = (name: Intl.DateTimeFormatPartTypes): string => parts.get(name) ?? '';
    const offset = part('timeZoneName').replace('GMT', '').replace('\u2212', '-') || '+00:00';
    return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}${offset}`;
  };
}
