import { Command } from 'commander'
import type { DeadLetterChoice, DeadLettersOutcome } from '@tidemark/processor'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { confirm } from '../confirm.ts'
import {
  chosenGroup,
  withDeadLetterOptions,
  withDeadLetters,
  type DeadLetterOptions,
} from '../dead-letters-location.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { oneLine } from '../output/report-error.ts'

interface ChangeOptions extends DeadLetterOptions {
  readonly all?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

const REDRIVE_HELP = `
Within seconds, the hosts of the group deliver the changes to their observers
again, one by one. A letter that succeeds is removed; one that fails is kept. An
observer sees \`context.redriven\`: a newer version of the document may have been
processed meanwhile.

Examples:
  tidemark dlq redrive shop/orders --all --store ./data
  tidemark dlq redrive shop/orders 0000000000000042-8c7d… --store ./data \\
    --group mirror`

const DROP_HELP = `
A dropped letter cannot be brought back. If its document was deleted meanwhile,
the letter may hold the last copy.

Examples:
  tidemark dlq drop shop/orders 0000000000000042-8c7d… --store ./data --yes`

/** `tidemark dlq redrive`. */
export function redriveCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('redrive')
    .summary('process dead letters again')
    .description('Sends dead letters back to the observers.')
  return withChoice(command)
    .addHelpText('after', REDRIVE_HELP)
    .action(
      async (
        name: CollectionName,
        ids: readonly string[],
        options: ChangeOptions,
        action: Command,
      ) => {
        const letters = choice(ids, options, action)
        const code = await withDeadLetters(name, options, async (sink) => {
          const group = await chosenGroup(sink, options)
          return tell(await sink.redrive({ group, letters }), {
            context,
            options,
            word: 'redriven',
          })
        })
        finish(code)
      },
    )
}

/** `tidemark dlq drop`. */
export function dropCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('drop')
    .summary('remove dead letters for good')
    .description('Removes dead letters for good, with the changes that they hold.')
  return withChoice(command)
    .option('--yes', 'without asking')
    .addHelpText('after', DROP_HELP)
    .action(
      async (
        name: CollectionName,
        ids: readonly string[],
        options: ChangeOptions,
        action: Command,
      ) => {
        const letters = choice(ids, options, action)
        const what = `this removes ${letters === 'all' ? 'all letters' : `${letters.length} letters`} for good`
        const answer = options.yes ?? (await confirm(context, `${what}. Continue?`))
        if (answer === undefined) action.error(`error: ${what}; confirm with --yes\n`)
        if (answer !== true) return finish(EXIT.failure)
        const code = await withDeadLetters(name, options, async (sink) => {
          const group = await chosenGroup(sink, options)
          return tell(await sink.drop({ group, letters }), { context, options, word: 'dropped' })
        })
        finish(code)
      },
    )
}

function withChoice(command: Command): Command {
  return withDeadLetterOptions(
    command
      .argument('<collection>', 'database/collection that the group follows', collectionName)
      .argument('[ids...]', 'of letters, as "dlq ls" prints them'),
  )
    .option('--all', 'all letters of the group')
    .option('--json', 'print the result as one JSON line')
}

function choice(ids: readonly string[], { all }: ChangeOptions, action: Command): DeadLetterChoice {
  if (all === true && ids.length > 0)
    action.error('error: give ids of letters or --all, not both\n')
  if (all !== true && ids.length === 0) action.error('error: give ids of letters, or --all\n')
  return all === true ? 'all' : ids
}

/** A missing letter is a failure: you named it, so you expect it to exist. */
async function tell(
  { done, missing }: DeadLettersOutcome,
  {
    context: { output, errors },
    options,
    word,
  }: { readonly context: CommandContext; readonly options: ChangeOptions; readonly word: string },
): Promise<ExitCode> {
  if (options.json === true) await writeJsonLine(output, { [word]: done, missing })
  else await writeText(output, `${word}: ${done.length}\n`)
  if (missing.length === 0) return EXIT.ok
  errors.write(`tidemark: ${oneLine(`ERR_NOT_FOUND: no such letters: ${missing.join(', ')}`)}\n`)
  return EXIT.failure
}
