export interface Tab {
  readonly label: string;
  /** Of the block of code. */
  readonly language: string;
  readonly code: string;
}

export interface TabGroup {
  readonly start: number;
  readonly end: number;
  readonly tabs: readonly Tab[];
}

export function tabGroupsOf(text: string): TabGroup[];
export function codeGroupsOf(text: string): string[];
export function withCodeGroups(text: string): string;
