import { assertNever } from '@tidemark/contracts/internal'
import type { CommandAnswers, CommandResult, TogetherCommand } from '../message-commands.ts'
import { ask, type Procedure } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'

interface PerformedTogether extends CommandResult<'together'> {
  readonly time: MessageTime
}

type TogetherAnswer = CommandAnswers[TogetherCommand['kind']]

/**
 * Carries out commands in one transaction, in their order, until one cannot be carried out as a whole. After `notDone`, whoever
 * runs it undoes what it has written.
 */
export function* performTogether(
  commands: readonly TogetherCommand[],
  {
    storeMs,
    perform,
  }: {
    readonly storeMs: number
    readonly perform: (
      command: TogetherCommand,
    ) => Procedure<CommandResult & { readonly time: MessageTime }>
  },
): Procedure<PerformedTogether> {
  const touched = new Set<number>()
  let time: MessageTime = { storeMs, lockMs: 0 }
  const firstSend = commands.findIndex(({ kind }) => kind === 'send')
  for (const [index, command] of commands.entries()) {
    // Held one after another, the subscriptions of a topic would come before a queue with a lower number.
    if (index === firstSend && commands.length - index > 1)
      yield* ask('holdPlaces', placesOf(commands))
    const result = yield* perform(command)
    time = result.time
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The answer is that of such a command.
    const answer = result.answer as TogetherAnswer
    if (!isWhole(answer)) return { answer: { kind: 'notDone', index, answer }, touched: [], time }
    for (const entity of result.touched) touched.add(entity)
  }
  return { answer: { kind: 'done' }, touched: [...touched], time }
}

function isWhole(answer: TogetherAnswer): boolean {
  switch (answer.kind) {
    case 'sent':
      return answer.parcels.every(({ kind }) => kind === 'sent')
    case 'settled':
      return answer.answers.every((each) => each === 'settled')
    case 'cancelled':
    case 'stored':
      return true
    case 'refused':
    case 'again':
    case 'notFound':
    case 'full':
    case 'tooLarge':
      return false
    default:
      return assertNever(answer)
  }
}

/** Of the messages that are sent. */
function placesOf(commands: readonly TogetherCommand[]): readonly number[] {
  const places = commands.flatMap((command) =>
    command.kind === 'send'
      ? [
          command.entity,
          ...command.parcels.flatMap(({ messages }) =>
            messages.flatMap(({ copies }) => copies.map(({ subscription }) => subscription)),
          ),
        ]
      : [],
  )
  return [...new Set(places)].toSorted((a, b) => a - b)
}
