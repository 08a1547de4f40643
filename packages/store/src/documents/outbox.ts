import assert from 'node:assert/strict'
import { type CommitOptions } from '@tidemark/contracts'
import { option, optionRule, type OptionRule, type OptionRules } from '@tidemark/contracts/internal'
import type { CommitOutcome, CommitRequest } from '../engine/commit.ts'
import { assertCommitSize } from '../engine/commit-size.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import type { CommitSends, NotSent } from '../messages/commit-sends.ts'
import type { OutgoingMessages, PreparedSend } from '../messages/outgoing-messages.ts'

/** With messages or a fence, a commit is synced in any case. */
export interface BatchOptions extends CommitOptions {
  /**
   * What `sender.outgoing(…)` returns, of brokers of the same database: delivered if and only if the commit succeeds. When
   * a message is refused, the call rejects as `sendMessages` does: nothing was written, and nothing was sent.
   * @default none
   */
  readonly messages?: readonly OutgoingMessages[] | undefined
}

export const messagesRule: OptionRule = optionRule(
  'a list of what sender.outgoing() returns',
  (value) => Array.isArray(value) && value.every(isOutgoing),
)

export const batchRules: OptionRules<BatchOptions> = {
  messages: messagesRule,
  sync: option.flag,
  signal: option.signal,
}

/**
 * Commits with messages, all of it or nothing. Messages that an entity's state keeps back for now are prepared again.
 *
 * @throws ERR_COMMIT_TOO_LARGE, ERR_LINK_CLOSED, ERR_INVALID_OPTION for messages of another store or database, and the
 *   errors of `sendMessages`
 */
export async function commitSending(
  engine: DatabaseEngine,
  request: CommitRequest,
  {
    messages = [],
    maxDocumentBytes,
  }: { readonly messages?: BatchOptions['messages']; readonly maxDocumentBytes: number },
): Promise<Exclude<CommitOutcome, NotSent>> {
  assertCommitSize(request.batches, { maxDocumentBytes, messages })
  const outgoing = messages.filter(({ count }) => count > 0)
  const commit = (): Promise<Exclude<CommitOutcome, NotSent>> =>
    untilDecided(engine, request, outgoing)
  return whileOpen(engine, messages, commit)
}

function whileOpen<Result>(
  engine: DatabaseEngine,
  [first, ...others]: readonly OutgoingMessages[],
  act: () => Promise<Result>,
): Promise<Result> {
  if (first === undefined) return act()
  return first.whileOpen(engine.messages, () => whileOpen(engine, others, act))
}

async function untilDecided(
  engine: DatabaseEngine,
  request: CommitRequest,
  outgoing: readonly OutgoingMessages[],
): Promise<Exclude<CommitOutcome, NotSent>> {
  for (let attempt = 1; ; attempt++) {
    const prepared = await Promise.all(outgoing.map((messages) => messages.prepare()))
    prepared.sort((a, b) => a.command.entity - b.command.entity)
    const sends = prepared.length === 0 ? undefined : sendsOf(prepared, outgoing)
    const outcome = await engine.commit({ ...request, sends })
    if (outcome.kind !== 'notSent') {
      const at = outcome.kind === 'committed' ? outcome.sentAt : undefined
      if (at !== undefined) for (const send of prepared) send.sent(at)
      return outcome
    }
    const refused = prepared[outcome.index]
    assert(refused !== undefined, 'the outcome names a command')
    await refused.refused(outcome.answer, attempt)
  }
}

function sendsOf(
  prepared: readonly PreparedSend[],
  outgoing: readonly OutgoingMessages[],
): CommitSends {
  const known = outgoing.flatMap((messages) => messages.callerTime().lockMs ?? [])
  const lockMs = known.length === 0 ? undefined : Math.max(...known)
  return { commands: prepared.map(({ command }) => command), caller: { lockMs } }
}

function isOutgoing(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'prepare' in value
}
