import type { CommitSends, NotSent } from '../commit-sends.ts'
import type { CommandOf } from '../message-commands.ts'
import { ask, type Procedure } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'
import { performCommand } from './perform-command.ts'

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
  // Held one after another, the subscriptions of a topic would come before a queue with a lower number.
  if (commands.length > 1) yield* ask('holdPlaces', placesOf(commands))
  const touched = new Set<number>()
  let time: MessageTime = { storeMs, lockMs: 0 }
  for (const [index, command] of commands.entries()) {
    const result = yield* performCommand(command, { storeMs, caller })
    const { answer } = result
    if (answer.kind === 'refused' || answer.kind === 'again') {
      return { kind: 'notSent', index, answer }
    }
    if (answer.kind !== 'sent') throw new Error(`a send was answered with ${answer.kind}`)
    for (const parcel of answer.parcels) {
      if (parcel.kind !== 'sent') return { kind: 'notSent', index, answer: parcel }
    }
    for (const entity of result.touched) touched.add(entity)
    time = result.time
  }
  return { kind: 'sent', time, touched: [...touched] }
}

function placesOf(commands: readonly CommandOf<'send'>[]): readonly number[] {
  const places = commands.flatMap(({ entity, parcels }) => [
    entity,
    ...parcels.flatMap(({ messages }) =>
      messages.flatMap(({ copies }) => copies.map(({ subscription }) => subscription)),
    ),
  ])
  return [...new Set(places)].toSorted((a, b) => a - b)
}
