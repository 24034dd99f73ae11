/** The pages of the repository that are checked, by their paths. */
export const PAGES: readonly string[];
/** A page without its blocks of code. */
export function withoutCode(page: string): string;
/** The anchors of a page's headings, as GitHub makes them. */
export function headingsOf(page: string): ReadonlySet<string>;
/** The links of a page within the repository that lead to no file or heading. */
export function brokenLinks(page: string): string[];
