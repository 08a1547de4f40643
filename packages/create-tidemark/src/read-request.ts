import { parseArgs } from 'node:util'
import { RefusedError } from './refused-error.ts'
import { TEMPLATE_NAMES, isTemplateName, type TemplateName } from './templates.ts'

interface Described<Type extends 'string' | 'boolean'> {
  readonly type: Type
  readonly short: string
  readonly value: string
  readonly help: string
}

/** Options, with what the help says of them. */
export const OPTIONS: Readonly<
  Record<'template' | 'dir', Described<'string'>> &
    Record<'yes' | 'help' | 'version', Described<'boolean'>>
> = {
  template: { type: 'string', short: 't', value: '<name>', help: TEMPLATE_NAMES.join(', ') },
  dir: { type: 'string', short: 'd', value: '<folder>', help: 'the same as [folder]' },
  yes: { type: 'boolean', short: 'y', value: '', help: 'ask nothing' },
  help: { type: 'boolean', short: 'h', value: '', help: 'show this' },
  version: { type: 'boolean', short: 'v', value: '', help: 'show the version' },
}

/** What is made where nothing is given. */
export const BY_DEFAULT: { readonly folder: string; readonly template: TemplateName } = {
  folder: 'my-worker',
  template: 'worker',
}

/** Otherwise npm takes them for its own. */
export const OPTIONS_OF_NPM = 'npm create wants -- before options'

/** How the command ends. */
export const EXIT = { ok: 0, failure: 1, refused: 2, cancelled: 130 } as const

export function usage(): string {
  const lines = Object.entries(OPTIONS).map(([name, { short, value, help }]) => {
    return `  ${`-${short}, --${name} ${value}`.padEnd(24)}${help}`
  })
  return `usage: npm create tidemark@latest [folder] -- [options]

${lines.join('\n')}

With --yes: ${BY_DEFAULT.template} in ${BY_DEFAULT.folder}, where nothing else is given.`
}

/** What the command line says. What it does not say is asked, or has a default. */
export interface Request {
  readonly folder: string | undefined
  readonly template: TemplateName | undefined
  readonly yes: boolean
  readonly show: 'help' | 'version' | undefined
}

/** @throws RefusedError for arguments that there are not */
export function readRequest(args: readonly string[]): Request {
  const { values, positionals } = parsed(args)
  const { template, dir, yes = false, help = false, version = false } = values
  if (positionals.length + (dir === undefined ? 0 : 1) > 1) {
    throw new RefusedError(`give one folder, as --dir or without; ${OPTIONS_OF_NPM}; see --help`)
  }
  return {
    folder: dir ?? positionals[0],
    template: template === undefined ? undefined : checkedTemplate(template),
    yes,
    show: help ? 'help' : version ? 'version' : undefined,
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: OPTIONS,
    })
  } catch (error) {
    const [sentence = ''] = error instanceof Error ? error.message.split('. ', 1) : []
    throw new RefusedError(`${sentence}; see --help`, { cause: error })
  }
}

function checkedTemplate(name: string): TemplateName {
  if (isTemplateName(name)) return name
  throw new RefusedError(
    `there is no template ${JSON.stringify(name)}: choose ${TEMPLATE_NAMES.join(', ')}`,
  )
}
