import { parseArgs } from 'node:util'
import { RefusedError } from './refused-error.ts'
import { TEMPLATE_NAMES, isTemplateName, type TemplateName } from './templates.ts'

export function usage(byDefault: {
  readonly folder: string
  readonly template: TemplateName
}): string {
  return `usage: npm create tidemark@latest [folder] -- [options]

  --template <name>   ${TEMPLATE_NAMES.join(', ')}
  --dir <folder>      the same as [folder]
  --yes               ask nothing: ${byDefault.template} and ${byDefault.folder} where nothing is given
  --help, --version`
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
    throw new RefusedError('give one folder, as --dir or without; see --help')
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
      options: {
        template: { type: 'string', short: 't' },
        dir: { type: 'string', short: 'd' },
        yes: { type: 'boolean', short: 'y' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
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
