import type { CommandAnswers, CommandOf, DispositionAnswer } from '../message-commands.ts'
import type { EntityPlace, Procedure } from '../message-rows.ts'
import type { Fate } from '../rules/message-fate.ts'
import { settledFate } from '../rules/settlement.ts'
import { carryOut } from './carry-out.ts'
import { lockedRows } from './locked-rows.ts'
import type { Work } from './work.ts'

/**
 * Settles messages by their lock tokens. A disposition whose lock is not held any more is answered so, and changes nothing
 * (SET-06, SES-15); each token settles once.
 */
export function* settleMessages(
  work: Work,
  place: EntityPlace,
  { dispositions }: CommandOf<'settle'>,
): Procedure<CommandAnswers['settle']> {
  const { record } = place
  if (record.kind === 'topic') return { kind: 'refused', reason: 'notAllowed' }
  const locked = yield* lockedRows(
    work,
    place,
    dispositions.map(({ token }) => token),
  )
  if (locked === 'again') return { kind: 'again' }
  const fates = new Map<number, Fate>()
  const answers = dispositions.map(({ outcome }, at): DispositionAnswer => {
    const row = locked[at]
    if (typeof row !== 'object') return row ?? 'lockLost'
    if (fates.has(row.id)) return 'lockLost'
    const fate = settledFate(row, record, outcome, work.time)
    if (typeof fate === 'string') return fate
    fates.set(row.id, fate)
    // `carryOut` takes it for what the entity holds.
    work.addBytes(record, fate.row.bytes - row.bytes)
    return 'settled'
  })
  yield* carryOut(work, record, [...fates.values()])
  return { kind: 'settled', answers }
}
