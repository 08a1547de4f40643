import { Command, CommanderError } from 'commander'
import { STORE_VARIABLE } from './arguments/store-argument.ts'
import type { CommandContext } from './command-context.ts'
import { CHECK_EXIT, EXIT, EXIT_CODE_HELP, type ExitCode } from './exit-codes.ts'
import { loadCommands } from './load-commands.ts'
import { errorLine, oneLine } from './output/report-error.ts'
import { packageVersion } from '../platform/package-version.ts'

/** Runs the command of these arguments. Never rejects: failures are reported on the error output. */
export async function runCommand(
  args: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.ok
  try {
    const commands = await loadCommands(args[0], context, (code) => {
      exitCode = code
    })
    const program = buildProgram(commands, context)
    await program.parseAsync([...args], { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has reported it already, and ends the help with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    if (error instanceof CommanderError) return args[0] === 'lag' ? CHECK_EXIT.unknown : EXIT.usage
    context.errors.write(`${errorLine(error)}\n`)
    return EXIT.failure
  }
}

/** The whole command, of these parts. */
export function buildProgram(commands: readonly Command[], context: CommandContext): Command {
  const program = new Command('tidemark')
    .description(
      'Work on a Tidemark store from the shell: fill collections, follow their changes, copy them ' +
        'into others while writes continue, archive what expires, serve it over HTTP. A store is a folder, or ' +
        'postgres://user@host/database?schema=name; several processes can use it at once.',
    )
    .version(packageVersion())
    .configureHelp({ subcommandTerm: (command) => command.name() })
  for (const command of commands) program.addCommand(command)
  program.addHelpText('after', EXIT_CODE_HELP)
  for (const command of withSubcommands(program)) {
    takeFromEnvironment(command)
    requireAfterUnknown(command)
    command.exitOverride().configureOutput({
      writeOut: (text) => context.output.write(text),
      writeErr: (text) => context.errors.write(text),
      outputError: (text, write) => {
        write(`tidemark: ${oneLine(`ERR_USAGE: ${usageMessage(text, command)}`)}\n`)
      },
    })
  }
  return program
}

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}

/** Commander's message, with the command's help named where the message does not say what would be right. */
function usageMessage(text: string, command: Command): string {
  const message = text.trim().replace(/^error: /, '')
  if (!WITHOUT_REMEDY.test(message) || message.includes('Did you mean')) return message
  const names: string[] = []
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name())
  return `${message.replace(/\.$/, '')}; see ${names.join(' ')} --help`
}

const WITHOUT_REMEDY =
  /^(missing required argument|unknown option|unknown command|too many arguments|required option)/

/** Allows a URL with a password to be left out of the arguments, which every user of the machine can list. */
function takeFromEnvironment(command: Command): void {
  for (const option of command.options) {
    const name = option.long === undefined ? undefined : ENVIRONMENT.get(option.long)
    if (name === undefined) continue
    option.env(name)
    // Set it here: commander itself reads names only that existed when the option was added.
    command.setOptionValueWithSource(option.attributeName(), process.env[name] || undefined, 'env')
  }
}

const ENVIRONMENT: ReadonlyMap<string, string> = new Map([
  ['--store', STORE_VARIABLE],
  ['--leases', 'TIDEMARK_LEASES'],
])

/** Commander reports a missing `--store` before an unknown `--stor`, which is the cause: look for unknown ones first. */
function requireAfterUnknown(command: Command): void {
  const required = command.options.filter(({ mandatory }) => mandatory)
  for (const option of required) option.mandatory = false
  command.hook('preAction', (_, action) => {
    for (const option of required) {
      if (action.getOptionValue(option.attributeName()) !== undefined) continue
      const or = option.envVar === undefined ? '' : `; give it, or set ${option.envVar}`
      action.error(`error: required option '${option.flags}' not specified${or}`)
    }
  })
}
