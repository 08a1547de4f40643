import { Command } from 'commander'
import { ResourceNotFoundError } from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import type { DeadLetterEntry, DocumentDeadLetters } from '@tidemark/processor'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import {
  chosenGroups,
  withDeadLetterOptions,
  withDeadLetters,
  type DeadLetterOptions,
} from '../dead-letters-location.ts'
import type { Finish } from '../finish.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'
import { dropCommand, redriveCommand } from './change-dead-letters.ts'

interface ListOptions extends DeadLetterOptions {
  readonly limit?: number
  readonly json?: boolean
}

const LIST_HELP = `
Columns: the letter's id; its group; its state ("kept": for you to examine;
"redriven": a host will take it; "arriving", "leaving": in between); the
change's LSN, kind, document and partition key; how often it was tried and sent
back; when it failed; the error.

Examples:
  tidemark dlq ls shop/orders --store ./data
  tidemark dlq ls shop/orders --store ./data --group mirror --json | jq .error`

const SHOW_HELP = `
Prints the complete change, the error with its stack and causes, and the range
and host where it failed.

Examples:
  tidemark dlq show shop/orders 0000000000000042-8c7d… --store ./data \\
    | jq .change.document`

/** `tidemark dlq`: changes that an observer could not process. */
export function dlqCommand(context: CommandContext, finish: Finish): Command {
  return new Command('dlq')
    .summary('show dead letters, send them back or drop them')
    .description('Shows changes that observers could not process, sends them back, drops them.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(redriveCommand(context, finish))
    .addCommand(dropCommand(context, finish))
}

function listCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list dead letters, oldest first')
    .description('Lists the dead letters of the groups that follow a collection, oldest first.')
    .argument('<collection>', 'database/collection that the group follows', collectionName)
  return withDeadLetterOptions(command)
    .option('--limit <n>', 'most letters to print for each group', wholeNumber(1))
    .option('--json', 'one JSON line a letter')
    .addHelpText('after', LIST_HELP)
    .action(async (name: CollectionName, options: ListOptions) => {
      await withDeadLetters(
        name,
        options,
        (letters) => list(letters, options, context),
        () => writeFound([], options, context),
      )
    })
}

function showCommand(context: CommandContext): Command {
  const command = new Command('show')
    .summary('print a dead letter with its change')
    .description('Prints a complete dead letter as JSON.')
    .argument('<collection>', 'database/collection that the group follows', collectionName)
    .argument('<id>', 'of the letter, as "dlq ls" has it')
  return withDeadLetterOptions(command)
    .addHelpText('after', SHOW_HELP)
    .action(async (name: CollectionName, id: string, options: DeadLetterOptions) => {
      await withDeadLetters(name, options, async (letters) => {
        const letter = await letters.read(id)
        if (letter === undefined) throw new ResourceNotFoundError('document', id)
        await writeText(context.output, `${JSON.stringify(letter, undefined, 2)}\n`)
      })
    })
}

async function list(
  letters: DocumentDeadLetters,
  options: ListOptions,
  context: CommandContext,
): Promise<void> {
  const { limit, json } = options
  const found: DeadLetterEntry[] = []
  let isAll = true
  for (const group of await chosenGroups(letters, options)) {
    let continuation: string | undefined
    do {
      const page = await letters.list({ group, maxItemCount: limit, continuation })
      ;({ continuation } = page)
      if (json === true)
        for (const letter of page.letters) await writeJsonLine(context.output, letter)
      else found.push(...page.letters)
    } while (continuation !== undefined && limit === undefined)
    isAll &&= continuation === undefined
  }
  await writeFound(found, options, context)
  if (!isAll && json !== true) {
    await writeText(context.output, '… and more: give a higher --limit\n')
  }
}

async function writeFound(
  letters: readonly DeadLetterEntry[],
  { json }: ListOptions,
  { output }: CommandContext,
): Promise<void> {
  if (json === true) return
  await writeText(output, letters.length === 0 ? 'no dead letters\n' : letterTable(letters))
}

function letterTable(letters: readonly DeadLetterEntry[]): string {
  const headings = ['ID', 'GROUP', 'STATE', 'LSN', 'KIND', 'DOCUMENT', 'KEY', 'TRIES', 'SENT BACK']
  const rows = letters.map((letter) => [
    letter.id,
    letter.group,
    letter.state,
    letter.lsn,
    letter.kind,
    letter.documentId,
    letter.partitionKey,
    letter.attempts,
    letter.redrives,
    new Date(letter.failedAtMs).toISOString(),
    hideCredentials(`${letter.error.name}: ${letter.error.message}`).replaceAll(/\s+/g, ' '),
  ])
  return textTable([...headings, 'FAILED', 'ERROR'], rows)
}
