import type { EntityRecord, EntitySettings } from '../entities.ts'
import { ACTIVE, type MessageRow } from '../message-rows.ts'

export const SETTINGS: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: 1_000_000,
  maxMessageBytes: 10_000,
  status: 'Active',
  userMetadata: '',
}

export function entityWith(
  settings: Partial<EntitySettings> = {},
  record: Partial<EntityRecord> = {},
): EntityRecord {
  return {
    number: 7,
    kind: 'queue',
    path: 'orders',
    parent: undefined,
    version: 1,
    createdMs: 0,
    updatedMs: 0,
    accessedMs: 0,
    settings: { ...SETTINGS, ...settings },
    rules: [],
    ...record,
  }
}

/** A waiting message of the entity. */
export function rowWith(row: Partial<MessageRow> = {}): MessageRow {
  return {
    id: row.number ?? 1,
    entity: 7,
    number: 1,
    state: ACTIVE,
    session: undefined,
    enqueuedMs: 0,
    ttlMs: undefined,
    expiresMs: undefined,
    dueMs: undefined,
    lock: undefined,
    deliveries: 0,
    firstNumber: row.number ?? 1,
    hops: 0,
    deadLetterSource: undefined,
    changes: undefined,
    bytes: 100,
    ...row,
  }
}

export const LOCK = '0123456789abcdef0123'
