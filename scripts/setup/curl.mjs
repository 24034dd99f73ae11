/** As much of curl as the lines need that the server prints: -s, -X, -H, -d, -w '\n' and '%{http_code}'. */
const { values, positionals } = (await import('node:util')).parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    include: { type: 'boolean', short: 'i' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd' },
    'write-out': { type: 'string', short: 'w', default: '' },
  },
});
const headers = Object.fromEntries(
  values.header.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
);
const method = values.request ?? (values.data === undefined ? 'GET' : 'POST');
const answer = await fetch(positionals[0], { method, headers, body: values.data });
if (values.include) process.stdout.write(`HTTP/1.1 ${answer.status} ${answer.statusText}\r\n\r\n`);
process.stdout.write(await answer.text());
process.stdout.write(
  values['write-out'].replaceAll('\\n', '\n').replaceAll('%{http_code}', String(answer.status)),
);
