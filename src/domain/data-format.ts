/**
 * Version of the data format of a new store. This server reads older ones too: in format 1 the keys of jobs had a Redis
 * TTL, and every scheduled job was in the zset; format 2 had no extended path; in format 3 no queue is leased by type, none
 * is fair, and none has a strict order: servers that write it do not know of them.
 */
export const DATA_FORMAT = 4;
/** A server raises the format of an older store to this one. To a later one only an operator does. */
export const RAISED_TO = 3;
/** The format from which on queues can be leased by type, be fair, have a strict order, and pause some of their jobs. */
export const TYPES_SINCE = 4;
export const FAIR_SINCE = 4;
export const STRICT_SINCE = 4;
export const PAUSES_SINCE = 4;
