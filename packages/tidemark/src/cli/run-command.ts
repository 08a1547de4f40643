import { Command, CommanderError } from 'commander'
import type { CommandContext } from './command-context.ts'
import { CHECK_EXIT, EXIT, EXIT_CODE_HELP, type ExitCode } from './exit-codes.ts'
import { loadCommands } from './load-commands.ts'
import { errorLine } from './output/report-error.ts'
import { packageVersion } from './package-version.ts'

/** Runs the command of these arguments. Never rejects: what goes wrong is told on the error output. */
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
    // Commander has told it already, and asks for help with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok
    if (error instanceof CommanderError) return args[0] === 'lag' ? CHECK_EXIT.unknown : EXIT.usage
    context.errors.write(`${errorLine(error)}\n`)
    return EXIT.failure
  }
}

function buildProgram(commands: readonly Command[], context: CommandContext): Command {
  const program = new Command('tidemark')
    .description(
      'Work on a Tidemark store from the shell: fill collections, follow their changes, copy them\n' +
        'into others while writes go on, archive what expires, serve it over HTTP. A store is a folder, or\n' +
        'postgres://user@host/database?schema=name; several processes may use it at once.',
    )
    .version(packageVersion())
  for (const command of commands) program.addCommand(command)
  program.addHelpText('after', EXIT_CODE_HELP)
  for (const command of [program, ...commands, ...commands.flatMap((each) => each.commands)]) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.output.write(text),
      writeErr: (text) => context.errors.write(text),
      outputError: (text, write) => {
        write(`tidemark: ERR_USAGE: ${text.replace(/^error: /, '')}`)
      },
    })
  }
  return program
}
