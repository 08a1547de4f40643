import {
  COMMAND_VARIABLES,
  TESTING_VARIABLES,
  variablesRead,
  type Variable,
} from './environment.ts'
import { code, prose, sectionLinks } from './page-text.ts'
import {
  readCreator,
  readProgram,
  type DescribedCommand,
  type DescribedCreator,
  type DescribedProgram,
} from './read-commands.ts'

const HEAD = `# Commands

Every command with its arguments, options, exit codes and environment variables. The [guide](../guide/command-line.md) shows how they are
used; \`tidemark COMMAND --help\` has examples. Where an option has a variable beside it, the option wins.

This page is written by \`npm run reference\` from the definitions of the commands.
`
const EXIT_MEANINGS: Readonly<Record<string, string>> = {
  ok: 'Done. `serve`, `dev` and `ui` also end with it when a signal ends them.',
  failure:
    'Failed, or not confirmed; the error output says why, as `tidemark: ERR_CODE: message` ([codes](../errors.md)).',
  usage:
    'The arguments are wrong (`ERR_USAGE`), or there is nobody to ask and `--yes` is missing. Nothing was done.',
  differences:
    '`migrate --verify` or `views verify` found something missing, different or extra; `store check --deep` found contradictions.',
  interrupted:
    'Interrupted (SIGINT). What was done is kept; run the same command again to continue.',
  terminated: 'Terminated (SIGTERM). The same.',
}
const CHECK_MEANINGS: Readonly<Record<string, string>> = {
  ok: 'The group keeps up.',
  warning:
    'At least `--warn` changes are left, or the oldest of them is at least `--warn-age` seconds old.',
  critical:
    'The same with `--critical` and `--critical-age`; or a range cannot continue without help (`PROBLEM`).',
  unknown:
    'No leases, a store that cannot be reached, a figure that is not exact enough, or wrong arguments.',
}
const CREATOR_MEANINGS: Readonly<Record<string, string>> = {
  ok: 'Done.',
  failure: 'Failed; the error output says why.',
  refused: 'Refused: the arguments are wrong, or the folder is not empty. Nothing was written.',
  cancelled: 'You gave up at a question.',
}

export function commandsPage(root: string): string {
  const program = readProgram(root)
  const names = program.commands.map(({ name }) => `tidemark ${name}`)
  return [
    HEAD,
    sectionLinks([...names, 'create-tidemark']),
    '- [Environment variables](#environment-variables)\n',
    exitCodes(program),
    ...program.commands.map(commandText),
    creatorText(readCreator(root)),
    variablesText(),
  ].join('\n')
}

/** Variables that are read and on no page, or on it and not read. */
export function variableGaps(root: string): readonly string[] {
  const read = variablesRead(root)
  const known = new Set([...COMMAND_VARIABLES, ...TESTING_VARIABLES].map(({ name }) => name))
  return [
    ...[...read]
      .filter((name) => !known.has(name))
      .map(
        (name) => `${name} is read and not described: add it to scripts/reference/environment.ts`,
      ),
    ...[...known]
      .filter((name) => !read.has(name))
      .map(
        (name) =>
          `${name} is described and not read: remove it from scripts/reference/environment.ts`,
      ),
  ]
}

function exitCodes({ exitCodes: codes, checkExitCodes }: DescribedProgram): string {
  return `## Exit codes

${codeTable(codes, EXIT_MEANINGS)}

\`tidemark lag\` ends as monitoring systems expect of a check:

${codeTable(checkExitCodes, CHECK_MEANINGS)}
`
}

function codeTable(
  codes: Readonly<Record<string, number>>,
  meanings: Readonly<Record<string, string>>,
): string {
  const rows = Object.entries(codes).map(([name, value]) => {
    const meaning = meanings[name]
    if (meaning === undefined) {
      throw new Error(
        `say in scripts/reference/commands-page.ts what exit code ${value} (${name}) means`,
      )
    }
    return `- **${value}** ${meaning}`
  })
  return rows.join('\n')
}

function commandText(command: DescribedCommand): string {
  const { name, description, usage, isGroup, alone, exitCodes: codes } = command
  const paragraphs = [`## \`tidemark ${name}\``, prose(description)]
  if (isGroup) {
    if (alone)
      paragraphs.push(`Without the name of a command it is ${code(`tidemark ${name} ${alone}`)}.`)
  } else {
    paragraphs.push(code(`tidemark ${name} ${usage}`))
    const parts = [...argumentLines(command), ...optionLines(command)]
    if (parts.length > 0) paragraphs.push(parts.join('\n'))
    paragraphs.push(`[Exit codes](#exit-codes): ${codes.join(', ')}.`)
  }
  return `${paragraphs.join('\n\n')}\n`
}

function argumentLines(command: DescribedCommand): readonly string[] {
  return command.arguments.map(({ name, isRequired, isVariadic, description, byDefault }) => {
    const shown = `${name}${isVariadic ? '…' : ''}`
    return line(isRequired ? `<${shown}>` : `[${shown}]`, description, [defaultFact(byDefault)])
  })
}

function optionLines({ options }: DescribedCommand): readonly string[] {
  return options.map(
    ({ flags, description, byDefault, defaultText, choices, variable, isRequired }) =>
      line(flags, description, [
        isRequired ? 'required' : '',
        variable === undefined ? '' : `variable: \`${variable}\``,
        choices === undefined ? '' : `one of ${choices.map(code).join(', ')}`,
        defaultText === undefined ? defaultFact(byDefault) : `default: ${defaultText}`,
      ]),
  )
}

function defaultFact(byDefault: unknown): string {
  return byDefault === undefined || byDefault === false
    ? ''
    : `default: ${code(JSON.stringify(byDefault).replace(/^"(.*)"$/, '$1'))}`
}

function line(name: string, description: string, facts: readonly string[]): string {
  const known = facts.filter((fact) => fact !== '')
  const behind = known.length === 0 ? '' : ` (${known.join('; ')})`
  return `- \`${name}\`: ${prose(description)}${behind}`
}

function creatorText({ options, byDefault, exitCodes: codes }: DescribedCreator): string {
  const lines = Object.entries(options).map(([name, { short, value, help }]) =>
    line(`-${short}, --${name} ${value}`.trim(), help, []),
  )
  return `## \`create-tidemark\`

Makes a project from a template. It asks for what you do not give; with \`--yes\` it takes ${code(byDefault.template)} and
${code(byDefault.folder)}.

\`npm create tidemark@latest [folder] -- [options]\`

${lines.join('\n')}

Its exit codes:

${codeTable(codes, CREATOR_MEANINGS)}
`
}

function variablesText(): string {
  return `## Environment variables

The command reads:

${variableLines(COMMAND_VARIABLES)}

\`@tidemark/testing\` reads, to find servers for tests:

${variableLines(TESTING_VARIABLES)}

No other package reads the environment.
`
}

function variableLines(variables: readonly Variable[]): string {
  return variables.map(({ name, effect }) => `- \`${name}\`: ${effect}`).join('\n')
}
