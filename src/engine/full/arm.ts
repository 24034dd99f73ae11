/** Has the pump come for what is due then, Unix ms; 0 = nothing is. */
export type Arm = (namespace: string, dueMs: number) => void;
