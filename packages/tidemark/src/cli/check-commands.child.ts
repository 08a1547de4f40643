import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import type { Command } from 'commander'
import { loadCommands } from './load-commands.ts'

// For the check of documentation: each line is a command of a page, `{ "args": […] }`, or one that a sentence mentions,
// `{ "mention": "…" }`. The answer is a line with what is wrong with it, a list of texts. Nothing is run.

type Question = { readonly args: readonly string[] } | { readonly mention: string }

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line) as Question
  const problems =
    'args' in question
      ? await parseProblems(question.args)
      : await mentionProblems(question.mention)
  console.log(JSON.stringify(problems))
}

/** Asks commander, as the command does. */
async function parseProblems([name = '', ...args]: readonly string[]): Promise<string[]> {
  const command = await loadCommand(name)
  if (command === undefined) return [`there is no command ${name}`]
  for (const each of withSubcommands(command)) {
    each.exitOverride().configureOutput({ writeErr: () => {} })
    if (each.commands.length === 0) each.action(() => {})
    for (const option of each.options) {
      // The store and its leases may stand in the environment.
      if (option.long === '--store' || option.long === '--leases') option.mandatory = false
    }
  }
  try {
    await command.parseAsync(args, { from: 'user' })
    return []
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    if (code?.startsWith('commander.') === true) return [`tidemark ${name}: ${message}`]
    throw error
  }
}

/** It may lack arguments, and what must be given. */
async function mentionProblems(mention: string): Promise<string[]> {
  const [name = '', ...words] = mention.split(/[\s|]+/)
  const loaded = await loadCommand(name)
  if (loaded === undefined) return [`there is no command ${name}`]
  let command = loaded
  for (const word of words) {
    // Options of the subcommand that is meant where none is named are good, too.
    const options = [command, ...command.commands].flatMap((each) => each.options)
    if (word.startsWith('--') && !options.some(({ long }) => long === word)) {
      return [`tidemark ${mention}: there is no ${word}`]
    }
    command = command.commands.find((one) => one.name() === word) ?? command
  }
  return []
}

async function loadCommand(name: string): Promise<Command | undefined> {
  const nowhere = new PassThrough()
  const context = { input: Readable.from([]), output: nowhere, errors: nowhere, interactive: false }
  const loaded = await loadCommands(name, context, () => undefined)
  return loaded.find((command) => command.name() === name)
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}
