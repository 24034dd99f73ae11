import { guidePage } from './guide-page.js';

describe('the page of a guide', () => {
  it('has tables, and ids of headings as GitHub makes them', () => {
    const page = guidePage('publish', '# Publish: `a` & b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n');
    expect(page).toContain('<h1 id="publish-a--b">Publish: <code>a</code> &amp; b</h1>');
    expect(page).toContain('<td>2</td>');
  });

  it('links other guides, headings and the calls, and keeps the text of other links', () => {
    const page = guidePage(
      'x',
      '[a](leases.md#no-handler) [b](#here) [c](../reference/api/jobs.md#ackjob) [d](../admin.md#x)',
    );
    expect(page).toContain(
      '<a href="leases#no-handler">a</a> <a href="#here">b</a> <a href="../../docs">c</a> d</p>',
    );
  });

  it('shows HTML of the source as text', () => {
    expect(guidePage('x', '<script src="x"></script>')).toContain('&lt;script');
  });
});
