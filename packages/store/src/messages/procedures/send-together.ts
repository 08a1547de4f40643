import type { CommitSends, NotSent } from '../commit-sends.ts'
import type { NotDone } from '../message-commands.ts'
import type { Procedure } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'
import { performCommand } from './perform-command.ts'
import { performTogether } from './perform-together.ts'

export interface SentTogether {
  readonly kind: 'sent'
  readonly time: MessageTime
  /** As of `CommandResult`. */
  readonly touched: readonly number[]
}

/** Carries out the sends of a commit. After `notSent`, whoever runs it undoes what it has written. */
export function* sendTogether(
  { commands, caller }: CommitSends,
  storeMs: number,
): Procedure<SentTogether | NotSent> {
  const { answer, time, touched } = yield* performTogether(commands, {
    storeMs,
    perform: (command) => performCommand(command, { storeMs, caller }),
  })
  return answer.kind === 'done' ? { kind: 'sent', time, touched } : notSent(answer)
}

function notSent({ index, answer }: NotDone): NotSent {
  if (answer.kind === 'refused' || answer.kind === 'again') {
    return { kind: 'notSent', index, answer }
  }
  const parcel =
    answer.kind === 'sent' ? answer.parcels.find(({ kind }) => kind !== 'sent') : undefined
  if (parcel === undefined || parcel.kind === 'sent')
    throw new Error(`a send was answered with ${answer.kind}`)
  return { kind: 'notSent', index, answer: parcel }
}
