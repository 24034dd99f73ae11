/** Makes the pump run for a namespace at `dueMs`, Unix ms; 0 = nothing is due. */
export type ScheduleWakeup = (namespace: string, dueMs: number) => void;
