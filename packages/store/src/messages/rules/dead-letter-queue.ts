import type { EntityDefinition, EntitySettings } from '../entities.ts'

export function deadLetterPath(owner: string): string {
  return `${owner}/$DeadLetterQueue`
}

/**
 * A dead-letter queue has the lock duration and the sizes of its owner, and nothing else: no TTL (EXP-20), no end of
 * deliveries, no sessions, no status. Its owner's `forwardDeadLettersTo` is not repeated here.
 */
export function deadLetterDefinition(owner: EntitySettings): EntityDefinition {
  return {
    settings: {
      lockDurationMs: owner.lockDurationMs,
      maxDeliveryCount: owner.maxDeliveryCount,
      defaultTtlMs: undefined,
      deadLettersExpired: false,
      deadLettersFilterErrors: false,
      requiresSession: false,
      duplicateWindowMs: undefined,
      autoDeleteOnIdleMs: undefined,
      forwardTo: undefined,
      forwardDeadLettersTo: undefined,
      maxBytes: owner.maxBytes,
      maxMessageBytes: owner.maxMessageBytes,
      status: 'Active',
      userMetadata: '',
    },
    rules: [],
  }
}
