import type { Argument, Command, Option } from 'commander'

/** What can be completed. */
export interface CompletionSource {
  /** Of all commands. */
  readonly names: readonly string[]
  /** Undefined when there is no such command. */
  load(name: string): Promise<Command | undefined>
  /** Databases and collections of the store that the words name, as far as `typed` tells. */
  places(kind: PlaceKind, typed: string, store: string | undefined): Promise<readonly string[]>
}

/** A database, a collection, or either. */
export type PlaceKind = 'database' | 'collection' | 'place'

/** How arguments and options are called that name a place. */
const PLACES: ReadonlyMap<string, PlaceKind> = new Map([
  ['database', 'database'],
  ['collection', 'collection'],
  ['place', 'place'],
  ['--collection', 'collection'],
  ['--source', 'collection'],
  ['--target', 'collection'],
])

/** How far the words before the last have come. */
interface Reached {
  readonly command: Command
  /** Arguments that were given. */
  readonly position: number
  /** The last word is its value. */
  readonly option: Option | undefined
  readonly store: string | undefined
}

/**
 * What the last of the words, which come after `tidemark`, can become. Empty where only the user, or the file system,
 * knows.
 */
export async function candidates(
  words: readonly string[],
  source: CompletionSource,
): Promise<readonly string[]> {
  const typed = words.at(-1) ?? ''
  const [name, ...before] = words.slice(0, -1)
  const found =
    name === undefined
      ? [...source.names, '--help', '--version']
      : await following(before, typed, { source, command: await source.load(name) })
  return found.filter(
    (word) => word.startsWith(typed) && word.startsWith('-') === typed.startsWith('-'),
  )
}

async function following(
  before: readonly string[],
  typed: string,
  {
    source,
    command: first,
  }: { readonly source: CompletionSource; readonly command: Command | undefined },
): Promise<readonly string[]> {
  if (first === undefined) return []
  const { command, position, option, store } = reached(first, before)
  const valuesOf = (of: Option | Argument | undefined, name: string | undefined, value: string) => {
    const kind = PLACES.get(name ?? '')
    if (kind !== undefined) return source.places(kind, value, store)
    return of?.argChoices ?? []
  }
  if (option !== undefined) return valuesOf(option, option.long, typed)
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(typed) ?? []
  if (flag !== undefined && value !== undefined) {
    const given = optionOf(command, flag)
    return (await valuesOf(given, flag, value)).map((word) => `${flag}=${word}`)
  }
  if (typed.startsWith('-')) return flagsOf(command)
  const argument = (defaultOf(command) ?? command).registeredArguments[position]
  return [
    ...(position === 0 ? visibleSubcommands(command) : []),
    ...(await valuesOf(argument, argument?.name(), typed)),
  ]
}

function reached(first: Command, words: readonly string[]): Reached {
  let command = first
  let position = 0
  let option: Option | undefined
  let store: string | undefined
  for (const word of words) {
    if (option !== undefined) {
      if (option.long === '--store') store = word
      option = undefined
    } else if (/^-./.test(word)) {
      const [flag = '', value] = word.split(/=(.*)/s)
      if (flag === '--store' && value !== undefined) store = value
      const given = optionOf(command, flag)
      if (value === undefined && given?.required === true) option = given
    } else {
      const subcommand =
        position === 0 ? command.commands.find((one) => one.name() === word) : undefined
      if (subcommand === undefined) position += 1
      else command = subcommand
    }
  }
  return { command, position, option, store }
}

function optionOf(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => long === flag || short === flag)
}

function flagsOf(command: Command): readonly string[] {
  const options = [...command.options, ...(defaultOf(command)?.options ?? [])]
  return [...options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''), '--help']
}

function visibleSubcommands(command: Command): readonly string[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name())
}

/** The subcommand that stands for the command itself. Commander has no question for it. */
function defaultOf(command: Command): Command | undefined {
  const name: unknown = Reflect.get(command, '_defaultCommandName')
  return command.commands.find((one) => one.name() === name)
}
