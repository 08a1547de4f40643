import type { CommitOutcome } from '@tidemark/store/engine'
import { sendTogether, type CommandOf, type CommitSends } from '@tidemark/store/messages'
import type { Sql } from '../connection/sql.ts'
import { undoable } from '../connection/undoable.ts'
import type { PostgresMessages } from '../messages/postgres-messages.ts'
import type { GroupOutcome, PlacedCommit } from './group-statement.ts'

type Outcomes = readonly GroupOutcome[] | undefined
type Committed = Extract<CommitOutcome, { readonly kind: 'committed' }>

/**
 * Commits with messages, as one transaction: first the documents, so segments and fences are locked before counters of
 * entities, as everywhere. Undefined: a segment is closed, and nothing was done. Rejects, and does nothing, when a message
 * of one of several is refused: then each has to be tried alone.
 */
export function commitSending(
  commits: readonly PlacedCommit[],
  {
    messages,
    write,
  }: {
    readonly messages: Pick<PostgresMessages, 'commit'>
    /** Writes their documents. What was refused is not written, unless it is the only one. */
    readonly write: (sql: Sql) => Promise<Outcomes>
  },
): Promise<Outcomes> {
  return undoable<Outcomes>(async (undo) => {
    const { outcomes } = await messages.commit({}, async ({ sql, perform }) => {
      const written = await write(sql)
      const committed = (written ?? []).filter(isCommitted)
      const [first] = committed
      if (written === undefined || first === undefined) return undo(written)
      const sends = commits.flatMap(({ request }, index) =>
        written[index]?.outcome.kind === 'committed' && request.sends ? request.sends : [],
      )
      const sent = await perform(sendTogether(joined(sends), first.outcome.timeMs))
      if (sent.kind === 'notSent') {
        if (commits.length > 1) throw new Error('a message of one of several commits was refused')
        return undo([{ outcome: sent, touched: [] }])
      }
      const { time, touched } = sent
      const outcomes = written.map((each): GroupOutcome => {
        return isCommitted(each) ? { ...each, outcome: { ...each.outcome, sentAt: time } } : each
      })
      return { outcomes, time, touched }
    })
    return outcomes
  })
}

function isCommitted(each: GroupOutcome): each is GroupOutcome & { readonly outcome: Committed } {
  return each.outcome.kind === 'committed'
}

/** One command for each entity. */
function joined(sends: readonly CommitSends[]): CommitSends {
  const [first, ...others] = sends
  if (first !== undefined && others.length === 0) return first
  const commands = new Map<string, CommandOf<'send'>>()
  for (const command of sends.flatMap((each) => each.commands)) {
    // One that was judged by another version is not the same: it will be refused.
    const key = `${command.entity} ${command.version}`
    const known = commands.get(key)
    const parcels = [...(known?.parcels ?? []), ...command.parcels]
    commands.set(key, { ...command, parcels, touch: command.touch || known?.touch === true })
  }
  const known = sends.flatMap(({ caller }) => caller.lockMs ?? [])
  return {
    commands: [...commands.values()].sort((a, b) => a.entity - b.entity),
    caller: { lockMs: known.length === 0 ? undefined : Math.max(...known) },
  }
}
