import { assertReasons, type Outcome } from '@tidemark/messaging/front'
import type { Transaction } from '../transactions/transaction.ts'
import type { ManagementCall } from './management-call.ts'
import type { RequestFields } from './request-fields.ts'
import { useLink } from './use-link.ts'

/** They share a command; others have their turn between two of them. */
const SETTLED_AT_ONCE = 100

/** Settles each of the messages. The first that could not be settled makes an error of the answer. */
export async function updateDisposition(call: ManagementCall): Promise<object> {
  const { fields, transaction } = call
  const tokens = fields.lockTokens('lock-tokens')
  const outcome = readOutcome(fields)
  if (transaction !== undefined) {
    gather(call, transaction, { tokens, outcome })
    return {}
  }
  await useLink(call, 'peekLock', async (link) => {
    const failures: unknown[] = []
    for (let at = 0; at < tokens.length; at += SETTLED_AT_ONCE) {
      const some = tokens.slice(at, at + SETTLED_AT_ONCE)
      const results = await Promise.allSettled(some.map((token) => link.settle(token, outcome)))
      for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
    }
    if (failures.length > 0) throw failures[0]
  })
  return {}
}

function gather(
  { fields, linkName, context }: ManagementCall,
  transaction: Transaction,
  { tokens, outcome }: { readonly tokens: readonly string[]; readonly outcome: Outcome },
): void {
  const session = fields.optionalText('session-id')
  if (session !== undefined) context.heldSession(session, linkName).held.assertHeld()
  assertReasons(outcome)
  for (const token of tokens) {
    transaction.add({ kind: 'settle', path: context.path, disposition: { token, outcome } })
  }
}

function readOutcome(fields: RequestFields): Outcome {
  const name = 'disposition-status'
  const status = fields.text(name)
  if (status === 'completed') return { kind: 'complete' }
  const properties = fields.properties('properties-to-modify')
  const changes = properties && { properties }
  switch (status) {
    case 'abandoned':
      return { kind: 'abandon', changes }
    // The client's own spelling.
    case 'defered':
      return { kind: 'defer', changes }
    case 'suspended':
      return {
        kind: 'deadLetter',
        changes,
        reason: fields.optionalText('deadletter-reason'),
        description: fields.optionalText('deadletter-description'),
      }
    default:
      return fields.refuse(name, 'completed, abandoned, defered or suspended')
  }
}
