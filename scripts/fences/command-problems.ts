import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { loadCommands } from '../../packages/tidemark/src/cli/load-commands.ts'

type Command = Awaited<ReturnType<typeof loadCommands>>[number]

/** What a repository has that commands can name. */
export interface Names {
  readonly root: string
  readonly scripts: readonly string[]
  readonly packages: readonly string[]
}

/** What is wrong with a command of a page, as far as it is one of ours. */
export async function commandProblems(words: readonly string[], names: Names): Promise<string[]> {
  const [program = '', ...args] = words.slice(
    words.findIndex((word) => !/^(?:\$|\w+=.*)$/.test(word)),
  )
  if (program === 'npx') return commandProblems(args, names)
  if (program === 'tidemark') return tidemarkProblems(args)
  if (program === 'npm') return npmProblems(args, names)
  if (program === 'node' || program === 'vitest') return missingFiles(args, names.root)
  return []
}

/** What is wrong with a command that a sentence mentions: it may lack arguments, and what must be given. */
export async function mentionProblems(mention: string): Promise<string[]> {
  const [name = '', ...words] = mention.split(/[\s|]+/)
  const loaded = await loadCommand(name)
  if (loaded === undefined) return [`there is no command ${name}`]
  let command: Command = loaded
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

/** Asks commander, as the command does: everything is parsed, and nothing is run. */
async function tidemarkProblems([name = '', ...args]: readonly string[]): Promise<string[]> {
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
    if (code?.startsWith('commander.')) return [`tidemark ${name}: ${message}`]
    throw error
  }
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

function npmProblems(args: readonly string[], names: Names): string[] | Promise<string[]> {
  const [verb = '', ...rest] = args.filter((arg) => arg !== '--silent' && arg !== '-s')
  if (verb === 'test') return missingFiles(rest, names.root)
  if (verb === 'start') {
    const folder = rest[rest.indexOf('--workspace') + 1] ?? ''
    return missingFiles([join(folder, 'package.json')], names.root)
  }
  if (verb === 'install') {
    const own = rest.filter((name) => /^(?:@tidemark\/|tidemark)/.test(name))
    return own
      .filter((name) => !names.packages.includes(name))
      .map((name) => `there is no package ${name}`)
  }
  if (verb !== 'run') return []
  const [script = '', dashes, ...forScript] = rest
  if (!names.scripts.includes(script)) return [`there is no script ${script}`]
  return script === 'tidemark' && dashes === '--' ? tidemarkProblems(forScript) : []
}

/** Paths into the repository; those of a reader's project are not known. */
function missingFiles(args: readonly string[], root: string): string[] {
  const paths = args.filter((arg) => /^(?:packages|tests|examples|scripts|bench)\//.test(arg))
  return paths.filter((path) => !existsSync(join(root, path))).map((path) => `there is no ${path}`)
}
