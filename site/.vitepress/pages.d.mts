export interface SidebarEntry {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly SidebarEntry[];
}

export function sidebar(): SidebarEntry[];
export function writePages(): void;
